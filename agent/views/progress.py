"""Whether a run gets anywhere: what it asked for again, what was news to it, what failed, what it wrote."""

from collections import Counter
from dataclasses import dataclass, field
from hashlib import sha256
from typing import NamedTuple

from agent.trace import ToolFinished

PERIODS = (2, 3)
"""Lengths of the circles a run may go round in; of one it is the identical call."""


class Written(NamedTuple):
    """A write that took effect: what the model was told, and what it changed."""

    result: str
    resources: frozenset[str]


class Circle(NamedTuple):
    """Calls in a row that go round in a circle of ``period`` different calls: A B A B are four with period two."""

    calls: int
    period: int


@dataclass
class Progress:
    """Folded from results; calls are told apart by their fingerprints, and any change of the shop is progress.

    ``repeats``: how often a call was asked for. ``failed``: tools that broke, in a row; ``bad_calls``: calls that
    could not run or that the tool refused, in a row. ``without_news``: results in a row that told nothing new.
    ``written``: the writes whose effect still stands.
    """

    written: dict[str, Written] = field(default_factory=dict)
    repeats: Counter[str] = field(default_factory=Counter)
    sequence: list[str] = field(default_factory=list)
    failed: int = 0
    bad_calls: int = 0
    without_news: int = 0
    _known: set[str] = field(default_factory=set)

    def add(self, result: ToolFinished) -> None:
        """Take the result of a call."""
        if result.not_run in ("unknown_tool", "bad_arguments"):
            self.bad_calls += 1
            return
        if result.not_run == "run_ended":
            return
        self.repeats[result.fingerprint] += 1
        if not result.ran:
            self.sequence.append(result.fingerprint)
            return
        self._count_failure(result)
        if result.ok and result.side_effecting:
            changed = frozenset(
                {change.resource for change in result.changes} | {f.resource for f in result.reads}
            )
            self.written[result.fingerprint] = Written(result.result, changed)
            self.forget_reads()
        elif result.ok:
            self._look_for_news(result)
        self.sequence.append(result.fingerprint)

    def shop_changed(self, resource: str) -> None:
        """Somebody else changed something: a write to it may be due again, and every read may tell news."""
        self.written = {mark: done for mark, done in self.written.items() if resource not in done.resources}
        self.forget_reads()

    def forget_reads(self) -> None:
        """Start looking anew: after a change the same question may have a new answer.

        But the same write stays a repetition.
        """
        self.repeats = Counter({mark: n for mark, n in self.repeats.items() if mark in self.written})
        self.sequence, self._known, self.without_news = [], set(), 0

    def circle(self, mark: str) -> Circle | None:
        """The longest circle that ends with the call that is coming."""
        calls = [*self.sequence, mark]
        circles = [_circle(calls, period) for period in PERIODS]
        return max((circle for circle in circles if circle), default=None)

    def _count_failure(self, result: ToolFinished) -> None:
        if result.ok:
            self.failed = self.bad_calls = 0
        elif result.refused:  # a tool that says no works
            self.failed, self.bad_calls = 0, self.bad_calls + 1
        else:
            self.failed += 1

    def _look_for_news(self, result: ToolFinished) -> None:
        told = told_by(result)
        self.without_news = 0 if told - self._known else self.without_news + 1
        self._known |= told


def told_by(result: ToolFinished) -> set[str]:
    """What a result tells, whatever its wording: the things it names and the facts it read, else its very text."""
    told = {*result.found, *(f"{fact.resource} is {fact.value}" for fact in result.reads)}
    return told or {sha256(result.result.encode()).hexdigest()}


def _circle(calls: list[str], period: int) -> Circle | None:
    pairs = zip(reversed(calls), reversed(calls[:-period]), strict=False)
    again = 0
    for later, earlier in pairs:
        if later != earlier:
            break
        again += 1
    return Circle(again + period, period) if again and len(set(calls[-period:])) > 1 else None
