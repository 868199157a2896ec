"""Guards: small policies in a list, asked at four moments; silent, or deciding.

A guard looks at the moment and at the run's tally, and keeps no state of its own. To add a policy, write
one class or function of this shape and put it in the list. The budgets are in ``agent.budgets``; here are the
guards against runs that get nowhere. They end a run only after the model has read their hint: all calls of one
reply are made before that.
"""

from dataclasses import dataclass

from agent.budgets import MaxCost, MaxSeconds, MaxSteps, MaxToolCalls, TokenBudget, ToolCap, stop
from agent.corrections import correction, why_unusable
from agent.limits import Limits
from agent.moments import AfterTool, BeforeAnswer, BeforeTool, Decision, Guard, Moment
from agent.text import counted
from agent.trace import StopReason
from agent.views.run import Tally

WHAT_NOW = "Use the results you have, make a different call, or answer the user now."


@dataclass(frozen=True)
class RepeatedCall:
    """Refuses the identical call, first with a hint, then by ending the run."""

    nudge_at: int | None
    stop_at: int | None
    name: StopReason = "repeated_call"

    def __call__(self, moment: Moment, run: Tally) -> Decision | None:
        if not isinstance(moment, BeforeTool):
            return None
        times, tool = run.progress.repeats[moment.fingerprint] + 1, moment.call.name
        if self.stop_at and times >= self.stop_at and self.name not in run.just_told:
            return stop(self.name, times, self.stop_at, f"the model asked for the same {tool} call {times} times")
        if self.nudge_at and times >= self.nudge_at:
            why = (
                f"GUARD: not run. You already called {tool} with these arguments {times - 1} times and nothing has"
            )
            return Decision(self.name, "nudge", times, self.nudge_at, f"{why} changed since. {WHAT_NOW}")
        return Decision(self.name, "pass", times, self.nudge_at or self.stop_at or 0)


@dataclass(frozen=True)
class PingPong:
    """Refuses calls that go round in a circle of two or three: A B A B, A B C A B C.

    The numbers are those of a circle of two; one of three may go two calls further.
    """

    nudge_at: int | None
    stop_at: int | None
    name: StopReason = "ping_pong"

    def __call__(self, moment: Moment, run: Tally) -> Decision | None:
        if not isinstance(moment, BeforeTool):
            return None
        circle = run.progress.circle(moment.fingerprint)
        calls, more = (circle.calls, 2 * (circle.period - 2)) if circle else (0, 0)
        if self.stop_at and calls >= self.stop_at + more and self.name not in run.just_told:
            why = f"the model went round in a circle: {calls} calls of the same {circle.period if circle else 0}"
            return stop(self.name, calls, self.stop_at + more, why)
        if self.nudge_at and calls >= self.nudge_at + more:
            why = f"GUARD: not run. Your last {calls} calls go round in a circle, and nothing has changed since."
            return Decision(self.name, "nudge", calls, self.nudge_at + more, f"{why} {WHAT_NOW}")
        return Decision(self.name, "pass", calls, (self.nudge_at or self.stop_at or 0) + more)


@dataclass(frozen=True)
class NoNews:
    """Tells a model that looks and looks and learns nothing, then ends the run; judged by what it read."""

    nudge_at: int | None
    stop_at: int | None
    name: StopReason = "no_new_information"

    def __call__(self, moment: Moment, run: Tally) -> Decision | None:
        if not isinstance(moment, AfterTool) or not (moment.finished.ran and moment.finished.ok):
            return None
        stale = run.progress.without_news
        if self.stop_at and stale >= self.stop_at and self.name not in run.just_told:
            return stop(self.name, stale, self.stop_at, f"{counted(stale, 'result')} in a row told nothing new")
        if self.nudge_at and stale >= self.nudge_at:
            why = f"GUARD: the last {counted(stale, 'result')} told you nothing new. {WHAT_NOW}"
            return Decision(self.name, "nudge", stale, self.nudge_at, why)
        return Decision(self.name, "pass", stale, self.nudge_at or self.stop_at or 0)


