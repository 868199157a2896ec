"""Values from outside: checked here, before they reach the database."""

from store.errors import BadInput, NoSuchBook, NoSuchCustomer

HIGHEST_ID = 2**31 - 1
LONGEST_KEY = 255


def _is_whole(value: object, lowest: int, highest: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and lowest <= value <= highest


def whole_number(value: int, lowest: int, highest: int, name: str) -> int:
    """Pass a whole number within bounds; raises BadInput for anything else, true and false included."""
    if not _is_whole(value, lowest, highest):
        raise BadInput(f"{name} must be a whole number from {lowest} to {highest}")
    return value


def possible_book(book_id: int) -> int:
    """Pass what can be a book id; raises NoSuchBook for the rest, a number too large for the database included."""
    if not _is_whole(book_id, 1, HIGHEST_ID):
        raise NoSuchBook(book_id=book_id)
    return book_id


def possible_customer(customer_id: int) -> int:
    """Pass what can be a customer id; raises NoSuchCustomer for the rest."""
    if not _is_whole(customer_id, 1, HIGHEST_ID):
        raise NoSuchCustomer(customer_id=customer_id)
    return customer_id


def possible_key(key: str) -> str:
    """Pass an idempotency key of 1 to 255 printable characters; raises BadInput for anything else."""
    if not isinstance(key, str) or not 0 < len(key) <= LONGEST_KEY or not key.isprintable():
        raise BadInput(f"an idempotency key must be 1 to {LONGEST_KEY} printable characters")
    return key
