"""The tokens of each step as a chart: sent again, new and written, with the running total against the limit."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from agent.text import counted
from agent.trace import AnyEvent
from agent.views import frames

AGAIN, NEW, WRITTEN = "sent again", "new", "written"
COLORS = {AGAIN: "#8a9bb5", NEW: "#3b7dd8", WRITTEN: "#d98324"}
LIMIT_COLOR = "#d9534f"
STEP_AXIS = {"field": "step", "type": "ordinal", "title": None, "sort": None, "axis": {"labelAngle": 0}}


@dataclass(frozen=True)
class TokenChart:
    """What is drawn of the tokens of a run: rows in Arrow's form, the two charts of them, and the same in words.

    The charts are dictionaries: building them with Altair takes ten times as long.
    """

    rows: Any
    bars: dict[str, Any]
    totals: dict[str, Any]
    words: str
    total_words: str


def token_chart(events: Sequence[AnyEvent], limit: int | None) -> TokenChart | None:
    """The chart of a run's tokens against ``limit``; None before its first model call."""
    steps = frames.steps(events)
    if steps.empty:
        return None
    from pyarrow import Table

    written = steps["output"].fillna(0)
    rows = steps[["resent", "new", "running"]].set_axis([AGAIN, NEW, "total"], axis=1)
    names = steps["step"].astype("string").mask(steps["wrap_up"], "wrap-up")
    tallest, total = int((steps["input"] + written).max()), int(steps["running"].iloc[-1])
    mark = "About " if steps["estimated"].any() else ""
    of_limit = f" of {limit:,}" if limit else ""
    again = f"{steps['resent'].sum():,} of them were sent before and sent again"
    return TokenChart(
        rows=Table.from_pandas(rows.assign(step=names, **{WRITTEN: written}), preserve_index=False),
        bars=bars(tallest),
        totals=totals(total, limit),
        words=f"{mark}{total:,}{of_limit} tokens in {counted(len(steps), 'model call')}; {again}.",
        total_words="The running total of tokens" + (f" against the limit of {limit:,}." if limit else "."),
    )


def draw_token_chart(chart: TokenChart | None, key: str) -> None:
    """Draw the tokens of a run and their running total; the caption says the same in words."""
    if chart is None:
        st.caption("The tokens of each step appear here.")
        return
    st.vega_lite_chart(chart.rows, chart.bars, width="stretch", key=key, alt=chart.words)
    st.vega_lite_chart(chart.rows, chart.totals, width="stretch", key=f"{key}-total", alt=chart.total_words)
    st.caption(chart.words)


def bars(tallest: int) -> dict[str, Any]:
    """A bar for each step: what was sent again, what was new, what the model wrote."""
    parts = list(COLORS)
    return {
        "height": 250,
        "transform": [
            {"fold": parts, "as": ["part", "tokens"]},
            {"calculate": f"indexof({parts}, datum.part)", "as": "order"},
        ],
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
                "scale": {"domain": parts, "range": list(COLORS.values())},
                "legend": {"orient": "top"},
            },
            "order": {"field": "order"},
            "tooltip": [{"field": "step"}, {"field": "part"}, {"field": "tokens", "format": ","}],
        },
    }


def totals(total: int, limit: int | None) -> dict[str, Any]:
    """The running total as a line, and the limit of the run as another."""
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
