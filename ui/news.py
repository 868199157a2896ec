"""What the shop did meanwhile, looked for again and again while nothing else goes on."""

from collections.abc import Mapping

import streamlit as st

import store
from agent.conversation import Conversation
from agent.runs import Snapshot
from agent.stamps import facts_of
from assistant.watch import ShopWatch
from ui.pending_panel import draw_pending
from ui.visit import Visit

NEWS_SECONDS = 1.0


def draw_news(visit: Visit, conversation: Conversation | None, drawn: int) -> None:
    """Draw what the shop did that the model does not know yet; a change after ``drawn`` draws the page anew."""

    @st.fragment(run_every=NEWS_SECONDS)
    def tick() -> None:
        if store.latest_change(visit.shop.engine) != drawn:
            st.rerun()
        if conversation:
            _draw_unknown(visit, conversation.known_versions)

    tick()


def draw_live_news(visit: Visit, conversation: Conversation | None, live: Snapshot) -> None:
    """Draw what the shop did that a run which goes on has not heard of yet."""
    known = dict(conversation.known_versions) if conversation else {}
    for event in live.events:
        match event.kind:
            case "tool_finished":
                seen = facts_of(event)
            case "note":
                seen = {fact.resource: fact.version for fact in event.reads}
            case "shop_changed":
                seen = {event.resource: event.version_after}
            case _:
                continue
        known |= {resource: max(version, known.get(resource, 0)) for resource, version in seen.items()}
    _draw_unknown(visit, known)


def _draw_unknown(visit: Visit, known: Mapping[str, int]) -> None:
    draw_pending(ShopWatch(visit.shop.engine, visit.customer).changes(known))
