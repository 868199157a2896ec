"""Money: whole cents inside the shop, decimal text outside it."""

import re

from store.errors import BadInput

HIGHEST_PRICE = 10_000_000


def decimal_text(cents: int) -> str:
    """An amount as decimal text: 1650 is '16.50'."""
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100}.{abs(cents) % 100:02d}"


def dollars(cents: int) -> str:
    """An amount as it is shown: 1650 is '$16.50'."""
    return f"-${decimal_text(-cents)}" if cents < 0 else f"${decimal_text(cents)}"


def parse_price(text: str) -> int:
    """Read a price such as '16.50', '$16.50' or '16' as cents; raises BadInput for anything else."""
    found = re.fullmatch(r"\$?([0-9]{1,7})(?:\.([0-9]{1,2}))?", text.strip())
    if not found:
        raise BadInput("price must be a decimal number of dollars such as 16.50")
    cents = int(found[1]) * 100 + int((found[2] or "").ljust(2, "0"))
    if cents > HIGHEST_PRICE:
        raise BadInput(f"price must be at most {decimal_text(HIGHEST_PRICE)}")
    return cents
