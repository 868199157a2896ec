"""The tokens of each step as a chart: sent again, new and written, with the running total against the limit."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import streamlit as st

from agent.trace import AnyEvent
from ui.token_counts import StepTokens, step_tokens

AGAIN, NEW, WRITTEN = "sent again", "new", "written"
COLORS = {AGAIN: "#8a9bb5", NEW: "#3b7dd8", WRITTEN: "#d98324"}
TOTAL_COLOR = "#b0413e"
STEP_AXIS = {"field": "step", "type": "ordinal", "title": None, "sort": None, "axis": {"labelAngle": 0}}


def draw_token_chart(events: Sequence[AnyEvent], limit: int | None, key: str) -> None:
    """Draw the tokens of a run; ``limit`` is that of the whole run. The caption says the same in words."""
    steps = step_tokens(events)
    if not steps:
        st.caption("The tokens of each step appear here.")
        return
    words = in_words(steps, limit)
    st.vega_lite_chart(rows(steps), spec(steps, limit), width="stretch", key=key, alt=words)
    st.caption(words)


def rows(steps: Sequence[StepTokens]) -> list[dict[str, Any]]:
    """The chart's data: a row for each part of each step."""
    totals = accumulate(step.total for step in steps)
    return [
        {"step": step.name, "part": part, "tokens": tokens, "order": order, "total": total}
        for step, total in zip(steps, totals, strict=True)
        for order, (part, tokens) in enumerate(
            [(AGAIN, step.again), (NEW, step.new), (WRITTEN, step.written or 0)]
        )
    ]


def spec(steps: Sequence[StepTokens], limit: int | None) -> dict[str, Any]:
    """The Vega-Lite chart; a dictionary, as building it with Altair takes ten times as long on every tick."""
    total = sum(step.total for step in steps)
    tallest = max(step.total for step in steps)
    per_step = {"title": "tokens a step", "format": "~s"}
    axis = {"title": "running total", "format": "~s", "titleColor": TOTAL_COLOR, "grid": False}
    running = {"type": "quantitative", "scale": _from_zero(max(total, limit or 0)), "axis": axis}
    bars = {
        "mark": {"type": "bar", "cornerRadiusEnd": 2},
        "encoding": {
            "x": STEP_AXIS,
            "y": {"field": "tokens", "type": "quantitative", "scale": _from_zero(tallest), "axis": per_step},
            "color": {
                "field": "part",
                "type": "nominal",
                "title": None,
                "scale": {"domain": list(COLORS), "range": list(COLORS.values())},
                "legend": {"orient": "top"},
            },
            "order": {"field": "order"},
            "tooltip": [{"field": "step"}, {"field": "part"}, {"field": "tokens", "format": ","}],
        },
    }
    line = {
        "mark": {
            "type": "line",
            "color": TOTAL_COLOR,
            "strokeWidth": 1.5,
            "point": {"color": TOTAL_COLOR, "size": 20},
        },
        "encoding": {"x": STEP_AXIS, "y": {"field": "total", "aggregate": "max", **running}},
    }
    layers = [line]
    if limit:
        rule = {"type": "rule", "color": TOTAL_COLOR, "strokeDash": [6, 4]}
        layers.append({"mark": rule, "encoding": {"y": {"datum": limit, **running}}})
    return {"height": 200, "layer": [bars, {"layer": layers}], "resolve": {"scale": {"y": "independent"}}}


def _from_zero(highest: int) -> dict[str, Any]:
    return {"domain": [0, max(highest * 1.08, 1)]}


def in_words(steps: Sequence[StepTokens], limit: int | None) -> str:
    """What the chart shows, for who cannot see it."""
    total = sum(step.total for step in steps)
    again = sum(step.again for step in steps)
    mark = "about " if any(step.estimated for step in steps) else ""
    of_limit = f" of {limit:,}" if limit else ""
    calls = f"{len(steps)} model {'call' if len(steps) == 1 else 'calls'}"
    return f"{mark}{total:,}{of_limit} tokens in {calls}; {again:,} of them were sent before and sent again."
