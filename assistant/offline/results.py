"""What the stand-in reads in the results of its calls: the data they hold, the books they name."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from assistant.offline.words import money, whole

_OVERTAKEN = "[OVERTAKEN: "


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
    overtaken: str = ""
    """The resources that it is marked to be overtaken on."""

    @property
    def books(self) -> list[Book]:
        """The books of a search, as far as they can be read."""
        rows = self.data.get("books")
        return [book for row in rows if (book := _book(row))] if isinstance(rows, list) else []


def read_result(name: str, arguments: Mapping[str, Any], text: str) -> Result:
    data = _data(text)
    marks = " ".join(line for line in text.splitlines() if line.startswith(_OVERTAKEN))
    return Result(name, arguments, data, "" if data else text.strip() or "there was no result", marks)


def _data(text: str) -> dict[str, Any]:
    """Read the JSON a result begins with, whatever stands below; of one that was cut, what came before the cut."""
    start = text.strip()
    if not start.startswith("{"):
        return {}
    whole_rows = start[: start.rfind("}") + 1] + "]}"
    for candidate in (start, whole_rows, start[: start.rfind("[") + 1] + "]}"):
        try:
            data, _ = json.JSONDecoder().raw_decode(candidate)
        except (ValueError, RecursionError):
            continue
        return data if isinstance(data, dict) and "error" not in data else {}
    return {}


def named_books(result: Result) -> list[Book]:
    """The book that a stock check or an add is about."""
    id_ = whole(result.data.get("id", result.arguments.get("book_id")))
    title = result.data.get("title" if result.name == "check_stock" else "added")
    return [Book(id_, title)] if id_ is not None and isinstance(title, str) else []


def _book(row: Any) -> Book | None:
    if not isinstance(row, dict):
        return None
    id_, title = whole(row.get("id")), row.get("title")
    if id_ is None or not isinstance(title, str):
        return None
    author, genre = row.get("author"), row.get("genre")
    return Book(id_, title, str(author or ""), str(genre or ""), money(row.get("price")))
