"""The experiment of the guards: each misbehaving model with guards on and off, through the loop as it is."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

import store
from agent.archive import run_turn
from agent.guards.limits import PRESETS, UNGUARDED
from agent.trace import ModelOptions, StopReason
from agent.views.frames import Columns, frame
from assistant.bookshop import Bookshop
from assistant.settings import DEMO_CUSTOMER, LAB_OWNER, Settings
from lab.misbehaving import Misbehaver

if TYPE_CHECKING:
    from pandas import DataFrame

Guards = Literal["on", "off"]
WIDE = ModelOptions(num_ctx=2_000_000)
"""A script has no window that could be too small."""
LIMITS = {"on": PRESETS["guarded"].model_copy(update={"max_result_chars": None}), "off": UNGUARDED}
"""Whole results, so that the budgets are what stops a run, not the truncation."""


@dataclass(frozen=True)
class Row:
    """What one model came to: counts as in its run's events, and the text the user reads.

    ``effects`` counts the writes that reached the cart; ``guard`` is the one that ended the run, if one did.
    """

    model: str
    guards: Guards
    model_calls: int
    tool_calls: int
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: Decimal | None
    effects: int
    stop_reason: StopReason
    guard: str | None
    nudges: int
    answer: str
    run_id: str

    def json(self) -> dict[str, Any]:
        """The row in the shape of the contract; money is decimal text."""
        return vars(self) | {"cost_usd": None if self.cost_usd is None else str(self.cost_usd)}


COLUMNS: Columns = {
    "model": ("string", "the model that misbehaves"),
    "guards": ("string", "on or off"),
    "model_calls": ("Int64", "model calls, the wrap-up among them"),
    "tool_calls": ("Int64", "calls that ran"),
    "input_tokens": ("Int64", "input tokens, estimated: scripts have no tokenizer"),
    "output_tokens": ("Int64", "output tokens, estimated"),
    "cost_usd": ("Float64", "dollars at a made-up price"),
    "effects": ("Int64", "writes that reached the cart"),
    "stop_reason": ("string", "why the run ended"),
    "guard": ("string", "the guard that ended it; missing if none did"),
    "nudges": ("Int64", "hints that guards gave the model"),
    "answer": ("string", "what the user reads"),
    "run_id": ("string", "the run"),
}
"""The columns of the experiment's results."""


def results(rows: Iterable[Row]) -> DataFrame:
    """The rows as a DataFrame, as ``COLUMNS`` documents it."""
    return frame(COLUMNS, (vars(row) | {"cost_usd": _dollars(row.cost_usd)} for row in rows))


def _dollars(cost: Decimal | None) -> float | None:
    return None if cost is None else float(cost)


def compare(shop: Bookshop, models: Sequence[Misbehaver], modes: Sequence[Guards]) -> Iterator[Row]:
    """Run each model in each mode on a fresh copy of the seed shop; the archive of ``shop`` keeps the runs."""
    with fresh_shops() as fresh:
        for each in models:
            for mode in modes:
                yield run_one(shop, fresh(), each, mode)


def run_one(shop: Bookshop, copy: Bookshop, each: Misbehaver, mode: Guards) -> Row:
    """Let one model loose on the copy, and read what came of it from the run's events."""
    settings = Settings(limits=LIMITS[mode], options=WIDE, faults=each.faults)
    conversation = shop.archive.start(LAB_OWNER)
    agent = copy.agent(each.model(), DEMO_CUSTOMER, conversation, settings)
    result = run_turn(shop.archive, agent, conversation, each.request)
    decisions = [event for event in result.trace if event.kind == "guard_decision"]
    return Row(
        model=each.name,
        guards=mode,
        model_calls=result.model_calls,
        tool_calls=result.tool_calls,
        input_tokens=result.usage.input_tokens,
        output_tokens=result.usage.output_tokens,
        cost_usd=result.cost,
        effects=len(conversation.run.effects),
        stop_reason=result.stop_reason,
        guard=next((decision.guard for decision in decisions if decision.action == "stop"), None),
        nudges=sum(decision.action == "nudge" for decision in decisions),
        answer=result.answer,
        run_id=result.run_id,
    )


@contextmanager
def fresh_shops() -> Iterator[Callable[[], Bookshop]]:
    """Yields what gives a shop as it was seeded; there is one at a time, put back to its seed with each call.

    The database stays open and gets the seed's pages, which is quicker than a new file and a new engine.
    """
    with TemporaryDirectory(prefix="lab-") as folder:
        shop = Bookshop(store.open_shop(f"sqlite:///{Path(folder) / 'shop.db'}"))
        shop.archive.create()
        with closing(sqlite3.connect(":memory:")) as seed:
            _copy(shop, lambda database: database.backup(seed))

            def fresh() -> Bookshop:
                _copy(shop, seed.backup)
                return shop

            try:
                yield fresh
            finally:
                shop.close()


def _copy(shop: Bookshop, copy: Callable[[sqlite3.Connection], object]) -> None:
    """Do something with the bare connection to a shop's database."""
    with closing(shop.engine.raw_connection()) as pooled:
        database = pooled.driver_connection
        if not isinstance(database, sqlite3.Connection):
            raise TypeError("the lab's shops are SQLite files")
        copy(database)
