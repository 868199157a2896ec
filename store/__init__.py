"""The shop: catalog, search, stock, carts and orders in one database."""

from store.cart import (
    Added,
    CartView,
    LineInCart,
    add_to_cart,
    applied_write,
    clear_cart,
    remove_from_cart,
    set_quantity,
    view_cart,
)
from store.catalog import BookDetails, Stock, check_stock, get_book, set_price, set_stock
from store.change_log import Change, changes_since, latest_change
from store.checkup import check_shop
from store.errors import (
    BadInput,
    KeyReused,
    NoSuchBook,
    NoSuchCustomer,
    NoSuchOrder,
    NotEnough,
    NotFound,
    NotInCart,
    OutOfStock,
    ShopError,
    ShopUnavailable,
    TooMany,
)
from store.importing import import_books
from store.money import decimal_text, dollars, parse_price
from store.orders import (
    BoughtLine,
    OrderStatus,
    Person,
    get_order_status,
    list_customers,
    parse_order_id,
    set_order_status,
)
from store.schema import MOST_COPIES, STATUSES
from store.search import BookHit, SearchResult, search_books
from store.shop import init_shop, open_shop, reset_shop

__all__ = [
    "MOST_COPIES",
    "STATUSES",
    "Added",
    "BadInput",
    "BookDetails",
    "BookHit",
    "BoughtLine",
    "CartView",
    "Change",
    "KeyReused",
    "LineInCart",
    "NoSuchBook",
    "NoSuchCustomer",
    "NoSuchOrder",
    "NotEnough",
    "NotFound",
    "NotInCart",
    "OrderStatus",
    "OutOfStock",
    "Person",
    "SearchResult",
    "ShopError",
    "ShopUnavailable",
    "Stock",
    "TooMany",
    "add_to_cart",
    "applied_write",
    "changes_since",
    "check_shop",
    "check_stock",
    "clear_cart",
    "decimal_text",
    "dollars",
    "get_book",
    "get_order_status",
    "import_books",
    "init_shop",
    "latest_change",
    "list_customers",
    "open_shop",
    "parse_order_id",
    "parse_price",
    "remove_from_cart",
    "reset_shop",
    "search_books",
    "set_order_status",
    "set_price",
    "set_quantity",
    "set_stock",
    "view_cart",
]
