"""The loop: ask the model, run the calls it makes, until it answers or a guard says stop."""

import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from agent.acting import act, leave_open_calls
from agent.asking import ask
from agent.cancel import Cancel, Cancelled
from agent.closing import WRAPPED_UP, wrap_up_request
from agent.conversation import Conversation
from agent.corrections import why_unusable
from agent.limits import Limits
from agent.models import ChatModel, ModelOptions
from agent.moments import BeforeAnswer, BeforeModel, Guard, Stop
from agent.news import hear_late_effects, hear_news
from agent.result import AgentResult
from agent.retrying import allow_longer_answer, try_again
from agent.text import clean
from agent.tools import Toolbox, tool_list
from agent.trace import Note, RunStarted, UserMessage
from agent.turn import Turn, Yields


@dataclass(frozen=True)
class Agent:
    """A model, a toolbox, instructions, and the guards that hold a run to its limits."""

    model: ChatModel
    toolbox: Toolbox
    instructions: str
    guards: Sequence[Guard]
    limits: Limits = field(default_factory=Limits)
    options: ModelOptions = field(default_factory=ModelOptions)
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What else shaped the run, for the record."""

    def stream(
        self,
        conversation: Conversation,
        text: str,
        *,
        message_id: str = "",
        run_id: str = "",
        cancel: Cancel | None = None,
    ) -> Yields[None]:
        """Run one turn; yields its events as they happen, and deltas between them.

        A message sent again under the same ``message_id`` does nothing twice. Every run ends with exactly one
        ``run_finished``. What a guard, a model or the store raises by mistake is recorded, then raised.
        """
        turn = Turn(
            self.model,
            self.toolbox,
            self.guards,
            self.limits,
            self.options,
            conversation,
            cancel or Cancel(),
        )
        try:
            yield self._opening(turn, run_id or secrets.token_hex(8))
            yield turn.write(
                UserMessage,
                text=clean(text),
                turn=turn.run.turn,
                client_message_id=clean(message_id) or secrets.token_urlsafe(12),
            )
            yield from to_an_end(turn)
        except (GeneratorExit, KeyboardInterrupt):
            break_off(turn, Stop("cancelled", "it was broken off"))
            raise
        except BaseException:
            break_off(turn, Stop("internal_error", "something of ours broke"))
            raise
        finally:
            turn.runner.close()

    def run(self, conversation: Conversation, text: str, **options: Any) -> AgentResult:
        """Run one turn to its end; takes what ``stream`` takes. A run cut short is a result, not an error."""
        for _ in self.stream(conversation, text, **options):
            pass
        return AgentResult.of(conversation)

    def _opening(self, turn: Turn, run_id: str) -> RunStarted:
        info = self.model.info
        return turn.write(
            RunStarted,
            step=0,
            run_id=run_id,
            turn=turn.run.turn + 1,
            model=info,
            settings={
                "limits": self.limits.model_dump(mode="json"),
                "options": vars(self.options),
                **self.settings,
            },
            instructions=self.instructions + (tool_list(turn.schemas) if info.garbles_tools else ""),
            tools=turn.schemas,
        )


def to_an_end(turn: Turn) -> Yields[None]:
    """Take the steps, and end the run in words where they end early."""
    try:
        yield from steps(turn)
    except Stop as stop:
        yield from end_early(turn, stop)
    except Cancelled:
        yield from end_early(turn, Stop("cancelled", "you stopped it"))


def steps(turn: Turn) -> Yields[None]:
    """Ask, act, repeat, until the model answers; raises Stop where a guard or the model ends the run."""
    while True:
        turn.heed_cancel()
        yield from hear_news(turn)
        yield from turn.consult(BeforeModel(turn.elapsed, turn.estimate()))
        reply = yield from ask(turn)
        if reply.error:
            try_again(turn, reply.error)
            continue
        if reply.incomplete:
            raise Stop("model_error", "the model's reply broke off")
        for call in reply.tool_calls:
            yield from act(turn, call)
        if reply.tool_calls:
            continue
        objection = yield from turn.consult(BeforeAnswer(turn.elapsed, reply, tuple(turn.tools)))
        if objection:
            yield turn.write(Note, purpose="corrective", text=objection.reason)
            if reply.unusable == "cut_by_length":
                allow_longer_answer(turn)
        elif reply.text.strip():
            yield turn.finish("done", reply.text, "model")
            return
        else:
            raise Stop("empty_answer", f"the model gave no answer: {why_unusable(reply)}")


def end_early(turn: Turn, stop: Stop) -> Yields[None]:
    """Answer the open calls, let the model wrap up without tools where that is due, and finish with words."""
    yield from leave_open_calls(turn, stop.why)
    if stop.reason in WRAPPED_UP and turn.limits.wrap_up:
        turn.wrapping_up = True
        yield turn.write(Note, purpose="wrap_up", text=wrap_up_request(stop.why))
        with suppress(Cancelled):
            reply = yield from ask(turn)
            yield from leave_open_calls(turn, "tools are no longer available")
            if reply.text.strip() and not (reply.tool_calls or reply.error or reply.incomplete):
                yield turn.finish(stop.reason, reply.text, "model")
                return
    yield from hear_late_effects(turn)
    yield turn.finish_by_program(stop)


def break_off(turn: Turn, stop: Stop) -> None:
    """Close the record of a run that nobody drives any more."""
    if turn.run.finished:
        return
    for _ in leave_open_calls(turn, stop.why):
        pass
    turn.finish_by_program(stop)
