"""A model on an Ollama server: asks it for replies and reads them as they come."""

import math
import time
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from agent.cancel import Cancel
from agent.models.curtain import Curtain
from agent.models.engine import ModelCard
from agent.models.ollama.failures import FAILURES, fault_of, refuses_thinking
from agent.models.ollama.network import Connection, connections
from agent.models.ollama.refusals import BrokeOff, Refused, Silent
from agent.models.ollama.reply import Draft
from agent.models.ollama.server import card_for_run, holds
from agent.models.ollama.wire import CHAT, body_of, stream
from agent.models.protocol import Delta, DeltaKind, Message
from agent.trace import ModelFault, ModelInfo, ModelOptions, ModelReply

Phase = Literal["connecting", "loading the model", "reading the prompt", "thinking", "answering"]
"""What a request waits for, as far as it can be known."""
PHASES: dict[DeltaKind, Phase] = {"thinking_delta": "thinking", "text_delta": "answering"}

LOOK_UP_SECONDS = 1.0
FIRST_LOOK, LOOK_EVERY, LOOK_PATIENCE = 0.25, 2.0, 0.5
"""Seconds until a silent server is asked whether it has loaded the model, until again, and what that may take."""
GRACE = 0.5
"""Seconds a server may take to end its stream after it has said that it is done."""
WITHOUT_THINKING = "This model cannot think apart, so it was asked without thinking"


class OllamaModel:
    """A model by its Ollama name; ``host`` is read like OLLAMA_HOST, which counts where it is absent.

    A reply may take ``first_byte_seconds`` to begin, as the model may have to be loaded and nothing at all is sent
    meanwhile, and pause for ``stall_seconds``; the deadline of the run counts besides. With a ``digest`` the
    server is asked for nothing but replies.
    """

    def __init__(
        self,
        name: str,
        host: str | None = None,
        digest: str | None = None,
        *,
        first_byte_seconds: float = 300.0,
        stall_seconds: float = 120.0,
    ) -> None:
        self.name, self.host = name, host
        self.first_byte_seconds, self.stall_seconds = first_byte_seconds, stall_seconds
        self._digest = digest
        self._card = ModelCard(name, digest)

    @property
    def info(self) -> ModelInfo:
        """Name, digest and label; the server may be asked, for a second at most."""
        if self._digest is None:
            self._card = card_for_run(self.name, self.host, LOOK_UP_SECONDS)
        label = f"{self.name} on Ollama"
        return ModelInfo(
            name=self.name, digest=self._card.digest, label=label, garbles_tools=self._card.garbles_tools
        )

    @property
    def may_think(self) -> bool:
        """Whether it can think, as far as is known."""
        return self._card.can_think is not False

    def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[dict[str, Any]],
        options: ModelOptions,
        deadline: float | None,
    ) -> "OllamaStream":
        return OllamaStream(self, messages, tools, options, deadline)


class OllamaStream:
    """One reply as it comes, read in the thread that iterates; closing it shuts the connection at once."""

    def __init__(
        self,
        model: OllamaModel,
        messages: Sequence[Message],
        tools: Sequence[dict[str, Any]],
        options: ModelOptions,
        deadline: float | None,
    ) -> None:
        self.phase: Phase = "connecting"
        """What the request waits for; can be read from any thread."""
        self._model, self._messages, self._tools, self._options = model, messages, tools, options
        self._until = math.inf if deadline is None else deadline
        self._cancel = Cancel()
        self._curtain = Curtain(doubts=model.may_think and options.think is not None)
        self._warnings: list[str] = []
        self._begun = self._without_thinking = False

    def __iter__(self) -> Iterator[Delta | ModelReply]:
        draft, failure = Draft(self._curtain), None
        self._heard_at = time.monotonic()
        self._look_at = self._heard_at + FIRST_LOOK
        try:
            with connections().to(self._model.host, self._cancel, self._until) as connection:
                yield from self._read(connection, draft)
        except FAILURES as error:
            failure = error
        yield from draft.fresh()
        reply = draft.reply(self._model.name, self._fault(draft, failure), self._warnings)
        yield reply.model_copy(update={"without_thinking": self._without_thinking})

    def close(self) -> None:
        self._cancel.request()

    def _read(self, connection: Connection, draft: Draft) -> Iterator[Delta]:
        """Read the whole reply; a model that refuses to be told how to think is asked once more without that."""
        try:
            yield from self._ask(connection, draft)
        except Refused as error:
            if self._options.think is None or not refuses_thinking(error):
                raise
            self._options = self._options.model_copy(update={"think": None})
            self._without_thinking = True
            self._curtain.trust()
            self._warnings.append(WITHOUT_THINKING)
            yield from self._ask(connection, draft)

    def _ask(self, connection: Connection, draft: Draft) -> Iterator[Delta]:
        body = body_of(self._model.name, self._messages, self._tools, self._options)
        for part in stream(connection, CHAT, body, self._until):
            if part is None:
                yield from draft.fresh()
                yield from self._wait(connection)
            elif not draft.done:  # nothing counts after the end, which is read for the connection's sake
                draft.add(part)
                self._begun, self._heard_at = True, time.monotonic()
                self.phase = PHASES[draft.latest] if draft.latest else self.phase
                if draft.done:
                    self._until = self._heard_at + GRACE
        if not draft.done:
            raise BrokeOff

    def _wait(self, connection: Connection) -> Iterator[Delta]:
        """Wait for more; while nothing at all has come, tell now and then what the server is at."""
        patience = self._model.stall_seconds if self._begun else self._model.first_byte_seconds
        silent_at = self._heard_at + patience
        while True:
            look_at = math.inf if self._begun else self._look_at
            try:
                connection.wait(min(self._until, silent_at, look_at))
                return
            except TimeoutError:
                now = time.monotonic()
                if now >= self._until:
                    raise
                if now >= silent_at:
                    raise Silent(patience, begun=self._begun) from None
            yield from self._look()

    def _look(self) -> Iterator[Delta]:
        held = holds(self._model.name, self._model.host, LOOK_PATIENCE, self._cancel)
        self._look_at = time.monotonic() + LOOK_EVERY
        if held is None:
            return  # a server that is too busy, or too old, to tell
        phase: Phase = "reading the prompt" if held else "loading the model"
        if phase != self.phase:
            self.phase = phase
            yield Delta("phase", phase)

    def _fault(self, draft: Draft, failure: Exception | None) -> ModelFault | None:
        """Why the reply is none; what goes wrong after the server has said that it is done is no fault."""
        if draft.done:
            failure = draft.problem()
        elif self._cancel.wanted:
            return ModelFault(stop_reason="cancelled", message="it was broken off")
        if failure is None:
            return None
        if isinstance(failure, Refused) and failure.for_the_record:
            self._warnings.append(f"Ollama's own words: {failure.for_the_record}")
        return fault_of(failure, self._model.name, begun=draft.begun, num_ctx=self._options.num_ctx)
