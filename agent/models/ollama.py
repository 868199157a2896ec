"""Models on an Ollama server, through the official client."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from typing import Any

from ollama import ResponseError

from agent.history import Message
from agent.models import Delta, ModelOptions
from agent.models.ollama_chat import chat
from agent.models.ollama_faults import FAILURES, BrokeOff, fault_of, refuses_thinking
from agent.models.ollama_network import BadAddress, Line, switchboard
from agent.models.ollama_reply import Draft
from agent.models.ollama_state import find_server
from agent.shapes import ModelFault, ModelInfo
from agent.trace import ModelReply

GRACE = 0.5
"""Seconds a server may take to end its stream after it has said that it is done."""
SENT_OPTIONS = ("num_ctx", "num_predict", "temperature", "seed")
"""Those of ModelOptions that Ollama takes under ``options``."""


class OllamaModel:
    """A model by its Ollama name; ``host`` is read like OLLAMA_HOST, which counts where it is absent."""

    def __init__(self, name: str, host: str | None = None, digest: str | None = None) -> None:
        self.name, self.host = name, host
        self.thinks_apart = True
        """False once the server has said that this model cannot think apart."""
        self._digest = digest

    @property
    def info(self) -> ModelInfo:
        """Name, digest and label; the digest is asked for until the server has told it, for a second at most."""
        if self._digest is None:
            pulled = find_server(self.host).find(self.name)
            self._digest = pulled.digest if pulled else None
        return ModelInfo(name=self.name, digest=self._digest, label=f"{self.name} on Ollama")

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
        self._body = {
            "model": model.name,
            "messages": messages,
            "tools": tools,
            "options": {name: getattr(options, name) for name in SENT_OPTIONS},
            "keep_alive": options.keep_alive,
        }
        self._think = options.think if model.thinks_apart else None
        self._bell: asyncio.Future[None] | None = None
        self._warnings: list[str] = []
        self._failure: Exception | None = None
        self._closed = False
        self._reading: tuple[Line, asyncio.Task[None]] | None = None

    def __iter__(self) -> Iterator[Delta | ModelReply]:
        draft = Draft()
        try:
            with switchboard().line(self._model.host) as line:
                yield from self._read_on(line, draft)
        except BadAddress as failure:
            self._failure = failure
        yield draft.reply(self._model.name, self._fault(draft), self._warnings)

    def close(self) -> None:
        self._closed = True
        if self._reading:
            line, task = self._reading
            line.loop.call_soon_threadsafe(task.cancel)

    def _read_on(self, line: Line, draft: Draft) -> Iterator[Delta]:
        """Run the line's loop until something has come, hand it on, and again until all has come."""
        task = line.loop.create_task(self._read(line, draft))
        task.add_done_callback(lambda _: self._ring())
        self._reading = line, task
        if self._closed:  # by someone who could not see yet what to cancel
            task.cancel()
        try:
            while not task.done():
                self._bell = line.loop.create_future()
                line.loop.run_until_complete(self._bell)
                yield from draft.fresh()
            if not task.cancelled():
                task.result()  # raises what is a bug of ours
        finally:
            self._reading = None
            if not task.done():
                task.cancel()
                line.run(asyncio.wait({task}))

    def _fault(self, draft: Draft) -> ModelFault | None:
        """Why the reply is not whole; what goes wrong after the server has said that it is done is no fault."""
        if draft.done:
            return None
        if self._failure:
            return fault_of(self._failure, self._model.name)
        return ModelFault(stop_reason="cancelled", message="it was broken off")

    async def _read(self, line: Line, draft: Draft) -> None:
        """Read the whole reply; a failure is kept for the one who iterates."""
        try:
            # The event loop's clock is the monotonic one, as the deadline's is.
            async with asyncio.timeout_at(self._deadline) as limit:
                try:
                    await self._ask(line, draft, limit)
                except ResponseError as error:
                    if self._think is None or not refuses_thinking(error):
                        raise
                    self._model.thinks_apart, self._think = False, None
                    self._warnings.append("This model cannot think apart, so it was asked without thinking")
                    await self._ask(line, draft, limit)
        except FAILURES as failure:
            self._failure = failure

    async def _ask(self, line: Line, draft: Draft, limit: asyncio.Timeout) -> None:
        body = self._body if self._think is None else {**self._body, "think": self._think}
        async with aclosing(chat(line.client, body)) as parts:
            async for part in parts:
                draft.add(part)
                line.loop.call_soon(self._ring)  # after all that came in the same read
                if draft.done:
                    limit.reschedule(time.monotonic() + GRACE)
        if not draft.done:
            raise BrokeOff

    def _ring(self) -> None:
        if self._bell and not self._bell.done():
            self._bell.set_result(None)
