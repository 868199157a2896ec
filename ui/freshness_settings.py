"""Which cure for stale facts the next run takes, in the sidebar and the address."""

import streamlit as st

from assistant.freshness import Cure

CURES: dict[str, str] = {
    Cure.HISTORY: "Nothing: the model answers from its history, as in the post.",
    Cure.INSTRUCT: "The instructions say to read again what can change, and view_cart is there to do it.",
    Cure.STAMP: "Results carry time and version; overtaken ones are marked in place: the server's cache is lost.",
    Cure.SNAPSHOT: "A fresh block of what has changed comes after the history, only when something has.",
    Cure.VERIFY: "The snapshot; an answer that states an overtaken figure is asked for again, then corrected.",
}
KEY = "freshness"


def current_cure() -> Cure:
    """The cure as it is chosen: of the address at first."""
    chosen = st.session_state.setdefault(KEY, st.query_params.get(KEY, Cure.HISTORY))
    return Cure(chosen) if chosen in CURES else Cure.HISTORY


def draw_freshness() -> None:
    """Draw the choice of a cure, and what it does."""
    st.session_state[KEY] = str(current_cure())
    chosen = st.selectbox(
        "Freshness", list(CURES), key=KEY, bind="query-params", help="What is done about stale facts."
    )
    st.caption(CURES[chosen])
