"""What an answer states as true now: amounts, stock counts and statuses, sentence by sentence.

Rules, not understanding: a figure counts where it stands beside a word of its subject, in a clause with no word
that puts it into the past or makes it something else. A price that happens to equal an old total is no total.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from agent.trace import Fact

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^a-z\s])|\n+")
_CLAUSE = re.compile(r"[;:]\s+|,\s+|\s+(?:and|but|so|because|while|although|though)\s+", re.I)
PAST = re.compile(
    r"\b(?:was|were|had been|before|earlier|previous(?:ly)?|formerly|no longer|not|instead of|used to|until|old|"
    r"as of|last (?:saw|read|checked|time|looked)|changed|from(?=\s+\$?\d))\b",
    re.I,
)
_AMOUNT = re.compile(
    r"(?<![\w.,])(\$\s?|USD\s?)?(\d{1,3}(?:,\d{3})+|\d+)(?:[.,](\d{1,2}))?(?!\w|[.,]\d)(\s?(?:dollars|USD|€))?",
    re.I,
)
_TOTAL = re.compile(r"\b(?:total|sum|subtotal|owe|pay|amounts?|comes? to|in all|altogether|balance)\b", re.I)
_THE_CART_IS = re.compile(r"\b(?i:cart|basket|trolley)\b([^A-Z×;\d]{0,40})$")
_IN_THE_CART = re.compile(r"\s*(?:worth )?in (?:your|the) (?:cart|basket|trolley)\b", re.I)
_IS = re.compile(r"\b(?:have|is|are|holds)\s*$", re.I)
_A_BOOK = re.compile(
    r"\b(?:it|each|apiece|per copy|priced?|book|cop(?:y|ies)|title|novel|item|added|put)\b|\bfor\s*$", re.I
)
_EMPTY = re.compile(r"\b(?:cart|basket|trolley)\b.*\bempty\b|\bempty\b.*\b(?:cart|basket|trolley)\b", re.I)
_SUBJECTS = {
    "stock": r"\b(?:cop(?:y|ies)|stock|left|available|have|remain(?:ing|s)?|availability|sold out)\b",
    "order": r"\b(?:order|o-\d+|it|status|parcel|package)\b",
}
_ADDING = re.compile(r"\b(?:add(?:ed|ing)?|put|cart|basket|trolley)\b", re.I)
_NONE_LEFT = re.compile(r"\b(?:out of stock|sold out|no copies|not available|unavailable|none left)\b", re.I)
_ORDER = re.compile(r"\bO-?(\d+)\b|\border (?:number )?#?(\d+)\b|(?<![\d$.,-])(\d{4,10})\b(?![-.,]\d)", re.I)
_A_TITLE = re.compile(r"\b[A-Z][\w'’]*(?:\s+(?:of|the|to|and|a|an|in|for|at)\b)*\s+[A-Z][\w'’]+")
_HEDGE = re.compile(
    r"\b(?:(?:may|might|could) have (?:changed|been changed)|as of|last (?:saw|read|checked|looked)|cannot tell|"
    r"can't tell|not sure|has changed since)\b",
    re.I,
)


class Amount(NamedTuple):
    """A sum of money, and where it stands in a text."""

    start: int
    end: int
    cents: int


def sentences(answer: str) -> Iterator[str]:
    """The sentences of an answer, without the marks of bold and code."""
    for sentence in _SENTENCE.split(re.sub(r"[*`]", "", answer)):
        if sentence.strip():
            yield sentence.strip()


def states_as_current(answer: str, seen: Fact, now: Fact) -> bool:
    """Whether an answer gives an overtaken value for how things are now.

    An answer that gives the total of now as well compares the two; so does such a sentence about anything else.
    """
    if seen.resource == "cart":
        return not states(answer, now) and any(_gives_total(sentence, seen) for sentence in sentences(answer))
    return any(_states_now(sentence, seen) and not states(sentence, now) for sentence in _about(answer, seen))


def _gives_total(sentence: str, seen: Fact) -> bool:
    wanted = _cents(seen)
    if any(amount.cents == wanted for amount in totals(sentence)):
        return True
    return wanted == 0 and _EMPTY.search(sentence) is not None and not PAST.search(sentence)


def totals(sentence: str) -> Iterator[Amount]:
    """The amounts that a sentence gives as that of the cart now: not of an order, of a book, or of the past."""
    if _ORDER.search(sentence):
        return
    found = list(amounts(sentence))
    ends = [0, *(amount.end for amount in found)]
    for last, amount, next_ in zip(ends, found, [*found[1:], None], strict=False):
        clause_end = _clause_end(sentence, amount.end)
        before = sentence[last : amount.start]
        after = sentence[amount.end : min(clause_end, next_.start) if next_ else clause_end]
        if not PAST.search(_CLAUSE.split(before)[-1] + after) and _is_total(before, after):
            yield amount


def _is_total(before: str, after: str) -> bool:
    if _TOTAL.search(before) or _TOTAL.search(after):
        return True
    cart = _THE_CART_IS.search(before)
    if cart or (_IS.search(before) and _IN_THE_CART.match(after)):
        return not _A_BOOK.search(before) and not _A_TITLE.search(before)
    return False


def _about(answer: str, seen: Fact) -> Iterator[str]:
    """The sentences that may be about this order or book: those after another was named are about that."""
    other = False
    for sentence in sentences(answer):
        if seen.resource.startswith("order"):
            numbers = {"".join(found) for found in _ORDER.findall(sentence)}
            other = seen.resource.partition(":")[2] not in numbers if numbers else other
        elif seen.name:
            named = seen.name.casefold() in sentence.casefold()
            other = not named if named or _A_TITLE.search(sentence) else other
        if not other:
            yield sentence


def _states_now(sentence: str, seen: Fact) -> bool:
    kind = seen.resource.partition(":")[0]
    if not re.search(_SUBJECTS[kind], sentence, re.I):
        return False
    clauses = [clause for clause in _CLAUSE.split(sentence) if states(clause, seen)]
    return any(not PAST.search(clause) and not (kind == "stock" and _ADDING.search(clause)) for clause in clauses)


def hedges(answer: str) -> bool:
    """Whether an answer warns that what it says may have changed."""
    return _HEDGE.search(answer) is not None


def states(text: str, fact: Fact) -> bool:
    """Whether a text holds the value of a fact: an amount, a count of copies, a status."""
    if fact.resource == "cart":
        wanted = _cents(fact)
        empty = wanted == 0 and re.search(r"\bempty\b", text, re.I) is not None
        return empty or any(amount.cents == wanted for amount in amounts(text))
    figure = fact.value.removesuffix(" copies").removesuffix(" copy")
    if fact.resource.startswith("stock") and figure == "0" and _NONE_LEFT.search(text):
        return True
    return re.search(rf"(?<![\w.,]){re.escape(figure)}(?!\w|[.,]\d)", text, re.I) is not None


def amounts(text: str) -> Iterator[Amount]:
    """The sums of money in a text: "$16.50", "$33", "16.50", "16,50 €", "1,234.50", "20 dollars"."""
    for found in _AMOUNT.finditer(text):
        mark, whole, cents, unit = found.groups()
        if mark or unit or (cents and len(cents) == 2):
            yield Amount(*found.span(), 100 * int(whole.replace(",", "")) + int((cents or "0").ljust(2, "0")))


def _cents(fact: Fact) -> int | None:
    return next((amount.cents for amount in amounts(fact.value)), None)


def _clause_end(sentence: str, start: int) -> int:
    found = _CLAUSE.search(sentence, start)
    return found.start() if found else len(sentence)
