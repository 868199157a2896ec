"""What is measured, as figures beside a baseline from the same run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, NamedTuple

from agent.views.frames import Columns, frame

if TYPE_CHECKING:
    from pandas import DataFrame


class Figure(NamedTuple):
    """One measurement: ours and the baseline in ``unit``; the target is the most that ``of`` may be."""

    name: str
    unit: str
    ours: float
    baseline: float | None = None
    target: float | None = None
    of: Literal["ratio", "ours"] = "ratio"


COLUMNS: Columns = {
    "name": ("string", "what was measured"),
    "unit": ("string", "of ours and the baseline"),
    "ours": ("Float64", "what it is with us"),
    "baseline": ("Float64", "what it is without"),
    "target": ("Float64", "the most that may be"),
    "of": ("string", "what the target is for: ratio or ours"),
}
"""The columns of what was measured; ``results`` adds the ratio and whether the target is met."""


def results(figures: Iterable[Figure]) -> DataFrame:
    """The figures as a DataFrame with their ``ratio``, and ``met``, missing where there is no target."""
    found = frame(COLUMNS, (figure._asdict() for figure in figures))
    ratio = found["ours"] / found["baseline"]
    judged = found["ours"].where(found["of"] == "ours", ratio)
    return found.assign(ratio=ratio, met=judged <= found["target"])


def table(found: DataFrame) -> str:
    """The results in aligned columns: words to the left, numbers to the right."""
    unit = found["unit"].radd(" ").mask(found["of"] == "ratio", "x")
    numbers = {name: found[name].map(_number, na_action="ignore") for name in ("ours", "baseline", "ratio")}
    target = found["target"].map("≤ {:g}".format, na_action="ignore").astype("string") + unit
    met = found["met"].map({True: "yes", False: "no"})
    shown = found[["name", "unit"]].rename(columns={"name": "what"}).assign(**numbers, target=target, met=met)
    shown = shown.astype("string").fillna("–")
    for name in ("what", "unit"):
        width = max(shown[name].str.len().max(), len(name))
        shown = shown.assign(**{name: shown[name].str.ljust(width)}).rename(columns={name: name.ljust(width)})
    return str(shown.to_string(index=False))


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.3g}"
