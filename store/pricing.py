"""Prices: set, and noted for every cart that has another total from then on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import Engine, insert, select, update
from sqlmodel import Session, col

from store.catalog import BookDetails, get_book
from store.changes import record_change, utc_now
from store.checked import possible_book, whole_number
from store.engine import write
from store.errors import NoSuchBook
from store.models import Book, Cart, CartLine, ShopChange
from store.money import HIGHEST_PRICE, dollars


class NewPrice(NamedTuple):
    """What a book cost and what it costs from now on, in cents."""

    before: int
    after: int


def set_price(engine: Engine, book_id: int, cents: int, *, by: str) -> BookDetails:
    """Set what a book costs from now on, in cents; each cart that holds it gets a new total and version.

    NoSuchBook where there is none, BadInput for what is no price.
    """
    whole_number(cents, 0, HIGHEST_PRICE, "price")

    def set_it(db: Session) -> None:
        book = db.get(Book, possible_book(book_id))
        if book is None:
            raise NoSuchBook(book_id=book_id)
        note_prices(db, {book_id: NewPrice(book.price_cents, cents)}, by=by)
        db.execute(update(Book).where(col(Book.id) == book_id).values(price_cents=cents))

    write(engine, set_it)
    return get_book(engine, book_id)


def note_prices(db: Session, prices: Mapping[int, NewPrice], *, by: str) -> None:
    """Note new prices inside a transaction, for the books and the carts that hold them; the same is no change."""
    changed = {book_id: price for book_id, price in prices.items() if price.before != price.after}
    if not changed:
        return
    at = utc_now()
    rows = [
        {"resource": f"price:{book_id}", "by": by, "at": at, "version_before": 0, **_words(price)}
        for book_id, price in changed.items()
    ]
    db.execute(insert(ShopChange), rows)
    held = (
        select(col(CartLine.customer_id), col(CartLine.book_id), col(Cart.version))
        .join(Cart, col(Cart.customer_id) == col(CartLine.customer_id))
        .where(col(CartLine.book_id).in_(list(changed)))
        .order_by(col(CartLine.customer_id), col(CartLine.book_id))
    )
    versions: dict[int, int] = {}
    for customer_id, book_id, version in db.execute(held).all():
        before = versions.get(customer_id, version)
        words = _words(changed[book_id])
        versions[customer_id] = record_change(db, f"cart:{customer_id}", by=by, version_before=before, **words)
    for customer_id, version in versions.items():
        db.execute(update(Cart).where(col(Cart.customer_id) == customer_id).values(version=version))


def _words(price: NewPrice) -> dict[str, str]:
    return {"before": f"{dollars(price.before)} each", "after": f"{dollars(price.after)} each"}
