"""Books from a CSV file with the columns of data/books.csv: checked as a whole, then put into the catalog."""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, TextClause, bindparam, text

from store.catalog import MOST_STOCK, Stock, change_stock, note_prices
from store.checked import HIGHEST_ID, whole_number
from store.database import read, transact
from store.errors import BadInput, ShopError
from store.money import parse_price
from store.schema import TABLES
from store.words import title_key, words_of

REQUIRED = ("title", "author", "genre", "price", "stock")
OPTIONAL = ("id", "language", "year", "edition", "description")
LONGEST = {"title": 300, "author": 200, "genre": 60, "language": 20, "edition": 60, "description": 4_000}
BATCH = 500
SHORTEST_KNOWN, LONGEST_KNOWN = 3, 30


def _put(table: str, key: str) -> TextClause:
    """The statement that adds a row to a table, or replaces the row with the same key."""
    names = TABLES.tables[table].columns.keys()
    values = ", ".join(f":{name}" for name in names)
    replaced = ", ".join(f"{name} = excluded.{name}" for name in names if name != key)
    return text(
        f"""INSERT INTO {table} ({", ".join(names)}) VALUES ({values})
        ON CONFLICT ({key}) DO UPDATE SET {replaced}"""  # noqa: S608 - names of our own
    )


_PUT_BOOK, _PUT_TEXT = _put("book", "id"), _put("book_text", "book_id")
_LEARN = text("INSERT INTO known_word (length, word) VALUES (:length, :word) ON CONFLICT DO NOTHING")
_HIGHEST = text("SELECT coalesce(max(id), 0) FROM book")
_OLD = text("SELECT id, title, author, stock, stock_version, price_cents FROM book WHERE id IN :ids").bindparams(
    bindparam("ids", expanding=True)
)


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


def import_books(engine: Engine, path: Path, *, by: str = "import") -> int:
    """Import a CSV file, all of it or nothing; returns the number of books.

    A book whose id exists is replaced, one without an id gets the next free one. Raises BadInput, which names the
    line that is wrong.
    """
    with read(engine) as db:
        next_id = int(db.execute(_HIGHEST).scalar_one()) + 1
    books = read_books(path, next_id)
    transact(engine, lambda db: shelve(db, books, by=by))
    return len(books)


def shelve(db: Connection, books: Sequence[NewBook], *, by: str) -> None:
    """Add or replace books inside a transaction; a changed stock or price is noted as a change."""
    for start in range(0, len(books), BATCH):
        batch = books[start : start + BATCH]
        old = {row.id: row for row in db.execute(_OLD, {"ids": [book.id for book in batch]})}
        known = [book for book in batch if book.id in old]
        for book in known:
            book.stock_version = change_stock(db, Stock(*old[book.id][:-1]), book.stock, by=by)
        note_prices(db, {book.id: (old[book.id].price_cents, book.price_cents) for book in known}, by=by)
        db.execute(_PUT_BOOK, [shelf_row(book) for book in batch])
        texts = [searchable(book) for book in batch]
        db.execute(_PUT_TEXT, texts)
        if words := known_words(texts):
            db.execute(_LEARN, [{"length": len(word), "word": word} for word in sorted(words)])


def shelf_row(book: NewBook) -> dict[str, Any]:
    """The row of a book in the catalog."""
    return {**vars(book), "title_key": title_key(book.title)}


def searchable(book: NewBook) -> dict[str, Any]:
    """The row of the words of a book, as search sees them."""
    texts = {
        "title": book.title,
        "author": book.author,
        "genre": book.genre,
        "description": f"{book.description} {book.edition} {book.year or ''}",
    }
    return {"book_id": book.id} | {field: " ".join(words_of(value)) for field, value in texts.items()}


def known_words(rows: Iterable[Mapping[str, Any]]) -> set[str]:
    """The words of searchable rows that a misspelling may be corrected to."""
    words = {word for row in rows for value in row.values() for word in str(value).split()}
    return {word for word in words if SHORTEST_KNOWN <= len(word) <= LONGEST_KNOWN and word.isalpha()}


def read_books(path: Path, next_id: int = 1) -> list[NewBook]:
    """Read and check a whole file; a book without an id gets the next free one, from ``next_id`` on.

    Raises BadInput, which names the first line that is wrong and tells how many more are.
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
    number = int(row[name]) if re.fullmatch(r"[0-9]{1,10}", row[name]) else -1
    return whole_number(number, lowest, highest, name)
