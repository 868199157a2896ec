"""Answers of the cures side by side, and their rates as a table."""

from collections.abc import Mapping, Sequence

import streamlit as st

from ui.safe import safe_label

OUTCOMES = {
    "fresh": (":material/check_circle:", "fresh"),
    "stale": (":material/history:", "stale"),
    "hedged": (":material/help:", "hedged"),
    "none": (":material/block:", "gave no total"),
}


def draw_rates(title: str, rows: Sequence[Mapping[str, object]]) -> None:
    """Draw a table of rows under a title; what is added is per trial, over history."""
    st.markdown(f"**{safe_label(title)}**")
    columns = {"Cure": st.column_config.TextColumn(pinned=True)}
    st.dataframe(list(rows), hide_index=True, height="content", column_config=columns)


def draw_answers(title: str, answers: Sequence[tuple[str, str, str, str]]) -> None:
    """Draw one answer of each cure: its name, its class, the answer as safe Markdown, and what it took."""
    with st.container(border=True):
        st.markdown(f"**{safe_label(title)}**")
        for cure, outcome, answer, cost in answers:
            icon, words = OUTCOMES[outcome]
            st.markdown(f"{icon} **{safe_label(cure)}**, {words}: {answer}")
            st.caption(safe_label(cost))
