"""What a request wants in the cart, and what to take instead; the patterns read shielded text."""

import re
from dataclasses import dataclass

from assistant.offline.request import Wish, plain, wish_of
from assistant.offline.words import WANTING, genre_in

_CART = re.compile(
    r"[\s,]*\b(?:to|in|into|inside|on)\s+(?:(?:my|our|the|your|this)\s+(?:shopping\s+)?(?:cart|basket|trolley)|"
    r"(?:cart|basket)|my\s+(?:bag|order))\b[\s:,]*",
    re.I,
)
_HARD = r"(?:add|put|place|throw|drop|buy|purchase|order(?: me)?|grab(?: me)?|i(?:['’]ll| will) (?:take|buy))"
_ADD = re.compile(rf"^(?:(?P<hard>{_HARD})|(?P<soft>{WANTING}))\s+(?P<body>.+)$", re.I | re.S)
_THEN_ADD = re.compile(
    r"^(?P<before>.+?)(?:[\s,.;?!]+(?:and|then|if (?:so|yes|it is|there is|available|you do|in stock))|[,.;?!])"
    r"[\s,]*(?:then\s+)?(?:please\s+)?(?:add|put|buy)\s+"
    r"(?P<body>(?:it|that|this|them|one|the (?:first|second|third|last|cheapest))\b.*|"
    r"[\w -]{1,40} (?:of it|cop(?:y|ies))\b.*)$",
    re.I | re.S,
)
_GONE = r"(?:not available|unavailable|out of stock|sold out|not in stock|gone|missing)"
_IF_FIRST = re.compile(
    rf"^if\s+(?P<item>.+?)\s+(?:is|are|isn['’]t|aren['’]t|should be)\s+(?:{_GONE}|available|in stock)[\s,]+"
    r"(?:then\s+)?(?:please\s+)?(?=add|put|buy|get)",
    re.I | re.S,
)
_FALLBACK = re.compile(
    r"(?:[\s,.;:!?–—()-])+(?:(?:and|but|or)[\s,]+)?(?:"
    r"(?:(?:only )?if|in case|should|when|unless)\s+(?:it|that|this|they|there|not|you|the book|the title|no|none|"
    r"out|sold|unavailable|available|in stock|possible)\b|"
    r"(?:otherwise|or else|failing that|alternatively|as an alternative|if necessary)\b|"
    r"(?:and|then)\s+(?:then\s+)?(?:tell|show|give|let)\s+me\b|"
    r"(?:or|and)[\s,]+(?:(?:else|maybe|perhaps|just|if[^,]*,)\s+)*(?:another|any other|anything else|"
    r"something else|some other|a different|an alternative|one of (?:her|his|their))\b)",
    re.I,
)
_SAME_AUTHOR = re.compile(
    r"\b(?:by|from|of)\s+(?:the\s+)?(?:same|that|this)\s+(?:author|writer|poet|novelist|person|woman|man)\b|"
    r"\b(?:by|from|of)\s+(?:her|him|them|hers|his|theirs|the author)\b|\bsame author\b|"
    r"\b(?:her|his|their)\s+(?:\w+\s+)?(?:other|another|novels?|books?|works?)\b",
    re.I,
)
_INSTEAD = re.compile(
    rf"\b(?:{_HARD}|{WANTING}|take|choose|pick|try|then|otherwise|or)[\s,]+(?P<body>.+)$", re.I | re.S
)
_BEFORE_IT = re.compile(
    r"^(?:(?:if|should|in case)\b[^,]*,\s*)?(?:(?:me|maybe|perhaps|just|add|put|get)\s+)*", re.I
)
_AFTER_IT = re.compile(r"[,;]?\s+(?:if|in case|should|instead|when)\b", re.I)
_OTHER = re.compile(r"^(?:another|any other|some other|a different|an alternative)\b", re.I)
_NOTHING = re.compile(
    r"\b(?:nothing|tell me|let me know|leave it|skip it|don['’]?t|do not|forget it|say so|never mind)\b", re.I
)


@dataclass(frozen=True)
class Alternative:
    """What to take when the first wish cannot be had: by its author or by a named one, or a title."""

    same_author: bool
    wish: Wish


@dataclass(frozen=True)
class Adding:
    """A request to add: the phrase that names the books, what was said before it, and what to take instead."""

    phrase: str
    before: str = ""
    alternative: Alternative | None = None
    only_instead: bool = False
    """Whether the first book itself is not asked for."""


def adding(text: str) -> Adding | None:
    """Read a (shielded) request that wants something put into the cart; None if it wants something else."""
    asked = plain(text)
    if found := _IF_FIRST.match(asked):
        alternative = _alternative(asked[found.end() :])
        only = not re.search(r"\b(?:otherwise|else add)\b", asked, re.I)
        return Adding(found["item"], alternative=alternative, only_instead=only) if alternative else None
    if (found := _THEN_ADD.match(asked)) and not _ADD.match(plain(found["before"])):
        return Adding(_parts(found["body"])[0], before=found["before"])
    found = _ADD.match(asked)
    if not found:
        return None
    phrase, rest, in_cart = _parts(found["body"])
    alternative = _alternative(rest)
    # "I would like a mystery" asks to be shown some; "I would like two copies of it" asks for the cart.
    sure = found["hard"] or in_cart or alternative or re.search(r"\bcop(?:y|ies)\b|^it$", phrase, re.I)
    return Adding(phrase, alternative=alternative) if sure else None


def _parts(body: str) -> tuple[str, str, bool]:
    """Split what is to be added from the conditions after it; tells too whether the cart was named."""
    cart, fallback = _CART.search(body), _FALLBACK.search(body)
    if cart and not body[: cart.start()].strip():
        phrase, rest, _ = _parts(body[cart.end() :])
        return phrase, rest, True
    ends = [found.start() for found in (cart, fallback) if found]
    cut = min(ends, default=len(body))
    return body[:cut], body[cut:], bool(cart)


def _alternative(rest: str) -> Alternative | None:
    if _SAME_AUTHOR.search(rest):
        cheapest = bool(re.search(r"\bcheap(?:est|er)\b", rest, re.I))
        return Alternative(True, Wish(rest, genre=genre_in(rest), cheapest=cheapest))
    found = _INSTEAD.search(rest)
    if not found or _NOTHING.search(rest):
        return None
    body = _AFTER_IT.split(_CART.split(found["body"])[0])[0]
    wish = wish_of(_OTHER.sub("any", _BEFORE_IT.sub("", body)))
    return Alternative(False, wish) if wish.title or wish.book_id or wish.filters else None
