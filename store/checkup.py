"""Whether a database is a shop of ours and sound: asked before it is opened, and of the whole shop on demand."""

import sqlite3
from collections.abc import Collection
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DatabaseError

from store.database import read, sqlite_code, transact
from store.errors import ShopUnavailable
from store.schema import MOST_COPIES, SCHEMA_VERSION, TABLES, ShopMeta

# A larger file takes seconds to read through, which ``check_shop`` does on demand.
LARGEST_CHECKED = 64 * 1024 * 1024
NOT_TOUCHED = "it was left as it is, give another database or move it away"
SCHEMA_MARK = "SELECT value FROM shop_meta WHERE name = 'schema'"

# What each query finds is wrong, and is worded by the line before it.
RULES = {
    "cart {0} holds an impossible number of book {1}": (
        f"SELECT customer_id, book_id FROM cart_line WHERE quantity NOT BETWEEN 1 AND {MOST_COPIES}"  # noqa: S608 - our own constant
    ),
    "customer {0} has no cart": (
        "SELECT id FROM customer WHERE NOT EXISTS (SELECT 1 FROM cart WHERE customer_id = customer.id)"
    ),
    "book {0} cannot be found by search": (
        "SELECT id FROM book WHERE NOT EXISTS (SELECT 1 FROM book_text WHERE book_id = book.id)"
    ),
    "cart {0} has a version older than its last change": (
        """SELECT customer_id FROM cart WHERE version <
        (SELECT max(number) FROM shop_change WHERE resource = 'cart:' || customer_id)"""
    ),
    "book {0} has a stock version older than its last change": (
        """SELECT id FROM book WHERE stock_version <
        (SELECT max(number) FROM shop_change WHERE resource = 'stock:' || id)"""
    ),
    "order {0} has a version older than its last change": (
        """SELECT id FROM orders WHERE version <
        (SELECT max(number) FROM shop_change WHERE resource = 'order:' || id)"""
    ),
}


def is_absent(path: Path) -> bool:
    """Whether a new shop may be made at a path; raises ShopUnavailable where remains of an old one forbid it."""
    remains = path.with_name(f"{path.name}-wal").exists()  # asked first: a living shop has its file before its log
    if path.exists():
        return False
    if remains:
        raise ShopUnavailable(f"{path.name} is gone but {path.name}-wal is still there; move that away as well")
    return True


def vet_file(path: Path) -> None:
    """Refuse a file that is empty, damaged, another program's or of a newer shop; it is only read."""
    if not path.is_file():
        raise ShopUnavailable(f"there is no database file {path.name}")
    if path.stat().st_size == 0:
        raise ShopUnavailable(f"{path.name} is an empty file; {NOT_TOUCHED}")
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            vet_tables({name for (name,) in names}, path.name)
            marks = connection.execute(SCHEMA_MARK).fetchone()
            vet_version(marks[0] if marks else None, path.name)
            small = path.stat().st_size <= LARGEST_CHECKED
            if small and connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                raise ShopUnavailable(f"{path.name} is damaged; {NOT_TOUCHED}")
    except sqlite3.OperationalError as error:
        raise ShopUnavailable(f"{path.name} cannot be opened as a shop; {NOT_TOUCHED}") from error
    except sqlite3.DatabaseError as error:
        raise ShopUnavailable(f"{path.name} is damaged or not a database; {NOT_TOUCHED}") from error


def vet_tables(names: Collection[str], database: str) -> None:
    """Refuse a database without the tables of a shop; tables of others beside them are welcome."""
    if not names:
        raise ShopUnavailable(f"{database} is an empty database; {NOT_TOUCHED}")
    if str(ShopMeta.__tablename__) not in names:
        raise ShopUnavailable(f"{database} belongs to another program; {NOT_TOUCHED}")
    if any(name not in names for name in TABLES.tables):
        raise ShopUnavailable(f"{database} is damaged, some of its tables are missing; {NOT_TOUCHED}")


def vet_version(version: int | None, database: str) -> None:
    """Refuse a schema that this program does not know."""
    if version is None or version < SCHEMA_VERSION:
        raise ShopUnavailable(f"{database} is damaged, it does not tell its version; {NOT_TOUCHED}")
    if version > SCHEMA_VERSION:
        raise ShopUnavailable(f"{database} was made by a newer Glass Bookshop; update this program")


def check_shop(engine: Engine) -> list[str]:
    """What is wrong with a shop, one line each; empty when all is well."""
    problems: list[str] = []
    if engine.dialect.name == "sqlite":
        problems += transact(engine, _file_problems)
    with read(engine) as db:
        for wording, broken in RULES.items():
            problems += [wording.format(*row) for row in db.execute(text(broken)).fetchmany(10)]
    return problems


def _file_problems(db: Connection) -> list[str]:
    damage = [row[0] for row in db.execute(text("PRAGMA integrity_check(10)")) if row[0] != "ok"]
    loose = db.execute(text("PRAGMA foreign_key_check")).all()
    problems = [f"the file is damaged: {line}" for line in damage]
    problems += [f"table {row[0]} refers to a row that is missing from {row[2]}" for row in loose[:10]]
    try:
        db.execute(text("INSERT INTO book_index(book_index, rank) VALUES ('integrity-check', 1)"))
    except DatabaseError as error:
        if sqlite_code(error) != sqlite3.SQLITE_CORRUPT:
            raise
        problems.append("the search index does not agree with the books")
    return problems
