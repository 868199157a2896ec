"""What the calls of a conversation show, as the claim check needs it: books by title, adds, orders read."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agent.trace import AnyEvent, ToolFinished


class AddedBook(NamedTuple):
    """Copies that a call put into the cart, and where that call stands."""

    title: str
    quantity: int
    place: str


@dataclass
class Evidence:
    """``books`` are ids by title, in lower case; ``results`` the texts of this turn's results."""

    books: dict[str, int] = field(default_factory=dict)
    added: list[AddedBook] = field(default_factory=list)
    added_before: list[AddedBook] = field(default_factory=list)
    orders: set[int] = field(default_factory=set)
    results: str = ""

    def books_in(self, sentence: str) -> Mapping[str, int]:
        """The known books that a sentence names; of two titles where one is part of the other, the longer."""
        text = sentence.casefold()
        named = {title: book_id for title, book_id in self.books.items() if _names(text, title)}
        return {
            title: book_id
            for title, book_id in named.items()
            if not any(title != other and title in other for other in named)
        }


def evidence_of(events: Sequence[AnyEvent], earlier: Sequence[AnyEvent]) -> Evidence:
    """Read what the calls of this turn and of the earlier ones show."""
    evidence, turn = Evidence(), 0
    for event in earlier:
        turn = event.turn if event.kind == "run_started" else turn
        if event.kind == "tool_finished":
            _learn(evidence, event, evidence.added_before, f"turn {turn}")
    for event in events:
        if event.kind == "tool_finished":
            _learn(evidence, event, evidence.added, f"step {event.step}")
            evidence.results += f"{event.result}\n"
    return evidence


def _learn(evidence: Evidence, event: ToolFinished, added: list[AddedBook], place: str) -> None:
    data = _data(event.result)
    for row in _rows(data):
        title, number = row.get("title"), row.get("id", row.get("book_id"))
        if isinstance(title, str) and isinstance(number, int):
            evidence.books[title.casefold()] = number
    title, quantity = data.get("added"), data.get("quantity", 1)
    if event.ok and isinstance(title, str) and isinstance(quantity, int):
        added.append(AddedBook(title, quantity, place))
        evidence.books.setdefault(title.casefold(), int(event.call.arguments.get("book_id", 0)))
    if event.ok and "status" in data and isinstance(data.get("id"), int):
        evidence.orders.add(data["id"])


def _rows(data: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    rows = data.get("books", data.get("lines"))
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else [data]


def _names(text: str, title: str) -> bool:
    """Whether a text holds a title whole; one that is a number is not meant where things are counted or paid."""
    counted = r"(?!\s+(?:cop|in stock|left|available|books?|pages?))" if title.isdecimal() else ""
    return re.search(rf"(?<![\w$.,-]){re.escape(title)}(?![\w]|[.,]\d){counted}", text) is not None


def _data(result: str) -> dict[str, Any]:
    """The JSON a result begins with; nothing where it is none, as where it was cut."""
    try:
        data, _ = json.JSONDecoder().raw_decode(result)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
