"""The trials of the experiment on stale facts summed up: rates with their intervals, and what each cure costs."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assistant.freshness import Cure
from lab.intervals import wilson
from lab.stale import Trial


@dataclass(frozen=True)
class CureRow:
    """All trials of one cure, with a change or without.

    What is ``added`` is per trial, on average, over ``history`` on the same trials: calls of model and tools,
    tokens of input and output, and requests for which the server's cache of the prompt was lost.
    """

    cure: Cure
    changed: bool
    trials: tuple[Trial, ...]
    added_calls: float
    added_tokens: float
    added_lost: float

    def count(self, outcome: str) -> int:
        """How many trials came out so."""
        return sum(trial.outcome == outcome for trial in self.trials)

    def json(self) -> dict[str, Any]:
        """The row for other programs: counts, rates and their 95 % intervals from 0 to 1."""
        counts, most = {name: self.count(name) for name in ("fresh", "stale", "hedged", "none")}, len(self.trials)
        handled = Counter(trial.handling for trial in self.trials)
        rates = {
            name: {"rate": counts[name] / most if most else None, "interval_95": list(wilson(counts[name], most))}
            for name in ("fresh", "stale", "hedged")
        }
        return {
            "cure": str(self.cure),
            "changed": self.changed,
            "trials": most,
            **counts,
            "rates": rates,
            "calls": sum(trial.calls for trial in self.trials),
            "tokens": sum(trial.tokens for trial in self.trials),
            "seconds": round(sum(trial.seconds for trial in self.trials), 3),
            "added_calls": round(self.added_calls, 3),
            "added_tokens": round(self.added_tokens, 1),
            "added_prefix_lost": round(self.added_lost, 3),
            "prefix_lost": sum(trial.prefix_lost for trial in self.trials),
            **{name: handled[name] for name in ("untouched", "regenerated", "corrected")},
        }


def rows_of(trials: Sequence[Trial]) -> list[CureRow]:
    """A row for each cure that was tried, with a change and without."""
    rows = []
    for changed in (True, False):
        plain = _of(trials, Cure.HISTORY, changed=changed)
        for cure in dict.fromkeys(trial.cure for trial in trials):
            own = _of(trials, cure, changed=changed)
            added = [_mean(own, name) - _mean(plain, name) for name in ("calls", "tokens", "prefix_lost")]
            rows.append(CureRow(cure, changed, own, *added))
    return rows


def examples_of(trials: Sequence[Trial]) -> list[Trial]:
    """The first trial of each change under each cure: the same question, side by side."""
    first: dict[tuple[str, Cure], Trial] = {}
    for trial in trials:
        first.setdefault((trial.change, trial.cure), trial)
    return list(first.values())


def example_json(trial: Trial) -> dict[str, Any]:
    """One trial for other programs."""
    return {**vars(trial), "cure": str(trial.cure)}


def _of(trials: Sequence[Trial], cure: Cure, *, changed: bool) -> tuple[Trial, ...]:
    return tuple(trial for trial in trials if trial.cure is cure and trial.changed is changed)


def _mean(trials: Sequence[Trial], name: str) -> float:
    return sum(getattr(trial, name) for trial in trials) / len(trials) if trials else 0.0
