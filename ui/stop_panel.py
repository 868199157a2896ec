"""Why a run stopped before it was done: the limit that ended it, how near the others were, and three ways on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from ui.safe import safe_label

SHOWN_AT_ONCE = 3


@dataclass(frozen=True)
class Nearness:
    """How near a limit was: its name, its figures in words, and the part of it that was used up (0 to 1)."""

    name: str
    figures: str
    share: float


@dataclass(frozen=True)
class WaysOn:
    """What a person may do after a stop."""

    more: Callable[[], None]
    answer_now: Callable[[], None]
    leave: Callable[[], None]


def draw_stop(title: str, decided: Nearness | None, others: Sequence[Nearness], ways: WaysOn, key: str) -> None:
    """Draw the card of a stopped run; ``title`` says what kind of stop it was."""
    with st.container(border=True, key=f"stop-card-{key}"):
        st.subheader("Why it stopped")
        st.markdown(safe_label(title))
        if decided:
            _draw_bar(decided)
        with st.container(horizontal=True):
            more = "A new run under the limits as they stand now; nothing is done twice."
            st.button("Continue with more", on_click=ways.more, key=f"more-{key}", help=more)
            st.button("Answer now, without tools", on_click=ways.answer_now, key=f"now-{key}")
            st.button("Leave it", on_click=ways.leave, key=f"leave-{key}", type="tertiary")
        if others:
            st.caption("How near the other limits were")
            for nearness in others[:SHOWN_AT_ONCE]:
                _draw_bar(nearness)
        if rest := others[SHOWN_AT_ONCE:]:
            st.caption(" · ".join(f"{safe_label(each.name)} {safe_label(each.figures)}" for each in rest))


def _draw_bar(nearness: Nearness) -> None:
    # The words say all the bar shows.
    st.progress(min(max(nearness.share, 0.0), 1.0), text=f"{safe_label(nearness.name)} · {nearness.figures}")
