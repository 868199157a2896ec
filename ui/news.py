"""What the shop did meanwhile, looked for again and again while nothing else goes on."""

from collections.abc import Mapping

import streamlit as st

import store
from agent.archive import Snapshot
from agent.views.conversation import Conversation
from agent.views.knowledge import Knowledge
from assistant.shop_facts import ShopWatch
from ui.panels.timeline import draw_pending
from ui.visit import Visit

NEWS_SECONDS = 1.0


def draw_news(visit: Visit, conversation: Conversation | None, drawn: int) -> None:
    """Draw what the shop did that the model does not know yet; a change after ``drawn`` draws the page anew."""

    @st.fragment(run_every=NEWS_SECONDS)
    def tick() -> None:
        if store.latest_change(visit.shop.engine) != drawn:
            st.rerun()
        if conversation:
            _draw_unknown(visit, conversation.knowledge.versions)

    tick()


def draw_live_news(visit: Visit, conversation: Conversation | None, live: Snapshot) -> None:
    """Draw what the shop did that a run which goes on has not heard of yet."""
    knowledge = conversation.knowledge if conversation else Knowledge()
    _draw_unknown(visit, knowledge.versions_after(live.events))


def _draw_unknown(visit: Visit, known: Mapping[str, int]) -> None:
    draw_pending(ShopWatch(visit.shop.engine, visit.customer).changes(known))
