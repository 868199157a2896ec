"""Models on an Ollama server, through the official client."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from typing import Any

from agent.models import Delta, DeltaKind, Message, ModelOptions
from agent.models.curtain import Curtain
from agent.models.ollama_chat import asking, chat
from agent.models.ollama_errors import BrokeOff, Refused
from agent.models.ollama_faults import FAILURES, fault_of, refuses_thinking
from agent.models.ollama_network import BadAddress, Line, switchboard
from agent.models.ollama_reading import Reading
from agent.models.ollama_reply import Draft
from agent.models.ollama_state import ModelCard, describe
from agent.models.ollama_watch import Phase, Watch
from agent.trace import ModelFault, ModelInfo, ModelReply

SILENT_PHASES = ("loading the model", "reading the prompt")
GRACE = 0.5
"""Seconds a server may take to end its stream after it has said that it is done."""
PHASES: dict[DeltaKind, Phase] = {"thinking_delta": "thinking", "text_delta": "answering"}
WITHOUT_THINKING = "This model cannot think apart, so it was asked without thinking"


class OllamaModel:
    """A model by its Ollama name; ``host`` is read like OLLAMA_HOST, which counts where it is absent.

    A reply may take ``first_byte_seconds`` to begin, as the model may have to be loaded and nothing at all is sent
    meanwhile, and pause for ``stall_seconds``; the deadline of the run counts besides.
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
        self.thinks_apart = True
        """False once the server has said that this model cannot think apart."""
        self._digest = digest
        self._card: ModelCard | None = None

    @property
    def info(self) -> ModelInfo:
        """Name, digest and label; the server is asked until it has told them, for a second at most."""
        if self._digest is None:
            self._card = describe(self.name, self.host, timeout=1.0)
            self._digest = self._card.digest
        garbles = bool(self._card and self._card.garbles_tools)
        label = f"{self.name} on Ollama"
        return ModelInfo(name=self.name, digest=self._digest, label=label, garbles_tools=garbles)

    @property
    def may_think(self) -> bool:
        """Whether its text may turn out to be thinking, as far as is known."""
        return self.thinks_apart and not (self._card and self._card.can_think is False)

    def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[dict[str, Any]],
        options: ModelOptions,
        deadline: float | None,
    ) -> "OllamaStream":
        return OllamaStream(self, messages, tools, options, deadline)


class OllamaStream:
    """One reply as it comes, read in the thread that iterates; closing it closes the connection at once."""

    def __init__(
        self,
        model: OllamaModel,
        messages: Sequence[Message],
        tools: Sequence[dict[str, Any]],
        options: ModelOptions,
        deadline: float | None,
    ) -> None:
        self._model, self._deadline = model, deadline
        self._num_ctx = options.num_ctx
        self._body = {**asking(model.name, options), "messages": messages, "tools": tools}
        self._think = options.think if model.thinks_apart else None
        self._curtain = Curtain(doubts=model.may_think)
        self._reading: Reading[Delta] = Reading()
        self._watch: Watch | None = None
        self._warnings: list[str] = []
        self._failure: Exception | None = None
        self._told: Phase = "connecting"

    @property
    def phase(self) -> Phase:
        """What the request waits for; can be read from any thread."""
        return self._watch.phase if self._watch else "connecting"

    def __iter__(self) -> Iterator[Delta | ModelReply]:
        draft = Draft(self._curtain)
        try:
            with switchboard().line(self._model.host) as line:
                yield from self._reading.run(line, self._read(line, draft), lambda: self._fresh(draft))
        except BadAddress as failure:
            self._failure = failure
        yield draft.reply(self._model.name, self._fault(draft), self._warnings)

    def close(self) -> None:
        self._reading.close()

    def _fresh(self, draft: Draft) -> list[Delta]:
        """What is new to draw: what a silent server is at, or what it said."""
        said = draft.fresh()
        if said or self.phase == self._told or self.phase not in SILENT_PHASES:
            return said
        self._told = self.phase
        return [Delta("phase", self.phase)]

    def _fault(self, draft: Draft) -> ModelFault | None:
        """Why the reply is none; what goes wrong after the server has said that it is done is no fault."""
        failure = draft.problem() if draft.done else self._failure
        if failure:
            if isinstance(failure, Refused) and failure.for_the_record:
                self._warnings.append(f"Ollama's own words: {failure.for_the_record}")
            return fault_of(failure, self._model.name, begun=draft.begun, num_ctx=self._num_ctx)
        return None if draft.done else ModelFault(stop_reason="cancelled", message="it was broken off")

    async def _read(self, line: Line, draft: Draft) -> None:
        """Read the whole reply; a failure is kept for the one who iterates."""
        model = self._model
        self._watch = watch = Watch(
            line, model.name, model.first_byte_seconds, model.stall_seconds, self._reading.ring
        )
        try:
            # The event loop's clock is the monotonic one, as the deadline's is.
            async with asyncio.timeout_at(self._deadline) as limit:
                watch.start(limit)
                try:
                    await self._ask(line, draft, limit, watch)
                except Refused as error:
                    if self._think is None or not refuses_thinking(error):
                        raise
                    model.thinks_apart, self._think = False, None
                    self._curtain.trust()
                    self._warnings.append(WITHOUT_THINKING)
                    await self._ask(line, draft, limit, watch)
        except FAILURES as failure:
            self._failure = watch.silent or failure
        finally:
            await watch.stop()

    async def _ask(self, line: Line, draft: Draft, limit: asyncio.Timeout, watch: Watch) -> None:
        body = self._body if self._think is None else {**self._body, "think": self._think}
        async with aclosing(chat(line.client, body)) as parts:
            async for part in parts:
                if draft.done:
                    continue  # nothing counts after the end, which is read for the connection's sake
                draft.add(part)
                watch.heard(draft.latest and PHASES[draft.latest])
                line.loop.call_soon(self._reading.ring)  # after all that came in the same read
                if draft.done:
                    limit.reschedule(time.monotonic() + GRACE)
        if not draft.done:
            raise BrokeOff
