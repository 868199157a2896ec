"""Guards: small policies in a list, asked at four moments; silent, or deciding.

A guard looks at the moment and at the run's tally, and keeps no state of its own. To add a policy, write
one class or function of this shape and put it in the list.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from agent.limits import Limits
from agent.meter import Estimate
from agent.shapes import StopReason, ToolCall
from agent.tally import Tally
from agent.text import counted
from agent.trace import ToolFinished


@dataclass(frozen=True)
class BeforeModel:
    """A request is about to be sent."""

    elapsed: float
    estimate: Estimate


@dataclass(frozen=True)
class BeforeTool:
    """A call is about to run: repaired, or as the model wrote it if it cannot run."""

    elapsed: float
    call: ToolCall
    fingerprint: str


@dataclass(frozen=True)
class AfterTool:
    """A call has its result."""

    elapsed: float
    finished: ToolFinished


@dataclass(frozen=True)
class BeforeAnswer:
    """The model made no call: ``text`` is about to become the answer."""

    elapsed: float
    text: str


Moment = BeforeModel | BeforeTool | AfterTool | BeforeAnswer


@dataclass(frozen=True)
class Decision:
    """What a guard decides, with the value it looked at; ``reason`` is read by the model and by people.

    nudge: the call is not run (or the answer not taken) and the model reads the reason; replay: not run, the
    model reads ``result``; block: this call only; stop: the run ends with ``stop_reason``.
    """

    guard: str
    action: Literal["nudge", "replay", "block", "stop"]
    value: float
    threshold: float
    reason: str
    stop_reason: StopReason | None = None
    result: str | None = None


class Stop(Exception):
    """The run ends early, for a reason of the closed list; ``why`` completes "I stopped: ..."."""

    def __init__(self, reason: StopReason, why: str) -> None:
        super().__init__(why)
        self.reason = reason
        self.why = why


Guard = Callable[[Moment, Tally], Decision | None]


@dataclass(frozen=True)
class MaxSteps:
    limit: int

    def __call__(self, moment: Moment, run: Tally) -> Decision | None:
        if isinstance(moment, BeforeModel) and run.steps >= self.limit:
            return _stop(
                "max_steps", run.steps, self.limit, f"the limit of {counted(self.limit, 'step')} was reached"
            )
        return None


@dataclass(frozen=True)
class MaxToolCalls:
    limit: int

    def __call__(self, moment: Moment, run: Tally) -> Decision | None:
        if isinstance(moment, BeforeTool) and run.tool_calls >= self.limit:
            why = f"the limit of {counted(self.limit, 'tool call')} was reached"
            return _stop("max_tool_calls", run.tool_calls, self.limit, why)
        return None


@dataclass(frozen=True)
class TokenBudget:
    """Stops before a request that would pass the budget, going by its estimated size."""

    limit: int
    counts_output: bool

    def __call__(self, moment: Moment, run: Tally) -> Decision | None:
        if not isinstance(moment, BeforeModel):
            return None
        spent = run.spent_tokens if self.counts_output else run.spent_input_tokens
        needed = spent + moment.estimate.total
        if needed <= self.limit:
            return None
        what = "tokens" if self.counts_output else "input tokens"
        why = f"the next request would bring the run to about {needed:,} {what}; the limit is {self.limit:,}"
        return _stop("max_tokens" if self.counts_output else "max_input_tokens", needed, self.limit, why)


@dataclass(frozen=True)
class MaxSeconds:
    """Stops between calls; within a call the same deadline is given to the model and to the tool."""

    limit: float

    def __call__(self, moment: Moment, run: Tally) -> Decision | None:  # noqa: ARG002
        if isinstance(moment, BeforeModel | BeforeTool) and moment.elapsed >= self.limit:
            why = f"the time limit of {counted(self.limit, 'second')} was reached"
            return _stop("max_seconds", round(moment.elapsed, 1), self.limit, why)
        return None


@dataclass(frozen=True)
class RepeatedCall:
    """Refuses the identical call, first with a hint, then by ending the run."""

    nudge_at: int | None
    stop_at: int | None

    def __call__(self, moment: Moment, run: Tally) -> Decision | None:
        if not isinstance(moment, BeforeTool):
            return None
        before = run.repeats[moment.fingerprint]
        name = moment.call.name
        if self.stop_at and before + 1 >= self.stop_at:
            why = f"the model asked for the same {name} call {before + 1} times"
            return _stop("repeated_call", before + 1, self.stop_at, why)
        if self.nudge_at is None or before + 1 < self.nudge_at:
            return None
        why = (
            f"GUARD: not run. You already called {name} with these arguments {before} times and nothing has "
            "changed since. Use the results you have, make a different call, or answer the user now."
        )
        return Decision("repeated_call", "nudge", before + 1, self.nudge_at, why)


@dataclass(frozen=True)
class EmptyAnswer:
    """Asks again for an answer that is blank, a bounded number of times."""

    corrections: int

    def __call__(self, moment: Moment, run: Tally) -> Decision | None:
        if not isinstance(moment, BeforeAnswer) or moment.text.strip():
            return None
        if run.corrections >= self.corrections:
            why = f"the model gave no answer and no usable call, asked {counted(run.corrections + 1, 'time')}"
            return _stop("empty_answer", run.corrections + 1, self.corrections, why)
        why = "Your last reply was empty. Call one of the tools, or answer the user in plain words."
        return Decision("empty_answer", "nudge", run.corrections + 1, self.corrections, why)


def guards_for(limits: Limits) -> list[Guard]:
    """The guards that hold a run to its limits; a limit that is off has no guard."""
    guards: list[Guard] = []
    if limits.max_steps is not None:
        guards.append(MaxSteps(limits.max_steps))
    if limits.max_seconds is not None:
        guards.append(MaxSeconds(limits.max_seconds))
    if limits.max_tokens is not None:
        guards.append(TokenBudget(limits.max_tokens, counts_output=True))
    if limits.max_input_tokens is not None:
        guards.append(TokenBudget(limits.max_input_tokens, counts_output=False))
    if limits.max_tool_calls is not None:
        guards.append(MaxToolCalls(limits.max_tool_calls))
    if (limits.repeat_nudge_at, limits.repeat_stop_at) != (None, None):
        guards.append(RepeatedCall(limits.repeat_nudge_at, limits.repeat_stop_at))
    return [*guards, EmptyAnswer(limits.max_corrections)]


def _stop(reason: StopReason, value: float, threshold: float, why: str) -> Decision:
    return Decision(reason, "stop", value, threshold, why, stop_reason=reason)
