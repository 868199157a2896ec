"""What the offline stand-in knows: the request and the results, read from the messages of a conversation."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from agent.models import Message
from agent.views.answers import wrap_up_request
from assistant.offline.results import Book, Result, named_books, read_result
from assistant.offline.words import money

LONGEST_REQUEST = 1_000
_WRAP_UP, _, _AFTER_WHY = wrap_up_request("\0").partition("\0")
_CORRECTION = re.compile(r"your (?:last |previous )?(?:reply|answer)\b", re.I)
_CART_LINE = re.compile(r"^.*\b(?:cart|basket|total)\b[^\n?]*(?:\$\s*\d|\bempty\b).*$", re.I | re.M)
_FACT = re.compile(
    r"^\W*(?:\w+\]\s*)?(?:the |your )?(?:cart|basket)\b[^\n?]{0,80}(?:\$\s*\d|\bempty\b)", re.I | re.M
)
_CART_AMOUNTS = (
    re.compile(r"\b(?:now|is)(?: is|:)?\s*\$\s*(\d[\d,]*\.\d\d)", re.I),
    re.compile(r"\btotal\b[^\d\n]*(\d[\d,]*\.\d\d)", re.I),
    re.compile(r"\$\s*(\d[\d,]*\.\d\d)"),
)
_CONTINUE = re.compile(r"\W*(?:please )?(?:continue|go on|carry on|keep going)\b.{0,60}", re.I | re.S)


@dataclass
class Notes:
    """A conversation as read so far; ``run`` holds the results that belong to the request."""

    request: str = ""
    said: str = ""
    """The last answer before the request."""
    system: str = ""
    wrap_up: str = ""
    """Why the run ends, in the wrap-up."""
    total: Decimal | None = None
    """The cart total that was shown last."""
    total_overtaken: bool = False
    """Whether that is marked as true no more."""
    run: list[Result] = field(default_factory=list)
    earlier: list[Result] = field(default_factory=list)
    books: dict[int, Book] = field(default_factory=dict)
    """All books ever shown, by id."""

    def begin(self, request: str) -> None:
        """Take a new request, unless it only asks to go on with the one before."""
        self.wrap_up = ""
        if self.request and _CONTINUE.fullmatch(request):
            self.forget_unrun()
            return
        self.request = request
        self.earlier += self.run
        self.run = []

    def forget_unrun(self) -> None:
        """Drop the calls that the end of a run left open, as if they had never been asked for."""
        self.run = [result for result in self.run if not result.error.startswith("Not run:")]

    def learn(self, result: Result) -> None:
        """Take a result: the books and the total that it shows."""
        self.run.append(result)
        for book in [*result.books, *named_books(result)]:
            known = self.books.get(book.id)
            self.books[book.id] = book if book.author or not known else known
        total = {"add_to_cart": "cart_total", "view_cart": "total"}.get(result.name, "")
        shown = money(result.data.get(total))
        if shown is not None:
            self.total, self.total_overtaken = shown, "cart" in result.overtaken

    def read_note(self, text: str) -> None:
        """Take what the program says: the end of the run, or the state of the cart."""
        if text.startswith(_WRAP_UP):
            self.wrap_up = text.removeprefix(_WRAP_UP).removesuffix(_AFTER_WHY) or "a limit was reached"
            self.forget_unrun()
        for line in _CART_LINE.findall(text):
            found = next((found for rule in _CART_AMOUNTS if (found := rule.search(line))), None)
            self.total, self.total_overtaken = money(found[1]) if found else Decimal(0), False

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
        match role:
            case "system":
                notes.system = text
            case "user" if _is_note(text, previous):
                notes.read_note(text)
            case "user":
                notes.begin(text[:LONGEST_REQUEST])
                notes.said = answer
            case "assistant":
                open_calls |= dict(_calls(message))
                answer = text if text.strip() else answer
            case "tool":
                name, arguments = open_calls.pop(str(message.get("tool_call_id")), (message.get("tool_name"), {}))
                notes.learn(read_result(str(name), arguments, text))
        previous = str(role)
    for name, arguments in open_calls.values():
        notes.learn(Result(name, arguments, error="there was no result"))
    return notes


def _is_note(text: str, previous: str) -> bool:
    # People speak after an answer; what follows a request or a result directly is the program's.
    if previous in ("user", "tool") or text.startswith(_WRAP_UP):
        return True
    return bool(_CORRECTION.match(text) or _FACT.search(text))


def _calls(message: Message) -> Iterator[tuple[str, tuple[str, Mapping[str, Any]]]]:
    calls = message.get("tool_calls")
    for number, call in enumerate(calls if isinstance(calls, list) else []):
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            continue
        arguments, id_ = function.get("arguments"), call.get("id")
        key = id_ if isinstance(id_, str) else f"unnamed {number}"
        yield key, (function["name"], arguments if isinstance(arguments, dict) else {})
