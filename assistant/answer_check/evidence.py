"""What the calls of a conversation show, an answer read with that, and its figures that come from nowhere."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import store
from agent.text import leading_json
from agent.trace import AnyEvent, ToolFinished
from assistant.answer_check.figures import Figure, read_figures

_SHOWN = re.compile(r"\d+(?:\.\d+)?")  # a number as results write it: "16.50", "15"
_DIGITS = re.compile(r"\d(?:[\d.,]*\d)?")  # the number in a figure, without currency or unit


class AddedBook(NamedTuple):
    """Copies that a call put into the cart, and in which turn and step."""

    title: str
    quantity: int
    turn: int
    step: int


class Evidence:
    """What calls have shown, folded event by event.

    ``books`` are ids by title, ``orders`` the ids of orders that were read, ``shown`` the numbers in the results
    of the latest turn, ``shown_before`` those of the turns before.
    """

    def __init__(self, events: Iterable[AnyEvent] = ()) -> None:
        self.turn = 0
        self.books: dict[str, set[int]] = {}
        self.orders: set[int] = set()
        self.added: list[AddedBook] = []
        self.shown: set[str] = set()
        self.shown_before: set[str] = set()
        for event in events:
            self.add(event)

    def add(self, event: AnyEvent) -> None:
        """Learn from an event."""
        if event.kind == "run_started":
            self.turn = event.turn
            self.shown_before |= self.shown
            self.shown = set()
        elif event.kind == "tool_finished":
            self.shown.update(_SHOWN.findall(event.result))
            self._learn(event, leading_json(event.result))

    def read(self, answer: str) -> "Reading":
        """Read an answer with what was shown so far."""
        return Reading(read_figures(answer, self.books, self.orders), self)

    def _learn(self, event: ToolFinished, data: Mapping[str, Any]) -> None:
        rows = data.get("books", data.get("lines"))
        for row in rows if isinstance(rows, list) else [data]:
            match row:
                case {"title": str(title), "id": int(number)} | {"title": str(title), "book_id": int(number)}:
                    self.books.setdefault(title, set()).add(number)
        match data:
            case {"added": str(title), "quantity": int(quantity)} if event.ok:
                self.added.append(AddedBook(title, quantity, self.turn, event.step))
                self.books.setdefault(title, {int(event.call.arguments.get("book_id", 0))})
            case {"status": _, "id": int(number)} if event.ok:
                self.orders.add(number)


class Reading(NamedTuple):
    """An answer as it was read, once, and the evidence it was read with."""

    figures: Sequence[Figure]
    evidence: Evidence


def number_of(figure: Figure) -> str:
    """An amount or a count as a tool result writes it."""
    return store.decimal_text(int(figure.value or 0)) if figure.kind == "amount" else str(figure.value)


def ungrounded(figures: Iterable[Figure], shown: Collection[str]) -> list[str]:
    """The amounts and counts, as they are written, that are not among the numbers shown; bounds need not be."""
    stated = [one for one in figures if one.kind in ("amount", "copies") and one.sense in ("now", "past")]
    unknown = [_DIGITS.search(one.text) for one in stated if number_of(one) not in shown]
    return list(dict.fromkeys(digits[0] for digits in unknown if digits))


def grounding_mark(reading: Reading, end: AnyEvent) -> str:
    """What to say under an answer whose figures come from nowhere; else nothing.

    Only of a turn that ran no tool: figures that an earlier turn read are known, if perhaps overtaken.
    """
    if end.kind != "run_finished" or end.answer_by != "model" or end.tool_calls:
        return ""
    figures = ungrounded(reading.figures, reading.evidence.shown | reading.evidence.shown_before)
    return f"No tool was used for this answer, and no tool result shows: {', '.join(figures)}." if figures else ""
