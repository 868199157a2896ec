"""What the stand-in knows of a conversation: the request, and what the results in its messages show."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from agent.models import Message
from agent.text import leading_json
from agent.views.answers import wrap_up_request

LONGEST_REQUEST = 500
"""Characters of a request: nobody asks for a book in more, so what is longer is not understood at all."""
DECLINED = "did not allow this call"
_WRAP_UP, _, _AFTER_WHY = wrap_up_request("\0").partition("\0")
_CORRECTION = re.compile(r"Your (?:last )?(?:answer|reply) ")
_TOTAL_NOW = re.compile(r"\bcart has a total of (\$[\d.]+) now")
_CONTINUE = re.compile(r"\W*(?:please )?(?:continue|go on|carry on)\b.{0,60}", re.I | re.S)


@dataclass(frozen=True)
class Book:
    """A book as far as the results tell."""

    id: int
    title: str
    author: str = ""
    genre: str = ""
    price: Decimal | None = None


@dataclass(frozen=True)
class Result:
    """A call and what it came to: its data, or the ``error`` as a line of text."""

    name: str
    arguments: Mapping[str, Any]
    data: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""

    @property
    def books(self) -> list[Book]:
        """The books of a search, as far as they can be read."""
        return [book for row in rows_in(self.data, "books") if (book := _book(row, "title"))]


@dataclass
class Notes:
    """A conversation as read so far; ``run`` holds the results that belong to the request."""

    request: str = ""
    said: str = ""  # the last answer before the request
    wrap_up: str = ""  # why the run ends, in the wrap-up
    total: Decimal | None = None  # the cart total that was shown last
    total_overtaken: bool = False  # whether that is marked as true no more
    run: list[Result] = field(default_factory=list)
    earlier: list[Result] = field(default_factory=list)
    books: dict[int, Book] = field(default_factory=dict)  # all that were ever shown, by id

    def begin(self, request: str, answer: str) -> None:
        """Take a new request, unless it only asks to go on with the one before."""
        self.wrap_up = ""
        if self.request and _CONTINUE.fullmatch(request):
            self._forget_unrun()
            return
        self.request, self.said = request, answer
        self.earlier += self.run
        self.run = []

    def learn(self, result: Result, *, overtaken: bool = False) -> None:
        """Take a result: the books and the total that it shows."""
        self.run.append(result)
        about = {"id": result.arguments.get("book_id"), **result.data}
        named = [_book(about, "title"), _book(about, "added")]
        for book in [*result.books, *filter(None, named)]:
            if book.author or book.id not in self.books:
                self.books[book.id] = book
        shown = money(result.data.get("cart_total", result.data.get("total")))
        if shown is not None:
            self.total, self.total_overtaken = shown, overtaken

    def read_note(self, text: str) -> None:
        """Take what the program says: that the run ends, or what is in the cart by now."""
        if text.startswith(_WRAP_UP):
            self.wrap_up = text.removeprefix(_WRAP_UP).removesuffix(_AFTER_WHY)
            self._forget_unrun()
        if found := _TOTAL_NOW.search(text):
            self.total, self.total_overtaken = money(found[1]), False

    def _forget_unrun(self) -> None:
        # The calls that the end of a run left open were never made; one that a person declined was answered.
        self.run = [made for made in self.run if not made.error.startswith("Not run:") or DECLINED in made.error]

    @property
    def question(self) -> str:
        """The question that the last answer ended with, if it did."""
        last = self.said.rstrip().rpartition("\n")[2]
        return last if last.endswith("?") else ""

    @property
    def found(self) -> list[Book]:
        """The books that the searches of this request brought, in order."""
        return [book for result in self.run for book in result.books]


def read(messages: Sequence[Message]) -> Notes:
    """Read a conversation; what cannot be understood is passed over."""
    notes, answer, previous = Notes(), "", ""
    open_calls: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for message in messages:
        role, text = message.get("role"), message.get("content")
        text = text if isinstance(text, str) else ""
        # People speak after an answer; what follows a request or a result directly is the program's.
        program = previous in ("user", "tool") or text.startswith(_WRAP_UP) or _CORRECTION.match(text)
        match role:
            case "user" if program:
                notes.read_note(text)
            case "user":
                notes.begin(text if len(text) <= LONGEST_REQUEST else "", answer)
            case "assistant":
                open_calls |= dict(_calls(message))
                answer = text if text.strip() else answer
            case "tool":
                name, arguments = open_calls.pop(str(message.get("tool_call_id")), (message.get("tool_name"), {}))
                notes.learn(_result(str(name), arguments, text), overtaken="\n[OVERTAKEN: cart " in text)
        previous = str(role)
    for name, arguments in open_calls.values():
        notes.learn(_result(name, arguments, ""))
    return notes


def _calls(message: Message) -> Iterator[tuple[str, tuple[str, Mapping[str, Any]]]]:
    """The calls of a message by id: the one place that knows how a call is written in it."""
    for call in rows_in(message, "tool_calls"):
        if isinstance(call.get("arguments"), dict):
            yield str(call.get("id")), (str(call.get("name")), call["arguments"])


def _result(name: str, arguments: Mapping[str, Any], text: str) -> Result:
    data = leading_json(text)
    return Result(name, arguments, data, "" if data else text.strip() or "there was no result")


def _book(row: Mapping[str, Any], title: str) -> Book | None:
    id_, named = whole(row.get("id")), row.get(title)
    if id_ is None or not isinstance(named, str) or not named.strip():
        return None
    return Book(id_, named, str(row.get("author") or ""), str(row.get("genre") or ""), money(row.get("price")))


def rows_in(data: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects of a list that came from outside; anything else in it is skipped."""
    rows = data.get(name)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def money(value: Any) -> Decimal | None:
    """Read an amount such as "16.50", "$16.50" or 10."""
    found = re.fullmatch(r"\$?(\d{1,9}(?:\.\d{1,2})?)", str(value), re.ASCII)
    return Decimal(found[1]) if found else None


def whole(value: Any) -> int | None:
    """Read a whole number such as 7 or "7"; None for anything else."""
    return int(str(value)) if re.fullmatch(r"\d{1,12}", str(value), re.ASCII) else None


def dollars(amount: Decimal | None) -> str:
    """Write an amount as $16.50."""
    return "price unknown" if amount is None else f"${amount:.2f}"


def copies(count: float) -> str:
    """Write "1 copy", "3 copies"."""
    return f"{count:g} {'copy' if count == 1 else 'copies'}"


def listed(names: Sequence[str]) -> str:
    """Join names as in "A, B and C"."""
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)
