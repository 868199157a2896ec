"""The claim check: what an answer states, held against its calls and the shop.

Rules, not understanding: what no rule can decide is "unchecked", never guessed.
"""

from collections.abc import Callable
from functools import cache
from typing import Literal, TypeVar

from sqlalchemy import Engine

import store
from agent.trace import Shape
from assistant.answer_check.evidence import Reading, number_of
from assistant.answer_check.figures import Figure

Thing = TypeVar("Thing")
Verdict = Literal["backed", "contradicted", "unchecked"]
Told = tuple[str, Verdict, str]
"""A claim before it is one: text, verdict, why."""


class Claim(Shape):
    """Something an answer states: the text of it, whether it holds, and why."""

    text: str
    verdict: Verdict
    why: str


def check_claims(reading: Reading, engine: Engine, customer_id: int) -> list[Claim]:
    """The claims of an answer, each once; the shop is asked once for each thing they are about."""
    checker = _Checker(reading, engine, customer_id)
    told = dict.fromkeys(found for figure in reading.figures if (found := checker.claim_of(figure)))
    return [Claim(text=text, verdict=verdict, why=why) for text, verdict, why in told]


class _Checker:
    def __init__(self, reading: Reading, engine: Engine, customer_id: int) -> None:
        self.evidence = reading.evidence
        self.calls = sorted(reading.evidence.added, key=lambda call: call.turn != reading.evidence.turn)
        self.adding = {figure.sentence for figure in reading.figures if figure.kind == "added"}
        self.cart = cache(lambda: store.view_cart(engine, customer_id))
        self.book = _asked_once(lambda book_id: store.get_book(engine, book_id))
        self.stock = _asked_once(lambda book_id: store.check_stock(engine, book_id))
        self.order = _asked_once(lambda order_id: store.get_order_status(engine, customer_id, order_id))
        self.prices = cache(self._prices)

    def claim_of(self, figure: Figure) -> Told | None:
        """What a figure claims: nothing where it is only supposed, or counts what a cart or an order holds."""
        if figure.sense != "now":
            unsure = figure.kind == "amount" and figure.sense != "supposed"
            return (figure.text, "unchecked", "a bound, or of the past") if unsure else None
        match figure.kind:
            case "added":
                return figure.text, *self._added(figure)
            case "amount":
                return self._amount(figure)
            case "status":
                return self._status(figure)
            case "copies" if figure.sentence not in self.adding and _of_stock(figure):
                return self._copies(figure)
        return None

    def _added(self, figure: Figure) -> tuple[Verdict, str]:
        """An "added" claim holds if a call put this book there, in this turn or an earlier one."""
        named, held = figure.titles, {line.title.casefold(): line.quantity for line in self.cart().lines}
        fitting = [call for call in self.calls if not named or call.title.casefold() in named]
        done = {call.title.casefold() for call in fitting} | set(held)
        if missing := [title for title in figure.about if title not in done]:
            return "contradicted", f"no call of this conversation added {missing[0] if fitting else 'it'}"
        if not fitting:
            in_cart = set(named) & set(held)
            return (
                ("backed", "the cart holds it now")
                if in_cart
                else ("contradicted", "no call of this conversation added it")
            )
        if figure.value is not None and len(named) <= 1:
            counts = {call.quantity for call in fitting} | {sum(call.quantity for call in fitting)}
            if figure.value not in counts | {held.get(title, 0) for title in named}:
                return "contradicted", f"a call added {fitting[0].quantity} × {fitting[0].title}"
        first = fitting[0]
        place = f"step {first.step}" if first.turn == self.evidence.turn else f"turn {first.turn}"
        return "backed", f"add_to_cart in {place}"

    def _amount(self, figure: Figure) -> Told:
        text, prices = figure.text, self.prices(figure.titles)
        if figure.value in prices:
            return text, "backed", "a price in the catalog now"
        if len(prices) > 1 and figure.value == sum(prices):
            return text, "backed", "the prices of these books together"
        if figure.about == ("cart",):
            total = self.cart().total_cents
            shown = f"total {text}" if figure.value or "0" in text else text  # else "cart is empty"
            return shown, _held(figure.value == total), f"the cart's total is {store.dollars(total)} now"
        if number_of(figure) in self.evidence.shown:
            return text, "backed", "a tool result of this turn shows it"
        if len(prices) == len(figure.titles) == 1 and not figure.about:
            return text, "contradicted", f"the price is {store.dollars(prices[0])} now"
        return text, "unchecked", "no tool result of this turn shows it"

    def _prices(self, titles: tuple[str, ...]) -> list[int]:
        known = [ids for title, ids in self.evidence.books.items() if title.casefold() in titles]
        books = [self.book(book_id) for ids in known for book_id in sorted(ids)]
        return [book.price_cents for book in books if book]

    def _copies(self, figure: Figure) -> Told:
        number = figure.about[0].removeprefix("stock:") if figure.titles and len(figure.about) == 1 else ""
        stock = self.stock(int(number)) if number.isdecimal() else None
        if stock is None:
            return figure.text, "unchecked", "it names no one book, or several"
        text = f"{stock.title}: {figure.text}"
        return text, _held(figure.value == stock.in_stock), f"{stock.in_stock} in stock now"

    def _status(self, figure: Figure) -> Told | None:
        orders = figure.about or tuple(f"order:{number}" for number in self.evidence.orders)
        if len(orders) != 1:
            return None
        number = int(orders[0].removeprefix("order:"))
        order, text = self.order(number), f"O-{number} {figure.value}"
        if order is None:
            return text, "contradicted", "this customer has no such order"
        return text, _held(order.status == figure.value), f"it is {order.status} now"


def _of_stock(figure: Figure) -> bool:
    return all(name.startswith("stock:") for name in figure.about)


def _held(holds: bool) -> Verdict:
    return "backed" if holds else "contradicted"


def _asked_once(find: Callable[[int], Thing]) -> Callable[[int], Thing | None]:
    """Ask the shop for each thing only once; None where it has no such thing."""

    @cache
    def ask(number: int) -> Thing | None:
        try:
            return find(number)
        except (store.NotFound, store.BadInput):
            return None

    return ask
