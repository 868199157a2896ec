"""Opening a shop, and making one from the seed files where there is none."""

import csv
import os
from contextlib import suppress
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote, urlsplit

import platformdirs
from sqlalchemy import URL, Connection, Engine, delete, insert, inspect, make_url
from sqlalchemy.exc import ArgumentError

from store.change_log import latest_number, record_change
from store.checkup import SCHEMA_MARK, is_absent, vet_file, vet_tables, vet_version
from store.database import make_engine, transact
from store.errors import ShopUnavailable
from store.full_text import create_index
from store.importing import read_books, shelve
from store.money import parse_price
from store.schema import SCHEMA_VERSION, TABLES, Cart, Customer, Order, OrderLine, ShopChange, ShopMeta


def open_shop(url: str | None = None, *, seed: Path | None = None) -> Engine:
    """Open the shop at a SQLAlchemy URL, by default the user's own; an absent one is made and seeded.

    ``seed`` is a folder with books.csv, customers.csv and orders.csv. Raises ShopUnavailable, with nothing
    changed, where the database is empty, damaged, another program's or of a newer version.
    """
    address = _address(url)
    if address.get_backend_name() == "postgresql":
        return _open_postgres(address, seed)
    path = _file(address)
    if "uri" not in address.query and is_absent(path):
        _create(path, seed)
    vet_file(path)
    return make_engine(address)


def init_shop(url: str | None = None, *, seed: Path | None = None) -> Engine:
    """Make and seed a shop where there is none; raises ShopUnavailable where there is one, or anything else."""
    address = _address(url)
    if address.get_backend_name() == "sqlite" and not is_absent(_file(address)):
        raise ShopUnavailable(f"{_file(address).name} exists already; reset it, or give another database")
    return open_shop(url, seed=seed)


def reset_shop(url: str | None = None, *, seed: Path | None = None) -> None:
    """Put a shop back to its seed in one transaction, for everybody at once.

    Tables of others are left alone, and change numbers rise on: a reset is a change of the whole shop.
    """
    engine = open_shop(url, seed=seed)

    def start_again(db: Connection) -> None:
        for table in reversed(TABLES.sorted_tables):
            if table.name not in (ShopMeta.__tablename__, ShopChange.__tablename__):
                db.execute(delete(table))
        last = latest_number(db)
        version = record_change(db, "shop", by="reset", version_before=last, before="in use", after="as seeded")
        _fill(db, seed, version=version)

    try:
        transact(engine, start_again)
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


def _create(path: Path, seed: Path | None) -> None:
    """Build a shop beside its place and put it there whole: no crash and no second process sees half of one."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".new-shop-", dir=path.parent) as folder:
            fresh = Path(folder) / path.name
            engine = make_engine(URL.create("sqlite", database=str(fresh)))
            try:
                transact(engine, lambda db: _make(db, seed))
            finally:
                engine.dispose()
            with suppress(FileExistsError):  # another process was faster, and its shop is as good
                os.link(fresh, path)
    except OSError as error:
        raise ShopUnavailable(f"the folder of {path.name} cannot be written") from error


def _open_postgres(address: URL, seed: Path | None) -> Engine:
    try:
        engine = make_engine(address)
    except ModuleNotFoundError as error:
        raise ShopUnavailable("PostgreSQL needs a driver: pip install 'glass-bookshop[postgres]'") from error

    def make_or_vet(db: Connection) -> None:
        names = set(inspect(db).get_table_names())
        if names.isdisjoint(TABLES.tables):
            _make(db, seed)
            return
        vet_tables(names, "the database")
        vet_version(db.exec_driver_sql(SCHEMA_MARK).scalar(), "the database")

    try:
        transact(engine, make_or_vet)
    except BaseException:
        engine.dispose()
        raise
    return engine


def _make(db: Connection, seed: Path | None) -> None:
    TABLES.create_all(db)
    create_index(db)
    db.execute(insert(ShopMeta).values(name="schema", value=SCHEMA_VERSION))
    _fill(db, seed)


def _fill(db: Connection, seed: Path | None, *, version: int = 0) -> None:
    """Fill empty tables from the seed files; ``version`` is the change that everything counts from."""
    folder = seed or Path(str(resources.files("data")))
    books = read_books(folder / "books.csv")
    for book in books:
        book.stock_version = version
    shelve(db, books, by="seed")
    try:
        customers = [{**row, "id": int(row["id"])} for row in _rows(folder / "customers.csv")]
        orders, lines = _orders(_rows(folder / "orders.csv"), version)
    except (OSError, ValueError, KeyError) as error:
        raise ShopUnavailable("the seed files of the shop cannot be read") from error
    carts = [{"customer_id": customer["id"], "version": version} for customer in customers]
    for model, rows in ((Customer, customers), (Cart, carts), (Order, orders), (OrderLine, lines)):
        if rows:
            db.execute(insert(model), rows)


def _orders(rows: list[dict[str, str]], version: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The orders and their lines; each row is a line, and repeats what belongs to its order."""
    orders: dict[int, dict[str, Any]] = {}
    lines: list[dict[str, Any]] = []
    for row in rows:
        id_ = int(row["order_id"])
        dates = {name: row[name] or None for name in ("placed_on", "shipped_on", "expected_on", "delivered_on")}
        owner = int(row["customer_id"])
        orders[id_] = {"id": id_, "customer_id": owner, "status": row["status"], **dates, "version": version}
        bought = {"book_id": int(row["book_id"]), "quantity": int(row["quantity"])}
        lines.append({"order_id": id_, **bought, "price_cents": parse_price(row["price"])})
    return list(orders.values()), lines


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
