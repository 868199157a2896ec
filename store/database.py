"""The database connection: where pragmas are set, how a read and a write run, what a failure is called."""

import random
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.pool import ConnectionPoolEntry

from store.errors import ShopUnavailable

Result = TypeVar("Result")

BUSY_SECONDS = 1.0
MOST_TRIES = 5
LONGEST_PAUSE = 0.1
ADVISORY_LOCK = 0x61A55B00
UNKNOWN_REASON = "the shop's database cannot be reached or does not answer as it should"

_SQLITE_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_POSTGRES_RETRY = {"40001", "40P01"}
_SQLITE_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full; nothing was saved, free some space and try again",
    sqlite3.SQLITE_IOERR: "the disk does not answer as it should; nothing was saved",
    sqlite3.SQLITE_READONLY: "the shop's database is open for reading only; nothing was changed",
    sqlite3.SQLITE_CANTOPEN: "the shop's database cannot be opened",
    sqlite3.SQLITE_CORRUPT: "the shop's database is damaged; restore a backup or move the file away",
    sqlite3.SQLITE_NOTADB: "the shop's database is damaged; restore a backup or move the file away",
} | dict.fromkeys(_SQLITE_BUSY, "the shop is busy with other writers; nothing was changed, try again")


def make_engine(url: URL) -> Engine:
    """The engine of a shop; nothing is opened until it is used.

    A connection with the execution option ``immediate`` begins as a writer: one at a time over all processes.
    """
    pool = {"pool_size": 8, "max_overflow": -1, "hide_parameters": True}
    engine = create_engine(url, execution_options={"writer": threading.Lock()}, **pool)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _set_pragmas)
        event.listen(engine, "begin", _begin_sqlite)
    else:
        event.listen(engine, "begin", _begin_postgres)
    return engine


def _set_pragmas(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
    """Set what SQLite keeps per connection.

    NORMAL survives the death of a process. A power cut may take the newest commits, but shop and conversations
    share one write-ahead log, so it takes them in order: no answer outlives the purchase it speaks of.
    """
    connection.isolation_level = None  # the driver must not begin by itself: see _begin_sqlite
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")
    with suppress(sqlite3.OperationalError):  # a file opened for reading only keeps the journal it has
        cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = NORMAL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    if connection.get_execution_options().get("immediate"):
        # A deferred transaction that reads first and writes later fails at once under other writers.
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        # This takes no lock and so cannot fail; to send it through SQLAlchemy would cost a ninth of every read.
        connection.connection.cursor().execute("BEGIN")


def _begin_postgres(connection: Connection) -> None:
    # One writer at a time, so that change numbers become visible in the order in which they rise.
    if connection.get_execution_options().get("immediate"):
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({ADVISORY_LOCK})")


@contextmanager
def read(engine: Engine) -> Iterator[Connection]:
    """Open a connection that sees one state of the shop and never waits for a writer."""
    try:
        with engine.connect() as db:
            yield db
    except DBAPIError as error:
        _refuse(error)


def transact(engine: Engine, work: Callable[[Connection], Result]) -> Result:
    """Run ``work(connection)`` as the only writer and commit; any exception undoes all of it.

    Work may run more than once, so it must do nothing but talk to the database. Raises ShopUnavailable where
    others keep the database busy, or where it cannot be written.
    """
    for attempt in range(1, MOST_TRIES + 1):
        try:
            # Threads queue here and take turns; the lock of SQLite itself is not fair.
            with engine.get_execution_options()["writer"], engine.connect() as connection:
                connection.execution_options(immediate=True)
                with connection.begin():
                    return work(connection)
        except DBAPIError as error:
            if attempt == MOST_TRIES or not _worth_another_try(error):
                _refuse(error)
            time.sleep(random.uniform(0, LONGEST_PAUSE * attempt))
    raise AssertionError("the last attempt returns or raises")


def sqlite_code(error: DBAPIError) -> int:
    """The primary result code of SQLite behind an error, 0 where it is none of SQLite's."""
    return getattr(error.orig, "sqlite_errorcode", 0) & 0xFF


def _worth_another_try(error: DBAPIError) -> bool:
    return sqlite_code(error) in _SQLITE_BUSY or getattr(error.orig, "sqlstate", None) in _POSTGRES_RETRY


def _refuse(error: DBAPIError) -> NoReturn:
    """Word a driver's error without SQL, paths and hosts; a broken rule is our own bug and stays what it is."""
    if isinstance(error, IntegrityError):
        raise error
    raise ShopUnavailable(_SQLITE_REASONS.get(sqlite_code(error), UNKNOWN_REASON)) from error
