"""What can go wrong in the shop, each in one line that says what to do next."""

import re

LONGEST_MESSAGE = 300
LONGEST_FACT = 90


def _plain(fact: object) -> str:
    """Keep a fact on one line and short: it may be text from the catalog or from a model."""
    text = re.sub(r"[\s\x00-\x1f\x7f\u2028\u2029\ud800-\udfff]+", " ", str(fact)).strip()
    return text if len(text) <= LONGEST_FACT else text[: LONGEST_FACT - 1] + "…"


class ShopError(Exception):
    """the shop could not do that"""

    def __init__(self, message: str = "", /, **facts: object) -> None:
        filled = (self.__doc__ or "").format(**{name: _plain(fact) for name, fact in facts.items()})
        super().__init__((message or filled)[:LONGEST_MESSAGE])


class ShopUnavailable(ShopError):
    """the shop is closed for the moment; nothing was changed"""


class BadInput(ShopError):
    """that is not a value the shop understands"""


class NotFound(ShopError):
    """the shop has no such thing"""


class NoSuchBook(NotFound):
    """there is no book with the id {book_id}; call search_books with a title or an author to find its id"""


class NoSuchCustomer(NotFound):
    """there is no customer {customer_id}"""


class NoSuchOrder(NotFound):
    """there is no order O-{order_id} among this customer's orders; {suggestion}"""


class NotInCart(NotFound):
    """book {book_id} '{title}' is not in the cart"""


class OutOfStock(ShopError):
    """book {book_id} '{title}' is out of stock (0 copies); call check_stock for another book"""


class NotEnough(ShopError):
    """only {stock} in stock of book {book_id} '{title}', {in_cart} already in the cart; ask for fewer copies"""


class TooMany(ShopError):
    """a cart holds at most {most} copies of one book, and {in_cart} of '{title}' are already in it"""


class KeyReused(ShopError):
    """the idempotency key belongs to another request; nothing was added, use a new key"""
