"""What one job costs at the worst, from the limits and what measured runs took.

Every request sends again all that was sent before. With T0 tokens in the first request and t more in each that
follows, N requests send N*T0 + t*N*(N-1)/2 tokens: twice the steps cost about four times as much.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agent.trace import RunFinished
from agent.views.history import UNCALIBRATED_CHARS_PER_TOKEN
from assistant.settings import TOOL_NAMES, Settings, instructions

MOST_CALLS = 10_000
"""A run of more model calls than this has no bound that means anything."""
SCHEMA_CHARS = 700
"""About what the schema and the manual of one tool take."""

End = Literal["steps", "tokens", "input tokens", "cost", "seconds", "context", "none"]


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
    end: End


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


def worst_case(settings: Settings, measured: Averages) -> Worst | None:
    """The longest run the limits allow if it goes on as the measured ones did; None if nothing bounds it."""
    limits, output = settings.limits, measured.output or 0.0
    for calls in range(MOST_CALLS):
        end = _ends_after(calls, settings, measured)
        if end != "none":
            break
    else:
        return None
    wraps_up = limits.wrap_up and end not in ("seconds", "context")
    total = calls + wraps_up
    seconds = None if measured.seconds is None else total * measured.seconds
    if limits.max_seconds is not None:
        seconds = min(limits.max_seconds, seconds or limits.max_seconds)
    return Worst(total, round(measured.sent(total)), round(total * output), seconds, end)


def _ends_after(calls: int, settings: Settings, measured: Averages) -> End:
    """Which limit forbids one more model call after so many; "none" if none does."""
    limits, output = settings.limits, measured.output or 0.0
    sent, spent = measured.sent(calls + 1), calls * output
    if limits.max_steps is not None and calls >= limits.max_steps:
        return "steps"
    if limits.max_tokens is not None and sent + spent > limits.max_tokens:
        return "tokens"
    if limits.max_input_tokens is not None and sent > limits.max_input_tokens:
        return "input tokens"
    cost = settings.prices.cost(round(sent), round(spent)) if settings.prices else None
    if limits.max_cost is not None and cost is not None and cost > limits.max_cost:
        return "cost"
    if limits.max_seconds is not None and measured.seconds and calls * measured.seconds >= limits.max_seconds:
        return "seconds"
    if measured.growth and measured.first + measured.growth * calls > settings.options.num_ctx:
        return "context"
    return "none"


def _per_call(sums: Sequence[tuple[float, int]]) -> float | None:
    calls = sum(calls for _, calls in sums)
    return sum(value for value, _ in sums) / calls if calls else None
