"""The books by id: what the catalog says, how many copies are in stock, and what they cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Engine, TextClause, bindparam, text

from store.cart import stamp_cart
from store.change_log import record_change
from store.checked import possible_book, whole_number
from store.database import read, transact
from store.errors import NoSuchBook
from store.money import HIGHEST_PRICE, dollars

MOST_STOCK = 1_000_000

_DETAILS = text(
    """SELECT id, title, author, genre, price_cents, language, year, edition, description FROM book
    WHERE id = :book"""
)
_STOCK = text("SELECT id, title, author, stock, stock_version FROM book WHERE id = :book")
_SET_STOCK = text("UPDATE book SET stock = :copies, stock_version = :version WHERE id = :book")
_SET_PRICE = text("UPDATE book SET price_cents = :cents WHERE id = :book")
_HOLDERS = text(
    """SELECT cart.customer_id, book_id, version FROM cart_line
    JOIN cart ON cart.customer_id = cart_line.customer_id
    WHERE book_id IN :books ORDER BY cart.customer_id, book_id"""
).bindparams(bindparam("books", expanding=True))


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
    """A book by its id; raises NoSuchBook where there is none."""
    with read(engine) as db:
        return BookDetails(*_book(db, _DETAILS, book_id))


def check_stock(engine: Engine, book_id: int) -> Stock:
    """How many copies of a book are in stock; raises NoSuchBook where there is none."""
    with read(engine) as db:
        return Stock(*_book(db, _STOCK, book_id))


def set_stock(engine: Engine, book_id: int, copies: int, *, by: str) -> Stock:
    """Set how many copies are in stock, 0 to 1,000,000; carts that hold more keep what they hold."""
    whole_number(copies, 0, MOST_STOCK, "copies")

    def set_it(db: Connection) -> Stock:
        old = Stock(*_book(db, _STOCK, book_id))
        return replace(old, in_stock=copies, version=change_stock(db, old, copies, by=by))

    return transact(engine, set_it)


def change_stock(db: Connection, old: Stock, copies: int, *, by: str) -> int:
    """Change the stock of a book inside a transaction; returns its version, the old one if it stays."""
    if copies == old.in_stock:
        return old.version
    before, after = str(old.in_stock), str(copies)
    resource = f"stock:{old.book_id}"
    version = record_change(db, resource, by=by, version_before=old.version, before=before, after=after)
    db.execute(_SET_STOCK, {"copies": copies, "version": version, "book": old.book_id})
    return version


def set_price(engine: Engine, book_id: int, cents: int, *, by: str) -> BookDetails:
    """Set what a book costs from now on, in cents; each cart that holds it gets a new total and version.

    Raises NoSuchBook where there is none, BadInput for what is no price.
    """
    whole_number(cents, 0, HIGHEST_PRICE, "price")

    def set_it(db: Connection) -> BookDetails:
        book = BookDetails(*_book(db, _DETAILS, book_id))
        note_prices(db, {book_id: (book.price_cents, cents)}, by=by)
        db.execute(_SET_PRICE, {"cents": cents, "book": book_id})
        return replace(book, price_cents=cents)

    return transact(engine, set_it)


def note_prices(db: Connection, prices: Mapping[int, tuple[int, int]], *, by: str) -> None:
    """Note new prices inside a transaction, for the books and for the carts that hold them.

    ``prices`` has what each book cost and what it costs from now on, in cents; the same is no change.
    """
    changed = {
        book_id: {"before": f"{dollars(before)} each", "after": f"{dollars(after)} each"}
        for book_id, (before, after) in prices.items()
        if before != after
    }
    for book_id, words in changed.items():
        record_change(db, f"price:{book_id}", by=by, version_before=0, **words)
    versions: dict[int, int] = {}
    for customer_id, book_id, version in db.execute(_HOLDERS, {"books": list(changed)}).all():
        before = versions.get(customer_id, version)
        versions[customer_id] = stamp_cart(db, customer_id, before, by=by, **changed[book_id])


def _book(db: Connection, wanted: TextClause, book_id: int) -> Sequence[Any]:
    row = db.execute(wanted, {"book": possible_book(book_id)}).one_or_none()
    if row is None:
        raise NoSuchBook(book_id=book_id)
    return row
