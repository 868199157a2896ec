"""What a phrase asks for: a title, or an author, genre and price, or something pointed at; and how many of it."""

import re
from dataclasses import dataclass, replace
from decimal import Decimal

from assistant.offline.quantity import quantity_in
from assistant.offline.words import (
    CLOSE,
    OPEN,
    ORDINALS,
    fold,
    genre_in,
    money,
    unshield,
    without_genre,
)

_POLITE = re.compile(
    r"^(?:(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|please|pls|kindly|ok(?:ay)?|yes|yeah|yep|sure|"
    r"and|then|also|(?:could|can|would|will) you(?: please)?|i (?:want|need|would like|'d like) you to|"
    r"i(?:['’]d| would) (?:like|love) to|i want to|let['’]?s)\b[\s,.!:;-]*)+",
    re.I,
)
_LONG_BREAK = re.compile(r"([\s,.;:!?()-]{2})[\s,.;:!?()-]+")
_TAIL = re.compile(
    r"(?:[\s,]+(?:please|pls|thanks|thank you|thx|for me|right now|now|today|too|as well|instead|would you|"
    r"will you|if possible|if you can)\b[\s,.!?]*)+$",
    re.I,
)
_ID = re.compile(
    r"^(?:the )?(?:book|title|id|number|no\.|edition)?\s*"
    r"(?:with (?:the )?)?(?:id|number|no\.?)?\s*#?(?P<id>\d{1,9})$",
    re.I,
)
_NAMED = re.compile(
    rf"^(?:the |a |an )?(?:book|novel|title|one)\s+(?:(?:called|titled|entitled|named)\s+|(?={OPEN}))", re.I
)
_POINTS = re.compile(
    r"^(?:it|that|this|them|those|these|one|(?:that|this|the|the same) (?:one|book|title|novel)|both(?: of them)?|"
    r"all(?: of them)?|more|another(?: one)?|one more|of (?:it|them))?$",
    re.I,
)
_PLACE = re.compile(
    rf"^(?:the )?(?P<place>{'|'.join(ORDINALS)}|(?P<digit>\d{{1,2}})(?:st|nd|rd|th))"
    r"(?: (?:one|book|option|title|edition|novel))?(?: (?:on|in|of) (?:the|that|your) list)?$",
    re.I,
)
_PRICE = r"[$€£]?\s*(\d+(?:\.\d+)?)\s*(?:dollars|bucks|usd)?"
_UNDER = re.compile(
    r"\b(?:for |that costs? |priced |costing )?(?:under|below|less than|cheaper than|up to|at most|no more than|"
    rf"not more than|max(?:imum)?|within)\s*{_PRICE}(?: or less)?|{_PRICE}\s*(?:or less|or under|or below)\b",
    re.I,
)
_OVER = re.compile(
    r"\b(?:for |priced |costing )?(?:over|above|more than|at least)\s*[$€£]?\s*(\d+(?:\.\d+)?)", re.I
)
_EXACT = re.compile(r"(?:\bfor )?[$€£]\s*(\d+(?:\.\d+)?)")
_CHEAPEST = re.compile(r"\b(?:the )?(?:cheapest|least expensive|lowest[- ]priced?)\b", re.I)
_DEAREST = re.compile(r"\b(?:the )?(?:most expensive|dearest|priciest)\b", re.I)
_BY = re.compile(
    rf"(?:^|\s)(?:by|from|written by|of the author)\s+(?:the author\s+)?"
    rf"(?P<author>(?!(?:the|a|an|my|your|this|that)\b)[^{OPEN}]+)$",
    re.I,
)
_EDITION = re.compile(r"^(?:the |an? )?(?:[\w-]+ )?(?:edition|version|copy) of\s+", re.I)
_TOPIC = re.compile(
    r"^(?:anything|something|some|any|a|good)?\s*(?:books?|titles?)?\s*(?:about|on|regarding|with)\s+", re.I
)
_FILLER_WORDS = """
a an any some the book books title titles one ones anything something work works other good nice edition of in by
for me your shop all more option options stuff cheap copy else another different alternative
"""
_FILLERS = frozenset(_FILLER_WORDS.split())


