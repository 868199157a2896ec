"""Guards against runs that get nowhere: the same call, circles, no news, failures, a write made twice.

They end a run only after the model has read their hint, since all calls of one reply are made before that.
"""

from dataclasses import dataclass

from agent.guards.guard import AfterTool, BeforeTool, Decision, Ends, Moment, stop
from agent.text import counted, nth
from agent.trace import StopReason
from agent.views.run import Tally

WHAT_NOW = "Use the results you have, make a different call, or answer the user now."


@dataclass(frozen=True)
class RepeatedCall:
    """Refuses the identical call, first with a hint, then by ending the run."""

    nudge_at: int | None
    stop_at: int | None
    name: StopReason = "repeated_call"

    @property
    def ends(self) -> Ends | None:
        return Ends(self.name, f"the same call for the {nth(self.stop_at)} time") if self.stop_at else None

    def __call__(self, moment: Moment, run: Tally) -> Decision | None:
        if not isinstance(moment, BeforeTool):
            return None
        times, tool = run.progress.repeats[moment.fingerprint] + 1, moment.call.name
        hint = f"not run. You already called {tool} with these arguments {times - 1} times and nothing has changed"
        why = f"the model asked for the same {tool} call {times} times"
        return _hint_then_stop(self.name, run, times, self.nudge_at, self.stop_at, f"{hint} since.", why)


@dataclass(frozen=True)
class PingPong:
    """Refuses calls that go round in a circle of two or three: A B A B, A B C A B C.

    The numbers are those of a circle of two; one of three may go two calls further.
    """

    nudge_at: int | None
    stop_at: int | None
    name: StopReason = "ping_pong"

    @property
    def ends(self) -> Ends | None:
        return Ends(self.name, f"the {nth(self.stop_at)} call of a circle") if self.stop_at else None

    def __call__(self, moment: Moment, run: Tally) -> Decision | None:
        if not isinstance(moment, BeforeTool):
            return None
        circle = run.progress.circle(moment.fingerprint)
        calls, period = (circle.calls, circle.period) if circle else (0, 2)
        nudge_at, stop_at = (at and at + 2 * (period - 2) for at in (self.nudge_at, self.stop_at))
        hint = f"not run. Your last {calls} calls go round in a circle, and nothing has changed since."
        why = f"the model went round in a circle: {calls} calls of the same {period}"
        return _hint_then_stop(self.name, run, calls, nudge_at, stop_at, hint, why)


@dataclass(frozen=True)
class NoNews:
    """Tells a model that looks and looks and learns nothing, then ends the run; judged by what it read."""

    nudge_at: int | None
    stop_at: int | None
    name: StopReason = "no_new_information"

    @property
    def ends(self) -> Ends | None:
        return Ends(self.name, f"the {nth(self.stop_at)} result in a row without news") if self.stop_at else None

    def __call__(self, moment: Moment, run: Tally) -> Decision | None:
        if not isinstance(moment, AfterTool) or not (moment.finished.ran and moment.finished.ok):
            return None
        stale = run.progress.without_news
        results = counted(stale, "result")
        hint, why = f"the last {results} told you nothing new.", f"{results} in a row told nothing new"
        return _hint_then_stop(self.name, run, stale, self.nudge_at, self.stop_at, hint, why)


def _hint_then_stop(
    name: StopReason, run: Tally, value: int, nudge_at: int | None, stop_at: int | None, hint: str, why: str
) -> Decision:
    """End the run at one threshold, but not before the model has read the hint it got at the other."""
    if stop_at and value >= stop_at and name not in run.just_told:
        return stop(name, value, stop_at, why)
    if nudge_at and value >= nudge_at:
        return Decision(name, "nudge", value, nudge_at, f"GUARD: {hint} {WHAT_NOW}")
    return Decision(name, "pass", value, nudge_at or stop_at or 0)


@dataclass(frozen=True)
class ErrorStreak:
    """Ends a run whose calls keep failing; those that could not run or were refused count apart, with one more."""

    limit: int
    name: StopReason = "error_streak"

    @property
    def ends(self) -> Ends:
        return Ends(self.name, f"the {nth(self.limit)} failed call in a row")

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
