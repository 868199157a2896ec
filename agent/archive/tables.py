"""The archive's three tables: conversations, their events, and who runs what."""

from sqlalchemy import Column, Float, Index, Integer, MetaData, String, Table, Text, UniqueConstraint

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
