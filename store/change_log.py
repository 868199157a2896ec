"""The one list of changes: what changed, from which version to which, and by whom."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache

from sqlalchemy import Connection, Engine, TextClause, text

from store.database import read

_RECORD = text(
    """INSERT INTO shop_change (resource, "by", at, version_before, before, after)
    VALUES (:resource, :by, :at, :version_before, :before, :after) RETURNING number"""
)
_NEWEST = text("SELECT coalesce(max(number), 0) FROM shop_change")


@dataclass(frozen=True)
class Change:
    """One change of one thing: ``cart:1``, ``stock:7``, ``order:1001``, or ``shop`` when everything was reset."""

    number: int
    resource: str
    version_before: int
    version: int
    by: str
    at: str
    before: str
    after: str


def utc_now() -> str:
    """The time as the shop stores it: UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def record_change(db: Connection, resource: str, *, by: str, version_before: int, before: str, after: str) -> int:
    """Note a change inside the transaction that makes it; returns its number, the new version of the thing."""
    values = {"resource": resource, "by": by, "version_before": version_before, "before": before, "after": after}
    return int(db.execute(_RECORD, {**values, "at": utc_now()}).scalar_one())


def changes_since(engine: Engine, since: int | Mapping[str, int]) -> list[Change]:
    """The changes after a number, oldest first; of all things, or of each named one after its own number."""
    values: dict[str, object] = {}
    if isinstance(since, int):
        later, values["seen"] = "number > :seen", since
    else:
        for place, (name, seen) in enumerate(since.items()):
            values |= {f"name{place}": name, f"seen{place}": seen}
        each = (f"(resource = :name{place} AND number > :seen{place})" for place in range(len(since)))
        later = " OR ".join(each) or "false"
    with read(engine) as db:
        return [Change(*row) for row in db.execute(_changes(later), values)]


@cache
def _changes(later: str) -> TextClause:
    """The statement that lists changes; it differs only by how many things are asked for."""
    columns = 'number, resource, version_before, number, "by", at, before, after'
    return text(f"SELECT {columns} FROM shop_change WHERE {later} ORDER BY number")  # noqa: S608 - words of our own


def latest_change(engine: Engine) -> int:
    """The number of the newest change, 0 when there was none since the shop was seeded."""
    with read(engine) as db:
        return latest_number(db)


def latest_number(db: Connection) -> int:
    """The number of the newest change, read inside a transaction."""
    return int(db.execute(_NEWEST).scalar_one())
