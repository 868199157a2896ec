"""The glass: the cart, the steps and the tokens of the run that is looked at."""

import streamlit as st

import store
from agent.archive import Snapshot
from agent.trace import AnyEvent, RunStarted
from agent.views.conversation import Conversation
from assistant.report import cart_json
from ui.guard_table import draw_guards
from ui.kept import kept
from ui.other_channel import draw_other_channel
from ui.panels.cart_box import draw_cart
from ui.panels.timeline import draw_trace
from ui.panels.token_chart import draw_token_chart, token_chart
from ui.safe import plain, safe_label
from ui.settings.choices import current_settings, faults_text
from ui.visit import Visit

TICK_SECONDS = 1.0


def draw_glass(visit: Visit, *, live: bool) -> None:
    """Draw the cart, the steps and the tokens, again and again while a run goes on."""

    @st.fragment(run_every=TICK_SECONDS if live else None)
    def tick() -> None:
        now = visit.snapshot()
        events = _shown_run(visit, now)
        started = next((event for event in events if event.kind == "run_started"), None)
        key = started.run_id if started else "none"
        limit = started.settings["limits"]["max_tokens"] if started else current_settings().limits.max_tokens
        with st.container(border=True):
            st.header("Cart")
            cart = cart_json(store.view_cart(visit.shop.engine, visit.customer))
            draw_cart(cart, visit.change_cart, f"cart-{visit.customer}")
            draw_other_channel(visit)
        with st.container(border=True):
            st.header("Steps")
            if started:
                _draw_header(started)
            draw_trace(events, key, now.doing if now else "")
            draw_guards(visit.shop, events, key)
        with st.container(border=True):
            st.header("Tokens")
            chart = kept("tokens", (key, len(events), limit), lambda: token_chart(events, limit))
            draw_token_chart(chart, f"tokens-{key}")
        visit.say_notice()

    tick()


def _shown_run(visit: Visit, now: Snapshot | None) -> list[AnyEvent]:
    """The events of the run that is looked at."""
    if now:
        return list(now.events)
    conversation = visit.conversation()
    if conversation is None:
        return []
    questions = _questions(conversation)
    chosen = None
    if len(questions) > 1:
        newest_first = list(questions)[::-1]
        # Under a new key with every run, so that a new run is shown and not the one looked at before.
        key = f"shown-run-{len(questions)}"
        chosen = st.selectbox("Turn", newest_first, format_func=questions.__getitem__, key=key)
    return conversation.run_events(chosen)


def _draw_header(started: RunStarted) -> None:
    """Draw what was special about a run: where it went on from, and faults that were switched on for it."""
    if started.continues:
        st.caption("This run goes on from the one before, which was stopped.")
    if faults := started.settings.get("faults"):
        st.warning(f"Faults were on in this run: {safe_label(faults_text(faults.items()), 300)}.")


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
