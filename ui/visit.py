"""One browser tab's visit: which customer, which conversation, which model; and what a person does."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

import store
from agent.archive import ConversationBusy, Snapshot
from agent.loop.agent import Agent
from agent.loop.tool_call import Approval
from agent.trace import RunFinished
from agent.views.conversation import Conversation
from assistant.bookshop import Bookshop
from assistant.choose_model import OFFLINE, Choice, choose
from assistant.settings import (
    DEMO_CUSTOMER,
    PREFERRED_MODEL,
    BadMessage,
    checked_message,
    chosen_model,
)
from lab.scripts import scripted_models
from ui.opened import OPENED
from ui.safe import safe_label
from ui.settings.choices import current_settings

WORD_PAUSE = 0.03
"""Seconds between the words of the offline stand-in, so that its answer can be seen coming."""
VISITOR_COOKIE = "visitor"
OUR_PREFIXES = ("script:", "replay:")
MOST_MODELS = 200
MEASURED_RUNS = 20
"""The latest runs that the averages are of."""
ADDRESS = "c"
"""The name of the conversation's handle in the address of the page."""


@dataclass(frozen=True)
class Visit:
    """What the page knows of this tab; made anew on every rerun from the session's state."""

    shop: Bookshop

    @property
    def customer(self) -> int:
        return int(st.session_state.get("customer", DEMO_CUSTOMER))

    @property
    def handle(self) -> str:
        """The handle of the conversation, from the address at first; empty before the first message."""
        if "handle" not in st.session_state:
            st.session_state.handle = st.query_params.get(ADDRESS, "")
        return str(st.session_state.handle)

    def show_address(self) -> None:
        """Keep the handle in the address, so that a reload finds the conversation again."""
        if st.query_params.get(ADDRESS, "") == self.handle:
            return
        if self.handle:
            st.query_params[ADDRESS] = self.handle
        else:
            del st.query_params[ADDRESS]

    @property
    def channel(self) -> str:
        """Names this browser in the shop's list of changes."""
        return f"website {st.context.cookies.get(VISITOR_COOKIE, '')[:6]}".strip()

    def conversation(self) -> Conversation | None:
        """The conversation of the address, if it is this customer's; read again only when it has grown."""
        handle = self.handle
        if not handle:
            return None
        known: Conversation | None = st.session_state.get("conversation")
        length = self.shop.archive.length(str(self.customer), handle)
        if known is None or known.handle != handle or len(known.events) != length:
            known = self.shop.archive.find(str(self.customer), handle) if length is not None else None
            st.session_state.conversation = known
        return known

    def has_news(self) -> bool:
        """Whether the conversation has grown since it was read; closes a run whose process died."""
        self.shop.close_lapsed_runs()
        known: Conversation | None = st.session_state.get("conversation")
        return known is not None and self.shop.archive.length(str(self.customer), self.handle) != len(known.events)

    def snapshot(self) -> Snapshot | None:
        """The run of the conversation as it stands, if one is live."""
        snapshot = self.shop.runs.snapshot(self.handle) if self.handle else None
        return snapshot if snapshot and snapshot.running else None

    def choice(self) -> Choice:
        """The model that answers, and why."""
        wanted = st.session_state.get("wanted_model") or None
        return choose(wanted, server=OPENED.server(), scripts=scripted_models(), pause=WORD_PAUSE)

    def choose_model(self, name: str) -> None:
        """Let a model answer from now on, whatever the best one is."""
        st.session_state.wanted_model = name

    def model_names(self, chosen: str) -> list[str]:
        """The models to choose from: the preferred one, the server's, the stand-in, and what was set or chosen."""
        # A server may call a model anything; the names that are ours are not the server's to give.
        theirs = [model.name for model in OPENED.server().models if not model.name.startswith(OUR_PREFIXES)]
        names = [PREFERRED_MODEL, *theirs[:MOST_MODELS], OFFLINE, chosen_model() or OFFLINE, chosen]
        return list(dict.fromkeys(names))

    def ask(self, text: str) -> None:
        """Start a run with a message; one that cannot be answered now stays in the box, and it is said why.

        The message that is being answered, sent once more, is a click that came twice.
        """
        if live := self.snapshot():
            if live.question != text:
                self._refuse(text, "Still answering the last message: wait, or press Stop.")
            return
        self.shop.close_lapsed_runs()
        conversation = self.conversation() or self.shop.archive.start(str(self.customer))
        if conversation.run.waiting:
            self._refuse(text, "A call waits for you: answer it first, or press Stop.")
            return
        self.start(self.agent(conversation), conversation, text)

    def stop(self) -> None:
        """Stop the live run, or the one that waits for a person."""
        conversation = self.conversation()
        if conversation is None or self.snapshot() or conversation.run.waiting is None:
            self.shop.runs.stop(self.handle)
            return
        self.resume(self.shop.agent_of(self.choice().model, self.customer, conversation), conversation, None)

    def resume(self, agent: Agent, conversation: Conversation, approval: Approval | None) -> None:
        """Go on with the run that waits for this answer; it is said if somebody else has answered."""
        self._let_go_of_conversation()
        try:
            self.shop.runs.resume(agent, conversation, approval)
        except ConversationBusy as error:
            st.session_state.notice = str(error)

    def _let_go_of_conversation(self) -> None:
        """Read the conversation anew the next time: the run's worker writes to the one it is given."""
        st.session_state.pop("conversation", None)

    def finished(self) -> Sequence[RunFinished]:
        """How the customer's latest runs ended."""
        return self.shop.archive.listing.finished(str(self.customer), MEASURED_RUNS)

    def agent(self, conversation: Conversation) -> Agent:
        """An agent under the settings as they stand."""
        choice = self.choice()
        return self.shop.agent(choice.model, self.customer, conversation, current_settings(choice.name))

    def start(self, agent: Agent, conversation: Conversation, text: str, continues: str | None = None) -> None:
        """Start a run; what is not sent stays in the box, unless the program wrote it to go on from a run."""
        try:
            message = checked_message(text)
        except BadMessage as error:
            self._refuse(text, str(error))
            return
        # At any touch of the session's state Streamlit may break off a callback, and call it again from its
        # beginning: what must happen once comes last.
        self._let_go_of_conversation()
        st.session_state.pop("meanwhile", None)  # what is planned for a run is planned for this one
        st.session_state.handle = conversation.handle
        try:
            self.shop.runs.start(agent, conversation, message, secrets.token_urlsafe(12), continues)
        except (ConversationBusy, store.ShopError) as error:
            self._refuse("" if continues else text, str(error))

    def _refuse(self, text: str, why: str) -> None:
        """Keep a message that is not sent in the box, and say why."""
        st.session_state.draft, st.session_state.notice = text, why

    def say_notice(self) -> None:
        """Show what a callback had to say, once."""
        if notice := st.session_state.pop("notice", ""):
            st.toast(safe_label(notice, 300))

    def open(self, handle: str) -> None:
        """Go to another conversation of this customer."""
        st.session_state.handle = handle

    def begin_anew(self) -> None:
        """Leave the conversation for a new one; it stays in the archive."""
        st.session_state.handle = ""

    def change_cart(self, book_id: int, quantity: int) -> bool:
        """Set the copies of a book in the cart by hand; False, and said why, if the shop refuses."""
        try:
            store.set_quantity(self.shop.engine, self.customer, book_id, quantity, by=self.channel)
        except store.ShopError as error:
            st.session_state.notice = str(error)
            return False
        return True
