"""Guards that hold a run to its budgets: steps, calls, tokens, money, seconds; each asked before the spend."""

from dataclasses import dataclass
from decimal import Decimal

from agent.moments import BeforeModel, BeforeTool, Decision, Moment
from agent.text import counted
from agent.trace import StopReason
from agent.views.run import Tally


@dataclass(frozen=True)
class MaxSteps:
    limit: int
    name: StopReason = "max_steps"

    def __call__(self, moment: Moment, run: Tally) -> Decision | None:
        if not isinstance(moment, BeforeModel):
            return None
        if run.steps < self.limit:
            return Decision(self.name, "pass", run.steps, self.limit)
        why = f"the limit of {counted(self.limit, 'step')} was reached"
        return stop(self.name, run.steps, self.limit, why)


@dataclass(frozen=True)
class MaxToolCalls:
    limit: int
    name: StopReason = "max_tool_calls"

    def __call__(self, moment: Moment, run: Tally) -> Decision | None:
        if not isinstance(moment, BeforeTool):
            return None
        if run.tool_calls < self.limit:
            return Decision(self.name, "pass", run.tool_calls, self.limit)
        why = f"the limit of {counted(self.limit, 'tool call')} was reached"
        return stop(self.name, run.tool_calls, self.limit, why)


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

    def __call__(self, moment: Moment, run: Tally) -> Decision | None:
        if not isinstance(moment, BeforeModel):
            return None
        spent = run.spent_tokens if self.counts_output else run.spent_input_tokens
        needed = spent + moment.estimate.total
        if needed <= self.limit:
            return Decision(self.name, "pass", needed, self.limit)
        what = "tokens" if self.counts_output else "input tokens"
        why = f"the next request would bring the run to about {needed:,} {what}; the limit is {self.limit:,}"
        return stop(self.name, needed, self.limit, why)


@dataclass(frozen=True)
class MaxCost:
    """Stops before a request whose input alone would pass the budget, in dollars; reckons in decimals."""

    limit: Decimal
    name: StopReason = "max_cost"

    def __call__(self, moment: Moment, run: Tally) -> Decision | None:
        if not isinstance(moment, BeforeModel) or run.prices is None or run.cost is None:
            return None
        needed = run.cost + run.prices.cost(moment.estimate.total)
        if needed <= self.limit:
            return Decision(self.name, "pass", float(needed), float(self.limit))
        why = f"the next request would bring the run to about ${needed:.4f}; the limit is ${self.limit}"
        return stop(self.name, float(needed), float(self.limit), why)


@dataclass(frozen=True)
class MaxSeconds:
    """Stops between calls; within a call the same deadline is given to the model and to the tool."""

    limit: float
    name: StopReason = "max_seconds"

    def __call__(self, moment: Moment, run: Tally) -> Decision | None:  # noqa: ARG002
        if not isinstance(moment, BeforeModel | BeforeTool):
            return None
        value = round(moment.elapsed, 1)
        if moment.elapsed < self.limit:
            return Decision(self.name, "pass", value, self.limit)
        return stop(self.name, value, self.limit, f"the time limit of {counted(self.limit, 'second')} was reached")


def stop(reason: StopReason, value: float, threshold: float, why: str) -> Decision:
    """End the run by the guard that is called after the reason it gives."""
    return Decision(reason, "stop", value, threshold, why, stop_reason=reason)
