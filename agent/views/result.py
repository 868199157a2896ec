"""What a whole run came to."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from agent.trace import AnyEvent, StopReason, Usage
from agent.views.conversation import Conversation


@dataclass(frozen=True)
class AgentResult:
    """The outcome of a run: a run cut short is a result with its stop reason, never an exception.

    ``usage`` sums the tokens that are known (None: none is); ``cost`` in dollars is None where no price is set;
    ``trace`` holds the run's events.
    """

    run_id: str
    stop_reason: StopReason
    answer: str
    answer_by: Literal["model", "program"]
    steps: int
    model_calls: int
    tool_calls: int
    usage: Usage
    usage_complete: bool
    cost: Decimal | None
    seconds: float | None
    trace: Sequence[AnyEvent]

    @classmethod
    def of(cls, conversation: Conversation) -> "AgentResult":
        """Read the outcome of the latest run, which must have finished."""
        events = conversation.run_events()
        end = events[-1]
        if end.kind != "run_finished":
            raise ValueError("the run has not finished")
        return cls(
            run_id=conversation.run.run_id,
            stop_reason=end.stop_reason,
            answer=end.answer,
            answer_by=end.answer_by,
            steps=end.steps,
            model_calls=end.model_calls,
            tool_calls=end.tool_calls,
            usage=end.usage,
            usage_complete=end.usage_complete,
            cost=end.cost,
            seconds=end.seconds,
            trace=events,
        )
