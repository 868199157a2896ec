"""A cart inside a transaction: the statements, written out because every add waits for them."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import text
from sqlmodel import Session

from store.changes import record_change
from store.checked import possible_book, possible_customer
from store.errors import NoSuchBook, NoSuchCustomer, NotEnough, OutOfStock
from store.models import MOST_COPIES

_BEFORE = text(
    """SELECT cart.version, book.title, book.stock, coalesce(cart_line.quantity, 0) FROM cart
    LEFT JOIN book ON book.id = :book
    LEFT JOIN cart_line ON cart_line.customer_id = cart.customer_id AND cart_line.book_id = book.id
    WHERE cart.customer_id = :customer"""
)
# One statement decides and writes: reading the stock first and writing later would oversell between two processes.
_PUT = text(
    f"""INSERT INTO cart_line (customer_id, book_id, quantity)
    SELECT :customer, id, :more FROM book WHERE id = :book AND stock >= :more + coalesce(
        (SELECT quantity FROM cart_line WHERE customer_id = :customer AND book_id = :book), 0)
    ON CONFLICT (customer_id, book_id) DO UPDATE SET quantity = cart_line.quantity + excluded.quantity
    WHERE cart_line.quantity + excluded.quantity <= {MOST_COPIES}
    RETURNING quantity"""  # noqa: S608 - the one value put in is our own constant
)
_KEEP = text("UPDATE cart_line SET quantity = :kept WHERE customer_id = :customer AND book_id = :book")
_DROP = text("DELETE FROM cart_line WHERE customer_id = :customer AND book_id = :book")
_TOTAL = text(
    """SELECT coalesce(sum(quantity * price_cents), 0) FROM cart_line
    JOIN book ON book.id = book_id WHERE customer_id = :customer"""
)
_STAMP = text("UPDATE cart SET version = :version WHERE customer_id = :customer")


class Before(NamedTuple):
    """A cart and one book as they are when a transaction begins."""

    version: int
    title: str
    stock: int
    in_cart: int


def before_change(db: Session, customer_id: int, book_id: int) -> Before:
    """Read what a change of a cart starts from; NoSuchCustomer, NoSuchBook."""
    ids = {"customer": possible_customer(customer_id), "book": possible_book(book_id)}
    row = db.execute(_BEFORE, ids).one_or_none()
    if row is None:
        raise NoSuchCustomer(customer_id=customer_id)
    if row.title is None:
        raise NoSuchBook(book_id=book_id)
    return Before(*row)


def put_copies(db: Session, customer_id: int, book_id: int, more: int) -> int | None:
    """Put more copies into a cart and give how many it now holds; None when stock or the limit forbids it."""
    held: int | None = db.scalar(_PUT, {"customer": customer_id, "book": book_id, "more": more})
    return held


def keep_copies(db: Session, customer_id: int, book_id: int, kept: int) -> None:
    """Leave fewer copies in a cart, which is always possible; with none the line goes."""
    ids = {"customer": customer_id, "book": book_id}
    db.execute(_KEEP, {**ids, "kept": kept}) if kept else db.execute(_DROP, ids)


def total_cents(db: Session, customer_id: int) -> int:
    """Add up a cart at today's prices."""
    return int(db.scalar(_TOTAL, {"customer": customer_id}) or 0)


def stamp(db: Session, customer_id: int, version_before: int, *, by: str, before: str, after: str) -> int:
    """Note a change of a cart, and give the cart's new version."""
    resource = f"cart:{customer_id}"
    version = record_change(db, resource, by=by, version_before=version_before, before=before, after=after)
    db.execute(_STAMP, {"version": version, "customer": customer_id})
    return version


def copies(quantity: int, title: str) -> str:
    """Word a cart line for the list of changes."""
    return f"{quantity} × {title}"


def refused(book_id: int, start: Before) -> OutOfStock | NotEnough:
    """Say why a cart may not hold more of a book."""
    if start.stock == 0:
        return OutOfStock(book_id=book_id, title=start.title)
    return NotEnough(stock=start.stock, book_id=book_id, title=start.title, in_cart=start.in_cart)
