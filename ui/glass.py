"""The glass: the cart, the steps and the tokens of the run that is looked at."""

import streamlit as st

import store
from agent.conversation import Conversation
from agent.runs import Snapshot
from agent.trace import AnyEvent
from assistant.report import cart_json
from ui.cart_panel import draw_cart
from ui.safe import plain
from ui.sidebar import current_settings
from ui.token_chart import draw_token_chart
from ui.trace_panel import draw_trace
from ui.visit import Visit

TICK_SECONDS = 1.0


def draw_glass(visit: Visit, *, live: bool) -> None:
    """Draw the cart, the steps and the tokens, again and again while a run goes on."""

    @st.fragment(run_every=TICK_SECONDS if live else None)
    def tick() -> None:
        now = visit.snapshot()
        events, limit, key = _shown_run(visit, now)
        with st.container(border=True):
            st.header("Cart")
            cart = cart_json(store.view_cart(visit.shop.engine, visit.customer))
            draw_cart(cart, visit.change_cart, f"cart-{visit.customer}")
        with st.container(border=True):
            st.header("Steps")
            draw_trace(events, key, now.doing if now else "")
        with st.container(border=True):
            st.header("Tokens")
            draw_token_chart(events, limit, f"tokens-{key}")
        visit.say_notice()

    tick()


def _shown_run(visit: Visit, now: Snapshot | None) -> tuple[list[AnyEvent], int | None, str]:
    """The events of the run that is looked at, its token limit, and a key for its widgets."""
    if now:
        events = list(now.events)
    else:
        conversation = visit.conversation()
        questions = _questions(conversation) if conversation else {}
        chosen = None
        if len(questions) > 1:
            newest_first = list(questions)[::-1]
            # Under a new key with every run, so that a new run is shown and not the one looked at before.
            key = f"shown-run-{len(questions)}"
            chosen = st.selectbox("Turn", newest_first, format_func=questions.get, key=key)
        events = conversation.run_events(chosen) if conversation else []
    started = next((event for event in events if event.kind == "run_started"), None)
    if started is None:
        return events, current_settings().limits.max_tokens, "none"
    return events, started.settings["limits"]["max_tokens"], started.run_id


def _questions(conversation: Conversation) -> dict[str, str]:
    """The request of each run of a conversation, by run id."""
    found: dict[str, str] = {}
    run_id = ""
    for event in conversation.events:
        match event.kind:
            case "run_started":
                run_id = event.run_id
            case "user_message":
                found[run_id] = f"{event.turn} · {plain(event.text, 60)}"
    return found
