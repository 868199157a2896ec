"""Orders: what a customer bought and where it is."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlalchemy import Engine, select
from sqlmodel import Session, col

from store.changes import record_change, utc_now
from store.checked import HIGHEST_ID, possible_customer
from store.engine import read, write
from store.errors import BadInput, NoSuchOrder
from store.models import STATUSES, Book, Order, OrderLine

MOST_SUGGESTED = 5
DATED = {"shipped": "shipped_on", "delivered": "delivered_on"}


@dataclass(frozen=True)
class BoughtLine:
    """Copies of one book in an order, at the price that was paid, in cents."""

    book_id: int
    title: str
    quantity: int
    price_cents: int


@dataclass(frozen=True)
class OrderStatus:
    """An order as its customer may see it; dates are ISO 8601 text, None where nothing happened yet."""

    id: int
    status: str
    placed_on: str
    shipped_on: str | None
    expected_on: str | None
    delivered_on: str | None
    lines: tuple[BoughtLine, ...]
    version: int


def parse_order_id(value: object) -> int:
    """Read an order id such as 'O-1001', '1001' or 1001; BadInput for anything else."""
    text = "" if isinstance(value, bool) or not isinstance(value, str | int) else str(value).strip()
    found = re.fullmatch(r"(?:[Oo]-)?([0-9]{1,10})", text) if len(text) < 20 else None
    if not found or not 0 < int(found[1]) <= HIGHEST_ID:
        raise BadInput("order_id must be one order number such as O-1001 or 1001")
    return int(found[1])


def get_order_status(engine: Engine, customer_id: int, order_id: int) -> OrderStatus:
    """Fetch one of the customer's own orders; NoSuchOrder for any other, whether it exists or not."""
    wanted = parse_order_id(order_id)
    with read(engine) as db:
        order = db.scalars(
            select(Order).where(col(Order.id) == wanted, col(Order.customer_id) == possible_customer(customer_id))
        ).first()
        if order is None:
            raise NoSuchOrder(order_id=wanted, suggestion=_suggestion(db, customer_id))
        return _status(db, order)


def order_ids(engine: Engine, customer_id: int) -> list[int]:
    """List the ids of a customer's orders, the newest first."""
    with read(engine) as db:
        return _newest(db, customer_id)


def _newest(db: Session, customer_id: int) -> list[int]:
    own = select(col(Order.id)).where(col(Order.customer_id) == customer_id)
    return list(db.scalars(own.order_by(col(Order.placed_on).desc(), col(Order.id).desc())))


def _suggestion(db: Session, customer_id: int) -> str:
    newest = _newest(db, customer_id)[:MOST_SUGGESTED]
    return "the newest are " + ", ".join(f"O-{id_}" for id_ in newest) if newest else "there are none yet"


def _status(db: Session, order: Order) -> OrderStatus:
    lines = db.execute(
        select(col(Book.id), col(Book.title), col(OrderLine.quantity), col(OrderLine.price_cents))
        .join(OrderLine, col(OrderLine.book_id) == col(Book.id))
        .where(col(OrderLine.order_id) == order.id)
        .order_by(col(Book.id))
    )
    return OrderStatus(
        id=order.id,
        status=order.status,
        placed_on=order.placed_on,
        shipped_on=order.shipped_on,
        expected_on=order.expected_on,
        delivered_on=order.delivered_on,
        lines=tuple(BoughtLine(*line) for line in lines),
        version=order.version,
    )


def set_order_status(engine: Engine, order_id: int, status: str, *, by: str) -> OrderStatus:
    """Set the status of anybody's order, as the warehouse does, and the date that goes with it.

    BadInput for an unknown status, NoSuchOrder for an unknown id.
    """
    wanted = parse_order_id(order_id)
    if status not in STATUSES:
        raise BadInput(f"status must be one of {', '.join(STATUSES)}")

    def set_it(db: Session) -> OrderStatus:
        order = db.get(Order, wanted)
        if order is None:
            raise NoSuchOrder(order_id=wanted, suggestion="check the number")
        if order.status != status:
            order.version = record_change(
                db,
                f"order:{wanted}",
                by=by,
                version_before=order.version,
                before=order.status,
                after=status,
            )
            order.status = status
            if status in DATED and getattr(order, DATED[status]) is None:
                setattr(order, DATED[status], utc_now()[:10])
            db.flush()
        return _status(db, order)

    return write(engine, set_it)
