"""What the shop did that the model has not been told of: it enters the trace with the next step or message."""

from collections.abc import Sequence

import streamlit as st

from agent.trace import ShopChanged
from ui.safe import safe_label

MOST_SHOWN = 6


def draw_pending(changes: Sequence[ShopChanged]) -> None:
    """Draw the changes that are pending, the oldest first, each with who made it and when."""
    if not changes:
        return
    shown = list(changes)[-MOST_SHOWN:]
    lines = [_line(change) for change in shown]
    if len(changes) > len(shown):
        lines.insert(0, f"{len(changes) - len(shown)} earlier ones")
    words = "  \n".join(lines)
    st.info(
        f"Pending: the shop has changed, and the model does not know it yet.  \n{words}", icon=":material/pending:"
    )


def _line(change: ShopChanged) -> str:
    versions = f"{safe_label(change.resource)} v{change.version_before} → v{change.version_after}"
    at = f", {change.changed_at[11:19]} UTC" if change.changed_at else ""
    return f"{versions}: {safe_label(change.value)} (by {safe_label(change.by)}{at})"
