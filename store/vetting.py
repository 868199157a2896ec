"""Whether a database file is a shop of ours, before anything is written to it."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from contextlib import closing
from pathlib import Path

from store.errors import ShopUnavailable
from store.models import SCHEMA_VERSION, ShopMeta, shop_tables

# A larger file takes seconds to read through, which `check_shop` does on demand.
LARGEST_CHECKED = 64 * 1024 * 1024
NOT_TOUCHED = "it was left as it is, give another database or move it away"


def is_absent(path: Path) -> bool:
    """Tell whether a new shop may be made at a path; ShopUnavailable where remains of an old one forbid it."""
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
            marks = connection.execute("SELECT value FROM shop_meta WHERE name = 'schema'").fetchone()
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
    if any(table.name not in names for table in shop_tables()):
        raise ShopUnavailable(f"{database} is damaged, some of its tables are missing; {NOT_TOUCHED}")


def vet_version(version: int | None, database: str) -> None:
    """Refuse a schema that this program does not know."""
    if version is None or version < SCHEMA_VERSION:
        raise ShopUnavailable(f"{database} is damaged, it does not tell its version; {NOT_TOUCHED}")
    if version > SCHEMA_VERSION:
        raise ShopUnavailable(f"{database} was made by a newer Glass Bookshop; update this program")
