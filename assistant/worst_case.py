"""What one job costs at the worst, from the limits and what measured runs took.

Every request sends again all that was sent before. With T0 tokens in the first request and t more in each that
follows, N requests send N*T0 + t*N*(N-1)/2 tokens: twice the steps cost about four times as much.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from agent.guards.guard import BeforeModel, Ends, ends_of
from agent.trace import RunFinished
from agent.trace.stop_reasons import STOPS, StopReason
from agent.views.history import UNCALIBRATED_CHARS_PER_TOKEN
from agent.views.run import Tally
from agent.views.tokens import Estimate
from assistant.settings import TOOL_NAMES, Settings, instructions

MOST_CALLS = 1_000
"""A run of more model calls than this has no bound that means anything; no limit of steps is higher."""
SCHEMA_CHARS = 700
"""About what the schema and the manual of one tool take."""


@dataclass(frozen=True)
class Averages:
    """What the latest runs took, per model call but for ``first`` and ``growth``; None is not known.

    ``first`` are the tokens of the first request, estimated from its length; ``growth`` those by which each
    request was longer than the one before. ``estimated``: tokens were not all counted by the model.
    """

    runs: int
    first: float
    calls: float
    growth: float | None
    output: float | None
    seconds: float | None
    estimated: bool

    def sent(self, calls: int) -> float:
        """Input tokens of so many model calls."""
        return calls * self.first + (self.growth or 0) * calls * (calls - 1) / 2


@dataclass(frozen=True)
class Worst:
    """The most a job can come to: model calls with the wrap-up, tokens, seconds, and the limit it runs into."""

    calls: int
    input_tokens: int
    output_tokens: int
    seconds: float | None
    end: str


def averages(finished: Sequence[RunFinished]) -> Averages | None:
    """The averages of runs; None where no run has known tokens."""
    known = [(end, end.usage.input_tokens) for end in finished if end.model_calls and end.usage.input_tokens]
    if not known:
        return None
    first = (len(instructions()) + SCHEMA_CHARS * len(TOOL_NAMES)) / UNCALIBRATED_CHARS_PER_TOKEN
    # Where the estimate of the first request is above what runs of one call really sent, the runs are right.
    first = min([first, *(sent / end.model_calls for end, sent in known)])
    pairs = sum(end.model_calls * (end.model_calls - 1) / 2 for end, _ in known)
    grown = sum(sent - end.model_calls * first for end, sent in known)
    calls = sum(end.model_calls for end, _ in known)
    written = [
        (end.usage.output_tokens, end.model_calls) for end, _ in known if end.usage.output_tokens is not None
    ]
    timed = [(end.seconds, end.model_calls) for end, _ in known if end.seconds is not None]
    return Averages(
        runs=len(known),
        first=first,
        calls=calls / len(known),
        growth=grown / pairs if pairs else None,
        output=_per_call(written),
        seconds=_per_call(timed),
        estimated=any(end.usage.estimated or not end.usage_complete for end, _ in known),
    )


def ends_under(settings: Settings) -> list[Ends]:
    """How the guards of a run can end it; without a price a limit of cost holds nothing."""
    known = [ends for guard in settings.guards if (ends := ends_of(guard))]
    return [ends for ends in known if ends.reason != "max_cost" or settings.prices]


def at_most(settings: Settings) -> list[str]:
    """The most that each limit lets a run take, in words."""
    return [ends.most for ends in ends_under(settings) if ends.most]


def worst_case(settings: Settings, measured: Averages) -> Worst | None:
    """The longest run the guards allow if it goes on as the measured ones did; None if nothing bounds it."""
    for calls in range(MOST_CALLS + 1):
        if reason := _stop_after(calls, settings, measured):
            break
    else:
        return None
    stop, limits = STOPS[reason], settings.limits
    total = calls + (limits.wrap_up and stop.wraps_up)
    seconds = None if measured.seconds is None else total * measured.seconds
    if limits.max_seconds is not None:
        seconds = min(limits.max_seconds, seconds or limits.max_seconds)
    output = round(total * (measured.output or 0.0))
    return Worst(total, round(measured.sent(total)), output, seconds, stop.label.lower())


def _stop_after(calls: int, settings: Settings, measured: Averages) -> StopReason | None:
    """For what reason a guard forbids one more model call after so many, if one does."""
    run = Tally()
    run.prices, run.steps = settings.prices, calls
    run.spent_input_tokens = round(measured.sent(calls))
    run.spent_tokens = run.spent_input_tokens + round(calls * (measured.output or 0.0))
    request = Estimate(0, round(measured.sent(calls + 1)) - run.spent_input_tokens, calibrated=True)
    moment = BeforeModel(calls * (measured.seconds or 0.0), request)
    decisions = (guard(moment, run) for guard in settings.guards)
    return next((found.stop_reason for found in decisions if found and found.stop_reason), None)


def _per_call(sums: Sequence[tuple[float, int]]) -> float | None:
    calls = sum(calls for _, calls in sums)
    return sum(value for value, _ in sums) / calls if calls else None
