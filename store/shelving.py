"""Putting books into the catalog, together with the words by which they are found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import Session, SQLModel, col

from store.book_csv import NewBook, read_books
from store.catalog import Stock, change_stock
from store.engine import read, write
from store.models import Book, BookText, KnownWord
from store.pricing import NewPrice, note_prices
from store.words import title_key, words_of

BATCH = 500
SHORTEST_KNOWN, LONGEST_KNOWN = 3, 30


def import_books(engine: Engine, path: Path, *, by: str = "import") -> int:
    """Import a CSV file with the columns of data/books.csv, all of it or nothing, and give the number of books.

    A book whose id exists is replaced, one without an id gets the next free one. BadInput names the wrong line.
    """
    with read(engine) as db:
        next_id = (db.scalar(select(func.max(col(Book.id)))) or 0) + 1
    books = read_books(path, next_id)
    write(engine, lambda db: shelve(db, books, by=by))
    return len(books)


def shelve(db: Session, books: Sequence[NewBook], *, by: str) -> None:
    """Add or replace books inside a transaction; a changed stock is noted as a change."""
    for start in range(0, len(books), BATCH):
        batch = books[start : start + BATCH]
        ids = [book.id for book in batch]
        rows = db.execute(
            select(
                col(Book.id),
                col(Book.title),
                col(Book.author),
                col(Book.stock),
                col(Book.stock_version),
                col(Book.price_cents),
            ).where(col(Book.id).in_(ids))
        ).all()
        old = {row.id: Stock(*row[:-1]) for row in rows}
        prices = {row.id: row.price_cents for row in rows}
        for book in batch:
            before = old.get(book.id)
            if before and before.in_stock != book.stock:
                book.stock_version = change_stock(db, before, book.stock, by=by)
            elif before:
                book.stock_version = before.version
        note_prices(db, {b.id: NewPrice(prices[b.id], b.price_cents) for b in batch if b.id in prices}, by=by)
        _put(db, Book, [shelf_row(book) for book in batch], key="id")
        texts = [searchable(book) for book in batch]
        _put(db, BookText, texts, key="book_id")
        _learn(db, known_words(texts))


def shelf_row(book: NewBook) -> dict[str, Any]:
    """Give the row of a book in the catalog."""
    return {**vars(book), "title_key": title_key(book.title)}


def searchable(book: NewBook) -> dict[str, Any]:
    """Give a row of the words of a book, as search sees them."""
    texts = {
        "title": book.title,
        "author": book.author,
        "genre": book.genre,
        "description": f"{book.description} {book.edition} {book.year or ''}",
    }
    return {"book_id": book.id} | {field: " ".join(words_of(text)) for field, text in texts.items()}


def known_words(rows: Iterable[Mapping[str, Any]]) -> set[str]:
    """Collect the words of searchable rows that a misspelling may be corrected to."""
    texts = (str(value) for row in rows for value in row.values())
    words = {word for text in texts for word in text.split()}
    return {word for word in words if SHORTEST_KNOWN <= len(word) <= LONGEST_KNOWN and word.isalpha()}


def _learn(db: Session, words: set[str]) -> None:
    rows = [{"length": len(word), "word": word} for word in sorted(words)]
    if rows:
        db.execute(_insert(db, KnownWord).on_conflict_do_nothing(), rows)


def _put(db: Session, model: type[SQLModel], rows: list[dict[str, Any]], *, key: str) -> None:
    insert = _insert(db, model)
    replaced = {name: insert.excluded[name] for name in rows[0] if name != key}
    db.execute(insert.on_conflict_do_update(index_elements=[key], set_=replaced), rows)


def _insert(db: Session, model: type[SQLModel]) -> sqlite.Insert | postgresql.Insert:
    if db.get_bind().dialect.name == "postgresql":
        return postgresql.insert(model)
    return sqlite.insert(model)
