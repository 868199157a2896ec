"""The tokens of each model call, read from the events of a run."""

from collections.abc import Sequence
from dataclasses import dataclass

from agent.trace import AnyEvent, ModelReply, ModelRequest
from ui.steps import steps_of


@dataclass(frozen=True)
class StepTokens:
    """Tokens of one model call; ``written`` is None while unknown, ``estimated`` if not counted by the model."""

    name: str
    again: int
    new: int
    written: int | None
    estimated: bool

    @property
    def total(self) -> int:
        return self.again + self.new + (self.written or 0)


def step_tokens(events: Sequence[AnyEvent]) -> list[StepTokens]:
    """The tokens of each model call of a run, in order: as the model counted them, else as estimated before."""
    return [_tokens(step.request, step.reply) for step in steps_of(events)]


def _tokens(request: ModelRequest, reply: ModelReply | None) -> StepTokens:
    usage = reply.usage if reply else None
    sent = usage.input_tokens if usage and usage.input_tokens is not None else None
    total = request.estimated_input_tokens if sent is None else sent
    again = min(request.resent_tokens, total)
    return StepTokens(
        name="wrap-up" if request.wrap_up else str(request.step),
        again=again,
        new=total - again,
        written=usage.output_tokens if usage else None,
        estimated=sent is None or (usage is not None and usage.estimated),
    )
