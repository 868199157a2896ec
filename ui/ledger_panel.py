"""The guard ledger as a table: what every guard found in every step."""

from collections.abc import Mapping, Sequence

import streamlit as st

LEGEND = "A dash: not asked. Figures alone: it looked at them and stayed silent. A word before them: it acted."
NOT_ASKED = "–"


def draw_ledger(steps: Sequence[str], found: Mapping[str, Sequence[str]]) -> None:
    """Draw a row for each guard, with what it found in each of ``steps``; an empty text is "not asked"."""
    if not steps:
        st.caption("No guard was asked in this run.")
        return
    st.caption(LEGEND)
    table = {"Guard": list(found)} | {
        step: [cells[number] or NOT_ASKED for cells in found.values()] for number, step in enumerate(steps)
    }
    st.table(table, border="horizontal", width="content", hide_index=True)  # plain HTML: every reader can read it
