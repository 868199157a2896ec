"""What the stand-in says of orders."""

import re

from assistant.offline.desk import Desk, Trouble
from assistant.offline.results import Result
from assistant.offline.words import dollars, listed, money

_MARKED = re.compile(r"\bO-?\s?(\d{1,9})\b", re.I)
_NUMBER = re.compile(r"(?<![\w$€£.])#?(\d{3,9})\b(?!\.\d|\s*(?:cop(?:y|ies)|x)\b)")
_ABOUT = re.compile(
    r"\b(?:orders?|parcels?|packages?|deliver(?:y|ies|ed)|shipments?|shipped|status|track(?:ing)?)\b", re.I
)
_MINE = re.compile(
    r"\b(?:where(?:['’]s| is| are)|when|status|track|check|has|have|did|show|what|arrive)\b.*\b(?:my|the|an)\s+"
    r"(?:\w+\s+)?(?:orders?|parcels?|packages?|delivery|shipment)\b|\border status\b|^\W*(?:my )?orders?\W*$|"
    r"\b(?:track|status of) (?:my |an? )?orders?\b",
    re.I,
)
_FOLLOWS = re.compile(
    r"\W*(?:and |what about |how about |it(?:['’]s| is) |number |order )*(?:O-?)?#?\d{3,9}\W*", re.I
)


def tell_orders(request: str, desk: Desk) -> str | None:
    """The status of the orders that are named."""
    numbers = _numbers(request, desk)
    if not numbers and not _MINE.search(request):
        return None
    if not numbers:
        return "Which order do you mean? Tell me the order number, such as O-1001."
    if not desk.has("get_order_status"):
        return "I have no tool to look up orders here."
    return "\n".join(_one(number, desk) for number in numbers)


def _numbers(request: str, desk: Desk) -> list[int]:
    after_orders = "order number" in desk.notes.said or re.match(r"Order O-\d+ is", desk.notes.said)
    found = _MARKED.findall(request)
    if _ABOUT.search(request) or (after_orders and _FOLLOWS.fullmatch(request)):
        found += _NUMBER.findall(_MARKED.sub(" ", request))
    return list(dict.fromkeys(int(number) for number in found))


def _one(number: int, desk: Desk) -> str:
    try:
        order = desk.order(number)
    except Trouble as trouble:
        return f"I could not look up order O-{number}: the shop says “{trouble}”."
    return _words(number, order)


def _words(number: int, order: Result) -> str:
    dates = [
        f"{name.removesuffix('_on')} on {day}" if name != "expected_on" else f"expected on {day}"
        for name, day in order.data.items()
        if name.endswith("_on") and isinstance(day, str)
    ]
    lines = order.data.get("lines")
    books = [
        f"{line.get('quantity', 1)} × {line.get('title')} at {dollars(money(line.get('price')))}"
        for line in (lines if isinstance(lines, list) else [])
        if isinstance(line, dict)
    ]
    status = order.data.get("status", "in a state I could not read")
    details = f" ({', '.join(dates)})" if dates else ""
    return f"Order O-{number} is {status}{details}{f': {listed(books)}' if books else ''}."
