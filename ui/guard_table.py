"""The guard ledger of a run as a table, worked out when somebody opens it."""

from collections.abc import Sequence

import streamlit as st

from agent.guards.ledger import Entry
from agent.trace import AnyEvent
from assistant.bookshop import Bookshop
from assistant.stopping import figures, label_of, run_ledger
from ui.kept import kept

LEGEND = "A dash: not asked. Figures alone: it looked at them and stayed silent. A word before them: it acted."


def draw_guards(shop: Bookshop, events: Sequence[AnyEvent], key: str) -> None:
    """Draw what every guard found in every step, in an expander; closed it costs a live page nothing."""
    if not events:
        return
    box = st.expander("Guards", key=f"guards-{key}", on_change="rerun")
    if not box.open:
        return
    ledgers = kept("ledger", (key, len(events)), lambda: run_ledger(shop, events))
    with box:
        if not ledgers:
            st.caption("No guard was asked in this run.")
            return
        st.caption(LEGEND)
        guards = [entry.guard for entry in ledgers[0].entries]
        table = {"Guard": [label_of(guard) for guard in guards]}
        for step in ledgers:
            table[f"Step {step.step}" if step.step else "Outside"] = [_found(entry) for entry in step.entries]
        st.table(table, border="horizontal", width="content", hide_index=True)  # plain HTML, for every reader


def _found(entry: Entry) -> str:
    """What a guard found in a step: nothing, its figures, or what it did with them."""
    if entry.state == "not asked":
        return "–"
    return f"{entry.action} {figures(entry)}" if entry.state == "acted" else figures(entry)
