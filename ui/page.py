"""The pages: the shop, with chat, the loop made visible beside it, and limits in the sidebar; and the lab."""

import streamlit as st

import store
from agent.archive import Snapshot
from agent.views.conversation import Conversation
from assistant.choose_model import Choice, UnknownModel
from assistant.settings import LONGEST_MESSAGE
from ui.caveats import caveats_of
from ui.chat import draw_coming, draw_elsewhere, draw_history
from ui.conversations import draw_conversations
from ui.glass import draw_glass
from ui.lab.lab_page import draw_lab
from ui.model_panel import draw_models
from ui.news import draw_live_news, draw_news
from ui.opened import OPENED
from ui.pauses import draw_pause
from ui.safe import safe_label
from ui.settings.choices import current_settings, faults_text
from ui.settings.sidebar import draw_faults, draw_freshness, draw_limits
from ui.visit import Visit

TICK_SECONDS = 0.5
SUGGESTIONS = {
    "The Last Lighthouse, or another by her": "Add The Last Lighthouse to my cart. "
    "If it is not available, add another novel by the same author.",
    "Mysteries under $10": "Which mysteries do you have under $10?",
    "Where is order O-1001?": "Where is my order O-1001?",
    "My cart total": "What is my cart total now?",
}
STYLE = """<style>
.heard { position: absolute; left: -10000px; }
[data-testid="stMarkdownContainer"] :is(p, li, td) { unicode-bidi: plaintext; text-align: start; }
</style>"""


def draw_pages() -> None:
    """Draw the page of the address."""
    st.set_page_config(page_title="Glass Bookshop", page_icon="📚", layout="wide")
    shop = st.Page(
        lambda: draw_shop(lab), title="Shop", icon=":material/storefront:", url_path="shop", default=True
    )
    lab = st.Page(lambda: draw_laboratory(shop), title="Lab", icon=":material/science:", url_path="lab")
    # Streamlit's own menu would give the lab a sidebar, which on a phone hides the page.
    page = st.navigation([shop, lab], position="hidden")
    st.html(STYLE)
    page.run()


def draw_laboratory(shop: st.Page) -> None:
    """Draw the lab, and the way back to the shop."""
    st.page_link(shop, label="Back to the shop", icon=":material/arrow_back:")
    try:
        visit = Visit(OPENED.shop())
    except store.ShopUnavailable as error:
        draw_closed(error)
        return
    draw_lab(visit.shop)
    visit.say_notice()


def draw_closed(error: Exception) -> None:
    st.title("Glass Bookshop")
    st.error(f"The shop cannot open: {error}")


def draw_shop(lab: st.Page) -> None:
    """Draw everything once; what changes while a run goes on is drawn again by fragments."""
    try:
        visit = Visit(OPENED.shop())
        choice = visit.choice()
    except (store.ShopUnavailable, UnknownModel) as error:
        draw_closed(error)
        return
    spoken = st.empty()
    visit.show_address()
    # Looked at once, so that a run which ends while the page is drawn is live for all of it until the next tick.
    live = visit.snapshot()
    conversation = visit.conversation()
    with st.sidebar:
        draw_sidebar(visit, choice, lab)
    chat, glass = st.columns(2, gap="large")
    with chat:
        draw_chat(visit, conversation, choice, live)
    with glass:
        draw_glass(visit, live=live is not None)
    with st.bottom:
        waiting = conversation is not None and conversation.run.waiting is not None
        draw_input(visit, stoppable=live is not None or waiting)
    visit.say_notice()
    status = "Answering." if live else st.session_state.pop("status", "")
    status = "A call waits for your yes or no." if waiting else status
    spoken.html(f'<div class="heard" role="status" aria-live="polite">{status}</div>')  # for screen readers


def draw_sidebar(visit: Visit, choice: Choice, lab: st.Page) -> None:
    st.title("Glass Bookshop")
    st.caption("A shopping assistant whose loop you can see through.")
    st.page_link(lab, label="Lab: misbehaving models, stale facts", icon=":material/science:")
    st.button("New conversation", on_click=visit.begin_anew, icon=":material/add:", width="stretch")
    draw_conversations(visit)
    draw_models(choice, visit.model_names(choice.name), visit.choose_model)
    draw_limits(choice.name, visit.finished)
    draw_freshness()
    draw_faults()
    people = {person.id: person.name for person in store.list_customers(visit.shop.engine)}
    st.selectbox(
        "Customer",
        list(people),
        key="customer",
        format_func=lambda number: f"{number} · {people[number]}",
        on_change=visit.begin_anew,
        help="Whose cart and orders these are.",
    )


def draw_chat(visit: Visit, conversation: Conversation | None, choice: Choice, live: Snapshot | None) -> None:
    """Draw the history, then the answer that is coming."""
    drawn = store.latest_change(visit.shop.engine)  # before the caveats, or one that comes meanwhile is missed
    # Both stay in their place, drawn or not: an element that takes another's place shows as a faded ghost.
    welcome, history = st.container(), st.container()
    if conversation is None and live is None:
        with welcome:
            draw_welcome(visit, choice)
    if conversation:
        with history:
            caveats = caveats_of(visit.shop, visit.customer, conversation)
            draw_history(conversation.events, caveats, skip_run=live.run_id if live else "")
            if live is None:
                draw_pause(visit, conversation)
    draw_coming_answer(visit, conversation, live=live is not None)
    if live is None:
        draw_news(visit, conversation, drawn)


def draw_welcome(visit: Visit, choice: Choice) -> None:
    """Draw what an empty page offers."""
    if visit.handle:
        st.info("There is no such conversation of this customer. Your first message begins a new one.")
    st.header("What are you looking for?")
    with st.container(horizontal=True):
        for label, text in SUGGESTIONS.items():
            st.button(label, on_click=visit.ask, args=(text,))
    who = safe_label(choice.label)
    st.caption(f"Answered by {who}. Every step of the loop, every token and the cart show beside the chat.")


def draw_coming_answer(visit: Visit, conversation: Conversation | None, *, live: bool) -> None:
    """Draw the answer that is coming, again and again until it has come: from here, or from another process."""
    open_elsewhere = not live and conversation is not None and not conversation.run.finished
    waiting = conversation is not None and conversation.run.waiting is not None

    @st.fragment(run_every=TICK_SECONDS if live or open_elsewhere else None)
    def tick() -> None:
        if live:
            snapshot = visit.snapshot()
            if snapshot is None:
                st.session_state.status = "The answer is there."
                st.rerun()
            draw_coming(snapshot)
            draw_live_news(visit, conversation, snapshot)
        elif open_elsewhere:
            if visit.has_news():
                st.rerun()
            if not waiting:
                draw_elsewhere()

    tick()


def draw_input(visit: Visit, *, stoppable: bool) -> None:
    """Draw the box for the next message, Stop while a run goes on, and a word where tools fail on purpose."""
    if draft := st.session_state.pop("draft", ""):
        st.session_state.message = draft
    if faults := current_settings().faults:
        st.caption(f":material/warning: Faults are on: {safe_label(faults_text(faults.items()), 300)}.")
    if stoppable:
        st.button("Stop", on_click=visit.stop, key="stop", icon=":material/stop_circle:")
    st.chat_input(
        "Ask about a book, your orders or your cart",
        key="message",
        max_chars=LONGEST_MESSAGE,
        on_submit=_send,
        args=(visit,),
    )


def _send(visit: Visit) -> None:
    if text := st.session_state.message.strip():
        visit.ask(text)


draw_pages()
