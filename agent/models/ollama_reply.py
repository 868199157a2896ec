"""One reply of Ollama, put together from its chunks."""

import time
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from agent.models import Delta, DeltaKind
from agent.shapes import ModelFault, Timings, ToolCall, Usage
from agent.trace import ModelReply

DURATIONS = {"load": "load_duration", "prompt": "prompt_eval_duration", "generation": "eval_duration"}
"""Our names of the times a server tells, in nanoseconds, and its own."""


class Draft:
    """What has come of a reply so far; thinking, text and calls are taken from every chunk, the last included."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._said: list[Delta] = []
        self._fresh: list[Delta] = []
        self._calls: list[ToolCall] = []
        self._end: dict[str, Any] | None = None
        self._first_token_at: float | None = None
        self._arrived_at = self._began

    @property
    def done(self) -> bool:
        """Whether the server has said that this is all."""
        return self._end is not None

    def add(self, part: dict[str, Any]) -> None:
        """Take the next part; one of a wrong shape raises AttributeError, KeyError, TypeError or ValueError."""
        message = part.get("message") or {}
        kinds: tuple[tuple[DeltaKind, str], ...] = (("thinking_delta", "thinking"), ("text_delta", "content"))
        pieces = [Delta(kind, message[field] + "") for kind, field in kinds if message.get(field)]
        for call in message.get("tool_calls") or ():
            function = call["function"]
            self._calls.append(ToolCall(id="", name=function["name"], arguments=function["arguments"]))
        if part.get("done"):
            self._end = part
        self._fresh += pieces
        self._arrived_at = time.monotonic()
        if self._first_token_at is None and (pieces or self._calls):
            self._first_token_at = self._arrived_at

    def fresh(self) -> list[Delta]:
        """What is new to draw since the last time, as few pieces as there can be."""
        groups = groupby(self._fresh, attrgetter("kind"))
        deltas = [Delta(kind, "".join(delta.text for delta in group)) for kind, group in groups]
        self._said += deltas
        self._fresh.clear()
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
            done_reason=self._end.get("done_reason") if self._end else None,
            error=fault,
            incomplete=not self.done,
            warnings=list(warnings),
        )

    def _words(self, kind: str) -> str:
        return "".join(delta.text for delta in self._said if delta.kind == kind)

    def _usage(self) -> Usage:
        end = self._end or {}
        return Usage(
            input_tokens=end.get("prompt_eval_count"),
            output_tokens=end.get("eval_count"),
            cached_tokens=end.get("prompt_eval_cached_count"),
        )

    def _timings(self) -> Timings:
        end, first_token_at = self._end, self._first_token_at
        ended_at = self._arrived_at if end else time.monotonic()
        measured = Timings(
            first_token=None if first_token_at is None else round((first_token_at - self._began) * 1000, 3),
            total=round((ended_at - self._began) * 1000, 3),
        )
        if end is None:
            return measured
        told = {name: end.get(key) for name, key in DURATIONS.items()}
        return measured.model_copy(update={name: ns and ns / 1e6 for name, ns in told.items()})
