"""The cart of a customer: what is in it, and the changes a person makes by hand."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Engine, delete, select
from sqlmodel import Session, col

from store.cart_lines import Before, before_change, copies, keep_copies, put_copies, refused, stamp
from store.checked import possible_customer, whole_number
from store.engine import read, write
from store.errors import NoSuchCustomer, NotInCart
from store.models import MOST_COPIES, Book, Cart, CartLine


@dataclass(frozen=True)
class LineInCart:
    """Copies of one book in a cart, at today's price, in cents."""

    book_id: int
    title: str
    quantity: int
    price_cents: int
    line_total_cents: int


@dataclass(frozen=True)
class CartView:
    """A cart as it is now, in cents; version is the number of its last change."""

    lines: tuple[LineInCart, ...]
    total_cents: int
    version: int


def view_cart(engine: Engine, customer_id: int) -> CartView:
    """Show a customer's cart at today's prices; NoSuchCustomer where there is no such customer."""
    with read(engine) as db:
        return _view(db, customer_id)


def set_quantity(engine: Engine, customer_id: int, book_id: int, quantity: int, *, by: str) -> CartView:
    """Set how many copies of a book are in the cart, 0 to 20; 0 takes the line out.

    OutOfStock or NotEnough when more are wanted than are in stock; fewer than before is always possible.
    """
    whole_number(quantity, 0, MOST_COPIES, "quantity")

    def set_it(db: Session) -> CartView:
        start = before_change(db, customer_id, book_id)
        if quantity == start.in_cart:
            return _view(db, customer_id)
        return _hold(db, customer_id, book_id, start, quantity, by)

    return write(engine, set_it)


def remove_from_cart(engine: Engine, customer_id: int, book_id: int, *, by: str) -> CartView:
    """Take a book out of the cart; NotInCart where it is not in it."""

    def remove(db: Session) -> CartView:
        start = before_change(db, customer_id, book_id)
        if start.in_cart == 0:
            raise NotInCart(book_id=book_id, title=start.title)
        return _hold(db, customer_id, book_id, start, 0, by)

    return write(engine, remove)


def clear_cart(engine: Engine, customer_id: int, *, by: str) -> CartView:
    """Take everything out of the cart."""

    def clear(db: Session) -> CartView:
        old = _view(db, customer_id)
        if not old.lines:
            return old
        db.execute(delete(CartLine).where(col(CartLine.customer_id) == customer_id))
        before = ", ".join(copies(line.quantity, line.title) for line in old.lines)
        version = stamp(db, customer_id, old.version, by=by, before=before, after="empty")
        return CartView((), 0, version)

    return write(engine, clear)


def _hold(db: Session, customer_id: int, book_id: int, start: Before, quantity: int, by: str) -> CartView:
    if quantity < start.in_cart:
        keep_copies(db, customer_id, book_id, quantity)
    elif put_copies(db, customer_id, book_id, quantity - start.in_cart) is None:
        raise refused(book_id, start)
    before, after = copies(start.in_cart, start.title), copies(quantity, start.title)
    stamp(db, customer_id, start.version, by=by, before=before, after=after)
    return _view(db, customer_id)


def _view(db: Session, customer_id: int) -> CartView:
    own = col(Cart.customer_id) == possible_customer(customer_id)
    version = db.scalar(select(col(Cart.version)).where(own))
    if version is None:
        raise NoSuchCustomer(customer_id=customer_id)
    rows = db.execute(
        select(col(Book.id), col(Book.title), col(CartLine.quantity), col(Book.price_cents))
        .join(CartLine, col(CartLine.book_id) == col(Book.id))
        .where(col(CartLine.customer_id) == customer_id)
        .order_by(col(Book.id))
    )
    lines = tuple(LineInCart(id_, title, count, price, count * price) for id_, title, count, price in rows)
    return CartView(lines, sum(line.line_total_cents for line in lines), version)
