"""Guards: small policies in a list, asked at four moments; silent, or deciding.

A guard looks at the moment and at the run's tally, and keeps no state of its own. To add a policy, write
one class or function of this shape and put it in the list.
"""

from dataclasses import dataclass

from agent.corrections import correction, why_unusable
from agent.limits import Limits
from agent.moments import BeforeAnswer, BeforeModel, BeforeTool, Decision, Guard, Moment
from agent.shapes import StopReason
from agent.tally import Tally
from agent.text import counted


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
class SameWriteInReply:
    """Runs a write that stands twice in one reply once; a doubled call is how servers and models stutter."""

    def __call__(self, moment: Moment, run: Tally) -> Decision | None:
        if not isinstance(moment, BeforeTool) or moment.fingerprint not in run.writes_of_reply:
            return None
        result = run.writes_of_reply[moment.fingerprint]
        why = f"Done once already for this reply. The result was: {result} To do it again, call it in a next step."
        return Decision("same_write_in_reply", "replay", 2, 1, why, result=why)


@dataclass(frozen=True)
class UnusableReply:
    """Asks again, a bounded number of times, for a reply that is neither an answer nor a call that can run."""

    corrections: int

    def __call__(self, moment: Moment, run: Tally) -> Decision | None:
        if not isinstance(moment, BeforeAnswer) or moment.reply.unusable is None:
            return None
        reply, tries = moment.reply, run.corrections + 1
        if run.corrections >= self.corrections:
            asked = counted(tries, "time")
            why = f"the model gave no answer and no usable call, asked {asked}; {why_unusable(reply)}"
            return _stop("empty_answer", tries, self.corrections, why)
        return Decision("unusable_reply", "nudge", tries, self.corrections, correction(reply, moment.tools))


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
    if limits.same_write_once:
        guards.append(SameWriteInReply())
    return [*guards, UnusableReply(limits.max_corrections)]


def _stop(reason: StopReason, value: float, threshold: float, why: str) -> Decision:
    return Decision(reason, "stop", value, threshold, why, stop_reason=reason)
