"""The first books, customers and orders of a shop, from CSV files."""

from __future__ import annotations

import csv
from importlib import resources
from pathlib import Path

from sqlalchemy import Connection, insert
from sqlmodel import Session, SQLModel

from store import search_postgres, search_sqlite
from store.book_csv import read_books
from store.errors import ShopUnavailable
from store.models import (
    SCHEMA_VERSION,
    Cart,
    Customer,
    Order,
    OrderLine,
    ShopMeta,
    shop_tables,
)
from store.money import parse_price
from store.shelving import shelve

DATES = ("placed_on", "shipped_on", "expected_on", "delivered_on")


def seed_folder() -> Path:
    """Find the folder with the seed files that come with the shop."""
    return Path(str(resources.files("data")))


def create_tables(connection: Connection) -> None:
    """Create the tables and the search index of an empty shop inside a transaction."""
    SQLModel.metadata.create_all(connection, tables=shop_tables())
    index = search_postgres if connection.dialect.name == "postgresql" else search_sqlite
    for statement in index.INDEX:
        connection.exec_driver_sql(statement)
    connection.execute(insert(ShopMeta).values(name="schema", value=SCHEMA_VERSION))


def fill(db: Session, folder: Path, *, version: int = 0) -> None:
    """Fill empty tables from the CSV files of a folder; version is the change that everything counts from."""
    books = read_books(folder / "books.csv")
    for book in books:
        book.stock_version = version
    shelve(db, books, by="seed")
    try:
        customers = _rows(folder / "customers.csv")
        db.execute(insert(Customer), [{**row, "id": int(row["id"])} for row in customers])
        db.execute(insert(Cart), [{"customer_id": int(row["id"]), "version": version} for row in customers])
        _fill_orders(db, _rows(folder / "orders.csv"), version)
    except (OSError, ValueError, KeyError) as error:
        raise ShopUnavailable("the seed files of the shop cannot be read") from error


def _fill_orders(db: Session, rows: list[dict[str, str]], version: int) -> None:
    """Each row is a line of an order; what belongs to the order is repeated on each of its lines."""
    orders = {}
    lines = []
    for row in rows:
        id_ = int(row["order_id"])
        dates = {name: row[name] or None for name in DATES}
        orders[id_] = {
            "id": id_,
            "customer_id": int(row["customer_id"]),
            "status": row["status"],
            **dates,
            "version": version,
        }
        bought = {"book_id": int(row["book_id"]), "quantity": int(row["quantity"])}
        lines.append({"order_id": id_, **bought, "price_cents": parse_price(row["price"])})
    if lines:
        db.execute(insert(Order), list(orders.values()))
        db.execute(insert(OrderLine), lines)


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
