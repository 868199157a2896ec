"""What an answer states as true now: amounts, stock counts and statuses, sentence by sentence.

Rules, not understanding: a figure counts where it stands in a sentence about its subject, in a clause with no word
that puts it into the past or makes it something else.
"""

import re
from collections.abc import Iterator

from agent.shapes import Fact

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^a-z\s])|\n+")
_CLAUSE = re.compile(r"[;:]\s+|,\s+|\s+(?:and|but|so|because|while|although|though)\s+", re.I)
PAST = re.compile(
    r"\b(?:was|were|had been|before|earlier|previous(?:ly)?|formerly|no longer|not|instead of|used to|until|old|"
    r"as of|last (?:saw|read|checked|time|looked)|changed|changed from|from)\b",
    re.I,
)
_SUBJECTS = {
    "cart": r"\b(?:cart|basket|trolley|total|sum|subtotal|owe|pay|amounts?|comes? to|in all|altogether|balance)\b",
    "stock": r"\b(?:cop(?:y|ies)|stock|left|available|have|remain(?:ing|s)?|availability|sold out)\b",
    "order": r"\b(?:order|o-\d+|it|status|parcel|package)\b",
}
_A_PRICE = re.compile(r"\b(?:each|costs?|priced?|price|per copy|apiece)\b", re.I)
_NONE_LEFT = re.compile(r"\b(?:out of stock|sold out|no copies|not available|unavailable|none left)\b", re.I)
_HEDGE = re.compile(
    r"\b(?:(?:may|might|could) have (?:changed|been changed)|as of|last (?:saw|read|checked|looked)|cannot tell|"
    r"can't tell|not sure|has changed since)\b",
    re.I,
)


def sentences(answer: str) -> Iterator[str]:
    """The sentences of an answer, without the marks of bold and code."""
    for sentence in _SENTENCE.split(re.sub(r"[*`]", "", answer)):
        if sentence.strip():
            yield sentence.strip()


def states_as_current(answer: str, seen: Fact, now: Fact) -> bool:
    """Whether an answer gives an overtaken value for how things are now.

    An answer that gives the total of now as well compares the two; so does such a sentence about anything else.
    """
    kind = seen.resource.partition(":")[0]
    if kind == "cart" and states(answer, now):
        return False
    return any(_states_now(sentence, seen, kind) and not states(sentence, now) for sentence in sentences(answer))


def _states_now(sentence: str, seen: Fact, kind: str) -> bool:
    if not re.search(_SUBJECTS[kind], sentence, re.I):
        return False
    clauses = [clause for clause in _CLAUSE.split(sentence) if states(clause, seen)]
    other = _A_PRICE if kind == "cart" else None
    return any(not PAST.search(clause) and not (other and other.search(clause)) for clause in clauses)


def hedges(answer: str) -> bool:
    """Whether an answer warns that what it says may have changed."""
    return _HEDGE.search(answer) is not None


def states(text: str, fact: Fact) -> bool:
    """Whether a text holds the value of a fact: an amount, a count of copies, a status."""
    figure = fact.value.removeprefix("total ").removesuffix(" copies").removesuffix(" copy")
    if fact.resource.startswith("stock") and figure == "0" and _NONE_LEFT.search(text):
        return True
    if fact.resource == "cart" and figure == "$0.00" and re.search(r"\bempty\b", text, re.I):
        return True
    figure = figure.removeprefix("$")
    return re.search(rf"(?<![\w.,])(?:\$\s?)?{re.escape(figure)}(?!\w|[.,]\d)", text, re.I) is not None
