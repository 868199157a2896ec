"""What an answer states: the one grammar of amounts, copies, statuses and "added", read once into figures.

Rules, not understanding. A figure is about what its own words name, else its sentence, else what was named last.
It is of now unless a word of its clause, or one carried over from the clauses before, says otherwise.
"""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

import store
from agent.trace import Fact
from assistant.answer_check.sentences import BLANK, CART, LIKE_A_TITLE, LOOKED, Place, Sense, Text

Kind = Literal["added", "amount", "copies", "status"]
_COUNT_WORDS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "a": 1, "an": 1}

# A sum of money ("$16.50", "$33", "16.50", "16,50 €", "1,234.50", "20 dollars"), or a cart that is empty.
_AMOUNT = re.compile(
    r"(?<![\w.,])(?P<mark>[$€]\s?|usd\s?)?(?P<whole>\d{1,3}(?:,\d{3}){1,3}|\d{1,9})(?:[.,](?P<cents>\d{1,2}))?"
    r"(?!\w|[.,]\d|\s?%)(?P<unit>\s?(?:dollars|usd|€))?|"
    rf"\b{CART}\b[^.!?\n\d]{{0,60}}?\bempty\b|\bempty\b[^.!?\n\d]{{0,60}}?\b{CART}\b"
)
# An amount is the cart's total beside a word of sums, or right after the cart where no book and no price is named.
_TOTAL = re.compile(r"\b(?:totals?|sum|subtotal|owe|pay|amounts?|comes? to|in all|altogether|balance)\b")
_THE_CART_IS = re.compile(rf"\b(?i:{CART})\b[^A-Z×;\d{BLANK}]{{0,40}}$")
_IN_THE_CART, _IS = (
    re.compile(rf"\s*(?:worth )?in (?:your|the) {CART}\b"),
    re.compile(r"\b(?:have|is|are|holds)\s*$"),
)
_A_PRICE = re.compile(
    r"\b(?:it|each|apiece|per copy|priced?|book|cop(?:y|ies)|title|novel|item|added|put)\b|\bfor\s*$"
)
# Copies in stock, by count or none; where they are added or in the cart, they are not those in stock.
_COPIES = re.compile(
    r"(?<![\w.,$#-])(\d{1,6})(?:\s+(?:more|of (?:it|them)|are|is|still|now)){0,3}"
    r"\s+(?:cop(?:y|ies)|in stock|left|available|remain(?:s|ing)?)\b|"
    r"\b(?:in stock|stock|left|available|availability)(?:\s?[:=]| is| are)\s?(\d{1,6})(?!\w|[.,]\d|\s?%)|"
    r"\b(?:out of stock|sold out|no copies|none left|not available|unavailable)\b"
)
_IN_CART = re.compile(rf"\b(?:add(?:ed|ing)?|put|{CART})\b")
# The status of an order, where the sentence speaks of one, and what is only going to be.
_STATUS = re.compile(rf"\b(?:{'|'.join(store.STATUSES)})\b")
_OF_AN_ORDER = re.compile(r"\b(?:orders?|o-\d+|it|they|books?|items?|status|parcel|package|shipment)\b")
_TO_COME = re.compile(r"\b(?:will|to (?:be|get)|should|can|may|could|would|until|before|once|when|if)\b[^.;,]*$")
# "I added": what was added and how many, and where a reason or an aside begins.
_ADDED = re.compile(
    r"\b(?P<who>i|we)(?:['’]ve| have)?\s+(?:\w+\s+)?(?:added|put|placed(?=[^.!?\n]{0,200}\b(?:cart|basket)))\b|"
    r"\b(?:has|have) been (?:added|put|placed(?=[^.!?\n]{0,200}\b(?:cart|basket)))\b"
    r"(?!\s+(?:to|in|on)\s+(?!(?:your|the) (?:\w+ )?(?:cart|basket)))|"
    r"\badded\b[^.!?\n]{0,200}\bto (?:your|the) (?:cart|basket)\b|"
    r"\bis (?:now |already )?in (?:your|the) (?:cart|basket)\b"
)
_NOT_ADDED = re.compile(r"\b(?:not|cannot|unable|nothing|never|without|if|once|would|could|shall|will)\b|n['’]t\b")
_QUANTITY = re.compile(rf"\b(\d{{1,2}}|{'|'.join(_COUNT_WORDS)})\s+(?:×|x|copies|copy)")
_ASIDE = re.compile(
    r"[;:(]|,\s(?:another|an?|also|the other|who)\b|\bto (?:your|the) (?:cart|basket)\b|"
    r"\b(?:instead|in place|rather|because|since|as|but|which|while|although|though|after|when|by)\b"
)
_HEDGE = re.compile(
    rf"\b(?:(?:may|might|could) have (?:changed|been changed)|{LOOKED}|cannot tell|can't tell|not sure|"
    r"has changed since)\b"
)


class Figure(NamedTuple):
    """One thing an answer states.

    ``value`` is cents, copies, a status, or of "added" the quantity, None where it is not told. ``start`` and
    ``end`` are its place in the answer; "added" is a whole sentence. ``about`` are the resources it may be about
    (``cart``, ``stock:7``, ``order:1001``), of "added" the titles that were added; empty where the text does not
    tell. ``sentence`` is the place where its sentence begins, ``titles`` are all that it names, casefolded.
    """

    kind: Kind
    value: int | str | None
    text: str
    start: int
    end: int
    about: tuple[str, ...]
    sense: Sense
    sentence: int
    titles: tuple[str, ...]


