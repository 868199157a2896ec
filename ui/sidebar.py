"""The sidebar's settings: every limit of the run, and how the model is asked; all of them live in the address."""

from dataclasses import replace
from typing import Any

import streamlit as st

from agent.limits import PRESETS, Limits
from agent.models import ModelOptions
from assistant.settings import Settings

OFF = "off"
SLIDERS: dict[str, tuple[str, list[Any], str]] = {
    "max_steps": ("Steps", [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 30, 40, OFF], "Model calls of one run."),
    "max_tokens": (
        "Tokens",
        [1_000, 2_000, 4_000, 6_000, 8_000, 10_000, 15_000, 20_000, 30_000, 50_000, 100_000, OFF],
        "Input and output of all steps, looked at before each request.",
    ),
    "max_seconds": (
        "Seconds",
        [5, 10, 30, 60, 90, 120, 240, 600, 1_800, OFF],
        "A hard deadline for a run.",
    ),
    "max_tool_calls": ("Tool calls", [0, 1, 2, 3, 4, 5, 8, 10, 15, 20, 30, 50, OFF], "Calls that run."),
    "max_result_chars": (
        "Result length, characters",
        [200, 500, 1_000, 2_000, 4_000, 8_000, 16_000, OFF],
        "Longer results are cut before the model reads them, and say so.",
    ),
    "search_size": (
        "Search size",
        [1, 2, 3, 5, 8, 10, 15, 20, 30, 40, 50],
        "Books a search returns if the model does not say.",
    ),
    "max_input_tokens": (
        "Input tokens",
        [1_000, 2_000, 4_000, 8_000, 15_000, 30_000, 60_000, 100_000, OFF],
        "What is sent in all steps.",
    ),
    "repeat_nudge_at": (
        "Same call: hint at the",
        [2, 3, 4, 5, OFF],
        "This call is not run; the model is told.",
    ),
    "repeat_stop_at": ("Same call: stop at the", [2, 3, 4, 5, 6, OFF], "This call ends the run."),
}
CONTEXT: dict[str, tuple[str, list[Any], str]] = {
    "num_ctx": (
        "Context, tokens",
        [2_048, 4_096, 8_192, 16_384, 32_768, 65_536, 131_072],
        "The room for prompt and answer to ask for. More takes more memory; a change loads the model anew.",
    )
}
SHOWN_AT_ONCE = 4
"""How many of the sliders are shown without opening anything."""
SWITCHES = {
    "wrap_up": ("Wrap-up", "After a limit, one last model call without tools."),
    "think": ("Thinking", "Let the model think before it answers."),
}
DEFAULTS: dict[str, Any] = {
    name: OFF if value is None else int(value) for name, value in Limits().model_dump().items()
} | {"search_size": Settings().search_size, "num_ctx": ModelOptions().num_ctx}


def current_settings() -> Settings:
    """The settings as the sliders stand."""
    seed_settings()
    chosen = {name: st.session_state[name] for name in (*SLIDERS, *CONTEXT, *SWITCHES)}
    search_size = chosen.pop("search_size")
    options = replace(ModelOptions(), num_ctx=chosen.pop("num_ctx"), think=chosen.pop("think"))
    limits = Limits(**{name: None if value == OFF else value for name, value in chosen.items()})
    return Settings(limits, options, search_size)


@st.fragment
def draw_limits() -> None:
    """Draw the presets and a slider for each limit; moving one reruns these alone, never a run under way."""
    seed_settings()
    st.pills("Limits", list(PRESETS), key="preset", on_change=_use_preset, wrap=True, help="Named sets of limits.")
    names = list(SLIDERS)
    for name in names[:SHOWN_AT_ONCE]:
        draw_slider(name)
    with st.expander("More limits and settings"):
        for name in names[SHOWN_AT_ONCE:]:
            draw_slider(name)
        draw_switch("wrap_up")
    st.caption(_consequence(current_settings().limits))


def seed_settings() -> None:
    """Give every setting its value: of the address, or the default.

    A slider that the browser has not shown yet has no value of its own; without this it would fall to its lowest.
    """
    for name, (_, options, _) in (SLIDERS | CONTEXT).items():
        written = {_shown(option): option for option in options}
        st.session_state.setdefault(name, written.get(st.query_params.get(name, ""), DEFAULTS[name]))
    for name in SWITCHES:
        st.session_state.setdefault(name, st.query_params.get(name, "true").lower() != "false")


def draw_slider(name: str) -> None:
    """Draw the slider of one setting."""
    label, options, text = (SLIDERS | CONTEXT)[name]
    # The address names what is not the default, so the widget has to know it; a seeded value counts before it.
    st.select_slider(label, options, DEFAULTS[name], key=name, help=text, format_func=_shown, bind="query-params")


def draw_switch(name: str) -> None:
    """Draw the switch of one setting."""
    label, text = SWITCHES[name]
    st.toggle(label, True, key=name, bind="query-params", help=text)


def _use_preset() -> None:
    limits = PRESETS.get(st.session_state.preset or "")
    if limits is None:
        return
    for name in SLIDERS.keys() & limits.model_dump().keys():
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