@dataclass(frozen=True)
class Wish:
    """What one phrase asks for; ``title`` is empty where only author, genre, price or a gesture tell the book."""

    phrase: str
    title: str = ""
    author: str = ""
    genre: str = ""
    book_id: int | None = None
    place: int | None = None
    points: bool = False
    by_subject: bool = False
    """Whether ``title`` is rather what the book is about."""
    quantity: float = 1
    cheapest: bool = False
    dearest: bool = False
    under: Decimal | None = None
    over: Decimal | None = None
    price: Decimal | None = None

    @property
    def chooses(self) -> bool:
        """Whether it only makes sense with a list of books in sight."""
        bare = not (self.title or self.author or self.genre or self.book_id)
        by_price = self.cheapest or self.dearest or self.under or self.price
        return bare and bool(self.place or self.points or by_price)

    @property
    def filters(self) -> bool:
        """Whether author, genre or price tell the books, without a title."""
        return not self.title and bool(
            self.author or self.genre or self.under or self.over or self.cheapest or self.dearest
        )


def plain(text: str) -> str:
    """A request without greetings and courtesies."""
    return _TAIL.sub("", _POLITE.sub("", _LONG_BREAK.sub(r"\1", " ".join(text.split())))).strip(" ,.;:!?")


def wish_of(phrase: str) -> Wish:
    """Read a (shielded) phrase that stands for one book, or for a kind of book."""
    quantity, rest = quantity_in(plain(phrase))
    rest = _NAMED.sub("", rest.strip(" ,.;:!?"))
    wish = Wish(unshield(rest), quantity=quantity)
    if OPEN in rest:
        author = _BY.search(rest.partition(CLOSE)[2])
        title = unshield(rest.partition(OPEN)[2].partition(CLOSE)[0])
        wish = replace(wish, title=title, author=author["author"].partition(",")[0].strip(" .") if author else "")
        return _priced(wish, rest.partition(CLOSE)[2])[0]
    if found := _ID.match(rest):
        # A bare number may be a title; with a word before it it is an id.
        bare = rest.isdigit()
        return replace(wish, book_id=int(found["id"]), title=rest if bare else "")
    if found := _PLACE.match(rest):
        return replace(wish, place=int(found["digit"] or 0) or ORDINALS[found["place"].lower()])
    if _POINTS.match(rest):
        return replace(wish, points=True)
    return _described(*_priced(wish, rest))


def _priced(wish: Wish, rest: str) -> tuple[Wish, str]:
    """Take what is said about the price, and give what is left of the phrase."""
    for name, pattern in (("under", _UNDER), ("over", _OVER), ("price", _EXACT)):
        if found := pattern.search(rest):
            wish = replace(wish, **{name: money(next(filter(None, found.groups())))})  # type: ignore[arg-type]
            rest = rest[: found.start()] + rest[found.end() :]
    for name, pattern in (("cheapest", _CHEAPEST), ("dearest", _DEAREST)):
        if pattern.search(rest):
            wish = replace(wish, **{name: True})  # type: ignore[arg-type]
            rest = pattern.sub("", rest)
    return wish, " ".join(rest.split()).strip(" ,.;:")


def _described(wish: Wish, rest: str) -> Wish:
    """Tell a title from an author, a genre or a subject."""
    if found := _BY.search(rest):
        wish = replace(wish, author=found["author"].strip(" ,.;:!?"))
        rest = rest[: found.start()].strip()
    rest = _EDITION.sub("", rest)
    topic = _TOPIC.sub("", rest)
    words = [word for word in without_genre(topic).split() if word not in _FILLERS]
    if words and re.search(r"\w", topic):
        return replace(wish, title=topic, by_subject=topic != rest)
    return replace(wish, genre=genre_in(rest)) if fold(rest) else wish
