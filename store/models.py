"""The tables of the shop."""

from __future__ import annotations

from typing import Annotated, cast

from sqlalchemy import CheckConstraint, Index, Table, Text
from sqlmodel import Field, SQLModel

SCHEMA_VERSION = 1
MOST_COPIES = 20
STATUSES = ("processing", "shipped", "delivered", "cancelled", "returned")

# A plain INTEGER column of SQLite would keep 1.5 or "abc"; a STRICT table refuses them.
STRICT = {"sqlite_strict": True}
String = Annotated[str, Field(sa_type=Text)]
OptionalString = Annotated[str | None, Field(sa_type=Text)]


class Book(SQLModel, table=True):
    """A title in the catalog; stock_version is the number of the last change of its stock."""

    __table_args__ = (
        CheckConstraint("price_cents >= 0", name="book_price_positive"),
        CheckConstraint("stock >= 0", name="book_stock_positive"),
        Index("book_title_key", "title_key"),
        Index("book_author", "author"),
        STRICT,
    )

    id: int = Field(primary_key=True)
    title: String
    author: String
    genre: String
    price_cents: int
    stock: int
    language: String
    year: int | None = None
    edition: String
    description: String
    title_key: String
    stock_version: int = 0


class BookText(SQLModel, table=True):
    """The words of a book as search sees them; the full-text index is built over this table."""

    __tablename__ = "book_text"
    __table_args__ = (STRICT,)

    book_id: int = Field(primary_key=True, foreign_key="book.id")
    title: String
    author: String
    genre: String
    description: String


class KnownWord(SQLModel, table=True):
    """A word that occurs in the catalog, by length: what a misspelling is corrected to."""

    __tablename__ = "known_word"
    __table_args__ = ({"sqlite_with_rowid": False, **STRICT},)

    length: int = Field(primary_key=True)
    word: String = Field(primary_key=True, sa_type=Text)


class Customer(SQLModel, table=True):
    """Somebody with one cart and any number of orders."""

    __table_args__ = (STRICT,)

    id: int = Field(primary_key=True)
    name: String
    email: String


class Cart(SQLModel, table=True):
    """The one cart of a customer; version is the number of its last change."""

    __table_args__ = (STRICT,)

    customer_id: int = Field(primary_key=True, foreign_key="customer.id")
    version: int = 0


class CartLine(SQLModel, table=True):
    """Copies of one book in one cart."""

    __tablename__ = "cart_line"
    __table_args__ = (
        CheckConstraint(f"quantity BETWEEN 1 AND {MOST_COPIES}", name="cart_line_quantity"),
        STRICT,
    )

    customer_id: int = Field(primary_key=True, foreign_key="cart.customer_id")
    book_id: int = Field(primary_key=True, foreign_key="book.id")
    quantity: int


class Order(SQLModel, table=True):
    """A bought cart; dates are ISO 8601 text, version is the number of its last change."""

    __tablename__ = "orders"
    __table_args__ = (
        CheckConstraint(f"status IN {STATUSES}", name="order_status_known"),
        Index("orders_customer", "customer_id"),
        STRICT,
    )

    id: int = Field(primary_key=True)
    customer_id: int = Field(foreign_key="customer.id")
    status: String
    placed_on: String
    shipped_on: OptionalString = Field(default=None, sa_type=Text)
    expected_on: OptionalString = Field(default=None, sa_type=Text)
    delivered_on: OptionalString = Field(default=None, sa_type=Text)
    version: int = 0


class OrderLine(SQLModel, table=True):
    """Copies of one book in an order, at the price that was paid."""

    __tablename__ = "order_line"
    __table_args__ = (CheckConstraint("quantity >= 1", name="order_line_quantity"), STRICT)

    order_id: int = Field(primary_key=True, foreign_key="orders.id")
    book_id: int = Field(primary_key=True, foreign_key="book.id")
    quantity: int
    price_cents: int


class AppliedWrite(SQLModel, table=True):
    """A request that took effect, under its idempotency key, with what was answered."""

    __tablename__ = "applied_write"
    __table_args__ = (STRICT,)

    key: String = Field(primary_key=True, sa_type=Text)
    customer_id: int = Field(foreign_key="customer.id")
    request: String
    result: String
    at: String


class ShopChange(SQLModel, table=True):
    """One change of one thing; numbers rise over the whole shop and are never used twice."""

    __tablename__ = "shop_change"
    __table_args__ = (
        Index("shop_change_resource", "resource", "number"),
        {"sqlite_autoincrement": True, **STRICT},
    )

    number: int | None = Field(default=None, primary_key=True)
    resource: String
    by: String
    at: String
    version_before: int
    before: String
    after: String


class ShopMeta(SQLModel, table=True):
    """What marks a database as a shop: the version of its schema."""

    __tablename__ = "shop_meta"
    __table_args__ = (STRICT,)

    name: String = Field(primary_key=True, sa_type=Text)
    value: int


def shop_tables() -> list[Table]:
    """List the shop's own tables, each after those it refers to; other programs' tables are not among them."""
    models: list[type[SQLModel]] = [
        ShopMeta, Customer, Book, BookText, KnownWord, Cart, CartLine, Order, OrderLine, AppliedWrite, ShopChange,
    ]  # fmt: skip
    return [cast("Table", model.__dict__["__table__"]) for model in models]
