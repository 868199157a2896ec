"""The widgets of the settings: sliders, switches and choices for the next run, and what they mean together."""

from collections.abc import Callable, Iterable, Sequence

import streamlit as st

from agent.guards.limits import LIMIT_DIALS, PRESETS
from agent.trace import RunFinished
from assistant.settings import Settings
from assistant.three_questions import Answer, answers
from assistant.worst_case import at_most
from ui.safe import safe_label
from ui.settings.choices import (
    CAPS,
    CURES,
    FAULT_TEXTS,
    FAULTS,
    OFF,
    PRICES,
    SLIDERS,
    SWITCHES,
    USUAL,
    current_prices,
    current_settings,
    positions,
    seed_settings,
    shown,
    values_of,
)

Finished = Callable[[], Sequence[RunFinished]]
"""How the latest runs of the customer ended; asked only where it is shown."""


@st.fragment
def draw_limits(model: str, finished: Finished) -> None:
    """Draw the presets, a slider for each limit, and what they mean; moving one reruns these alone."""
    seed_settings()
    st.pills("Limits", list(PRESETS), key="preset", on_change=_use_preset, wrap=True, help="Named sets of limits.")
    _draw_group("first")
    st.caption(_consequence(current_settings()))
    with st.expander("Budgets", key="budgets"):
        _draw_group("budgets")
        draw_setting("search_size")
        _draw_prices(model)
        for name in CAPS:
            draw_setting(name)
    with st.expander("Stuck shapes", key="stuck"):
        _draw_group("stuck")
    with st.expander("Approval", key="approval"):
        draw_setting("approve_above")
    # Asked and reckoned only while somebody reads it: a slider that is moved must answer at once.
    questions = st.expander("The three questions", key="questions", on_change="rerun")
    if questions.open:
        with questions:
            draw_questions(answers(current_settings(model), finished()))


def draw_freshness() -> None:
    """Draw the choice of a cure for stale facts, and what it does."""
    seed_settings()
    chosen = st.selectbox(
        "Freshness", list(CURES), key="freshness", bind="query-params", help="What is done about stale facts."
    )
    st.caption(CURES[chosen])


def draw_faults() -> None:
    """Draw the fault switchboard; the whole page is drawn again, since it has to say that faults are on."""
    seed_settings()
    on = len(current_settings().faults)
    with st.expander(f"Faults · {on} on" if on else "Faults", key="faults"):
        st.caption("Make a tool fail on purpose, and see what a run makes of it.")
        for name, tool in FAULTS.items():
            st.selectbox(
                tool, list(FAULT_TEXTS), key=name, format_func=FAULT_TEXTS.__getitem__, bind="query-params"
            )


def draw_questions(found: Iterable[Answer]) -> None:
    """Draw each question with the lines that answer it."""
    for answer in found:
        st.markdown(f"**{answer.question}**")
        st.caption("\n".join(f"- {safe_label(line, 300)}" for line in answer.lines))


def draw_setting(name: str) -> None:
    """Draw the slider or the switch of one setting."""
    if name in SWITCHES:
        dial = SWITCHES[name]
        st.toggle(dial.label, USUAL[name], key=name, bind="query-params", help=dial.text)
        return
    dial = SLIDERS[name]
    # The address names what is not the default, so the widget has to know it; a seeded value counts before it.
    st.select_slider(
        dial.label,
        values_of(name),
        USUAL[name],
        key=name,
        help=dial.text,
        format_func=shown,
        bind="query-params",
    )


def _draw_group(group: str) -> None:
    for name, dial in LIMIT_DIALS.items():
        if dial.group == group:
            draw_setting(name)


def _draw_prices(model: str) -> None:
    for way, label in PRICES.items():
        st.number_input(
            label,
            min_value=0.0,
            max_value=1_000.0,
            value=None,
            step=0.05,
            placeholder="off",
            key=f"price_{way}-{model}",
            help=f"What {safe_label(model)} takes for a million tokens. Empty for a model that runs here.",
            persist_state="session",
        )
    if st.session_state.max_cost != OFF and current_prices(model) is None:
        st.caption(f":material/info: The cost limit has no effect: {safe_label(model)} has no price.")


def _use_preset() -> None:
    if limits := PRESETS.get(st.session_state.preset or ""):
        st.session_state.update(positions(limits))


def _consequence(settings: Settings) -> str:
    """What the limits mean together: how a run ends at the latest."""
    bounds = at_most(settings)
    return f"At the latest a run ends after {', or '.join(bounds)}." if bounds else "No budget ends a run now."
