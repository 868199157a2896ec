"""The rows of an experiment as a table, and what one of its runs came to."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from ui.safe import safe_markdown

COLUMNS: Mapping[str, Any] = {
    "Model": st.column_config.TextColumn(pinned=True),
    "Cost": st.column_config.NumberColumn(format="$%.4f", help="At a made-up price of $2.50 and $10 a million."),
    "Input tokens": st.column_config.NumberColumn(
        format="localized", help="Estimates: scripts have no tokenizer."
    ),
    "Effects": st.column_config.NumberColumn(help="Writes that reached the cart."),
}


def draw_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    """Draw a table of rows, each a mapping from the heading of a column to a figure or a word."""
    st.dataframe(list(rows), hide_index=True, column_config=dict(COLUMNS), height="content")
    st.caption("Input tokens are estimates: scripts have no tokenizer. Costs are at a made-up price.")


def draw_outcome(title: str, facts: Sequence[str], answer: str) -> None:
    """Draw what one run came to, and what the user reads in the end."""
    st.subheader(title)
    st.caption(" · ".join(facts))
    st.markdown("**What the user reads**")
    st.markdown(safe_markdown(answer))
