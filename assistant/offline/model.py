"""The offline stand-in: a model made of rules that really reads the request and the results."""

import re
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.models import Delta, Message, ModelOptions
from agent.trace import ModelFault, ModelInfo, ModelReply, ToolCall, Usage
from assistant.offline.choice import Unclear
from assistant.offline.desk import Desk, Need, Trouble
from assistant.offline.history import read
from assistant.offline.rules import RULES
from assistant.offline.words import shield
from assistant.offline.wrap_up import wrap_up

CHARS_PER_TOKEN = 4
_MISSING = {
    "search_books": "search the catalog",
    "check_stock": "check the stock",
    "get_order_status": "look up orders",
    "add_to_cart": "put anything into a cart",
}


@dataclass(frozen=True)
class Move:
    """What the rules come to: an answer or one call, and which rule it was."""

    text: str = ""
    thinking: str = ""
    calls: list[ToolCall] = field(default_factory=list)


class OfflineModel:
    """Rules, not a language model; ``pause`` is the seconds between the words of an answer."""

    def __init__(self, pause: float = 0.0) -> None:
        self.info = ModelInfo(name="offline", label="stand-in: rules, not a language model")
        self._pause = pause

    def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[dict[str, Any]],
        options: ModelOptions,  # noqa: ARG002  # rules have no temperature
        deadline: float | None,
    ) -> "OfflineStream":
        sent = sum(len(str(part)) for part in (*messages, *tools))
        return OfflineStream(self.info.name, next_move(messages, tools), sent, self._pause, deadline)


class OfflineStream:
    """One reply, word by word; ``close`` ends it at once."""

    def __init__(self, model: str, move: Move, sent: int, pause: float, deadline: float | None) -> None:
        self._model, self._move, self._sent, self._pause, self._deadline = model, move, sent, pause, deadline
        self._closed = threading.Event()

    def __iter__(self) -> Iterator[Delta | ModelReply]:
        said = ""
        yield Delta("thinking_delta", self._move.thinking)
        for word in re.findall(r"\s*\S+", self._move.text):
            if self._closed.wait(self._pause) if self._pause else self._closed.is_set():
                break
            if self._deadline is not None and time.monotonic() >= self._deadline:
                yield self._reply(
                    said, ModelFault(stop_reason="max_seconds", message="the time limit was reached")
                )
                return
            said += word
            yield Delta("text_delta", word)
        yield self._reply(said)

    def close(self) -> None:
        self._closed.set()

    def _reply(self, said: str, error: ModelFault | None = None) -> ModelReply:
        incomplete = error is not None or self._closed.is_set()
        calls = [] if incomplete else self._move.calls
        written = (
            len(said) + len(self._move.thinking) + sum(len(str(call.arguments)) + len(call.name) for call in calls)
        )
        usage = Usage(
            input_tokens=self._sent // CHARS_PER_TOKEN,
            output_tokens=max(written // CHARS_PER_TOKEN, 1),
            estimated=True,
        )
        return ModelReply(
            model=self._model,
            text=said,
            thinking=self._move.thinking,
            tool_calls=calls,
            usage=usage,
            done_reason=None if incomplete else "stop",
            error=error,
            incomplete=incomplete,
        )


def next_move(messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> Move:
    """Apply the rules to a conversation: one call, or an answer."""
    notes = read(messages)
    desk = Desk(notes, tools)
    request = shield(notes.request)
    for rule in RULES:
        name = f"Rule “{rule.__name__.replace('_', ' ')}”"
        try:
            answer = rule(request, desk)
        except Need as need:
            if notes.wrap_up or not tools:
                return Move(wrap_up(notes), f"{name}: the run ends here, so I tell what the results show.")
            if desk.has(need.name):
                call = ToolCall(id="", name=need.name, arguments=need.arguments)
                return Move(thinking=f"{name}: {need.why}", calls=[call])
            cannot = f"I have no tool here to {_MISSING.get(need.name, 'do that')}, so I cannot do it."
            return Move(cannot, f"{name}: the call it needs is not to be had.")
        except Unclear as unclear:
            return Move(str(unclear), f"{name}: the customer has to say more.")
        except Trouble as trouble:
            return Move(
                f"The shop could not answer: “{trouble}”. Please try again later.", f"{name}: a call failed."
            )
        if answer is not None:
            return Move(answer, f"{name}: nothing is left to look up, so I answer.")
    raise AssertionError("the last rule always answers")
