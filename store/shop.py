"""Opening a shop, and making one where there is none."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote, urlsplit

import platformdirs
from sqlalchemy import URL, Engine, delete, inspect, make_url, select
from sqlalchemy.exc import ArgumentError
from sqlmodel import Session, col

from store.changes import latest_number, record_change
from store.engine import make_engine, write
from store.errors import ShopUnavailable
from store.models import ShopChange, ShopMeta, shop_tables
from store.seed import create_tables, fill, seed_folder
from store.vetting import is_absent, vet_file, vet_tables, vet_version


def open_shop(url: str | None = None, *, seed: Path | None = None) -> Engine:
    """Open the shop at a SQLAlchemy URL, by default the user's own; an absent one is made and seeded.

    `seed` is a folder with books.csv, customers.csv and orders.csv. ShopUnavailable, with nothing changed, when
    the database is empty, damaged, another program's or of a newer version.
    """
    address = _address(url)
    folder = seed or seed_folder()
    if address.get_backend_name() == "postgresql":
        return _open_postgres(address, folder)
    path = _file(address)
    if "uri" not in address.query and is_absent(path):
        _create(path, folder)
    vet_file(path)
    return make_engine(address)


def init_shop(url: str | None = None, *, seed: Path | None = None) -> Engine:
    """Make and seed a shop where there is none; ShopUnavailable where there is one, or anything else."""
    address = _address(url)
    if address.get_backend_name() == "sqlite" and not is_absent(_file(address)):
        raise ShopUnavailable(f"{_file(address).name} exists already; reset it, or give another database")
    return open_shop(url, seed=seed)


def reset_shop(url: str | None = None, *, seed: Path | None = None) -> None:
    """Put a shop back to its seed in one transaction, for everybody at once.

    Tables of others are left alone, and change numbers rise on: a reset is a change of the whole shop.
    """
    engine = open_shop(url, seed=seed)

    def start_again(db: Session) -> None:
        for table in reversed(shop_tables()):
            if table.name not in (ShopMeta.__tablename__, ShopChange.__tablename__):
                db.execute(delete(table))
        last = latest_number(db)
        version = record_change(db, "shop", by="reset", version_before=last, before="in use", after="as seeded")
        fill(db, seed or seed_folder(), version=version)

    try:
        write(engine, start_again)
    finally:
        engine.dispose()


def _address(url: str | None) -> URL:
    if url is None:
        home = platformdirs.user_data_path("glass-bookshop", appauthor=False)
        return URL.create("sqlite", database=str(home / "shop.db"))
    try:
        address = make_url(url)
        backend = address.get_backend_name()
    except ArgumentError as error:
        raise ShopUnavailable("the database must be a URL such as sqlite:///shop.db") from error
    if backend == "postgresql":
        return address.set(drivername="postgresql+psycopg")
    if backend != "sqlite" or address.database in (None, "", ":memory:"):
        raise ShopUnavailable("the shop needs a SQLite file or a PostgreSQL database, such as sqlite:///shop.db")
    return address


def _file(address: URL) -> Path:
    name = address.database or ""
    return Path(unquote(urlsplit(name).path) if name.startswith("file:") else name)


def _create(path: Path, seed: Path) -> None:
    """Build a shop beside its place and put it there whole: no crash and no second process sees half of one."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".new-shop-", dir=path.parent) as folder:
            fresh = Path(folder) / path.name
            engine = make_engine(URL.create("sqlite", database=str(fresh)))
            try:
                write(engine, lambda db: _make(db, seed))
            finally:
                engine.dispose()
            with suppress(FileExistsError):  # another process was faster, and its shop is as good
                os.link(fresh, path)
    except OSError as error:
        raise ShopUnavailable(f"the folder of {path.name} cannot be written") from error


def _make(db: Session, seed: Path) -> None:
    create_tables(db.connection())
    fill(db, seed)


def _open_postgres(address: URL, seed: Path) -> Engine:
    try:
        engine = make_engine(address)
    except ModuleNotFoundError as error:
        raise ShopUnavailable("PostgreSQL needs a driver: pip install 'glass-bookshop[postgres]'") from error

    def make_or_vet(db: Session) -> None:
        names = set(inspect(db.connection()).get_table_names())
        if not names & {table.name for table in shop_tables()}:
            _make(db, seed)
            return
        vet_tables(names, "the database")
        version = select(col(ShopMeta.value)).where(col(ShopMeta.name) == "schema")
        vet_version(db.scalar(version), "the database")

    try:
        write(engine, make_or_vet)
    except BaseException:
        engine.dispose()
        raise
    return engine
