"""The archive's three tables: conversations, their events, and who runs what."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    CursorResult,
    Dialect,
    Float,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.sql import ClauseElement

TABLES = MetaData()

CONVERSATIONS = Table(
    "agent_conversations",
    TABLES,
    Column("handle", String(64), primary_key=True),
    Column("owner", String(64), nullable=False),
    Column("name", String(200)),
    Column("format", Integer, nullable=False),
    Column("created", Float, nullable=False),
    UniqueConstraint("owner", "name"),
)

EVENTS = Table(
    "agent_events",
    TABLES,
    Column("handle", String(64), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("body", Text, nullable=False),
)

RUNS = Table(
    "agent_runs",
    TABLES,
    Column("run_id", String(64), primary_key=True),
    Column("handle", String(64), nullable=False),
    Column("first", Integer, nullable=False),
    Column("last", Integer),
    Column("started", Float, nullable=False),
    Column("worker", String(64), nullable=False),
    Column("heartbeat", Float, nullable=False),
    Column("stop_reason", String(32)),
)
Index("agent_runs_by_conversation", RUNS.c.handle, RUNS.c.first)
# One live run a conversation: the database refuses the second, whichever process it comes from.
Index(
    "agent_one_live_run",
    RUNS.c.handle,
    unique=True,
    sqlite_where=RUNS.c.stop_reason.is_(None),
    postgresql_where=RUNS.c.stop_reason.is_(None),
)


def run_prepared(db: Connection, statement: ClauseElement, *rows: Mapping[str, Any]) -> CursorResult[Any]:
    """Run a statement that is compiled once a database: to look it up each time takes longer than to run it."""
    sql, names = _compiled(statement, db.dialect)
    values = [tuple(row[name] for name in names) if names else dict(row) for row in rows]
    return db.exec_driver_sql(sql, values if len(values) > 1 else values[0])


@lru_cache(maxsize=100)
def _compiled(statement: ClauseElement, dialect: Dialect) -> tuple[str, Sequence[str] | None]:
    """Its text, and the names of its values in their order where the driver wants them by place."""
    compiled = statement.compile(dialect=dialect)
    return compiled.string, getattr(compiled, "positiontup", None)
