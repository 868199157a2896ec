"""Adding to a cart, once for each idempotency key."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple

from sqlalchemy import Engine, text
from sqlmodel import Session

from store.cart_lines import before_change, copies, put_copies, refused, stamp, total_cents
from store.changes import utc_now
from store.checked import possible_key, whole_number
from store.engine import read, write
from store.errors import KeyReused, TooMany
from store.models import MOST_COPIES

_SAVED = text("SELECT request, result FROM applied_write WHERE key = :key")
_SAVE = text(
    """INSERT INTO applied_write (key, customer_id, request, result, at)
    VALUES (:key, :customer, :request, :result, :at)"""
)


@dataclass(frozen=True)
class Added:
    """What a request added, and the cart after it; `replayed` when an earlier one with the same key did it."""

    book_id: int
    title: str
    quantity: int
    in_cart: int
    cart_total_cents: int
    version_before: int
    version: int
    replayed: bool = False


def add_to_cart(
    engine: Engine, customer_id: int, book_id: int, quantity: int = 1, *, by: str, key: str | None = None
) -> Added:
    """Add 1 to 20 copies of a book to a customer's cart, in one short transaction.

    A cart does not reserve stock: a line may not exceed what is in stock, but two customers may both hold the
    last copy, and an order takes it. A cart holds at most 20 copies of one book. The same key with the same
    request gives the saved answer and changes nothing; with another request it is refused. No failure is saved.

    OutOfStock, NotEnough, TooMany, NoSuchBook, NoSuchCustomer, KeyReused, BadInput; none changes anything.
    """
    whole_number(quantity, 1, MOST_COPIES, "quantity")
    if key is None:
        return write(engine, lambda db: _add(db, customer_id, book_id, quantity, by))
    possible_key(key)
    request = json.dumps({"customer": customer_id, "book": book_id, "quantity": quantity})
    return write(engine, lambda db: _add_once(db, customer_id, book_id, quantity, by, key, request))


def applied_write(engine: Engine, key: str) -> Added | None:
    """Tell what the request with this key did, None when it never took effect."""
    with read(engine) as db:
        saved = _applied(db, possible_key(key))
        return saved.added if saved else None


class _Saved(NamedTuple):
    request: str
    added: Added


def _applied(db: Session, key: str) -> _Saved | None:
    row = db.execute(_SAVED, {"key": key}).one_or_none()
    return _Saved(row.request, replace(Added(**json.loads(row.result)), replayed=True)) if row else None


def _add_once(
    db: Session, customer_id: int, book_id: int, quantity: int, by: str, key: str, request: str
) -> Added:
    saved = _applied(db, key)
    if saved is None:
        added = _add(db, customer_id, book_id, quantity, by)
        result = json.dumps(asdict(added))
        values = {"key": key, "customer": customer_id, "request": request, "result": result, "at": utc_now()}
        db.execute(_SAVE, values)
        return added
    if saved.request != request:
        raise KeyReused
    return saved.added


def _add(db: Session, customer_id: int, book_id: int, quantity: int, by: str) -> Added:
    start = before_change(db, customer_id, book_id)
    in_cart = put_copies(db, customer_id, book_id, quantity)
    if in_cart is None:
        if start.in_cart + quantity <= start.stock:
            raise TooMany(most=MOST_COPIES, in_cart=start.in_cart, title=start.title)
        raise refused(book_id, start)
    before, after = copies(start.in_cart, start.title), copies(in_cart, start.title)
    version = stamp(db, customer_id, start.version, by=by, before=before, after=after)
    total = total_cents(db, customer_id)
    return Added(book_id, start.title, quantity, in_cart, total, start.version, version)