@dataclass(frozen=True)
class ErrorStreak:
    """Ends a run whose calls keep failing; those that could not run or were refused count apart, with one more."""

    limit: int
    name: StopReason = "error_streak"

    def __call__(self, moment: Moment, run: Tally) -> Decision | None:
        if not isinstance(moment, AfterTool):
            return None
        failed, bad = run.progress.failed, run.progress.bad_calls
        last = " ".join(moment.finished.call.name.split())[:60]
        if failed >= self.limit:
            why = f"{counted(failed, 'call')} in a row failed, the last one of {last}"
            return stop(self.name, failed, self.limit, why)
        if bad > self.limit:
            why = f"{counted(bad, 'call')} in a row asked for what is not there, the last one {last}"
            return stop(self.name, bad, self.limit + 1, why)
        value, threshold = max((failed, self.limit), (bad, self.limit + 1), key=lambda pair: pair[0] / pair[1])
        return Decision(self.name, "pass", value, threshold)


@dataclass(frozen=True)
class ReplayWrites:
    """Answers a write that was made already with its result, as long as its effect stands."""

    name: str = "replay_writes"

    def __call__(self, moment: Moment, run: Tally) -> Decision | None:
        if not isinstance(moment, BeforeTool) or not moment.tool.side_effecting:
            return None
        done = run.progress.written.get(moment.fingerprint)
        if done is None:
            return Decision(self.name, "pass", 0, 1)
        why = (
            "GUARD: done already; this is the result of then, and nothing was done again. If the customer wants "
            "more, call it with another quantity, or let them ask for more in a new message."
        )
        return Decision(self.name, "replay", 1, 1, why, result=f"{done.result}\n{why}")


@dataclass(frozen=True)
class UnusableReply:
    """Asks again, a bounded number of times, for a reply that is neither an answer nor a call that can run."""

    corrections: int
    name: str = "unusable_reply"

    def __call__(self, moment: Moment, run: Tally) -> Decision | None:
        if not isinstance(moment, BeforeAnswer):
            return None
        reply, tries = moment.reply, run.corrections + 1
        if reply.unusable is None:
            return Decision(self.name, "pass", run.corrections, self.corrections)
        if run.corrections >= self.corrections:
            asked = counted(tries, "time")
            why = f"the model gave no answer and no usable call, asked {asked}; {why_unusable(reply)}"
            return Decision(self.name, "stop", tries, self.corrections, why, stop_reason="empty_answer")
        return Decision(self.name, "nudge", tries, self.corrections, correction(reply, moment.tools))


def guards_for(limits: Limits) -> list[Guard]:
    """The guards that hold a run to its limits, in the order they are asked; a limit that is off has no guard."""
    kept = limits
    repeat, circle = (kept.repeat_nudge_at, kept.repeat_stop_at), (kept.ping_pong_nudge_at, kept.ping_pong_stop_at)
    no_news = (kept.no_news_nudge_at, kept.no_news_stop_at)
    guards: list[Guard | None] = [
        MaxSteps(kept.max_steps) if kept.max_steps is not None else None,
        MaxSeconds(kept.max_seconds) if kept.max_seconds is not None else None,
        TokenBudget(kept.max_tokens, counts_output=True) if kept.max_tokens is not None else None,
        TokenBudget(kept.max_input_tokens, counts_output=False) if kept.max_input_tokens is not None else None,
        MaxCost(kept.max_cost) if kept.max_cost is not None else None,
        MaxToolCalls(kept.max_tool_calls) if kept.max_tool_calls is not None else None,
        ToolCap(),
        PingPong(*circle) if any(circle) else None,
        RepeatedCall(*repeat) if any(repeat) else None,
        ReplayWrites() if kept.replay_writes else None,
        ErrorStreak(kept.error_streak) if kept.error_streak is not None else None,
        NoNews(*no_news) if any(no_news) else None,
        UnusableReply(kept.max_corrections),
    ]
    return [guard for guard in guards if guard is not None]
