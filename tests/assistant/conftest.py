"""A small shop in memory, and the offline stand-in at its counter."""

import json
import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any

import pytest

from agent.guards.limits import Limits
from agent.loop.agent import Agent
from agent.tools import Arg, FunctionTools, Tool, ToolError, ToolOutcome, ToolRefusal
from agent.views.conversation import Conversation
from agent.views.result import AgentResult
from assistant.offline import OfflineModel

Row = tuple[int, str, str, str, str, int]

BOOKS: tuple[Row, ...] = (
    (2, "The Last Lighthouse", "Mira Holt", "novel", "18.90", 0),
    (21, "The Last Lighthouse Keeper", "Sunniva Carrow", "biography", "22.50", 4),
    (7, "The Quiet Orchard", "Mira Holt", "novel", "16.50", 15),
    (46, "The House at Fennmoor", "Mira Holt", "novel", "15.80", 0),
    (160, "Walking the Tideline", "Mira Holt", "essays", "13.90", 9),
    (122, "The Weighbridge", "Tomas Holt", "novel", "12.80", 6),
    (68, "Bread and Patience", "Marguerite Dunmore", "cooking", "32.00", 6),
    (106, "It Is What It Was", "Osbert Tindle", "essays", "9.20", 6),
    (57, "The Lamplighter's Daughter", "Orla Fenwick", "novel", "11.90", 22),
    (62, "The Lamplighter's Daughter", "Orla Fenwick", "novel", "45.00", 0),
    (64, "The Lamplighter's Daughter", "Orla Fenwick", "novel", "19.50", 1),
    (9, "Constable Brack Says Nothing", "Edmund Sallow", "mystery", "10.50", 15),
    (99, "Constable Brack Takes the Waters", "Edmund Sallow", "mystery", "9.90", 8),
    (81, "Who Wound the Tower Clock?", "Lucinda Farrow-Bell", "mystery", "10.80", 0),
    (32, "C++ by the Fireside", "Ruben Halvorsen", "programming", "36.00", 3),
    (74, "月面第七郵便局", "久遠寺ミナト", "science fiction", "12.80", 9),
    (40, "بستان الليمون البعيد", "هالة المرساوي", "novel", "12.90", 7),
    (4, "The Fox Who Counted Stars", "Pip Hollander", "children", "8.25", 27),
    (11, "417", "Dorothea Quill", "science fiction", "8.90", 13),
    (51, "Nine Minutes of Weather", "Linus Okonjo-Hale", "science fiction", "11.90", 5),
)
ORDERS: dict[int, dict[str, Any]] = {
    1001: {
        "id": 1001,
        "status": "shipped",
        "placed_on": "2026-11-22",
        "shipped_on": "2026-11-24",
        "expected_on": "2026-11-29",
        "lines": [{"title": "The Quiet Orchard", "quantity": 1, "price": "16.50"}],
    },
    1002: {"id": 1002, "status": "processing", "placed_on": "2026-11-20", "lines": []},
}
LIGHTHOUSE = "Add The Last Lighthouse to my cart. If it is not available, add another novel by the same author."


