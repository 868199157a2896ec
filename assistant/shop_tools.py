"""The shop's functions as tools a model can call: what it reads of them, and what the trace keeps.

The docstrings of the tools are their manual, written for the model. Who the customer is comes from the session and
is never an argument.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Annotated, Any

from sqlalchemy import Engine

import store
from agent.tools import Arg, Tool, ToolError, ToolOutcome, ToolRefusal
from agent.trace import Change, ShopChanged, ToolCall
from assistant.cures import Cure
from assistant.settings import Settings
from assistant.shop_facts import ShopWatch, cart_fact, cart_value, order_fact, stock_fact

MOST_RESULTS = 50


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


class ShopTools:
    """The toolbox of one customer; ``by`` names the channel in the shop's list of changes.

    Of the settings it keeps to the search size, the caps of the tools, the cart value that needs approval, and
    whether the cart can be read again.
    """

    def __init__(self, engine: Engine, customer_id: int, by: str, settings: Settings | None = None) -> None:
        self.engine, self.customer, self._by = engine, customer_id, by
        self.watch = ShopWatch(engine, customer_id)
        kept = settings or Settings()
        above = kept.approve_above
        search = Tool.of(self.search_books)
        parameters = [replace(p, default=kept.search_size) if not p.required else p for p in search.parameters]
        add = Tool.of(self.add_to_cart, side_effecting=True)
        tools: list[Tool] = [
            replace(search, parameters=tuple(parameters)),
            Tool.of(self.check_stock),
            Tool.of(self.get_order_status),
            replace(add, approval=None if above is None else CartLimit(engine, customer_id, above)),
            *([Tool.of(self.view_cart)] if kept.freshness is Cure.INSTRUCT else []),
        ]
        self.tools: Sequence[Tool] = tuple(replace(t, max_calls=kept.tool_caps.get(t.name)) for t in tools)
        self._by_name = {tool.name: tool for tool in self.tools}

    def call(self, call: ToolCall, key: str) -> ToolOutcome:
        with _told_to_the_model():
            return self._by_name[call.name].run(call.arguments, key)

    def outcome(self, key: str) -> ToolOutcome | None:
        added = store.applied_write(self.engine, key)
        return _added(added) if added else None

    def changes(self, known: Mapping[str, int]) -> Sequence[ShopChanged]:
        return self.watch.changes(known)

    def search_books(
        self,
        query: Annotated[str, Arg("Title, author or genre, e.g. The Last Lighthouse.", 1, 500)],
        max_results: Annotated[int, Arg("How many books to return.", 1, MOST_RESULTS)] = 5,
    ) -> ToolOutcome:
        """Find books by title, author or genre. Start here: it gives the ids that the other tools need.
        Returns id, title, author, genre and price of each book, best match first; other books by the author of
        the best match come last. It says nothing about stock: use check_stock for that. No match: an empty list.
        """
        found = store.search_books(self.engine, query, max_results)
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
        return ToolOutcome(result=_text(answer), found=[str(book) for book in books])

    def check_stock(
        self, book_id: Annotated[int, Arg("The id of a book, from search_books, e.g. 7.", 1)]
    ) -> ToolOutcome:
        """Tell how many copies of one book are in stock. Call it before add_to_cart.
        Returns id, title and in_stock. 0 means that the book is not available. An unknown id is an error:
        then call search_books.
        """
        stock = store.check_stock(self.engine, book_id)
        result = _text({"id": stock.book_id, "title": stock.title, "in_stock": stock.in_stock})
        return ToolOutcome(result=result, reads=[stock_fact(stock)])

    def get_order_status(
        self, order_id: Annotated[str, Arg("The number of an order, e.g. 1001 or O-1001.", 1, 20)]
    ) -> ToolOutcome:
        """Tell the status, the dates and the books of one of this customer's own orders.
        Do not use it for the cart. An order of somebody else looks like one that does not exist.
        """
        order = store.get_order_status(self.engine, self.customer, store.parse_order_id(order_id))
        dates = ("placed_on", "shipped_on", "expected_on", "delivered_on")
        known = {name: str(getattr(order, name)) for name in dates if getattr(order, name)}
        lines = [
            {"title": line.title, "quantity": line.quantity, "price": store.decimal_text(line.price_cents)}
            for line in order.lines
        ]
        answer = {"id": order.id, "status": order.status, **known, "lines": lines}
        return ToolOutcome(result=_text(answer), reads=[order_fact(order)])

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
        added = store.add_to_cart(self.engine, self.customer, book_id, quantity, by=self._by, key=key)
        outcome = _added(added)
        if not added.replayed:
            return outcome
        # What an earlier call did under this key is told again: no change of this one, but what was true then.
        seen = cart_fact(added.cart_total_cents, added.version)
        return outcome.model_copy(update={"changes": [], "reads": [seen]})

    def view_cart(self) -> ToolOutcome:
        """Show what is in the customer's cart now, and the total. Call it before you state either: the customer
        can change the cart elsewhere at any time. It takes no arguments.
        Returns lines (id, title, quantity, price, line_total) and total, in dollars.
        """
        cart = store.view_cart(self.engine, self.customer)
        lines = [
            {
                "id": line.book_id,
                "title": line.title,
                "quantity": line.quantity,
                "price": store.decimal_text(line.price_cents),
                "line_total": store.decimal_text(line.line_total_cents),
            }
            for line in cart.lines
        ]
        told = {"lines": lines, "total": store.decimal_text(cart.total_cents)}
        return ToolOutcome(result=_text(told), reads=[cart_fact(cart.total_cents, cart.version)])


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
        value=cart_value(added.cart_total_cents),
        effect=f"added {added.quantity} × {added.title} to the cart",
    )
    result = {"added": added.title, "quantity": added.quantity, "cart_total": total}
    return ToolOutcome(result=_text(result), changes=[change])


def _text(answer: Mapping[str, Any]) -> str:
    return json.dumps(answer, ensure_ascii=False, separators=(", ", ": "))
