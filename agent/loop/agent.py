"""An agent: a model, a toolbox and guards; it runs turns, and goes on with those that waited for a person."""

import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from agent.cancel import Cancel
from agent.guards import guards_for
from agent.guards.before_answer import Freshness
from agent.guards.guard import Guard, Stop
from agent.guards.limits import Limits
from agent.loop.loop import break_off, end_early, to_an_end
from agent.loop.tool_call import Approval
from agent.loop.turn import Turn, Yields
from agent.models import ChatModel
from agent.text import clean
from agent.tools import Toolbox, tool_list
from agent.trace import ApprovalAnswered, ApprovalRequested, ModelOptions, Prices, RunStarted, UserMessage
from agent.views.conversation import Conversation
from agent.views.result import AgentResult


@dataclass(frozen=True)
class Agent:
    """A model, a toolbox, instructions, and the guards that hold a run to its limits."""

    model: ChatModel
    toolbox: Toolbox
    instructions: str
    limits: Limits = field(default_factory=Limits)
    options: ModelOptions = field(default_factory=ModelOptions)
    prices: Prices | None = None
    """What the model takes, where it is not what the model says itself."""
    freshness: Freshness = field(default_factory=Freshness)
    """What is done about facts that were overtaken."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What else shaped the run, for the record."""
    extra_guards: Sequence[Guard] = ()
    """Policies beside those of the limits; they are asked after them."""

    @property
    def guards(self) -> Sequence[Guard]:
        """All guards of a run, in the order they are asked."""
        return guards_for(self.limits, self.options.num_ctx, self.freshness.correct, self.extra_guards)

    def stream(
        self,
        conversation: Conversation,
        text: str,
        *,
        message_id: str = "",
        run_id: str = "",
        continues: str | None = None,
        cancel: Cancel | None = None,
    ) -> Yields[None]:
        """Run one turn; yields its events as they happen, and deltas between them.

        A message sent again under the same ``message_id`` does nothing twice, nor does a run that ``continues``
        the conversation's last one. A run ends with exactly one ``run_finished``, unless a call has to be allowed
        first: then it breaks off with ``approval_requested``, and ``resume`` goes on from there. What a guard, a
        model or the store raises by mistake is recorded, then raised.
        """
        with self._turn(conversation, cancel) as turn:
            yield self._opening(turn, run_id or secrets.token_hex(8), continues)
            message_id = clean(message_id) or secrets.token_urlsafe(12)
            yield turn.add(UserMessage(text=clean(text), turn=turn.run.turn, client_message_id=message_id))
            yield from to_an_end(turn)

    def resume(
        self, conversation: Conversation, approval: Approval | None, *, cancel: Cancel | None = None
    ) -> Yields[None]:
        """Go on with the run that waits for ``approval``; None means that there is nobody to give it."""
        waiting = conversation.run.waiting
        if waiting is None:
            raise ValueError("no call of this conversation waits for approval")
        with self._turn(conversation, cancel, waiting.elapsed_ms / 1000) as turn:
            if approval:
                yield turn.add(
                    ApprovalAnswered(
                        step=turn.step,
                        call_id=waiting.call.id,
                        approved=approval.approved,
                        arguments=approval.arguments,
                        by=approval.by,
                    )
                )
                yield from to_an_end(turn)
            else:
                why = f"nobody was there to allow {waiting.call.name}"
                yield from end_early(turn, Stop("not_approved", why))

    def run(
        self,
        conversation: Conversation,
        text: str,
        *,
        approve: Callable[[ApprovalRequested], Approval | None] | None = None,
        **options: Any,
    ) -> AgentResult:
        """Run one turn to its end; takes what ``stream`` takes. A run cut short is a result, not an error.

        ``approve`` is asked when a call has to be allowed; without it such a run ends as ``not_approved``.
        """
        for _ in self.stream(conversation, text, **options):
            pass
        while request := conversation.run.waiting:
            for _ in self.resume(conversation, approve(request) if approve else None):
                pass
        return AgentResult.of(conversation)

    @contextmanager
    def _turn(self, conversation: Conversation, cancel: Cancel | None, elapsed: float = 0.0) -> Iterator[Turn]:
        """A turn whose record is closed whatever happens inside."""
        turn = Turn(
            self.model,
            self.toolbox,
            self.guards,
            self.limits,
            self.options,
            conversation,
            cancel or Cancel(),
            time.monotonic() - elapsed,
            self.freshness,
        )
        try:
            yield turn
        except (GeneratorExit, KeyboardInterrupt):
            break_off(turn, Stop("cancelled", "it was broken off"))
            raise
        except BaseException:
            with suppress(Exception):  # what cannot be kept either is closed when the run's lease lapses
                break_off(turn, Stop("internal_error", "something of ours broke"))
            raise
        finally:
            turn.runner.close()

    def _opening(self, turn: Turn, run_id: str, continues: str | None) -> RunStarted:
        info = self.model.info
        return turn.add(
            RunStarted(
                run_id=run_id,
                turn=turn.run.turn + 1,
                model=info,
                settings={
                    "limits": self.limits.model_dump(mode="json"),
                    "options": self.options.model_dump(mode="json"),
                    **self.settings,
                },
                instructions=self.instructions + (tool_list(turn.schemas) if info.garbles_tools else ""),
                tools=turn.schemas,
                continues=continues,
                prices=self.prices or info.prices,
                stamps=self.freshness.stamps,
            )
        )
