"""The desk where the stand-in's rules look things up: in the results there are, or by asking for a call.

A rule is written as if every lookup answered at once. Where the answer is not there yet, ``Need`` ends the rule
with the call to make; with the result in the conversation the same rule comes further the next time.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from assistant.offline.notes import DECLINED, Book, Notes, Result, whole

MANY = 20
"""Books a search is asked for where several may fit: more would be cut off a result of the usual length."""
_UNDONE = re.compile(
    r"^GUARD|^Not run|^There is no tool|nothing was (?:changed|added)|must be|no book with|"
    r"out of stock|only \d+ in stock|holds at most",
    re.I,
)
_PASSING = re.compile(r"timed out|once more|for the moment", re.I)
_TOOL_NAME = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b:?")


class Need(Exception):
    """A call has to be made first."""

    def __init__(self, name: str, arguments: dict[str, Any], why: str) -> None:
        super().__init__(why)
        self.name, self.arguments, self.why = name, arguments, why


class Trouble(Exception):
    """A call failed for good; the message says why, in words for a customer.

    ``declined``: the customer said no. ``undone``: nothing was added for sure; of an add that failed in any other
    way than one the shop knows nobody can tell.
    """

    def __init__(self, error: str, call: str = "add_to_cart") -> None:
        super().__init__(_in_words(error))
        self.declined = DECLINED in error
        self.undone = call != "add_to_cart" or bool(_UNDONE.search(error))


class Desk:
    """Looks things up in the results of this request, or asks for the call that would tell."""

    def __init__(self, notes: Notes, tools: Sequence[Mapping[str, Any]]) -> None:
        self.notes = notes
        self._tools = {str(tool.get("function", {}).get("name")) for tool in tools}

    def has(self, tool: str) -> bool:
        """Whether a tool may be called now."""
        return tool in self._tools

    def search(self, query: str, *, many: bool = False) -> Result:
        """Search the catalog."""
        arguments: dict[str, Any] = {"query": query} | ({"max_results": MANY} if many else {})
        return self._call("search_books", arguments, f"I look for “{query}” in the catalog.")

    def stock(self, book: Book) -> int:
        """The copies of a book in stock."""
        result = self._call(
            "check_stock", {"book_id": book.id}, f"I look how many copies of {book.title} there are."
        )
        count = whole(result.data.get("in_stock"))
        if count is None:
            raise Trouble("the answer could not be read", "check_stock")
        return count

    def order(self, number: int) -> Result:
        """One order of the customer."""
        return self._call("get_order_status", {"order_id": str(number)}, f"I look up order O-{number}.")

    def cart(self) -> Result:
        """The cart as it is now."""
        return self._call("view_cart", {}, "The cart can change, so I read it again.")

    def add(self, book: Book, quantity: int) -> Result:
        """Put copies of a book into the cart; a call that may have taken effect is never repeated."""
        arguments = {"book_id": book.id, "quantity": quantity}
        return self._call("add_to_cart", arguments, f"I put {book.title} into the cart.")

    def _call(self, name: str, arguments: dict[str, Any], why: str) -> Result:
        tries = [made for made in self.notes.run if made.name == name and _same(made.arguments, arguments)]
        if worked := next((made for made in tries if made.data), None):
            return worked
        if not tries:
            raise Need(name, arguments, why)
        error = next((made.error for made in reversed(tries) if not made.error.startswith("GUARD")), "GUARD")
        trouble = Trouble(error, name)
        if len(tries) == 1 and trouble.undone and _PASSING.search(error):
            raise Need(name, arguments, "That call failed in passing, so I try it once more.")
        raise trouble


def _same(made: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether two calls mean the same: "7" and 7 do, and a quantity left out or spelled out."""
    filled = {"quantity": 1, **made} if "quantity" in wanted else made
    return {name: str(value) for name, value in filled.items()} == {n: str(v) for n, v in wanted.items()}


def _in_words(error: str) -> str:
    """The first words of an error, without what only models should read: names of tools, and words of guards."""
    if error.startswith(("GUARD", "Not run")):
        return "the call was not let through"
    first = re.split(r"[;.](?:\s|$)", error, maxsplit=1)[0]
    return " ".join(_TOOL_NAME.sub(lambda name: "" if name[0].endswith(":") else "the call", first).split())
