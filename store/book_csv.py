"""Books from a CSV file with the columns of data/books.csv, all of them checked before any is used."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from store.catalog import MOST_STOCK
from store.checked import HIGHEST_ID
from store.errors import BadInput, ShopError
from store.money import parse_price

REQUIRED = ("title", "author", "genre", "price", "stock")
OPTIONAL = ("id", "language", "year", "edition", "description")
LONGEST = {"title": 300, "author": 200, "genre": 60, "language": 20, "edition": 60, "description": 4_000}


@dataclass
class NewBook:
    """A book on its way to the shelf; the price is in cents, and id 0 stands for the next free one."""

    id: int
    title: str
    author: str
    genre: str
    price_cents: int
    stock: int
    language: str = ""
    year: int | None = None
    edition: str = ""
    description: str = ""
    stock_version: int = 0


def read_books(path: Path, next_id: int = 1) -> list[NewBook]:
    """Read and check a whole file; a book without an id gets the next free one, from next_id on.

    BadInput names the first line that is wrong, and how many more are.
    """
    books: dict[int, NewBook] = {}
    unnumbered: list[NewBook] = []
    wrong: list[str] = []
    for line, row in _rows(path):
        try:
            book = _book(row)
            if book.id and book.id in books:
                raise BadInput(f"id {book.id} occurs twice")
        except ShopError as error:
            wrong.append(f"line {line}: {error}")
            continue
        if book.id:
            books[book.id] = book
        else:
            unnumbered.append(book)
    if wrong:
        raise BadInput(wrong[0] + (f" (and {len(wrong) - 1} more lines are wrong)" if wrong[1:] else ""))
    for number, book in enumerate(unnumbered, start=max([next_id - 1, *books]) + 1):
        book.id = number
    return [*books.values(), *unnumbered]


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file, strict=True)
            columns = [name.strip().lower() for name in reader.fieldnames or []]
            _check_columns(columns)
            reader.fieldnames = columns
            for row in reader:
                if None in row or None in row.values():
                    raise BadInput(f"line {reader.line_num}: there must be {len(columns)} values")
                yield reader.line_num, {name: value.strip() for name, value in row.items()}
    except OSError as error:
        raise BadInput(f"the file {path.name} cannot be read") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"the file {path.name} is not UTF-8 text") from error
    except csv.Error as error:
        raise BadInput(f"line {reader.line_num + 1}: {error}") from error


def _check_columns(columns: list[str]) -> None:
    if missing := [name for name in REQUIRED if name not in columns]:
        raise BadInput(f"line 1: the columns {', '.join(missing)} are missing")
    if unknown := [name for name in columns if name not in REQUIRED + OPTIONAL]:
        raise BadInput(f"line 1: the column '{unknown[0]}' is unknown")
    if len(set(columns)) < len(columns):
        raise BadInput("line 1: a column occurs twice")


def _book(row: dict[str, str]) -> NewBook:
    texts: dict[str, Any] = {name: _text(row, name) for name in LONGEST}
    return NewBook(
        id=_number(row, "id", 1, HIGHEST_ID) if row.get("id") else 0,
        price_cents=parse_price(row["price"]),
        stock=_number(row, "stock", 0, MOST_STOCK),
        year=_number(row, "year", 0, 9999) if row.get("year") else None,
        **texts,
    )


def _text(row: dict[str, str], name: str) -> str:
    value = row.get(name, "")
    if name in REQUIRED and not value:
        raise BadInput(f"{name} must not be empty")
    if len(value) > LONGEST[name]:
        raise BadInput(f"{name} must have at most {LONGEST[name]} characters")
    if re.search(r"[\x00-\x08\x0b-\x1f\x7f\ufffe\uffff]", value):
        raise BadInput(f"{name} must not hold control characters")
    return value


def _number(row: dict[str, str], name: str, lowest: int, highest: int) -> int:
    text = row[name]
    if not re.fullmatch(r"[0-9]{1,10}", text) or not lowest <= int(text) <= highest:
        raise BadInput(f"{name} must be a whole number from {lowest} to {highest}")
    return int(text)
