"""A model that plays given replies in order: for tests, experiments and the lab. It is no language model."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.models.protocol import Delta, Message
from agent.trace import ModelInfo, ModelOptions, ModelReply, Prices, ToolCall, Usage


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


@dataclass(frozen=True)
class Asked:
    """One request as a script sees it: its number from 1 on, the messages, and the tools that may be called."""

    number: int
    messages: Sequence[Message]
    tools: Sequence[dict[str, Any]]


Play = Callable[[Asked], Line | ModelReply]
"""A script that looks at what it is asked."""


class ScriptedModel:
    """Plays its lines, one a request, the last for ever, or what a function makes of each request.

    ``requests`` and ``options`` keep what it was asked.
    """

    def __init__(
        self, name: str, script: Sequence[Line | ModelReply] | Play, prices: Prices | None = None
    ) -> None:
        label = "script: prepared replies, not a language model"
        self.info = ModelInfo(name=f"script:{name}", label=label, prices=prices)
        self.requests: list[tuple[list[Message], list[dict[str, Any]]]] = []
        self.options: list[ModelOptions] = []
        self._script = script

    def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[dict[str, Any]],
        options: ModelOptions,
        deadline: float | None,  # noqa: ARG002
    ) -> "ScriptedStream":
        self.requests.append((list(messages), list(tools)))
        self.options.append(options)
        line = self._line(Asked(len(self.requests), messages, tools))
        return ScriptedStream(self.info.name, line, [*messages, *tools])

    def _line(self, asked: Asked) -> Line | ModelReply:
        if callable(self._script):
            return self._script(asked)
        return self._script[min(asked.number, len(self._script)) - 1]


class ScriptedStream:
    """One line as it comes; ``close`` ends a pause at once."""

    def __init__(self, model: str, line: Line | ModelReply, asked: Sequence[Mapping[str, Any]]) -> None:
        self._model, self._line, self._asked = model, line, asked
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
        sent = sum(len(str(part)) for part in self._asked)
        written = len(line.text) + len(line.thinking) + len(str(line.calls))
        return Usage(input_tokens=sent // 4, output_tokens=max(written // 4, 1), estimated=True)
