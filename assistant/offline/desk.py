"""The desk where the stand-in's rules look things up: in the results there are, or by asking for a call.

A rule is written as if every lookup answered at once. Where the answer is not there yet, ``Need`` ends the rule
with the call to make; with the result in the conversation the same rule comes further the next time.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from assistant.offline.history import Notes
from assistant.offline.results import Book, Result
from assistant.offline.words import money, whole

MANY = 20
_UNSURE = re.compile(r"may still|timed out|reason of its own|there was no result|stopped by", re.I)
_PASSING = re.compile(r"timed out|once more|try again|for the moment|temporar|busy", re.I)
_HARMLESS = re.compile(r"nothing (?:was|has been) (?:changed|added)", re.I)


class Need(Exception):
    """A call has to be made first."""

    def __init__(self, name: str, arguments: dict[str, Any], why: str) -> None:
        super().__init__(why)
        self.name, self.arguments, self.why = name, arguments, why


class Trouble(Exception):
    """A call failed for good; the message is its error. ``unsure``: it may have taken effect all the same."""

    def __init__(self, error: str, *, unsure: bool = False) -> None:
        super().__init__(error.rstrip("."))
        self.unsure = unsure


@dataclass(frozen=True)
class Added:
    """What one call put into the cart, and the total it showed."""

    title: str
    quantity: int
    total: Decimal | None


class Desk:
    """Looks things up in the results of this request, or asks for the call that would tell."""

    def __init__(self, notes: Notes, tools: Sequence[Mapping[str, Any]]) -> None:
        self.notes = notes
        self._arguments = dict(_described(tool) for tool in tools)

    def has(self, tool: str) -> bool:
        """Whether a tool may be called; in the wrap-up those count that were to be had before."""
        return bool(self.notes.wrap_up) or tool in self._arguments

    def search(self, query: str, *, many: bool = False, why: str = "") -> Result:
        """Search the catalog; ``many`` asks for as many books as can be read at once."""
        arguments: dict[str, Any] = {"query": query}
        if many:
            most = whole(self._schema("search_books", "max_results").get("maximum"))
            arguments["max_results"] = min(MANY, most or MANY)
        return self._call("search_books", arguments, why or f"I look for “{query}” in the catalog.")

    def stock(self, book_id: int) -> int:
        """The copies of a book in stock."""
        result = self._call(
            "check_stock", {"book_id": book_id}, f"I look how many copies of book {book_id} there are."
        )
        count = whole(result.data.get("in_stock"))
        if count is None:
            raise Trouble("the answer of the stock check could not be read")
        return count

    def order(self, number: int) -> Result:
        """One order of the customer."""
        text = self._schema("get_order_status", "order_id").get("type") == "string"
        arguments = {"order_id": str(number) if text else number}
        return self._call("get_order_status", arguments, f"I look up order O-{number}.")

    def cart(self) -> Result:
        """The cart as it is now."""
        return self._call("view_cart", {}, "The cart can change, so I read it again.")

    def add(self, book: Book, quantity: int) -> Added:
        """Put a book into the cart."""
        arguments = {"book_id": book.id, "quantity": quantity}
        result = self._call("add_to_cart", arguments, f"I put {book.title} into the cart.")
        title, count = result.data.get("added"), whole(result.data.get("quantity"))
        shown = title if isinstance(title, str) else book.title
        return Added(shown, count or quantity, money(result.data.get("cart_total")))

    def _call(self, name: str, arguments: dict[str, Any], why: str) -> Result:
        tries = [made for made in self.notes.run if made.name == name and _same(made.arguments, arguments)]
        worked = next((made for made in tries if made.data), None)
        if worked:
            return worked
        if not tries or (len(tries) == 1 and _may_retry(name, tries[0].error)):
            raise Need(name, arguments, why if not tries else f"{name} failed in passing, so I try once more.")
        said = (made.error for made in tries if not made.error.startswith("GUARD"))
        error = next(said, f"the call of {name} was not let through")
        raise Trouble(error, unsure=name == "add_to_cart" and doubtful(error))

    def _schema(self, tool: str, argument: str) -> Mapping[str, Any]:
        found = self._arguments.get(tool, {}).get(argument)
        return found if isinstance(found, Mapping) else {}


def doubtful(error: str) -> bool:
    """Whether a failed add may have taken effect all the same."""
    return bool(_UNSURE.search(error)) and not _HARMLESS.search(error)


def _may_retry(name: str, error: str) -> bool:
    # An add that may have taken effect is never repeated: the customer would get it twice.
    return bool(_PASSING.search(error)) and not (name == "add_to_cart" and doubtful(error))


def _described(tool: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    function = tool.get("function")
    function = function if isinstance(function, Mapping) else {}
    parameters = function.get("parameters")
    properties = parameters.get("properties") if isinstance(parameters, Mapping) else None
    return str(function.get("name")), properties if isinstance(properties, Mapping) else {}


def _same(made: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether two calls mean the same: "7" and 7 do, and a default left out or spelled out."""
    filled = {"quantity": 1, **made} if "quantity" in wanted else made
    return {name: str(value) for name, value in filled.items()} == {n: str(v) for n, v in wanted.items()}
