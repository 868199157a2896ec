"""The offline stand-in: a model made of rules that really reads the request and the results."""

import re
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.models import Delta, Message
from agent.trace import ModelFault, ModelInfo, ModelOptions, ModelReply, ToolCall, Usage
from assistant.offline.desk import Desk, Need, Trouble
from assistant.offline.notes import Notes, Result, copies, dollars, listed, read, whole
from assistant.offline.rules import RULES, tidy
from assistant.offline.wishes import Unclear

CHARS_PER_TOKEN = 4


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

    def __init__(self, model: str, move: Move, asked: int, pause: float, deadline: float | None) -> None:
        self._model, self._move, self._asked, self._pause, self._deadline = model, move, asked, pause, deadline
        self._closed = threading.Event()

    def __iter__(self) -> Iterator[Delta | ModelReply]:
        said = ""
        yield Delta("thinking_delta", self._move.thinking)
        for word in re.findall(r"\s*\S+", self._move.text):
            if self._closed.wait(self._pause) if self._pause else self._closed.is_set():
                break
            if self._deadline is not None and time.monotonic() >= self._deadline:
                fault = ModelFault(stop_reason="max_seconds", message="the time limit was reached")
                yield self._reply(said, fault)
                return
            said += word
            yield Delta("text_delta", word)
        yield self._reply(said)

    def close(self) -> None:
        self._closed.set()

    def _reply(self, said: str, error: ModelFault | None = None) -> ModelReply:
        incomplete = error is not None or self._closed.is_set()
        calls = [] if incomplete else self._move.calls
        written = len(said + self._move.thinking) + sum(len(f"{call.name}{call.arguments}") for call in calls)
        read, wrote = self._asked // CHARS_PER_TOKEN, max(written // CHARS_PER_TOKEN, 1)
        return ModelReply(
            model=self._model,
            text=said,
            thinking=self._move.thinking,
            tool_calls=calls,
            usage=Usage(input_tokens=read, output_tokens=wrote, estimated=True),
            done_reason=None if incomplete else "stop",
            error=error,
            incomplete=incomplete,
        )


def next_move(messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> Move:
    """Apply the rules to a conversation: one call, or an answer."""
    notes = read(messages)
    desk = Desk(notes, tools)
    request = tidy(notes.request)
    for pattern, rule in RULES:
        if not (asked := pattern.search(request)):
            continue
        if isinstance(rule, str):
            return Move(rule, "The table of rules has an answer to this.")
        name = f"Rule “{rule.__name__.replace('_', ' ')}”"
        try:
            answer = rule(asked, desk)
        except Need as need:
            if notes.wrap_up or not tools:
                return Move(wrap_up(notes), f"{name}: the run ends here, so I tell what the results show.")
            if not desk.has(need.name):
                return Move(
                    "I cannot do that: I have no tool for it here.", f"{name}: the call it needs is missing."
                )
            return Move("", f"{name}: {need.why}", [ToolCall(id="", name=need.name, arguments=need.arguments)])
        except Unclear as unclear:
            return Move(str(unclear), f"{name}: the customer has to say more.")
        except Trouble as trouble:
            words = f"The shop could not answer: “{trouble}”. Please try again later."
            return Move(words, f"{name}: a call failed.")
        if answer is not None:
            return Move(answer, f"{name}: nothing is left to look up, so I answer.")
    raise AssertionError("the last row always answers")


def wrap_up(notes: Notes) -> str:
    """What to say when a run ends before its request is done: why, what the results show, and what to do next."""
    why = f" because {notes.wrap_up}" if notes.wrap_up else ""
    seen = list(_seen(notes.run)) or [f"I found {book.title}." for book in notes.found[:1]]
    return " ".join([f"I had to stop{why}.", *seen, _done(notes), "Ask me to continue, or raise the limit."])


def _seen(run: Sequence[Result]) -> Iterator[str]:
    for data in (result.data for result in run):
        if (left := whole(data.get("in_stock"))) is not None:
            yield f"{data.get('title')} is {f'in stock ({copies(left)})' if left else 'out of stock'}."
        if "status" in data:
            yield f"Order O-{data.get('id')} is {data['status']}."


def _done(notes: Notes) -> str:
    adds = [made for made in notes.run if made.name == "add_to_cart"]
    added = [f"{made.data.get('quantity')} × {made.data['added']}" for made in adds if "added" in made.data]
    if added:
        return f"I added {listed(added)}; the cart total was then {dollars(notes.total)}. The rest is not done."
    if any(not Trouble(made.error).undone for made in adds):
        return "I tried to add a book and cannot tell whether it took effect: please look at your cart."
    return "I have not added anything to your cart, and your request is not done."
