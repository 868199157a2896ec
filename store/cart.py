"""The cart of a customer: shown, added to once for each idempotency key, and changed by hand.

A cart does not reserve stock: a line may not exceed what is in stock, but two customers may both hold the last
copy, and an order takes it.
"""

import json
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple

from sqlalchemy import Connection, Engine, text

from store.change_log import record_change, utc_now
from store.checked import possible_book, possible_customer, possible_key, whole_number
from store.database import read, transact
from store.errors import KeyReused, NoSuchBook, NoSuchCustomer, NotEnough, NotInCart, OutOfStock, TooMany
from store.schema import MOST_COPIES

_CART = text(
    """SELECT cart.version, book.id, title, quantity, price_cents, quantity * price_cents FROM cart
    LEFT JOIN cart_line ON cart_line.customer_id = cart.customer_id
    LEFT JOIN book ON book.id = book_id
    WHERE cart.customer_id = :customer ORDER BY book.id"""
)
_START = text(
    """SELECT cart.version, title, stock, coalesce(quantity, 0) FROM cart
    LEFT JOIN book ON book.id = :book
    LEFT JOIN cart_line ON cart_line.customer_id = cart.customer_id AND book_id = book.id
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
_CLEAR = text("DELETE FROM cart_line WHERE customer_id = :customer")
_STAMP = text("UPDATE cart SET version = :version WHERE customer_id = :customer")
_SAVED = text("SELECT request, result FROM applied_write WHERE key = :key")
_SAVE = text(
    """INSERT INTO applied_write (key, customer_id, request, result, at)
    VALUES (:key, :customer, :request, :result, :at)"""
)


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
    """A cart as it is now, in cents; ``version`` is the number of its last change."""

    lines: tuple[LineInCart, ...]
    total_cents: int
    version: int


@dataclass(frozen=True)
class Added:
    """What a request added, and the cart after it; ``replayed`` when an earlier one with the same key did it."""

    book_id: int
    title: str
    quantity: int
    in_cart: int
    cart_total_cents: int
    version_before: int
    version: int
    replayed: bool = False


class _Start(NamedTuple):
    """What a change of a cart starts from: the cart and one book when its transaction begins."""

    customer_id: int
    book_id: int
    version: int
    title: str
    stock: int
    in_cart: int


def view_cart(engine: Engine, customer_id: int) -> CartView:
    """A customer's cart at today's prices; raises NoSuchCustomer where there is none."""
    with read(engine) as db:
        return _view(db, customer_id)


def add_to_cart(
    engine: Engine, customer_id: int, book_id: int, quantity: int = 1, *, by: str, key: str | None = None
) -> Added:
    """Add 1 to 20 copies of a book to a customer's cart, which holds at most 20 of each, in one short transaction.

    The same key with the same request gives the saved answer and changes nothing; with another request it is
    refused. No failure is saved. Raises OutOfStock, NotEnough, TooMany, NoSuchBook, NoSuchCustomer, KeyReused or
    BadInput, and then nothing is changed.
    """
    whole_number(quantity, 1, MOST_COPIES, "quantity")
    if key is None:
        return transact(engine, lambda db: _add(db, customer_id, book_id, quantity, by))
    possible_key(key)
    request = json.dumps({"customer": customer_id, "book": book_id, "quantity": quantity})

    def add_once(db: Connection) -> Added:
        saved = db.execute(_SAVED, {"key": key}).one_or_none()
        if saved is None:
            added = _add(db, customer_id, book_id, quantity, by)
            answer = {"request": request, "result": json.dumps(asdict(added)), "at": utc_now()}
            db.execute(_SAVE, {"key": key, "customer": customer_id, **answer})
            return added
        if saved.request != request:
            raise KeyReused
        return _replayed(saved.result)

    return transact(engine, add_once)


def applied_write(engine: Engine, key: str) -> Added | None:
    """What the request with this key did, None where it never took effect."""
    with read(engine) as db:
        saved = db.execute(_SAVED, {"key": possible_key(key)}).one_or_none()
        return _replayed(saved.result) if saved else None


def set_quantity(engine: Engine, customer_id: int, book_id: int, quantity: int, *, by: str) -> CartView:
    """Set how many copies of a book are in the cart, 0 to 20; 0 takes the line out.

    Raises OutOfStock or NotEnough where more are wanted than are in stock; fewer than before is always possible.
    """
    whole_number(quantity, 0, MOST_COPIES, "quantity")
    return transact(engine, lambda db: _hold(db, _start(db, customer_id, book_id), quantity, by))


def remove_from_cart(engine: Engine, customer_id: int, book_id: int, *, by: str) -> CartView:
    """Take a book out of the cart; raises NotInCart where it is not in it."""

    def remove(db: Connection) -> CartView:
        start = _start(db, customer_id, book_id)
        if start.in_cart == 0:
            raise NotInCart(book_id=book_id, title=start.title)
        return _hold(db, start, 0, by)

    return transact(engine, remove)


def clear_cart(engine: Engine, customer_id: int, *, by: str) -> CartView:
    """Take everything out of the cart."""

    def clear(db: Connection) -> CartView:
        old = _view(db, customer_id)
        if not old.lines:
            return old
        db.execute(_CLEAR, {"customer": customer_id})
        before = ", ".join(_copies(line.quantity, line.title) for line in old.lines)
        version = stamp_cart(db, customer_id, old.version, by=by, before=before, after="empty")
        return CartView((), 0, version)

    return transact(engine, clear)


def stamp_cart(db: Connection, customer_id: int, version_before: int, *, by: str, before: str, after: str) -> int:
    """Note a change of a cart inside the transaction that makes it; returns the cart's new version."""
    resource = f"cart:{customer_id}"
    version = record_change(db, resource, by=by, version_before=version_before, before=before, after=after)
    db.execute(_STAMP, {"version": version, "customer": customer_id})
    return version


def _view(db: Connection, customer_id: int) -> CartView:
    rows = db.execute(_CART, {"customer": possible_customer(customer_id)}).all()
    if not rows:
        raise NoSuchCustomer(customer_id=customer_id)
    lines = tuple(LineInCart(*row[1:]) for row in rows if row.id is not None)
    return CartView(lines, sum(line.line_total_cents for line in lines), rows[0].version)


def _start(db: Connection, customer_id: int, book_id: int) -> _Start:
    ids = {"customer": possible_customer(customer_id), "book": possible_book(book_id)}
    row = db.execute(_START, ids).one_or_none()
    if row is None:
        raise NoSuchCustomer(customer_id=customer_id)
    if row.title is None:
        raise NoSuchBook(book_id=book_id)
    return _Start(customer_id, book_id, *row)


def _add(db: Connection, customer_id: int, book_id: int, quantity: int, by: str) -> Added:
    start = _start(db, customer_id, book_id)
    in_cart = _put(db, start, quantity)
    version = _note(db, start, in_cart, by)
    total = _view(db, customer_id).total_cents
    return Added(book_id, start.title, quantity, in_cart, total, start.version, version)


def _hold(db: Connection, start: _Start, quantity: int, by: str) -> CartView:
    """Bring one line of a cart to a quantity; fewer copies than before are not held against the stock."""
    if quantity != start.in_cart:
        ids = {"customer": start.customer_id, "book": start.book_id}
        if quantity > start.in_cart:
            _put(db, start, quantity - start.in_cart)
        elif quantity:
            db.execute(_KEEP, {**ids, "kept": quantity})
        else:
            db.execute(_DROP, ids)
        _note(db, start, quantity, by)
    return _view(db, start.customer_id)


def _put(db: Connection, start: _Start, more: int) -> int:
    """Put more copies into a cart and tell how many it now holds, or say why it may not hold them."""
    held = db.scalar(_PUT, {"customer": start.customer_id, "book": start.book_id, "more": more})
    if held is not None:
        return int(held)
    if start.in_cart + more <= start.stock:
        raise TooMany(most=MOST_COPIES, in_cart=start.in_cart, title=start.title)
    if start.stock == 0:
        raise OutOfStock(book_id=start.book_id, title=start.title)
    raise NotEnough(stock=start.stock, book_id=start.book_id, title=start.title, in_cart=start.in_cart)


def _note(db: Connection, start: _Start, now: int, by: str) -> int:
    before, after = _copies(start.in_cart, start.title), _copies(now, start.title)
    return stamp_cart(db, start.customer_id, start.version, by=by, before=before, after=after)


def _copies(quantity: int, title: str) -> str:
    return f"{quantity} × {title}"


def _replayed(result: str) -> Added:
    return replace(Added(**json.loads(result)), replayed=True)
