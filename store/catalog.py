"""Books by id, and how many copies of each are in stock."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Engine, select, update
from sqlmodel import Session, col

from store.changes import record_change
from store.checked import possible_book, whole_number
from store.engine import read, write
from store.errors import NoSuchBook
from store.models import Book

MOST_STOCK = 1_000_000


@dataclass(frozen=True)
class BookDetails:
    """All that the catalog says about a book, without its stock."""

    id: int
    title: str
    author: str
    genre: str
    price_cents: int
    language: str
    year: int | None
    edition: str
    description: str


@dataclass(frozen=True)
class Stock:
    """Copies of a book in stock, and the version of that number."""

    book_id: int
    title: str
    author: str
    in_stock: int
    version: int


def get_book(engine: Engine, book_id: int) -> BookDetails:
    """Fetch a book by its id; NoSuchBook where there is none."""
    with read(engine) as db:
        book = db.get(Book, possible_book(book_id))
        if book is None:
            raise NoSuchBook(book_id=book_id)
        return BookDetails(**{name: getattr(book, name) for name in BookDetails.__dataclass_fields__})


def stock_of(db: Session, book_id: int) -> Stock:
    """Read the stock of a book inside a transaction; NoSuchBook where there is none."""
    row = db.execute(
        select(col(Book.id), col(Book.title), col(Book.author), col(Book.stock), col(Book.stock_version)).where(
            col(Book.id) == possible_book(book_id)
        )
    ).first()
    if row is None:
        raise NoSuchBook(book_id=book_id)
    return Stock(*row)


def check_stock(engine: Engine, book_id: int) -> Stock:
    """Tell how many copies of a book are in stock; NoSuchBook where there is none."""
    with read(engine) as db:
        return stock_of(db, book_id)


def set_stock(engine: Engine, book_id: int, copies: int, *, by: str) -> Stock:
    """Set how many copies are in stock, 0 to 1,000,000; carts that hold more keep what they hold."""
    whole_number(copies, 0, MOST_STOCK, "copies")

    def set_it(db: Session) -> Stock:
        old = stock_of(db, book_id)
        if old.in_stock == copies:
            return old
        version = change_stock(db, old, copies, by=by)
        return Stock(old.book_id, old.title, old.author, copies, version)

    return write(engine, set_it)


def change_stock(db: Session, old: Stock, copies: int, *, by: str) -> int:
    """Change the stock inside a transaction and give its new version."""
    version = record_change(
        db,
        f"stock:{old.book_id}",
        by=by,
        version_before=old.version,
        before=str(old.in_stock),
        after=str(copies),
    )
    db.execute(update(Book).where(col(Book.id) == old.book_id).values(stock=copies, stock_version=version))
    return version
