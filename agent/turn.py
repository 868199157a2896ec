"""One turn under way: writes its events, asks its guards, knows its clock."""

import threading
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from agent.cancel import Cancel, Cancelled, Runner
from agent.closing import program_answer
from agent.conversation import Conversation
from agent.freshness import Freshness
from agent.history import CORRECTED
from agent.limits import Limits
from agent.meter import Estimate
from agent.models import ChatModel, Delta, ModelOptions
from agent.moments import AfterTool, BeforeModel, BeforeTool, Decision, Guard, Moment, Stop
from agent.shapes import StopReason
from agent.tally import Tally
from agent.tools import Tool, Toolbox
from agent.trace import AnyEvent, Event, GuardDecision, RunFinished

E = TypeVar("E", bound=Event)
T = TypeVar("T")
Yields = Generator[AnyEvent | Delta, None, T]
"""A part of the loop: yields events and deltas, returns a T."""


THE_MODELS = "The model had answered, with what was true before:"
BACKSTOP = 2
"""Steps beyond the limit; getting there means that a guard is missing from the list."""


class Misconfigured(RuntimeError):
    """The guards of this run do not hold it to its limits."""


@dataclass
class Turn:
    """What one user message is answered with; the only writer of its run.

    ``wrapping_up`` is set once the steps are over and the model is asked one last time, without tools;
    ``enlarged`` once an answer was cut off and more room was given; ``sent_back`` is an answer that a guard wants
    to have anew: it is the answer after all if no other comes.
    """

    model: ChatModel
    toolbox: Toolbox
    guards: Sequence[Guard]
    limits: Limits
    options: ModelOptions
    conversation: Conversation
    cancel: Cancel
    started: float = field(default_factory=time.monotonic)
    freshness: Freshness = field(default_factory=Freshness)
    wrapping_up: bool = False
    enlarged: bool = False
    sent_back: str = ""
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
        return 0 if self.wrapping_up else self.run.steps

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
        return self.conversation.meter.estimate(self.conversation.history, with_tools=not self.wrapping_up)

    def write(self, kind: type[E], **fields: Any) -> E:
        """Make an event of the current step and append it."""
        return self.add(kind(**({"step": self.step} | fields)))

    def add(self, event: E) -> E:
        """Append an event."""
        self.conversation.append(event)  # type: ignore[arg-type]  # every concrete Event is one of AnyEvent
        return event

    def consult(self, moment: Moment) -> Yields[Decision | None]:
        """Ask the guards in order; the first decision counts, and raises Stop if it ends the run."""
        for guard in self.guards:
            decision = guard(moment, self.run)
            if decision is None or decision.action == "pass":
                continue
            yield self.write(
                GuardDecision,
                guard=decision.guard,
                action=decision.action,
                value=decision.value,
                threshold=decision.threshold,
                reason=decision.reason,
                stop_reason=decision.stop_reason,
                **_looked_at(moment),
            )
            if decision.stop_reason:
                raise Stop(decision.stop_reason, decision.reason)
            return decision
        return None

    def check_backstop(self) -> None:
        """Raise Misconfigured where no guard has stopped a run two steps after its limit."""
        limit = self.limits.max_steps
        if limit is not None and self.run.steps >= limit + BACKSTOP:
            raise Misconfigured(
                f"the run took {self.run.steps} steps and no guard held it to its limit of {limit}"
            )

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
        wrong = self.freshness.correct and self.freshness.correct(answer, self.conversation.overtaken())
        if not wrong:
            yield self.finish(stop_reason, answer, "model")
            return
        figures = {"value": 1, "threshold": 1, "reason": wrong}
        yield self.write(GuardDecision, guard="fresh_answer", action="correct", moment="before_answer", **figures)
        yield self.finish(stop_reason, f"{CORRECTED} {wrong}\n\n{THE_MODELS} {answer}", "program")

    def finish_by_program(self, stop: Stop) -> RunFinished:
        """Record the end of a run the model gave no answer to."""
        return self.finish(stop.reason, program_answer(self.conversation, stop.reason, stop.why), "program")


def _looked_at(moment: Moment) -> dict[str, Any]:
    """What a guard was shown, as a decision keeps it."""
    known: dict[str, Any] = {"moment": moment.name, "elapsed_ms": round(moment.elapsed * 1000, 1)}
    match moment:
        case BeforeModel():
            known["estimated_input_tokens"] = moment.estimate.total
        case BeforeTool():
            known["call_id"] = moment.call.id
        case AfterTool():
            known["call_id"] = moment.finished.call.id
    return known
