"""The tables of the shop."""

from typing import Annotated, Any

from sqlalchemy import CheckConstraint, Index, MetaData, Text
from sqlmodel import Field, SQLModel

SCHEMA_VERSION = 1
MOST_COPIES = 20
STATUSES = ("processing", "shipped", "delivered", "cancelled", "returned")

# The shop's own tables: other programs may keep theirs beside them.
TABLES = MetaData()
# A plain INTEGER column of SQLite would keep 1.5 or "abc"; a STRICT table refuses them.
STRICT = {"sqlite_strict": True}
String = Annotated[str, Field(sa_type=Text)]
OptionalString = Annotated[str | None, Field(sa_type=Text)]


class ShopTable(SQLModel):
    """What the tables of the shop have in common."""

    metadata = TABLES
    __table_args__: Any = STRICT


class Book(ShopTable, table=True):
    """A title in the catalog; ``stock_version`` is the number of the last change of its stock."""

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


class BookText(ShopTable, table=True):
    """The words of a book as search sees them; the full-text index is built over this table."""

    __tablename__ = "book_text"

    book_id: int = Field(primary_key=True, foreign_key="book.id")
    title: String
    author: String
    genre: String
    description: String


class KnownWord(ShopTable, table=True):
    """A word that occurs in the catalog, by length: what a misspelling is corrected to."""

    __tablename__ = "known_word"
    __table_args__ = {"sqlite_with_rowid": False, **STRICT}

    length: int = Field(primary_key=True)
    word: String = Field(primary_key=True, sa_type=Text)


class Customer(ShopTable, table=True):
    """Somebody with one cart and any number of orders."""

    id: int = Field(primary_key=True)
    name: String
    email: String


class Cart(ShopTable, table=True):
    """The one cart of a customer; ``version`` is the number of its last change."""

    customer_id: int = Field(primary_key=True, foreign_key="customer.id")
    version: int = 0


class CartLine(ShopTable, table=True):
    """Copies of one book in one cart."""

    __tablename__ = "cart_line"
    __table_args__ = (
        CheckConstraint(f"quantity BETWEEN 1 AND {MOST_COPIES}", name="cart_line_quantity"),
        STRICT,
    )

    customer_id: int = Field(primary_key=True, foreign_key="cart.customer_id")
    book_id: int = Field(primary_key=True, foreign_key="book.id")
    quantity: int


class Order(ShopTable, table=True):
    """A bought cart; dates are ISO 8601 text, ``version`` is the number of its last change."""

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


class OrderLine(ShopTable, table=True):
    """Copies of one book in an order, at the price that was paid."""

    __tablename__ = "order_line"
    __table_args__ = (CheckConstraint("quantity >= 1", name="order_line_quantity"), STRICT)

    order_id: int = Field(primary_key=True, foreign_key="orders.id")
    book_id: int = Field(primary_key=True, foreign_key="book.id")
    quantity: int
    price_cents: int


class AppliedWrite(ShopTable, table=True):
    """A request that took effect, under its idempotency key, with what was answered."""

    __tablename__ = "applied_write"

    key: String = Field(primary_key=True, sa_type=Text)
    customer_id: int = Field(foreign_key="customer.id")
    request: String
    result: String
    at: String


class ShopChange(ShopTable, table=True):
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


class ShopMeta(ShopTable, table=True):
    """What marks a database as a shop: the version of its schema."""

    __tablename__ = "shop_meta"

    name: String = Field(primary_key=True, sa_type=Text)
    value: int
