"""The sidebar: who asks, which model answers, and every limit of the run."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from agent.limits import PRESETS, Limits
from agent.models import ModelOptions
from assistant.models import Choice
from assistant.settings import Settings
from ui.safe import safe_label

OFF = "off"
SLIDERS: dict[str, tuple[str, list[Any], str]] = {
    "max_steps": ("Steps", [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 30, 40, OFF], "Model calls of one run."),
    "max_tool_calls": ("Tool calls", [0, 1, 2, 3, 4, 5, 8, 10, 15, 20, 30, 50, OFF], "Calls that run."),
    "max_tokens": (
        "Tokens",
        [1_000, 2_000, 4_000, 6_000, 8_000, 10_000, 15_000, 20_000, 30_000, 50_000, 100_000, OFF],
        "Input and output of all steps, looked at before each request.",
    ),
    "max_input_tokens": (
        "Input tokens",
        [1_000, 2_000, 4_000, 8_000, 15_000, 30_000, 60_000, 100_000, OFF],
        "What is sent in all steps.",
    ),
    "max_seconds": (
        "Seconds",
        [5, 10, 30, 60, 90, 120, 240, 600, 1_800, OFF],
        "A hard deadline for the whole run.",
    ),
    "repeat_nudge_at": (
        "Identical call: hint at the",
        [2, 3, 4, 5, OFF],
        "This call is not run; the model is told.",
    ),
    "repeat_stop_at": ("Identical call: stop at the", [2, 3, 4, 5, 6, OFF], "This call ends the run."),
    "max_result_chars": (
        "Result length, characters",
        [200, 500, 1_000, 2_000, 4_000, 8_000, 16_000, OFF],
        "Longer results are cut before the model reads them, and say so.",
    ),
}
SEARCH_SIZES = [1, 2, 3, 5, 8, 10, 15, 20, 30, 40, 50]


def current_settings() -> Settings:
    """The settings as the sliders stand."""
    state = st.session_state
    chosen = {name: None if state.get(name) == OFF else state[name] for name in SLIDERS if name in state}
    limits = Limits(**(Limits().model_dump() | chosen | {"wrap_up": state.get("wrap_up", True)}))
    options = replace(ModelOptions(), think=state.get("think", True))
    return Settings(limits, options, state.get("search_size", 5))


def draw_model_picker(names: Sequence[str], choice: Choice, look_again: Callable[[], None]) -> None:
    """Draw the choice of models, why this one answers, and what brings a better one."""
    st.selectbox(
        "Model",
        names,
        key="model",
        index=names.index(choice.model.info.name) if choice.model.info.name in names else 0,
        help="Models of the Ollama server, and the offline stand-in: rules, not a language model.",
    )
    st.caption(safe_label(choice.why, 300))
    if choice.commands:
        st.code("\n".join(choice.commands), language="bash")
        st.button("Look for Ollama again", on_click=look_again, width="stretch")


@st.fragment
def draw_limits() -> None:
    """Draw the presets and a slider for each limit; moving one reruns these alone, never a run under way."""
    st.pills("Limits", list(PRESETS), key="preset", on_change=_use_preset, wrap=True, help="Named sets of limits.")
    for name, (label, options, text) in SLIDERS.items():
        st.select_slider(
            label, options, key=name, help=text, format_func=_shown, bind="query-params", **_default(name)
        )
    st.select_slider(
        "Search size",
        SEARCH_SIZES,
        key="search_size",
        help="Books a search returns if the model does not say.",
        bind="query-params",
        **({} if "search_size" in st.session_state else {"value": 5}),
    )
    st.toggle(
        "Wrap-up",
        key="wrap_up",
        value=True,
        bind="query-params",
        help="After a limit, one last model call without tools.",
    )
    st.toggle(
        "Thinking", key="think", value=True, bind="query-params", help="Let the model think before it answers."
    )
    st.caption(_consequence(current_settings().limits))


def _default(name: str) -> dict[str, Any]:
    if name in st.session_state:
        return {}
    value = getattr(Limits(), name)
    return {"value": OFF if value is None else int(value)}


def _use_preset() -> None:
    limits = PRESETS.get(st.session_state.preset or "")
    if limits is None:
        return
    for name in SLIDERS:
        value = getattr(limits, name)
        st.session_state[name] = OFF if value is None else int(value)


def _shown(option: Any) -> str:
    return option if option == OFF else f"{option:,}"


def _consequence(limits: Limits) -> str:
    """What the limits mean together: how a run ends at the latest."""
    ends = []
    if limits.max_steps is not None:
        calls = limits.max_steps + limits.wrap_up
        ends.append(f"{calls} model calls{' (wrap-up included)' if limits.wrap_up else ''}")
    if limits.max_tokens is not None:
        ends.append(f"{limits.max_tokens:,} tokens before the wrap-up")
    if limits.max_seconds is not None:
        ends.append(f"{limits.max_seconds:g} seconds")
    if not ends:
        return "Nothing but an answer ends a run now."
    return f"At the latest a run ends after {', or '.join(ends)}."
