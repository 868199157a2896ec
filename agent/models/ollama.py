"""Models on an Ollama server, through the official client."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

from ollama import ChatResponse, ResponseError

from agent.history import Message
from agent.models import Delta, ModelOptions
from agent.models.ollama_faults import FAILURES, BrokeOff, fault_of, refuses_thinking
from agent.models.ollama_network import network
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
    """One reply as it comes over the network's thread; closing it closes the connection at once."""

    def __init__(
        self,
        model: OllamaModel,
        messages: Sequence[Message],
        tools: Sequence[dict[str, Any]],
        options: ModelOptions,
        deadline: float | None,
    ) -> None:
        self._model, self._messages, self._tools = model, messages, tools
        self._options, self._deadline = options, deadline
        self._closed = False
        self._reading: Future[None] | None = None
        self._failure: Exception | None = None
        self._warnings: list[str] = []
        self._chunks: list[ChatResponse] = []
        self._batches: SimpleQueue[tuple[float, list[ChatResponse]] | None] = SimpleQueue()

    def __iter__(self) -> Iterator[Delta | ModelReply]:
        draft = Draft()
        self._reading = network().start(self._read())
        self._reading.add_done_callback(lambda _: self._batches.put(None))
        if self._closed:  # by someone who could not see yet what to cancel
            self._reading.cancel()
        try:
            while batch := self._batches.get():
                yield from draft.add(*batch)
            if not self._reading.cancelled():
                self._reading.result()  # raises what is a bug of ours
            yield draft.reply(self._model.name, self._fault(draft), self._warnings)
        finally:
            self.close()

    def close(self) -> None:
        self._closed = True
        if self._reading:
            self._reading.cancel()

    def _fault(self, draft: Draft) -> ModelFault | None:
        """Why the reply is not whole; what goes wrong after the server has said that it is done is no fault."""
        if draft.done:
            return None
        if self._failure:
            return fault_of(self._failure, self._model.name)
        return ModelFault(stop_reason="cancelled", message="it was broken off")

    async def _read(self) -> None:
        """Read the reply, on the network's thread; a failure is kept for the thread that iterates."""
        think = self._options.think if self._model.thinks_apart else None
        try:
            # The event loop's clock is the monotonic one, as the deadline's is.
            async with asyncio.timeout_at(self._deadline) as limit:
                try:
                    await self._ask(limit, think)
                except ResponseError as error:
                    if think is None or not refuses_thinking(error):
                        raise
                    self._model.thinks_apart = False
                    self._warnings.append("This model cannot think apart, so it was asked without thinking")
                    await self._ask(limit, think=None)
        except FAILURES as failure:
            self._failure = failure

    async def _ask(self, limit: asyncio.Timeout, think: bool | None) -> None:
        client = network().client(self._model.host)
        chunks = await client.chat(
            self._model.name,
            self._messages,
            tools=self._tools,
            stream=True,
            think=think,
            options={name: getattr(self._options, name) for name in SENT_OPTIONS},
            keep_alive=self._options.keep_alive,
        )
        done = False
        async for chunk in chunks:
            self._pass_on(chunk)
            if chunk.done:
                done = True
                limit.reschedule(time.monotonic() + GRACE)
        if not done:
            raise BrokeOff

    def _pass_on(self, chunk: ChatResponse) -> None:
        """Keep a chunk, and hand all that came in one read over together: waking a thread for each is dear."""
        if not self._chunks:
            asyncio.get_running_loop().call_soon(self._hand_over)
        self._chunks.append(chunk)

    def _hand_over(self) -> None:
        self._batches.put((time.monotonic(), self._chunks))
        self._chunks = []
