"""Guards that hold a run to its budgets: steps, calls, tokens, money, seconds; each is asked before the spend."""

from dataclasses import dataclass
from decimal import Decimal

from agent.guards.guard import BeforeModel, BeforeTool, Decision, Ends, Moment, stop
from agent.text import counted
from agent.trace import StopReason
from agent.views.run import Tally


@dataclass(frozen=True)
class MaxSteps:
    """Stops before the step after the last; with ``wrap_up`` one model call more may follow that."""

    limit: int
    wrap_up: bool = False
    name: StopReason = "max_steps"

    @property
    def ends(self) -> Ends:
        most = counted(self.limit + self.wrap_up, "model call")
        return Ends(self.name, f"after {counted(self.limit, 'step')}", most)

    def __call__(self, moment: Moment, run: Tally) -> Decision | None:
        if not isinstance(moment, BeforeModel):
            return None
        why = f"the limit of {counted(self.limit, 'step')} was reached"
        return _held(run.steps < self.limit, self.name, run.steps, self.limit, why)


@dataclass(frozen=True)
class MaxToolCalls:
    """Stops before the call after the last; only calls that ran count."""

    limit: int
    name: StopReason = "max_tool_calls"

    @property
    def ends(self) -> Ends:
        return Ends(self.name, f"before tool call {self.limit + 1:,}", counted(self.limit, "tool call"))

    def __call__(self, moment: Moment, run: Tally) -> Decision | None:
        if not isinstance(moment, BeforeTool):
            return None
        why = f"the limit of {counted(self.limit, 'tool call')} was reached"
        return _held(run.tool_calls < self.limit, self.name, run.tool_calls, self.limit, why)


@dataclass(frozen=True)
class ToolCap:
    """Stops at the cap of calls that a tool has of its own."""

    name: str = "tool_cap"

    def __call__(self, moment: Moment, run: Tally) -> Decision | None:
        if not isinstance(moment, BeforeTool) or moment.tool.max_calls is None:
            return None
        cap, made = moment.tool.max_calls, run.calls_of[moment.tool.name]
        if made < cap:
            return Decision(self.name, "pass", made, cap)
        why = f"{moment.tool.name} may be called {counted(cap, 'time')} in a run"
        return Decision(self.name, "stop", made, cap, why, stop_reason="max_tool_calls")


@dataclass(frozen=True)
class TokenBudget:
    """Stops before a request that would pass the budget, going by its estimated size."""

    limit: int
    counts_output: bool

    @property
    def name(self) -> StopReason:
        return "max_tokens" if self.counts_output else "max_input_tokens"

    @property
    def ends(self) -> Ends:
        most = f"{self.limit:,} {self._what}"
        last = " and one reply" if self.counts_output else ""
        return Ends(self.name, f"before a request that would pass {most}", most + last)

    @property
    def _what(self) -> str:
        return "tokens" if self.counts_output else "input tokens"

    def __call__(self, moment: Moment, run: Tally) -> Decision | None:
        if not isinstance(moment, BeforeModel):
            return None
        spent = run.spent_tokens if self.counts_output else run.spent_input_tokens
        needed = spent + moment.estimate.total
        why = f"the next request would bring the run to about {needed:,} {self._what}; the limit is {self.limit:,}"
        return _held(needed <= self.limit, self.name, needed, self.limit, why)


@dataclass(frozen=True)
class MaxCost:
    """Stops before a request whose input alone would pass the budget, in dollars; reckons in decimals."""

    limit: Decimal
    name: StopReason = "max_cost"

    @property
    def ends(self) -> Ends:
        return Ends(self.name, f"before a request that would pass ${self.limit}", f"${self.limit} and one reply")

    def __call__(self, moment: Moment, run: Tally) -> Decision | None:
        if not isinstance(moment, BeforeModel) or run.prices is None or run.cost is None:
            return None
        needed = run.cost + run.prices.cost(moment.estimate.total)
        why = f"the next request would bring the run to about ${needed:.4f}; the limit is ${self.limit}"
        return _held(needed <= self.limit, self.name, float(needed), float(self.limit), why)


@dataclass(frozen=True)
class MaxSeconds:
    """Stops between calls; within a call the same deadline is given to the model and to the tool."""

    limit: float
    name: StopReason = "max_seconds"

    @property
    def ends(self) -> Ends:
        most = counted(self.limit, "second")
        return Ends(self.name, f"after {most}, in the middle of whatever it does", most)

    def __call__(self, moment: Moment, run: Tally) -> Decision | None:  # noqa: ARG002
        if not isinstance(moment, BeforeModel | BeforeTool):
            return None
        why = f"the time limit of {counted(self.limit, 'second')} was reached"
        return _held(moment.elapsed < self.limit, self.name, round(moment.elapsed, 1), self.limit, why)


def _held(kept: bool, name: StopReason, value: float, limit: float, why: str) -> Decision:
    """End the run where a limit is not kept."""
    return Decision(name, "pass", value, limit) if kept else stop(name, value, limit, why)


class Misconfigured(RuntimeError):
    """The guards of this run do not hold it to its limits."""


BACKSTOP = 2
"""Steps beyond the limit; getting there means that a guard is missing from the list, or does not do its work."""


@dataclass(frozen=True)
class Backstop:
    """Decides nothing; raises Misconfigured where no guard has stopped a run two steps after its limit."""

    limit: int
    name: str = "backstop"

    def __call__(self, moment: Moment, run: Tally) -> None:
        if isinstance(moment, BeforeModel) and run.steps >= self.limit + BACKSTOP:
            took = f"the run took {run.steps} steps"
            raise Misconfigured(f"{took} and no guard held it to its limit of {self.limit}")
