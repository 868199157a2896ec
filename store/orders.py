"""The customers and their orders: who they are, what each bought and where it is."""

import re
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, Row, text

from store.change_log import record_change, utc_now
from store.checked import HIGHEST_ID, possible_customer
from store.database import read, transact
from store.errors import BadInput, NoSuchOrder
from store.schema import STATUSES

MOST_SUGGESTED = 5

_CUSTOMERS = text("SELECT id, name, email FROM customer ORDER BY id")
_ONE = """SELECT id, status, placed_on, shipped_on, expected_on, delivered_on, version FROM orders
    WHERE id = :order"""
_ORDER, _OWN_ORDER = text(_ONE), text(f"{_ONE} AND customer_id = :customer")
_LINES = text(
    """SELECT book.id, title, quantity, order_line.price_cents FROM order_line
    JOIN book ON book.id = book_id WHERE order_id = :order ORDER BY book.id"""
)
_NEWEST = text("SELECT id FROM orders WHERE customer_id = :owner ORDER BY placed_on DESC, id DESC LIMIT :most")
# The date that goes with a status is set once.
_SET_STATUS = text(
    """UPDATE orders SET status = :status, version = :version,
    shipped_on = CASE WHEN :status = 'shipped' THEN coalesce(shipped_on, :today) ELSE shipped_on END,
    delivered_on = CASE WHEN :status = 'delivered' THEN coalesce(delivered_on, :today) ELSE delivered_on END
    WHERE id = :order"""
)


@dataclass(frozen=True)
class Person:
    """A customer as a list to choose from shows them."""

    id: int
    name: str
    email: str


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


def list_customers(engine: Engine) -> list[Person]:
    """The customers of the shop, by id."""
    with read(engine) as db:
        return [Person(*row) for row in db.execute(_CUSTOMERS)]


def parse_order_id(value: object) -> int:
    """Read an order id such as 'O-1001', '1001' or 1001; raises BadInput for anything else."""
    given = "" if isinstance(value, bool) or not isinstance(value, str | int) else str(value).strip()
    found = re.fullmatch(r"(?:[Oo]-)?([0-9]{1,10})", given) if len(given) < 20 else None
    if not found or not 0 < int(found[1]) <= HIGHEST_ID:
        raise BadInput("order_id must be one order number such as O-1001 or 1001")
    return int(found[1])


def get_order_status(engine: Engine, customer_id: int, order_id: int) -> OrderStatus:
    """One of the customer's own orders; raises NoSuchOrder for any other, whether it exists or not."""
    wanted = parse_order_id(order_id)
    with read(engine) as db:
        ids = {"order": wanted, "customer": possible_customer(customer_id)}
        order = db.execute(_OWN_ORDER, ids).one_or_none()
        if order is None:
            raise NoSuchOrder(order_id=wanted, suggestion=_suggestion(db, customer_id))
        return _status(db, order)


def set_order_status(engine: Engine, order_id: int, status: str, *, by: str) -> OrderStatus:
    """Set the status of anybody's order, as the warehouse does, and the date that goes with it.

    Raises BadInput for an unknown status, NoSuchOrder for an unknown id.
    """
    wanted = parse_order_id(order_id)
    if status not in STATUSES:
        raise BadInput(f"status must be one of {', '.join(STATUSES)}")

    def set_it(db: Connection) -> OrderStatus:
        order = db.execute(_ORDER, {"order": wanted}).one_or_none()
        if order is None:
            raise NoSuchOrder(order_id=wanted, suggestion="check the number")
        if order.status != status:
            change = {"version_before": order.version, "before": order.status, "after": status}
            version = record_change(db, f"order:{wanted}", by=by, **change)
            values = {"order": wanted, "status": status, "version": version, "today": utc_now()[:10]}
            db.execute(_SET_STATUS, values)
            order = db.execute(_ORDER, {"order": wanted}).one()
        return _status(db, order)

    return transact(engine, set_it)


def _status(db: Connection, order: Row[Any]) -> OrderStatus:
    lines = tuple(BoughtLine(*line) for line in db.execute(_LINES, {"order": order.id}))
    return OrderStatus(**order._mapping, lines=lines)


def _suggestion(db: Connection, customer_id: int) -> str:
    newest = db.scalars(_NEWEST, {"owner": customer_id, "most": MOST_SUGGESTED}).all()
    return "the newest are " + ", ".join(f"O-{id_}" for id_ in newest) if newest else "there are none yet"
