"""The sidebar's settings: every limit of the run, and how the model is asked; all of them live in the address.

Prices alone do not: they belong to a model, and are remembered for it as long as the visit lasts.
"""

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any

import streamlit as st

from agent.limits import PRESETS, Limits
from agent.models import ModelOptions
from agent.text import counted
from agent.trace import Prices, RunFinished
from assistant.faults import Fault
from assistant.settings import Settings
from assistant.three_questions import Answer, answers
from ui.freshness_settings import current_cure
from ui.limits_data import (
    APPROVAL,
    BUDGETS,
    CAPS,
    DEFAULTS,
    FAULT_TEXTS,
    FAULTS,
    FIRST,
    LIMIT_NAMES,
    OFF,
    SLIDERS,
    STUCK,
    SWITCHES,
    shown,
    slider_values,
)
from ui.safe import safe_label

Finished = Callable[[], Sequence[RunFinished]]
"""How the latest runs of the customer ended; asked only where it is shown."""
PRICES = {"in": "Dollars per million in", "out": "Dollars per million out"}


def current_settings(model: str = "") -> Settings:
    """The settings as the sliders stand, with the prices set for ``model``."""
    seed_settings()
    state = {name: _given(st.session_state[name]) for name in (*SLIDERS, *SWITCHES, *FAULTS)}
    limits = {name: state[name] for name in (*LIMIT_NAMES, "wrap_up", "replay_writes")}
    caps = {name.removeprefix("cap_"): state[name] for name in CAPS}
    return Settings(
        limits=Limits(**limits),
        options=ModelOptions(num_ctx=state["num_ctx"], think=state["think"]),
        search_size=state["search_size"],
        prices=current_prices(model),
        tool_caps={tool: cap for tool, cap in caps.items() if cap is not None},
        approve_above=state["approve_above"],
        freshness=current_cure(),
        meanwhile=st.session_state.get("meanwhile"),
        faults={tool: Fault(state[name]) for name, tool in FAULTS.items() if state[name]},
    )


def current_prices(model: str) -> Prices | None:
    """What a person said the model takes; None if they said nothing, as of a model that runs here."""
    read, written = (st.session_state.get(f"price_{way}-{model}") for way in PRICES)
    if read is None and written is None:
        return None
    return Prices(input_per_million=Decimal(str(read or 0)), output_per_million=Decimal(str(written or 0)))


@st.fragment
def draw_limits(model: str, finished: Finished) -> None:
    """Draw the presets, a slider for each limit, and what they mean; moving one reruns these alone."""
    seed_settings()
    st.pills("Limits", list(PRESETS), key="preset", on_change=_use_preset, wrap=True, help="Named sets of limits.")
    _draw_sliders(FIRST)
    st.caption(_consequence(current_settings().limits))
    with st.expander("Budgets", key="budgets"):
        _draw_sliders(BUDGETS)
        _draw_prices(model)
        _draw_sliders(CAPS)
        draw_switch("wrap_up")
    with st.expander("Stuck shapes", key="stuck"):
        _draw_sliders(STUCK)
        draw_switch("replay_writes")
    with st.expander("Approval", key="approval"):
        _draw_sliders(APPROVAL)
    # Asked and reckoned only while somebody reads it: a slider that is moved must answer at once.
    questions = st.expander("The three questions", key="questions", on_change="rerun")
    if questions.open:
        with questions:
            draw_questions(answers(current_settings(model), finished()))


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


def faults_text(faults: Iterable[tuple[str, str]]) -> str:
    """Which tools have which fault, in words: "check_stock: always breaks"."""
    return ", ".join(f"{tool}: {FAULT_TEXTS.get(fault, fault)}" for tool, fault in faults)


def seed_settings() -> None:
    """Give every setting its value: of the address, or the default.

    A slider that the browser has not shown yet has no value of its own; without this it would fall to its lowest.
    """
    for name, slider in SLIDERS.items():
        written = {shown(option): option for option in slider.options}
        st.session_state.setdefault(name, written.get(st.query_params.get(name, ""), DEFAULTS[name]))
    for name in SWITCHES:
        st.session_state.setdefault(name, st.query_params.get(name, "true").lower() != "false")
    by_text = {text: fault for fault, text in FAULT_TEXTS.items()}
    for name in FAULTS:
        st.session_state.setdefault(name, by_text.get(st.query_params.get(name, ""), OFF))


def draw_slider(name: str) -> None:
    """Draw the slider of one setting."""
    label, options, text = SLIDERS[name]
    # The address names what is not the default, so the widget has to know it; a seeded value counts before it.
    st.select_slider(label, options, DEFAULTS[name], key=name, help=text, format_func=shown, bind="query-params")


def draw_switch(name: str) -> None:
    """Draw the switch of one setting."""
    label, text = SWITCHES[name]
    st.toggle(label, True, key=name, bind="query-params", help=text)


def _draw_sliders(names: Iterable[str]) -> None:
    for name in names:
        draw_slider(name)


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
    limits = PRESETS.get(st.session_state.preset or "")
    if limits:
        st.session_state.update(slider_values(limits))
        st.session_state.update(wrap_up=limits.wrap_up, replay_writes=limits.replay_writes)


def _given(value: Any) -> Any:
    return None if value == OFF else value


def _consequence(limits: Limits) -> str:
    """What the limits mean together: how a run ends at the latest."""
    ends = []
    if limits.max_steps is not None:
        calls = counted(limits.max_steps + limits.wrap_up, "model call")
        ends.append(f"{calls}{' (wrap-up included)' if limits.wrap_up else ''}")
    if limits.max_tokens is not None:
        ends.append(f"{limits.max_tokens:,} tokens before the wrap-up")
    if limits.max_seconds is not None:
        ends.append(counted(limits.max_seconds, "second"))
    if not ends:
        return "No budget of steps, tokens or seconds ends a run now."
    return f"At the latest a run ends after {', or '.join(ends)}."
