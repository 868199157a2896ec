"""Which book a question is about, by the ways people ask for stock, for prices and for books."""

import re

from assistant.offline.request import Wish, plain, wish_of
from assistant.offline.words import WANTING

_ITEM = "(?P<item>.+?)"
_SHOP = "(?:do you|does the shop)"
_SOLD = rf"(?:{_SHOP} (?:have|sell|carry|stock)|have you(?: got)?|are there|are you selling)"
_STATE = "(?:in stock|available|sold out|out of stock|unavailable|left|on the shelf|to be had|in the shop)"
_COPY = r"(?:any copies of |a copy of |any stock of |copies of )"

_STOCK = (
    rf"how many (?:copies )?(?:of )?(?P<item>.*?) ?(?:{_SHOP}|have you|are|is)\b.*",
    rf"how many (?:copies of )?{_ITEM}",
    rf"(?:is|are) (?:there )?{_COPY}?{_ITEM}(?: still| currently)? {_STATE}(?: .*)?",
    (
        r"(?:check |what(?:['’]s| is) |tell me |show me )?(?:the )?(?:stock|availability|stock level)"
        rf" (?:of|for) {_ITEM}"
    ),
    rf"(?:check|see|tell me) (?:if|whether) {_ITEM} (?:is|are) (?:still )?{_STATE}.*",
    rf"(?:{_SHOP} (?:still )?have|have you got) {_COPY}?{_ITEM}(?: in stock)?",
    rf"{_ITEM}[ ,:-]+(?:in stock|available|how many (?:left|copies))",
)
_FIND = (
    (
        r"(?:find|search(?: for| the (?:shop|catalog) for)?|look(?:ing)? (?:for|up)|list|browse|show|"
        rf"recommend|suggest)(?: me)? {_ITEM}"
    ),
    rf"i(?:['’]m| am) looking for {_ITEM}",
    rf"{WANTING} {_ITEM}",
    rf"(?:how much (?:is|are|does|for)|what does) {_ITEM}(?: cost)?",
    rf"(?:what(?:['’]s| is) )?(?:the )?(?:price|cost|author|genre) (?:of|for) {_ITEM}",
    rf"(?:tell me (?:more )?about|describe) {_ITEM}",
    rf"who (?:wrote|is the author of) {_ITEM}",
    rf"{_SOLD} {_ITEM}",
    rf"(?:what|which) (?:other )?(?P<item>.+?) {_SOLD}(?P<tail>.*)",
    r"(?:what|which) (?P<item>(?:\w+ ){0,2}(?:books?|titles?|novels?) .+)",
    r"(?:what|which)(?:['’]s| is) (?:your )?(?P<item>(?:the )?(?:cheapest|most expensive|dearest) .+)",
    rf"(?:is|are) there {_ITEM}",
    rf"what (?:else )?{_SOLD} ?(?P<item>.*)",
    r"what (?:else )?(?:has|did) (?P<author>.+?) (?:write|written|wrote)",
    r"(?P<item>(?:(?:any|some|the) |anything|something|books?|novels?|cheapest|most expensive).*)",
)


def _compiled(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.I) for pattern in patterns)


_STOCK_PATTERNS, _FIND_PATTERNS = _compiled(_STOCK), _compiled(_FIND)


def stock_question(text: str) -> Wish | None:
    """Read a (shielded) question after copies in stock; a kind of book ("any novels") is for the search."""
    wish = _first(_STOCK_PATTERNS, text)
    return None if wish is None or wish.filters or wish.by_subject else wish


def search_question(text: str) -> Wish | None:
    """Read a (shielded) request to find or to price books."""
    return _first(_FIND_PATTERNS, text)


def _first(patterns: tuple[re.Pattern[str], ...], text: str) -> Wish | None:
    asked = plain(text)
    for pattern in patterns:
        if found := pattern.fullmatch(asked):
            parts = {name: part or "" for name, part in found.groupdict().items()}
            author = parts.get("author")
            return wish_of(f"by {author}" if author else (parts["item"] or "it") + parts.get("tail", ""))
    return None
