"""A check of the whole shop: the file, the rules, and the index beside them."""

from __future__ import annotations

import sqlite3

from sqlalchemy import Engine, text
from sqlalchemy.exc import DatabaseError
from sqlmodel import Session

from store.engine import read, sqlite_code, write
from store.models import MOST_COPIES

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


def check_shop(engine: Engine) -> list[str]:
    """List what is wrong with a shop, one line each; empty when all is well."""
    problems: list[str] = []
    if engine.dialect.name == "sqlite":
        problems += write(engine, _file_problems)
    with read(engine) as db:
        return problems + _rule_problems(db)


def _file_problems(db: Session) -> list[str]:
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


def _rule_problems(db: Session) -> list[str]:
    return [
        wording.format(*row) for wording, broken in RULES.items() for row in db.execute(text(broken)).fetchmany(10)
    ]
