"""The other channel, written down: what website or warehouse do, by hand or between two steps of a run."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Engine

import store
from agent.tools import Tool, Toolbox, ToolOutcome
from agent.trace import ShopChanged, ToolCall
from agent.views.conversation import Conversation

Kind = Literal["cart", "stock", "price", "order"]
KINDS: tuple[Kind, ...] = ("cart", "stock", "price", "order")


@dataclass(frozen=True)
class Deed:
    """One change: the copies of a book in the cart or in stock, the price of a book, or the status of an order."""

    kind: Kind
    number: int
    value: str

    def do(self, engine: Engine, customer_id: int, by: str) -> None:
        """Do it now; raises ShopError in words where the shop refuses."""
        match self.kind:
            case "cart":
                store.set_quantity(engine, customer_id, self.number, _copies(self.value), by=by)
            case "stock":
                store.set_stock(engine, self.number, _copies(self.value), by=by)
            case "price":
                store.set_price(engine, self.number, store.parse_price(self.value), by=by)
            case "order":
                store.set_order_status(engine, self.number, self.value, by=by)

    def __str__(self) -> str:
        return f"{self.kind} {self.number} {self.value}"

    @classmethod
    def read(cls, text: str) -> "Deed":
        """Read what ``str`` writes, such as "cart 7 2"; raises BadInput for anything else."""
        kind, _, rest = text.strip().partition(" ")
        number, _, value = rest.strip().partition(" ")
        if kind not in KINDS or not number.isdecimal() or not value.strip():
            raise store.BadInput(f'"{text[:60]}" is no change; write "cart 7 2", say, or "order 1001 shipped"')
        return cls(kind, int(number), value.strip())


@dataclass(frozen=True)
class Plan:
    """A deed and the step of the run before which it is done: 3 is between step 2 and 3."""

    before_step: int
    deed: Deed

    def __str__(self) -> str:
        return f"{self.before_step}:{self.deed}"

    @classmethod
    def read(cls, text: str) -> "Plan":
        """Read what ``str`` writes, such as "3:cart 7 2"; raises BadInput for anything else."""
        step, _, deed = text.partition(":")
        if not step.strip().isdecimal() or int(step) < 1:
            raise store.BadInput(f'"{text[:60]}" does not begin with a step, as "3:cart 7 2" does')
        return cls(int(step), Deed.read(deed))


@dataclass
class Meanwhile:
    """A toolbox during whose run somebody else does something, right before a step.

    What the shop refuses is not done; the run goes on.
    """

    toolbox: Toolbox
    plan: Plan
    engine: Engine
    customer_id: int
    by: str
    conversation: Conversation

    @property
    def tools(self) -> Sequence[Tool]:
        return self.toolbox.tools

    def call(self, call: ToolCall, key: str) -> ToolOutcome:
        return self.toolbox.call(call, key)

    def outcome(self, key: str) -> ToolOutcome | None:
        return self.toolbox.outcome(key)

    def changes(self, known: Mapping[str, int]) -> Sequence[ShopChanged]:
        if self._at_begin_of_step() and self.conversation.run.steps + 1 == self.plan.before_step:
            with suppress(store.ShopError):
                self.plan.deed.do(self.engine, self.customer_id, self.by)
        return self.toolbox.changes(known)

    def _at_begin_of_step(self) -> bool:
        """Whether a request comes next: a cure also asks what has changed once there is an answer."""
        last = self.conversation.events[-1]
        return last.kind != "model_reply" or last.error is not None


def _copies(text: str) -> int:
    if not text.isdecimal():
        raise store.BadInput("the number of copies must be a whole number")
    return int(text)
