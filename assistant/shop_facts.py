"""What the shop's things are now, and what happened to them since: each with its version."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from sqlalchemy import Engine

import store
from agent.trace import Fact, ShopChanged

EVERYTHING = "shop"
"""The resource of a change of the whole shop, as when it is put back to its seed."""


class ShopWatch:
    """Watches the shop for one customer: ``cart`` is theirs, ``stock:7`` and ``order:1001`` go by their ids."""

    def __init__(self, engine: Engine, customer_id: int) -> None:
        self._engine, self._customer = engine, customer_id

    def now(self, resource: str) -> Fact:
        """What a resource is at this moment; raises NotFound if it no longer exists."""
        kind, _, number = resource.partition(":")
        match kind:
            case "stock":
                stock = store.check_stock(self._engine, int(number))
                return stock_fact(stock)
            case "order":
                return order_fact(store.get_order_status(self._engine, self._customer, int(number)))
            case _:
                cart = store.view_cart(self._engine, self._customer)
                return cart_fact(cart.total_cents, cart.version)

    def now_of(self, resources: Iterable[str]) -> dict[str, Fact]:
        """What these resources are now; those that no longer exist are left out."""
        found = {}
        for resource in resources:
            with suppress(store.NotFound):
                found[resource] = self.now(resource)
        return found

    def changes(self, known: Mapping[str, int]) -> Sequence[ShopChanged]:
        """The changes of these resources after the versions given, oldest first, by whom and when."""
        if not known:
            return ()
        names = {self._stored_name(resource): resource for resource in known}
        seen = {name: known[resource] for name, resource in names.items()} | {EVERYTHING: min(known.values())}
        found = store.changes_since(self._engine, seen)
        told = [
            (resource, change)
            for change in found
            for resource in (known if change.resource == EVERYTHING else [names[change.resource]])
            if change.version > known[resource]
        ]
        now = self.now_of({resource for resource, _ in told})
        return [
            ShopChanged(
                resource=resource,
                version_before=change.version_before,
                version_after=change.version,
                by=change.by,
                changed_at=change.at,
                value=change.after,
                now=now[resource].value if resource in now else "",
            )
            for resource, change in told
        ]

    def _stored_name(self, resource: str) -> str:
        return f"cart:{self._customer}" if resource == "cart" else resource


def stock_fact(stock: store.Stock) -> Fact:
    """The stock of a book as a fact: "15 copies"."""
    number = stock.in_stock
    value = f"{number} {'copy' if number == 1 else 'copies'}"
    return Fact(resource=f"stock:{stock.book_id}", version=stock.version, value=value, name=stock.title)


def order_fact(order: store.OrderStatus) -> Fact:
    """An order as a fact: its status."""
    return Fact(resource=f"order:{order.id}", version=order.version, value=order.status)


def cart_fact(total_cents: int, version: int) -> Fact:
    """A cart as a fact: "total $16.50"."""
    return Fact(resource="cart", version=version, value=cart_value(total_cents))


def cart_value(total_cents: int) -> str:
    """What a cart comes to, in words."""
    return f"total {store.dollars(total_cents)}"
