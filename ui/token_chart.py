"""The tokens of each step as a chart: sent again, new and written, with the running total against the limit."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import pyarrow
import streamlit as st

from agent.trace import AnyEvent
from ui.token_counts import StepTokens, step_tokens

AGAIN, NEW, WRITTEN = "sent again", "new", "written"
COLORS = {AGAIN: "#8a9bb5", NEW: "#3b7dd8", WRITTEN: "#d98324"}
LIMIT_COLOR = "#d9534f"
STEP_AXIS = {"field": "step", "type": "ordinal", "title": None, "sort": None, "axis": {"labelAngle": 0}}


def draw_token_chart(events: Sequence[AnyEvent], limit: int | None, key: str) -> None:
    """Draw the tokens of a run, and their running total against ``limit``; the caption says the same in words."""
    steps = step_tokens(events)
    if not steps:
        st.caption("The tokens of each step appear here.")
        return
    words = in_words(steps, limit)
    st.vega_lite_chart(part_rows(steps), bars(steps), width="stretch", key=key, alt=words)
    total_words = "The running total of tokens" + (f" against the limit of {limit:,}." if limit else ".")
    st.vega_lite_chart(
        total_rows(steps), totals(steps, limit), width="stretch", key=f"{key}-total", alt=total_words
    )
    st.caption(words)


def part_rows(steps: Sequence[StepTokens]) -> pyarrow.Table:
    """The data of the bars: a row for each part of each step."""
    parts = ((AGAIN, "again"), (NEW, "new"), (WRITTEN, "written"))
    return pyarrow.Table.from_pylist(
        [
            {"step": step.name, "part": part, "tokens": getattr(step, field) or 0, "order": order}
            for step in steps
            for order, (part, field) in enumerate(parts)
        ]
    )


def total_rows(steps: Sequence[StepTokens]) -> pyarrow.Table:
    """The data of the line: the tokens up to each step."""
    totals = accumulate(step.total for step in steps)
    return pyarrow.Table.from_pylist(
        [{"step": step.name, "total": total} for step, total in zip(steps, totals, strict=True)]
    )


# The charts are dictionaries: building them with Altair takes ten times as long on every tick.
def bars(steps: Sequence[StepTokens]) -> dict[str, Any]:
    """A bar for each step: what was sent again, what was new, what the model wrote."""
    tallest = max(step.total for step in steps)
    return {
        "height": 250,
        "mark": {"type": "bar", "cornerRadiusEnd": 2},
        "encoding": {
            "x": STEP_AXIS,
            "y": {
                "field": "tokens",
                "type": "quantitative",
                "scale": _from_zero(tallest),
                "axis": {"title": "tokens", "format": "~s", "tickCount": 4},
            },
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


def totals(steps: Sequence[StepTokens], limit: int | None) -> dict[str, Any]:
    """The running total as a line, and the limit of the run as another."""
    total = sum(step.total for step in steps)
    y = {"type": "quantitative", "scale": _from_zero(max(total, limit or 0))}
    axis = {"title": "in all", "format": "~s", "tickCount": 3}
    line = {
        "mark": {"type": "area", "line": True, "point": True, "opacity": 0.35, "color": COLORS[NEW]},
        "encoding": {
            "x": STEP_AXIS,
            "y": {"field": "total", "axis": axis, **y},
            "tooltip": [{"field": "step"}, {"field": "total", "format": ","}],
        },
    }
    if not limit:
        return {"height": 150, "layer": [line]}
    at_limit = {"y": {"datum": limit, **y}}
    rule = {"type": "rule", "color": LIMIT_COLOR, "strokeDash": [6, 4], "strokeWidth": 2}
    label = {"type": "text", "text": f"limit {limit:,}", "color": LIMIT_COLOR, "dy": 9, "x": 4, "align": "left"}
    return {
        "height": 150,
        "layer": [line, {"mark": rule, "encoding": at_limit}, {"mark": label, "encoding": at_limit}],
    }


def _from_zero(highest: int) -> dict[str, Any]:
    return {"domain": [0, max(highest * 1.08, 1)]}


def in_words(steps: Sequence[StepTokens], limit: int | None) -> str:
    """What the chart shows, for who cannot see it."""
    total = sum(step.total for step in steps)
    again = sum(step.again for step in steps)
    mark = "About " if any(step.estimated for step in steps) else ""
    of_limit = f" of {limit:,}" if limit else ""
    calls = f"{len(steps)} model {'call' if len(steps) == 1 else 'calls'}"
    return f"{mark}{total:,}{of_limit} tokens in {calls}; {again:,} of them were sent before and sent again."
