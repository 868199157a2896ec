"""The settings as they stand on the page: kept by this tab under their names, and written in its address.

Prices alone are not in the address: they belong to a model, and are remembered for it as long as the visit lasts.
"""

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import streamlit as st

from agent.guards.limits import LIMIT_DIALS, Dial, Limits
from agent.trace import ModelOptions, Prices
from assistant.cures import Cure
from assistant.faults import Fault
from assistant.settings import OPTION_DIALS, SETTING_DIALS, TOOL_NAMES, Settings

OFF = "off"
CAPS = {f"cap_{tool}": replace(SETTING_DIALS["tool_caps"], label=f"Calls of {tool}") for tool in TOOL_NAMES}
"""The most calls of each tool, by ``cap_`` and its name."""
DIALS: dict[str, Dial] = LIMIT_DIALS | SETTING_DIALS | OPTION_DIALS | CAPS
SLIDERS = {name: dial for name, dial in DIALS.items() if dial.values and name != "tool_caps"}
SWITCHES = {name: dial for name, dial in DIALS.items() if not dial.values}
FAULT_TEXTS: dict[str, str] = {
    OFF: "works",
    Fault.TIMEOUT: "first call times out",
    Fault.ONCE: "first call breaks",
    Fault.FAILING: "always breaks",
    Fault.SLOW: "slow",
    Fault.EMPTY: "answers nothing",
    Fault.HUGE: "answers 8,000 characters",
    Fault.WRONG_TYPE: "answers a number",
}
"""The positions of the fault switchboard, in words."""
FAULTS = {f"fault_{name}": name for name in TOOL_NAMES}
"""The tools of the switchboard, by the name of their setting."""
CURES: dict[str, str] = {
    Cure.HISTORY: "Nothing: the model answers from its history, as in the post.",
    Cure.INSTRUCT: "The instructions say to read again what can change, and view_cart is there to do it.",
    Cure.STAMP: "Results carry time and version; overtaken ones are marked in place: the server's cache is lost.",
    Cure.SNAPSHOT: "A fresh block of what has changed comes after the history, only when something has.",
    Cure.VERIFY: "The snapshot; an answer that states an overtaken figure is asked for again, then corrected.",
}
PRICES = {"in": "Dollars per million in", "out": "Dollars per million out"}


def current_settings(model: str = "") -> Settings:
    """The settings as the widgets stand, with the prices set for ``model``."""
    seed_settings()
    state: dict[str, Any] = {name: _given(st.session_state[name]) for name in (*SLIDERS, *SWITCHES, *FAULTS)}
    return Settings(
        limits=Limits(**{name: state[name] for name in LIMIT_DIALS}),
        options=ModelOptions(**{name: state[name] for name in OPTION_DIALS}),
        search_size=state["search_size"],
        prices=current_prices(model),
        tool_caps={tool: state[f"cap_{tool}"] for tool in TOOL_NAMES if state[f"cap_{tool}"] is not None},
        approve_above=state["approve_above"],
        faults={tool: Fault(state[name]) for name, tool in FAULTS.items() if state[name]},
        freshness=Cure(st.session_state.freshness),
        meanwhile=st.session_state.get("meanwhile"),
    )


def current_prices(model: str) -> Prices | None:
    """What a person said the model takes; None if they said nothing, as of a model that runs here."""
    read, written = (st.session_state.get(f"price_{way}-{model}") for way in PRICES)
    if read is None and written is None:
        return None
    return Prices(input_per_million=Decimal(str(read or 0)), output_per_million=Decimal(str(written or 0)))


def seed_settings() -> None:
    """Give every setting its value: of the address, or the default.

    A widget that the browser has not shown yet has no value of its own; without this a slider would fall to its
    lowest.
    """
    for name in SLIDERS:
        _seed(name, {shown(value): value for value in values_of(name)}, USUAL[name])
    for name in SWITCHES:
        st.session_state.setdefault(name, st.query_params.get(name, str(USUAL[name])).lower() != "false")
    for name in FAULTS:
        _seed(name, {text: fault for fault, text in FAULT_TEXTS.items()}, OFF)
    _seed("freshness", {cure: cure for cure in CURES}, str(Cure.HISTORY))


def _seed(name: str, known: dict[str, Any], usual: Any) -> None:
    st.session_state.setdefault(name, known.get(st.query_params.get(name, ""), usual))


def values_of(name: str) -> list[Any]:
    """The values of a slider, from low to high."""
    dial = SLIDERS[name]
    return [*dial.values, OFF] if dial.off else list(dial.values)


def shown(value: Any) -> str:
    """A value as slider and address show it: ``20,000``, ``0.25``, ``off``."""
    return OFF if value == OFF else f"{value:,}"


def positions(kept: object) -> dict[str, Any]:
    """Where sliders and switches stand for limits, for options of a model or for settings."""
    return {name: _position(value) for name, value in vars(kept).items() if name in SLIDERS or name in SWITCHES}


def faults_text(faults: Iterable[tuple[str, str]]) -> str:
    """Which tools have which fault, in words: "check_stock: always breaks"."""
    return ", ".join(f"{tool}: {FAULT_TEXTS.get(fault, fault)}" for tool, fault in faults)


def _given(value: Any) -> Any:
    return None if value == OFF else value


def _position(value: Any) -> Any:
    if value is None:
        return OFF
    return int(value) if isinstance(value, float) else value


USUAL = dict.fromkeys(CAPS, OFF) | positions(Settings()) | positions(Limits()) | positions(ModelOptions())
"""Where every slider and switch stands by default."""
