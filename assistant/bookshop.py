"""Wires the shop: one database for the store and the conversations, one registry of runs, agents made to order."""

from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection, Engine

import store
from agent.archive import Archive, Runs, close_lapsed
from agent.loop.agent import Agent
from agent.models import ChatModel
from agent.tools import Toolbox
from agent.views.conversation import Conversation
from agent.views.run import Tally
from assistant.cures import freshness_of
from assistant.faults import FaultyTools
from assistant.meanwhile import Meanwhile
from assistant.settings import Settings, database_url, instructions
from assistant.shop_tools import ShopTools
from store.database import transact

T = TypeVar("T")
SCRIPTED = "website, as planned"
"""Who changes the shop between two steps of a run, in its list of changes."""


class Bookshop:
    """The shop as page and terminal use it; made by ``open_bookshop``, never at import."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.archive = Archive(engine, transact=self._transact)
        self.runs = Runs(self.archive)

    def toolbox(self, customer_id: int, by: str, settings: Settings) -> ShopTools:
        """The tools of one customer; ``by`` names who acts in the shop's list of changes."""
        return ShopTools(self.engine, customer_id, by, settings)

    def agent(
        self,
        model: ChatModel,
        customer_id: int,
        conversation: Conversation,
        settings: Settings,
        run: Tally | None = None,
    ) -> Agent:
        """An agent for one customer under the given settings; ``run`` is the one that it goes on with, if any."""
        toolbox: Toolbox = self.toolbox(customer_id, f"assistant {conversation.handle[:6]}", settings)
        if settings.faults:
            toolbox = FaultyTools(toolbox, settings.faults, run.calls_of if run else {})
        if settings.meanwhile:
            toolbox = Meanwhile(toolbox, settings.meanwhile, self.engine, customer_id, SCRIPTED, conversation)
        return Agent(
            model=model,
            toolbox=toolbox,
            instructions=instructions(settings.freshness),
            limits=settings.limits,
            options=settings.options,
            prices=settings.prices,
            freshness=freshness_of(settings.freshness),
            settings=settings.record(),
        )

    def agent_of(self, model: ChatModel, customer_id: int, conversation: Conversation) -> Agent:
        """An agent under the settings of the conversation's latest run, to go on with that."""
        started = conversation.run_events()[0]
        if started.kind != "run_started":
            raise ValueError("the conversation has no run")
        return self.agent(model, customer_id, conversation, Settings.of(started), conversation.run)

    def conversation(self, customer_id: int, session: str = "") -> Conversation:
        """A conversation of a customer: continued by its handle or its name, begun under a name that is new to
        this customer, or begun under a random handle if no session is named.
        """
        owner = str(customer_id)
        if not session:
            return self.archive.start(owner)
        return self.archive.find(owner, session) or self.archive.start(owner, session)

    def close_lapsed_runs(self) -> int:
        """Close the runs whose process died, with what the shop knows of their effects; returns how many."""
        return close_lapsed(self.archive, ShopTools(self.engine, 0, "recovery").outcome)

    def close(self) -> None:
        """Let go of the database."""
        self.engine.dispose()

    def _transact(self, work: Callable[[Connection], T]) -> T:
        return transact(self.engine, work)


def open_bookshop(url: str | None = None) -> Bookshop:
    """Open the shop at a database URL, by default where the surroundings say; raises ShopUnavailable in words."""
    shop = Bookshop(store.open_shop(url or database_url()))
    shop.archive.create()
    shop.close_lapsed_runs()
    return shop
