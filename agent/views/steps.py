"""The steps of a run, grouped from its events, each with its tokens."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.trace import AnyEvent, ModelReply, ModelRequest


@dataclass
class Step:
    """One model call with the events that led to it and those that followed from it."""

    request: ModelRequest
    reply: ModelReply | None = None
    before: list[AnyEvent] = field(default_factory=list)
    after: list[AnyEvent] = field(default_factory=list)

    @property
    def input(self) -> int:
        """Tokens of the request as the model counted them, or as they were estimated before."""
        counted = self.reply.usage.input_tokens if self.reply else None
        return self.request.estimated_input_tokens if counted is None else counted

    @property
    def resent(self) -> int:
        """How many of the input tokens had been sent before: never more than there were."""
        return min(self.request.resent_tokens, self.input)

    @property
    def output(self) -> int | None:
        """Tokens the model wrote; None while that is unknown."""
        return self.reply.usage.output_tokens if self.reply else None

    @property
    def estimated(self) -> bool:
        """Whether the tokens were not counted by the model."""
        usage = self.reply.usage if self.reply else None
        return usage is None or usage.input_tokens is None or usage.estimated

    @property
    def tools_ms(self) -> float | None:
        """Milliseconds of the calls that ran; None if none did."""
        spent = [event.duration_ms for event in self.after if event.kind == "tool_finished" and event.ran]
        return sum(spent) if spent else None


def steps_of(events: Sequence[AnyEvent]) -> list[Step]:
    """Group the events of a run by model call; what comes before a call (notes, news of the shop) goes with it."""
    steps: list[Step] = []
    waiting: list[AnyEvent] = []
    for event in events:
        match event.kind:
            case "model_request":
                steps.append(Step(event, before=waiting))
                waiting = []
            case "model_reply" if steps:
                steps[-1].reply = event
            case "note" | "shop_changed":
                waiting.append(event)
            case "tool_finished" | "guard_decision" | "approval_requested" | "approval_answered" if steps:
                steps[-1].after.append(event)
    return steps
