"""What the stand-in says of the cart: from what it last read, as a model with a memory does."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from assistant.offline.desk import Desk
from assistant.offline.intents import adding
from assistant.offline.request import plain
from assistant.offline.results import Result
from assistant.offline.words import dollars, listed, money

_CART = re.compile(
    r"\b(?:cart|basket|trolley|shopping bag)\b|\b(?:my|the|running|current|grand) (?:total|sum|subtotal)\b|"
    r"^\W*total\W*$|\bdo i owe\b|\b(?:have to|would i|do i|must i|i(?:['’]d| would)) (?:need to )?pay\b|"
    r"\btotal now\b",
    re.I,
)
_CONTENTS = re.compile(
    r"\b(?:what(?:['’]s| is| do i have)?|show|list|view|see|which|anything)\b.*\b(?:in|my) ", re.I
)
_AMOUNT = re.compile(r"\b(?:total|sum|subtotal|how much|worth|cost|come to|owe|pay|amount|value|add up)\b", re.I)
_REREAD = re.compile(
    r"view_cart|re-?read|can change|may have changed|changes? at any time|read (?:it|them) again", re.I
)


def tell_cart(request: str, desk: Desk) -> str | None:
    """The total or the contents of the cart."""
    if adding(request) or not _CART.search(plain(request)):
        return None
    notes = desk.notes
    if desk.has("view_cart") and (notes.total is None or _REREAD.search(notes.system)):
        return _whole_cart(desk.cart().data)
    if notes.total is None:
        return (
            "I cannot tell: no result in this conversation shows a cart total yet. The cart panel shows your cart."
        )
    total = f"Your cart total is {dollars(notes.total)}."
    if notes.total_overtaken:
        total = f"Your cart total was {dollars(notes.total)} when I last saw it; the cart has changed since."
    if _AMOUNT.search(request) or not _CONTENTS.search(request):
        return total
    added = added_by([*notes.earlier, *notes.run])
    mine = f"In this conversation I added {listed(added)}. " if added else ""
    return f"{mine}{total} The cart panel lists what is in it."


def added_by(results: Iterable[Result]) -> list[str]:
    """What these calls put into the cart, each with its number of copies."""
    return [
        f"{result.data.get('quantity', 1)} × {result.data['added']}"
        for result in results
        if result.name == "add_to_cart" and "added" in result.data
    ]


def _whole_cart(cart: Mapping[str, Any]) -> str:
    lines = cart.get("lines")
    named = (
        [line for line in lines if isinstance(line, dict) and "title" in line] if isinstance(lines, list) else []
    )
    total = money(cart.get("total"))
    sum_ = (
        f"Your cart total is {dollars(total)}" if total is not None else "I could not read the total of your cart"
    )
    if not named:
        return f"{sum_}."
    contents = [f"{line.get('quantity', 1)} × {line['title']}" for line in named]
    return f"{sum_}: {listed(contents)}."