def read_figures(
    answer: str, books: Mapping[str, Collection[int]] | None = None, orders: Collection[int] = ()
) -> list[Figure]:
    """Read what an answer states, in its order; ``books`` are known ids by title, ``orders`` known order ids."""
    text = Text(answer, books or {}, orders)
    found = [figure for read in (_added, _amounts, _copies, _statuses) for figure in read(text)]
    return sorted(found, key=lambda figure: figure.start)


def giving(figures: Iterable[Figure], fact: Fact) -> list[Figure]:
    """The figures that give the value of a fact and may be about it, whether as of now or of the past."""
    wanted = _value_of(f"{fact.resource.partition(':')[0]}: {fact.value}")
    return [
        figure
        for figure in figures
        if (figure.kind, figure.value) == wanted
        and figure.sense in ("now", "past")
        and (not figure.about or fact.resource in figure.about)
    ]


@lru_cache(maxsize=1_000)
def _value_of(fact: str) -> tuple[Kind, int | str | None] | None:
    """What a fact in words comes to, such as "cart: total $16.50": the same grammar reads it."""
    return next(((figure.kind, figure.value) for figure in read_figures(fact)), None)


def stating(figures: Sequence[Figure], seen: Fact, now: Fact) -> list[Figure]:
    """The figures by which an answer states an overtaken value as that of now.

    None where it gives the value of now as well: it compares the two. An amount of nothing named is a price.
    """
    if giving(figures, now):
        return []
    told = [figure for figure in giving(figures, seen) if figure.sense == "now"]
    return [figure for figure in told if figure.about or figure.kind != "amount"]


def hedges(answer: str) -> bool:
    """Whether an answer warns that what it says may have changed."""
    return _HEDGE.search(answer.lower()) is not None


def _added(text: Text) -> Iterator[Figure]:
    first = {place.sentence.start: place for place in reversed(list(text.places(_ADDED)))}
    for place in first.values():
        start, end = place.sentence[:2]
        if _NOT_ADDED.search(text.low, start, end):
            continue
        aside = _ASIDE.search(text.low, place.end, end)
        titles = text.titles_in(place.end, aside.start() if aside else end) if place.found["who"] else ()
        counted = _QUANTITY.search(text.low, start, end)
        word = counted[1] if counted else ""
        quantity = int(word) if word.isdigit() else _COUNT_WORDS.get(word)
        yield _figure(text, "added", quantity, place._replace(start=start, end=end), titles, "now")


def _amounts(text: Text) -> Iterator[Figure]:
    for place in text.places(_AMOUNT, _is_money):
        whole, cents = place.found["whole"], place.found["cents"] or "0"
        value = 100 * int(whole.replace(",", "")) + int(cents.ljust(2, "0")) if whole else 0
        total = ("cart",) if not whole or _is_total(text, place) else ()
        yield _figure(text, "amount", value, place, place.sentence.own_orders or total, text.sense(place))


def _is_money(found: re.Match[str]) -> bool:
    return bool(not found["whole"] or found["mark"] or found["unit"] or len(found["cents"] or "") == 2)


def _is_total(text: Text, place: Place) -> bool:
    before = text.low, place.last, place.start
    if _TOTAL.search(*before) or _TOTAL.search(text.low, place.end, place.stop):
        return True
    of_the_cart = _IS.search(*before) and _IN_THE_CART.match(text.low, place.end, place.stop)
    cased = text.blanked[place.last : place.start]
    if of_the_cart or _THE_CART_IS.search(cased):
        return not (_A_PRICE.search(*before) or BLANK in cased or LIKE_A_TITLE.search(cased))
    return False


def _copies(text: Text) -> Iterator[Figure]:
    for place in text.places(_COPIES):
        value = int(place.found[1] or place.found[2] or 0)
        books = text.books_in(place.begin, place.stop) or place.sentence.books
        about = ("cart",) if _IN_CART.search(text.low, place.begin, place.stop) else books
        yield _figure(text, "copies", value, place, place.sentence.own_orders or about, text.sense(place))


def _statuses(text: Text) -> Iterator[Figure]:
    told = set()
    speaks_of_orders = [found.start() for found in _OF_AN_ORDER.finditer(text.low)]
    for place in text.places(_STATUS):
        sentence, sense = place.sentence, text.sense(place)
        about = text.orders_in(place.begin, place.stop) or sentence.orders
        if not about and bisect_left(speaks_of_orders, sentence.start) == bisect_left(
            speaks_of_orders, sentence.end
        ):
            continue
        if _TO_COME.search(text.low, max(sentence.start, place.start - 80), place.start):
            sense = "supposed"
        elif (sentence.start, about) in told:
            sense = "past"  # as in "delivered (shipped on ...)": the first of several is that of now
        elif sense == "now":
            told.add((sentence.start, about))
        yield _figure(text, "status", place.found[0], place, about, sense)


def _figure(
    text: Text, kind: Kind, value: int | str | None, place: Place, about: tuple[str, ...], sense: Sense
) -> Figure:
    shown, start, end = (
        text.plain[place.start : place.end].strip(),
        text.kept[place.start],
        text.kept[place.end - 1],
    )
    return Figure(kind, value, shown, start, end + 1, about, sense, place.sentence.start, place.sentence.titles)
