"""The shop's functions as tools a model can call: what it reads of them, and what the trace keeps.

The docstrings of the tools are their manual, written for the model. Who the customer is comes from the session and
is never an argument.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Annotated, Any

from sqlalchemy import Engine

import store
from agent.shapes import Change, Fact, ToolCall
from agent.tools import Arg, Tool, ToolError, ToolOutcome, ToolRefusal
from agent.trace import ShopChanged
from assistant.cart_limit import CartLimit
from assistant.settings import Settings

MOST_RESULTS = 50


class ShopTools:
    """The toolbox of one customer; ``by`` names the channel in the shop's list of changes.

    Of the settings it keeps to the search size, the caps of the tools and the cart value that needs approval.
    """

    def __init__(self, engine: Engine, customer_id: int, by: str, settings: Settings | None = None) -> None:
        self._engine, self._customer, self._by = engine, customer_id, by
        kept = settings or Settings()
        above = kept.approve_above
        search = Tool.of(self.search_books)
        parameters = [replace(p, default=kept.search_size) if not p.required else p for p in search.parameters]
        add = Tool.of(self.add_to_cart, side_effecting=True)
        tools = (
            replace(search, parameters=tuple(parameters)),
            Tool.of(self.check_stock),
            Tool.of(self.get_order_status),
            replace(add, approval=None if above is None else CartLimit(engine, customer_id, above)),
        )
        self.tools: Sequence[Tool] = tuple(replace(t, max_calls=kept.tool_caps.get(t.name)) for t in tools)
        self._by_name = {tool.name: tool for tool in self.tools}

    def call(self, call: ToolCall, key: str) -> ToolOutcome:
        with _told_to_the_model():
            return self._by_name[call.name].run(call.arguments, key)

    def outcome(self, key: str) -> ToolOutcome | None:
        added = store.applied_write(self._engine, key)
        return _added(added) if added else None

    def changes(self, known: Mapping[str, int]) -> Sequence[ShopChanged]:
        if not known:
            return ()
        names = {self._stored_name(resource): resource for resource in known}
        found = store.changes_since(self._engine, min(known.values()), names)
        return [
            ShopChanged(
                resource=names[change.resource],
                version_before=change.version_before,
                version_after=change.version,
                by=change.by,
                value=change.after,
            )
            for change in found
            if change.version > known[names[change.resource]]
        ]

    def now(self, resource: str) -> Fact:
        """What a resource is at this moment; raises NotFound where it is no more."""
        kind, _, number = resource.partition(":")
        match kind:
            case "stock":
                stock = store.check_stock(self._engine, int(number))
                return Fact(resource=resource, version=stock.version, value=_copies(stock.in_stock))
            case "order":
                order = store.get_order_status(self._engine, self._customer, int(number))
                return Fact(resource=resource, version=order.version, value=order.status)
            case _:
                cart = store.view_cart(self._engine, self._customer)
                return Fact(resource="cart", version=cart.version, value=_total(cart.total_cents))

    def search_books(
        self,
        query: Annotated[str, Arg("Title, author or genre, e.g. The Last Lighthouse.", 1, 500)],
        max_results: Annotated[int, Arg("How many books to return.", 1, MOST_RESULTS)] = 5,
    ) -> ToolOutcome:
        """Find books by title, author or genre. Start here: it gives the ids that the other tools need.
        Returns id, title, author, genre and price of each book, best match first; other books by the author of
        the best match come last. It says nothing about stock: use check_stock for that. No match: an empty list.
        """
        found = store.search_books(self._engine, query, max_results)
        books = [
            {
                "id": book.id,
                "title": book.title,
                "author": book.author,
                "genre": book.genre,
                "price": store.decimal_text(book.price_cents),
            }
            for book in found.books
        ]
        answer: dict[str, Any] = {"books": books}
        if found.corrected:
            answer["corrected_query"] = found.corrected
        if not books:
            answer["hint"] = "Nothing found. Try fewer words: the title, the author or the genre alone."
        return ToolOutcome(result=_text(answer), found=[f"book:{book.id}" for book in found.books])

    def check_stock(
        self, book_id: Annotated[int, Arg("The id of a book, from search_books, e.g. 7.", 1)]
    ) -> ToolOutcome:
        """Tell how many copies of one book are in stock. Call it before add_to_cart.
        Returns id, title and in_stock. 0 means that the book is not available. An unknown id is an error:
        then call search_books.
        """
        stock = store.check_stock(self._engine, book_id)
        seen = Fact(resource=f"stock:{book_id}", version=stock.version, value=_copies(stock.in_stock))
        result = _text({"id": stock.book_id, "title": stock.title, "in_stock": stock.in_stock})
        return ToolOutcome(result=result, reads=[seen])

    def get_order_status(
        self, order_id: Annotated[str, Arg("The number of an order, e.g. 1001 or O-1001.", 1, 20)]
    ) -> ToolOutcome:
        """Tell the status, the dates and the books of one of this customer's own orders.
        Do not use it for the cart. An order of somebody else looks like one that does not exist.
        """
        order = store.get_order_status(self._engine, self._customer, store.parse_order_id(order_id))
        dates = ("placed_on", "shipped_on", "expected_on", "delivered_on")
        known = {name: str(getattr(order, name)) for name in dates if getattr(order, name)}
        lines = [
            {"title": line.title, "quantity": line.quantity, "price": store.decimal_text(line.price_cents)}
            for line in order.lines
        ]
        seen = Fact(resource=f"order:{order.id}", version=order.version, value=order.status)
        answer = {"id": order.id, "status": order.status, **known, "lines": lines}
        return ToolOutcome(result=_text(answer), reads=[seen])

    def add_to_cart(
        self,
        key: str,
        book_id: Annotated[int, Arg("The id of a book, from search_books, e.g. 7.", 1)],
        quantity: Annotated[int, Arg("How many copies to add.", 1, 20)] = 1,
    ) -> ToolOutcome:
        """Add copies of one book to the customer's cart. Only when the customer asked for it, and after
        check_stock has shown enough copies. Every call adds again, so never repeat one that worked.
        Returns added, quantity and cart_total in dollars. If there are too few copies nothing is added.
        """
        added = store.add_to_cart(self._engine, self._customer, book_id, quantity, by=self._by, key=key)
        outcome = _added(added)
        # What an earlier call did under this key is told again, but is no change of this one.
        return outcome.model_copy(update={"changes": []}) if added.replayed else outcome

    def _stored_name(self, resource: str) -> str:
        return f"cart:{self._customer}" if resource == "cart" else resource


@contextmanager
def _told_to_the_model() -> Iterator[None]:
    """What the shop refuses is for the model to read: the shop's errors are lines made for that."""
    try:
        yield
    except store.ShopUnavailable as error:
        raise ToolError(str(error)) from error
    except store.ShopError as error:
        raise ToolRefusal(str(error)) from error


def _added(added: store.Added) -> ToolOutcome:
    total = store.decimal_text(added.cart_total_cents)
    change = Change(
        resource="cart",
        version_before=added.version_before,
        version=added.version,
        value=_total(added.cart_total_cents),
        effect=f"added {added.quantity} × {added.title} to the cart",
    )
    result = {"added": added.title, "quantity": added.quantity, "cart_total": total}
    return ToolOutcome(result=_text(result), changes=[change])


def _total(cents: int) -> str:
    return f"total {store.dollars(cents)}"


def _copies(number: int) -> str:
    return f"{number} {'copy' if number == 1 else 'copies'}"


def _text(answer: Mapping[str, Any]) -> str:
    return json.dumps(answer, ensure_ascii=False, separators=(", ", ": "))
