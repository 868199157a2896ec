"""The one list of changes: what changed, from which version to which, by whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Engine, and_, false, func, or_, select, text
from sqlmodel import Session, col

from store.engine import read
from store.models import ShopChange

_RECORD = text(
    """INSERT INTO shop_change (resource, "by", at, version_before, before, after)
    VALUES (:resource, :by, :at, :version_before, :before, :after) RETURNING number"""
)


@dataclass(frozen=True)
class Change:
    """One change of one thing: `cart:1`, `stock:7`, `order:1001`, or `shop` when everything was reset."""

    number: int
    resource: str
    version_before: int
    version: int
    by: str
    at: str
    before: str
    after: str


def utc_now() -> str:
    """Give the time as the shop stores it: UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def record_change(db: Session, resource: str, *, by: str, version_before: int, before: str, after: str) -> int:
    """Note a change inside the transaction that makes it; its number is the new version of the thing."""
    values = {"resource": resource, "by": by, "version_before": version_before, "before": before, "after": after}
    return int(db.execute(_RECORD, {**values, "at": utc_now()}).scalar_one())


def changes_since(engine: Engine, since: int | Mapping[str, int]) -> list[Change]:
    """List the changes after a number, oldest first; of all things, or of each named one after its own number."""
    number, resource = col(ShopChange.number), col(ShopChange.resource)
    if isinstance(since, int):
        later = number > since
    else:
        later = or_(false(), *(and_(resource == name, number > seen) for name, seen in since.items()))
    with read(engine) as db:
        return [_change(row) for row in db.scalars(select(ShopChange).where(later).order_by(number))]


def _change(row: ShopChange) -> Change:
    number = int(row.number or 0)
    return Change(number, row.resource, row.version_before, number, row.by, row.at, row.before, row.after)


def latest_change(engine: Engine) -> int:
    """Give the number of the newest change, 0 when there was none since the shop was seeded."""
    with read(engine) as db:
        return latest_number(db)


def latest_number(db: Session) -> int:
    """Read the number of the newest change inside a transaction."""
    return db.scalar(select(func.max(col(ShopChange.number)))) or 0
