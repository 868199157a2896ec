"""One turn under way: writes its events, asks its guards, knows its clock."""

import threading
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from agent.cancel import Cancel, Cancelled, Runner
from agent.guards.before_answer import Freshness
from agent.guards.guard import AfterTool, BeforeModel, BeforeTool, Decision, Guard, Moment, Stop
from agent.guards.limits import Limits
from agent.models import ChatModel, Delta
from agent.tools import Tool, Toolbox
from agent.trace import AnyEvent, GuardDecision, ModelOptions, RunFinished, StopReason
from agent.views.answers import program_answer
from agent.views.conversation import Conversation
from agent.views.history import CORRECTED
from agent.views.run import Tally
from agent.views.tokens import Estimate

E = TypeVar("E", bound=AnyEvent)
T = TypeVar("T")
Yields = Generator[AnyEvent | Delta, None, T]
"""A part of the loop: yields events and deltas, returns a T."""


THE_MODELS = "The model had answered, with what was true before:"


@dataclass
class Turn:
    """What one user message is answered with; the only writer of its run.

    It keeps no state of the run beside the trace: what shapes the next request is folded from that.
    """

    model: ChatModel
    toolbox: Toolbox
    guards: Sequence[Guard]
    limits: Limits
    usual: ModelOptions
    """The options a request is sent with, unless the run has reason for others."""
    conversation: Conversation
    cancel: Cancel
    started: float = field(default_factory=time.monotonic)
    freshness: Freshness = field(default_factory=Freshness)
    runner: Runner = field(default_factory=Runner)
    """Where the tools run."""

    def __post_init__(self) -> None:
        self.tools: Mapping[str, Tool] = {tool.name: tool for tool in self.toolbox.tools}
        self.schemas = [tool.schema() for tool in self.toolbox.tools]

    @property
    def run(self) -> Tally:
        """What the run has used and done so far."""
        return self.conversation.run

    @property
    def step(self) -> int:
        """The number of the current step; 0 before the first and in the wrap-up."""
        return 0 if self.run.wrapping_up else self.run.steps

    @property
    def elapsed(self) -> float:
        """Seconds since the turn began, on the monotonic clock."""
        return time.monotonic() - self.started

    @property
    def deadline(self) -> float | None:
        """When the turn must be over, on the monotonic clock."""
        return self.limits.max_seconds and self.started + self.limits.max_seconds

    def estimate(self) -> Estimate:
        """The input tokens of the next request."""
        return self.conversation.meter.estimate(self.conversation.history, with_tools=not self.run.wrapping_up)

    def add(self, event: E) -> E:
        """Append an event to the trace."""
        self.conversation.append(event)
        return event

    def consult(self, moment: Moment) -> Yields[Decision | None]:
        """Ask the guards in order; the first decision counts, and raises Stop if it ends the run."""
        for guard in self.guards:
            decision = guard(moment, self.run)
            if decision is None or decision.action == "pass":
                continue
            yield self.add(
                GuardDecision(
                    step=self.step,
                    guard=decision.guard,
                    action=decision.action,
                    value=decision.value,
                    threshold=decision.threshold,
                    reason=decision.reason,
                    stop_reason=decision.stop_reason,
                    moment=moment.name,
                    elapsed_ms=round(moment.elapsed * 1000, 1),
                    estimated_input_tokens=moment.estimate.total if isinstance(moment, BeforeModel) else None,
                    call_id=_call_id(moment),
                )
            )
            if decision.stop_reason:
                raise Stop(decision.stop_reason, decision.reason)
            return decision
        return None

    def rest(self, seconds: float) -> None:
        """Wait, but no longer than the run may take; raises Cancelled if a person stops it meanwhile."""
        left = self.deadline - time.monotonic() if self.deadline else seconds
        over = threading.Event()
        with self.cancel.ending(over.set):
            over.wait(max(min(seconds, left), 0))
        self.heed_cancel()

    def heed_cancel(self) -> None:
        """Raise Cancelled if a person has asked the run to stop."""
        if self.cancel.wanted:
            raise Cancelled

    def finish(self, stop_reason: StopReason, answer: str, by: Literal["model", "program"]) -> RunFinished:
        """Record the end of the run with its sums, and keep everything."""
        finished = self.add(self.run.end(stop_reason, answer, by, round(self.elapsed, 3)))
        self.conversation.commit()
        return finished

    def finish_by_model(self, stop_reason: StopReason, answer: str) -> Yields[None]:
        """Record the end of a run the model answered, with a correction before what it states that is untrue."""
        correct = self.freshness.correct
        wrong = correct(answer, self.conversation.knowledge.overtaken()) if correct else ""
        if not wrong:
            yield self.finish(stop_reason, answer, "model")
            return
        yield self.add(
            GuardDecision(
                step=self.step,
                guard="fresh_answer",
                action="correct",
                value=1,
                threshold=1,
                reason=wrong,
                moment="before_answer",
            )
        )
        yield self.finish(stop_reason, f"{CORRECTED} {wrong}\n\n{THE_MODELS} {answer}", "program")

    def finish_by_program(self, stop: Stop) -> RunFinished:
        """Record the end of a run the model gave no answer to."""
        return self.finish(stop.reason, program_answer(self.conversation, stop.reason, stop.why), "program")


def _call_id(moment: Moment) -> str | None:
    """The call that is about to run or has run."""
    match moment:
        case BeforeTool():
            return moment.call.id
        case AfterTool():
            return moment.finished.call.id
    return None
