"""The guard ledger of a run, worked out when somebody opens it."""

from collections.abc import Sequence

import streamlit as st

from agent.guards.ledger import Entry, StepLedger
from agent.trace import AnyEvent
from assistant.bookshop import Bookshop
from assistant.stopping import figures, label_of, run_ledger
from ui.ledger_panel import draw_ledger


def draw_guards(shop: Bookshop, events: Sequence[AnyEvent], key: str) -> None:
    """Draw what every guard found in every step, in an expander; closed it costs a live page nothing."""
    if not events:
        return
    box = st.expander("Guards", key=f"guards-{key}", on_change="rerun")
    if box.open:
        with box:
            ledgers = _ledger_of(shop, events, key)
            names = [entry.guard for entry in ledgers[0].entries] if ledgers else []
            cells = {name: [_cell(step, name) for step in ledgers] for name in names}
            draw_ledger(
                [f"Step {step.step}" if step.step else "Outside" for step in ledgers],
                {label_of(name): found for name, found in cells.items()},
            )


def _ledger_of(shop: Bookshop, events: Sequence[AnyEvent], key: str) -> list[StepLedger]:
    """The ledger, worked out again only when events have come."""
    now = (key, len(events))
    known, ledgers = st.session_state.get("ledger", (None, []))
    if known != now:
        ledgers = run_ledger(shop, events)
        st.session_state.ledger = now, ledgers
    return list(ledgers)


def _cell(step: StepLedger, guard: str) -> str:
    return next((_found(entry) for entry in step.entries if entry.guard == guard), "")


def _found(entry: Entry) -> str:
    """What a guard found in a step: nothing, its figures, or what it did with them."""
    if entry.state == "not asked":
        return ""
    return f"{entry.action} {figures(entry)}" if entry.state == "acted" else figures(entry)
