"""The trials of the experiment on stale facts summed up: rates with their intervals, and what each cure costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import sqrt
from typing import TYPE_CHECKING, Any

from assistant.cures import Cure
from lab.stale import HANDLINGS, OUTCOMES, Trial

if TYPE_CHECKING:
    from pandas import DataFrame

RATED, ENDS = ("fresh", "stale", "hedged"), ("low", "high")
TITLES = {True: "The cart had changed", False: "Nothing had changed"}
Z = 1.959964
"""Of the normal distribution, for 95 %."""


def rates(trials: Sequence[Trial]) -> DataFrame:
    """A row for each cure that was tried, with a change and without (``changed``).

    Counts of ``trials``, of outcomes and of how answers were handled; rates from 0 to 1, with the ends
    ``_low`` and ``_high`` of their 95 % intervals; sums of calls (of model and tools), tokens (input and output),
    seconds and requests that lost the server's cache; and what was ``added_`` to history, per trial on average.
    """
    from pandas import DataFrame

    each = DataFrame([{**vars(trial), "cure": str(trial.cure), "changed": trial.changed} for trial in trials])
    came_out = {name: each["outcome"] == name for name in OUTCOMES}
    was_handled = {name: each["handling"] == name for name in HANDLINGS}
    groups = each.assign(trials=1, **came_out, **was_handled).groupby(["cure", "changed"], sort=False)
    spent = ["calls", "tokens", "prefix_lost"]
    sums = groups[["trials", *OUTCOMES, *spent, "seconds", *HANDLINGS]].sum()
    means = groups[spent].mean()
    usual = means.xs("history").reindex(means.index.get_level_values("changed"))
    sums[[f"added_{name}" for name in spent]] = means - usual.to_numpy()
    for name in RATED:
        bounds = [wilson(*counts) for counts in zip(sums[name], sums["trials"], strict=True)]
        sums[f"{name}_rate"] = sums[name] / sums["trials"]
        sums[[f"{name}_{end}" for end in ENDS]] = bounds
    return sums.reset_index().sort_values("changed", ascending=False, kind="stable", ignore_index=True)


def wilson(hits: int, trials: int) -> tuple[float, float]:
    """The 95 % interval of a rate after Wilson; from 0 to 1 where nothing was tried."""
    if not trials:
        return 0.0, 1.0
    rate, z2 = hits / trials, Z * Z
    middle = (rate + z2 / (2 * trials)) / (1 + z2 / trials)
    half = Z * sqrt(rate * (1 - rate) / trials + z2 / (4 * trials * trials)) / (1 + z2 / trials)
    return round(max(0.0, middle - half), 6), round(min(1.0, middle + half), 6)


def rates_json(table: DataFrame) -> Iterator[dict[str, Any]]:
    """The rows for other programs: the rate and the interval of each outcome stand together under ``rates``."""
    digits = {"seconds": 3, "added_calls": 3, "added_tokens": 1, "added_prefix_lost": 3}
    for row in table.round(digits).to_dict("records"):
        row["rates"] = {
            name: {"rate": row.pop(f"{name}_rate"), "interval_95": [row.pop(f"{name}_{end}") for end in ENDS]}
            for name in RATED
        }
        yield row


def shown(table: DataFrame) -> Mapping[str, DataFrame]:
    """The rates as people read them, by the title of the table: with a change and without."""
    low, high = (table[name].map("{:.0%}".format) for name in ("stale_low", "stale_high"))
    columns = {
        "Cure": table["cure"],
        "Trials": table["trials"],
        "Fresh": table["fresh"],
        "Stale": table["stale"],
        "Stale, 95 %": low + " to " + high,
        "Hedged": table["hedged"],
        "Calls added": table["added_calls"].round(2),
        "Tokens added": table["added_tokens"].round().astype(int),
        "Cache lost, added": table["added_prefix_lost"].round(2),
    }
    whole = type(table)(columns)
    return {title: whole[table["changed"] == changed] for changed, title in TITLES.items()}


def handled(table: DataFrame) -> str:
    """What ``verify`` did to its answers where the cart had changed, in words; nothing if it was not tried."""
    for row in table[(table["cure"] == "verify") & table["changed"]].to_dict("records"):
        return f"What verify did to its answers: {', '.join(f'{row[name]} {name}' for name in HANDLINGS)}."
    return ""


def examples_of(trials: Sequence[Trial]) -> list[Trial]:
    """The first trial of each change under each cure: the same question, side by side."""
    first: dict[tuple[str, Cure], Trial] = {}
    for trial in trials:
        first.setdefault((trial.change, trial.cure), trial)
    return list(first.values())


def example_json(trial: Trial) -> dict[str, Any]:
    """One trial for other programs."""
    return {**vars(trial), "cure": str(trial.cure)}
