"""Which adds a person has to allow: those that would bring the cart above a value."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlalchemy import Engine

import store


@dataclass(frozen=True)
class CartLimit:
    """The policy of ``add_to_cart``, asked with checked arguments; ``dollars`` is the value of the cart."""

    engine: Engine
    customer_id: int
    dollars: Decimal

    def __call__(self, arguments: Mapping[str, Any]) -> str:
        """Why a person has to allow it; nothing where the cart stays within, or where nothing can be added."""
        book_id, quantity = arguments["book_id"], arguments["quantity"]
        try:
            price = store.get_book(self.engine, book_id).price_cents
            in_stock = store.check_stock(self.engine, book_id).in_stock
        except store.NotFound:
            return ""
        cart = store.view_cart(self.engine, self.customer_id)
        if quantity + sum(line.quantity for line in cart.lines if line.book_id == book_id) > in_stock:
            return ""
        total = cart.total_cents + price * quantity
        if total <= self.dollars * 100:
            return ""
        return f"The cart would come to {store.dollars(total)}, above the limit of ${self.dollars:.2f}."
