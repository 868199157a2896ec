"""A visitor of the seed shop, with the offline stand-in behind the counter."""

from dataclasses import dataclass, field
from typing import Any

import pytest

import store
from agent.guards.limits import Limits
from agent.trace import ToolFinished
from agent.views.conversation import Conversation
from agent.views.result import AgentResult
from assistant.bookshop import Bookshop
from assistant.offline import OfflineModel
from assistant.settings import Settings

LIGHTHOUSE = "Add The Last Lighthouse to my cart. If it is not available, add another novel by the same author."
ROOMY = Limits(max_steps=12, max_tokens=None)


@dataclass
class Visit:
    """One conversation with the stand-in; ``finished`` are the calls of the last turn, ``approve`` allows one."""

    shop: Bookshop
    conversation: Conversation = field(default_factory=Conversation)
    finished: list[ToolFinished] = field(default_factory=list)
    approve: Any = None

    def ask(self, text: str, limits: Limits = ROOMY, **settings: Any) -> AgentResult:
        agent = self.shop.agent(OfflineModel(), 1, self.conversation, Settings(limits=limits, **settings))
        result = agent.run(self.conversation, text, approve=self.approve)
        self.finished = [event for event in result.trace if event.kind == "tool_finished"]
        return result

    @property
    def calls(self) -> list[tuple[Any, ...]]:
        """The calls of the last turn: the name of the tool, then the arguments."""
        return [(each.call.name, *each.call.arguments.values()) for each in self.finished]

    @property
    def cart(self) -> dict[int, int]:
        return {line.book_id: line.quantity for line in store.view_cart(self.shop.engine, 1).lines}

    def stock(self, book_id: int, copies: int) -> None:
        store.set_stock(self.shop.engine, book_id, copies, by="warehouse")


@pytest.fixture
def visit(bookshop: Bookshop) -> Visit:
    """A new visitor."""
    return Visit(bookshop)
