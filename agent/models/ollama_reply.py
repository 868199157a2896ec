"""One reply of Ollama, put together from its chunks."""

import time
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

from ollama import ChatResponse

from agent.models import Delta
from agent.shapes import ModelFault, Timings, ToolCall, Usage
from agent.trace import ModelReply


class Draft:
    """What has come of a reply so far; thinking, text and calls are taken from every chunk, the last included."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._said: list[Delta] = []
        self._calls: list[ToolCall] = []
        self._last_chunk: ChatResponse | None = None
        self._first_token_at: float | None = None
        self._arrived_at = self._began

    @property
    def done(self) -> bool:
        """Whether the server has said that this is all."""
        return self._last_chunk is not None

    def add(self, at: float, chunks: Sequence[ChatResponse]) -> list[Delta]:
        """Take chunks that arrived together, and return what is new to draw; ``at`` is on the monotonic clock."""
        pieces: list[tuple[str, str]] = []
        for chunk in chunks:
            message = chunk.message
            if message.thinking:
                pieces.append(("thinking_delta", message.thinking))
            if message.content:
                pieces.append(("text_delta", message.content))
            for call in message.tool_calls or ():
                arguments = dict(call.function.arguments)
                self._calls.append(ToolCall(id="", name=call.function.name, arguments=arguments))
            if chunk.done:
                self._last_chunk = chunk
        self._arrived_at = at
        if self._first_token_at is None and (pieces or self._calls):
            self._first_token_at = at
        deltas = [
            Delta(kind, "".join(text for _, text in group)) for kind, group in groupby(pieces, itemgetter(0))
        ]
        self._said += deltas
        return deltas

    def reply(self, model: str, fault: ModelFault | None, warnings: Sequence[str]) -> ModelReply:
        """Make the reply of what has come; calls of a reply without its end are dropped, with a warning."""
        calls, dropped = (self._calls, []) if self.done else ([], self._calls)
        if dropped:
            names = ", ".join(call.name for call in dropped)
            warnings = [*warnings, f"The reply broke off, so its calls were not run: {names}"]
        return ModelReply(
            model=model,
            text=self._words("text_delta"),
            thinking=self._words("thinking_delta"),
            tool_calls=calls,
            usage=self._usage(),
            timings_ms=self._timings(),
            done_reason=self._last_chunk.done_reason if self._last_chunk else None,
            error=fault,
            incomplete=not self.done,
            warnings=list(warnings),
        )

    def _words(self, kind: str) -> str:
        return "".join(delta.text for delta in self._said if delta.kind == kind)

    def _usage(self) -> Usage:
        if self._last_chunk is None:
            return Usage()
        return Usage(
            input_tokens=self._last_chunk.prompt_eval_count,
            output_tokens=self._last_chunk.eval_count,
        )

    def _timings(self) -> Timings:
        end, first_token_at = self._last_chunk, self._first_token_at
        ended_at = self._arrived_at if end else time.monotonic()
        measured = Timings(
            first_token=None if first_token_at is None else round((first_token_at - self._began) * 1000, 3),
            total=round((ended_at - self._began) * 1000, 3),
        )
        if end is None:
            return measured
        told = {"load": end.load_duration, "prompt": end.prompt_eval_duration, "generation": end.eval_duration}
        return measured.model_copy(update={name: ns and ns / 1e6 for name, ns in told.items()})
