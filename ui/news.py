"""What the shop did meanwhile, looked for again and again while nothing else goes on."""

import streamlit as st

import store
from agent.conversation import Conversation
from assistant.watch import ShopWatch
from ui.pending_panel import draw_pending
from ui.visit import Visit

NEWS_SECONDS = 1.0


def draw_news(visit: Visit, conversation: Conversation | None) -> None:
    """Draw what the shop did that the model does not know yet; a change draws the whole page again."""
    drawn = store.latest_change(visit.shop.engine)

    @st.fragment(run_every=NEWS_SECONDS)
    def tick() -> None:
        if store.latest_change(visit.shop.engine) != drawn:
            st.rerun()
        if conversation:
            watch = ShopWatch(visit.shop.engine, visit.customer)
            draw_pending(watch.changes(conversation.known_versions))

    tick()