@dataclass
class Shop:
    """Books, stock and a cart in memory; ``calls`` keeps what was called, ``faults`` are raised in turn."""

    rows: list[Row] = field(default_factory=lambda: list(BOOKS))
    faults: dict[str, list[str]] = field(default_factory=dict)
    instructions: str = "You are a bookseller."
    limits: Limits = field(default_factory=lambda: Limits(max_steps=12, max_tokens=None))
    with_cart: bool = False
    without: tuple[str, ...] = ()
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    cart: dict[int, int] = field(default_factory=dict)
    conversation: Conversation = field(default_factory=Conversation)

    def stock(self, **copies: int) -> None:
        """Set the stock of books: ``stock(b7=0)``."""
        wanted = {int(name[1:]): count for name, count in copies.items()}
        self.rows = [(*row[:5], wanted.get(row[0], row[5])) for row in self.rows]

    def ask(self, text: str) -> AgentResult:
        """Ask the stand-in; the calls of this turn alone are in ``calls`` afterwards."""
        self.calls.clear()
        tools = [self.search_books, self.check_stock, self.get_order_status]
        made = [Tool.of(tool) for tool in tools] + [Tool.of(self.add_to_cart, side_effecting=True)]
        if self.with_cart:
            made.append(Tool.of(self.view_cart))
        toolbox = FunctionTools(*(tool for tool in made if tool.name not in self.without))
        agent = Agent(OfflineModel(), toolbox, self.instructions, self.limits)
        return agent.run(self.conversation, text)

    def search_books(
        self,
        query: Annotated[str, Arg("Words.", 1, 500)],
        max_results: Annotated[int, Arg("How many.", 1, 50)] = 5,
    ) -> ToolOutcome:
        """Find books."""
        self._note("search_books", query=query, max_results=max_results)
        words = set(_words(query)) - {"the", "a", "by", "of", "in", "and"} or set(_words(query))
        ranked = sorted(self.rows, key=lambda row: -len(words & set(_words(f"{row[1]} {row[2]} {row[3]}"))))
        hits = [row for row in ranked if words & set(_words(f"{row[1]} {row[2]} {row[3]}"))]
        more = [row for row in self.rows if hits and row[2] == hits[0][2] and row not in hits[:2]]
        found = list(dict.fromkeys([*hits[:2], *more, *hits]))[:max_results]
        names = ("id", "title", "author", "genre", "price")
        return _answer({"books": [dict(zip(names, row, strict=False)) for row in found]})

    def check_stock(self, book_id: Annotated[int, Arg("The id.", 1)]) -> ToolOutcome:
        """Tell the stock."""
        self._note("check_stock", book_id=book_id)
        row = self._row(book_id)
        return _answer({"id": row[0], "title": row[1], "in_stock": row[5]})

    def get_order_status(self, order_id: Annotated[str, Arg("The number.", 1, 20)]) -> ToolOutcome:
        """Tell the state of an order."""
        self._note("get_order_status", order_id=order_id)
        order = ORDERS.get(int(order_id.removeprefix("O-")))
        if order is None:
            raise ToolRefusal(f"there is no order O-{order_id} among this customer's orders")
        return _answer(order)

    def add_to_cart(
        self,
        key: str,
        book_id: Annotated[int, Arg("The id.", 1)],
        quantity: Annotated[int, Arg("How many.", 1, 20)] = 1,
    ) -> ToolOutcome:
        """Add a book."""
        self._note("add_to_cart", book_id=book_id, quantity=quantity)
        row = self._row(book_id)
        if row[5] < quantity:
            raise ToolRefusal(
                f"book {book_id} '{row[1]}' is out of stock (0 copies); call check_stock for another book"
            )
        self.cart[book_id] = self.cart.get(book_id, 0) + quantity
        return _answer({"added": row[1], "quantity": quantity, "cart_total": str(self.total)})

    def view_cart(self) -> ToolOutcome:
        """Show the cart."""
        self._note("view_cart")
        lines = [{"book_id": id_, "title": self._row(id_)[1], "quantity": n} for id_, n in self.cart.items()]
        return _answer({"lines": lines, "total": str(self.total)})

    @property
    def total(self) -> Decimal:
        return sum((Decimal(self._row(id_)[4]) * n for id_, n in self.cart.items()), Decimal("0.00"))

    def _row(self, book_id: int) -> Row:
        for row in self.rows:
            if row[0] == book_id:
                return row
        raise ToolRefusal(f"there is no book with the id {book_id}; call search_books")

    def _note(self, name: str, **arguments: Any) -> None:
        self.calls.append((name, {k: v for k, v in arguments.items() if (k, v) != ("max_results", 5)}))
        if self.faults.get(name):
            fault = self.faults[name].pop(0)
            if fault:
                raise ToolError(fault)


def _words(text: str) -> list[str]:
    folded = text.casefold().replace("'", "").replace("’", "")
    return [word.removesuffix("s") for word in re.findall(r"[\w+]+", folded)]


def _answer(data: dict[str, Any]) -> ToolOutcome:
    return ToolOutcome(result=json.dumps(data, ensure_ascii=False))


@pytest.fixture
def shop() -> Shop:
    """A shop with a stand-in behind the counter."""
    return Shop()
