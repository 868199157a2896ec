"""A model that plays given replies in order: for tests, experiments and the lab. It is no language model."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from agent.history import Message
from agent.models import Delta, ModelOptions
from agent.shapes import ModelInfo, ToolCall, Usage
from agent.trace import ModelReply


@dataclass(frozen=True)
class Line:
    """One reply of a script: text, thinking and calls, and a pause before each word."""

    text: str = ""
    thinking: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    usage: Usage | None = None
    pause: float = 0.0


def say(text: str, **more: Any) -> Line:
    """A line that answers."""
    return Line(text=text, **more)


def call(tool: str, **arguments: Any) -> Line:
    """A line that makes one call."""
    return Line(calls=((tool, arguments),))


class ScriptedModel:
    """Plays its lines, one a request, the last for ever; ``requests`` and ``options`` keep what it was asked."""

    def __init__(self, name: str, lines: Sequence[Line | ModelReply]) -> None:
        self.info = ModelInfo(name=f"script:{name}", label="script: prepared replies, not a language model")
        self.requests: list[tuple[list[Message], list[dict[str, Any]]]] = []
        self.options: list[ModelOptions] = []
        self._lines = lines

    def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[dict[str, Any]],
        options: ModelOptions,
        deadline: float | None,  # noqa: ARG002
    ) -> "ScriptedStream":
        self.requests.append((list(messages), list(tools)))
        self.options.append(options)
        line = self._lines[min(len(self.requests), len(self._lines)) - 1]
        return ScriptedStream(self.info.name, line, [*messages, *tools])


class ScriptedStream:
    """One line as it comes; ``close`` ends a pause at once."""

    def __init__(self, model: str, line: Line | ModelReply, sent: Sequence[Message]) -> None:
        self._model, self._line, self._sent = model, line, sent
        self._closed = threading.Event()

    def __iter__(self) -> Iterator[Delta | ModelReply]:
        if isinstance(self._line, ModelReply):
            yield self._line
            return
        line, said = self._line, ""
        if line.thinking:
            yield Delta("thinking_delta", line.thinking)
        for word in line.text.split(" ") if line.text else []:
            if self._closed.wait(line.pause) if line.pause else self._closed.is_set():
                yield self._reply(line, said, incomplete=True)
                return
            said += f" {word}" if said else word
            yield Delta("text_delta", word if said == word else f" {word}")
        yield self._reply(line, said, incomplete=self._closed.is_set())

    def close(self) -> None:
        self._closed.set()

    def _reply(self, line: Line, text: str, *, incomplete: bool) -> ModelReply:
        calls = [] if incomplete else line.calls
        return ModelReply(
            model=self._model,
            text=text,
            thinking=line.thinking,
            tool_calls=[ToolCall(id="", name=name, arguments=arguments) for name, arguments in calls],
            usage=line.usage or self._estimated(line),
            done_reason=None if incomplete else "stop",
            incomplete=incomplete,
        )

    def _estimated(self, line: Line) -> Usage:
        sent = sum(len(str(message)) for message in self._sent)
        written = len(line.text) + len(line.thinking) + len(str(line.calls))
        return Usage(input_tokens=sent // 4, output_tokens=max(written // 4, 1), estimated=True)
