"""Words as the offline stand-in reads them: quotes, numbers, genres, money, titles that look alike."""

import re
import unicodedata
from decimal import Decimal, InvalidOperation
from typing import Any

from rapidfuzz import fuzz

OPEN, CLOSE = "\ue000", "\ue001"
_SHIFT = 0xF0000
_QUOTES = re.compile(
    r'"([^"]+)"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|「([^」]+)」|『([^』]+)』|《([^》]+)》'
    r"|(?<!\w)['‘](\S.*?)['’](?!\w)"
)
_MARKS = re.compile("[\u0300-\u036f\u064b-\u065f]")
_LATIN = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "æ": "ae", "œ": "oe"})
_ARTICLE = re.compile(r"^(?:the|a|an) (?=.)")

_COUNTED = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
eighteen nineteen twenty
"""
NUMBERS = {word: number for number, word in enumerate(_COUNTED.split())} | {
    "half a dozen": 6,
    "a couple of": 2,
    "a couple": 2,
    "a pair of": 2,
    "a dozen": 12,
    "another": 1,
    "an": 1,
    "a": 1,
}
WANTING = (
    r"(?:get me|give me|(?:can|could|may) i (?:get|have|buy|order)|i(?:['’]d| would)? (?:like|want|need|love)|"
    r"i(?:['’]ll| will) have|get)"
)
"""A pattern for the verbs of wishing, which do not yet say whether to show or to add."""
ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "last": -1}

_GENRES = {
    "novel": "novel novels fiction",
    "mystery": "mystery mysteries crime whodunit whodunits",
    "children": "children childrens kids",
    "cooking": "cooking cookbook cookbooks cookery",
    "poetry": "poetry poem poems",
    "science fiction": "science_fiction sci_fi scifi sf",
    "history": "history histories",
    "fantasy": "fantasy fantasies",
    "science": "science",
    "essays": "essay essays",
    "programming": "programming computing",
    "travel": "travel",
    "biography": "biography biographies memoir memoirs",
    "gardening": "gardening",
    "thriller": "thriller thrillers",
    "romance": "romance romances",
    "horror": "horror",
}
_GENRE_OF = {word.replace("_", " "): genre for genre, words in _GENRES.items() for word in words.split()}
_GENRE_WORD = re.compile(rf"\b(?:{'|'.join(sorted(_GENRE_OF, key=len, reverse=True))})\b")
_AMOUNT = re.compile(r"-?\d{1,9}(?:\.\d{1,4})?")


def shield(text: str) -> str:
    """Move quoted titles out of the reach of patterns, between OPEN and CLOSE; ``unshield`` brings them back."""
    bare = text.replace(OPEN, "").replace(CLOSE, "")
    return _QUOTES.sub(lambda found: f"{OPEN}{_shifted(next(filter(None, found.groups())))}{CLOSE}", bare)


def _shifted(text: str) -> str:
    return "".join(chr(ord(sign) + _SHIFT) if ord(sign) < 0xFFFE else sign for sign in text)


def unshield(text: str) -> str:
    """Give the text as it was written, without the quotes."""
    bare = text.replace(OPEN, "").replace(CLOSE, "")
    return "".join(chr(ord(sign) - _SHIFT) if _SHIFT <= ord(sign) < 0xFFFFE else sign for sign in bare)


def fold(text: str) -> str:
    """Fold away case, accents, apostrophes and punctuation."""
    bare = _MARKS.sub("", unicodedata.normalize("NFKD", text.casefold())).translate(_LATIN)
    plain = re.sub(r"['’`]", "", unicodedata.normalize("NFC", bare))
    return " ".join(re.sub(r"[^\w+#%]+", " ", plain).split())


def alike(one: str, other: str) -> float:
    """Tell from 0 to 100 how alike two titles or names are; a leading article does not count."""
    return fuzz.ratio(_ARTICLE.sub("", fold(one)), _ARTICLE.sub("", fold(other)))


def within(part: str, whole: str) -> bool:
    """Tell whether every word of one text is a word of the other."""
    words = set(_ARTICLE.sub("", fold(part)).split())
    return bool(words) and words <= set(fold(whole).split())


def genre_in(text: str) -> str:
    """The first genre that a text names, as a catalog writes it, or nothing."""
    found = _GENRE_WORD.search(fold(text))
    return _GENRE_OF[found[0]] if found else ""


def without_genre(text: str) -> str:
    """The folded text without the names of genres."""
    return " ".join(_GENRE_WORD.sub(" ", fold(text)).split())


def money(value: Any) -> Decimal | None:
    """Read an amount such as "16.50", "$16.50" or 16.5."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    text = str(value).replace("$", "").replace(",", "").strip()
    try:
        return Decimal(text) if _AMOUNT.fullmatch(text) else None
    except InvalidOperation:
        return None


def dollars(amount: Decimal | None) -> str:
    """Write an amount as $16.50."""
    return "price unknown" if amount is None else f"${amount:.2f}"


def whole(value: Any) -> int | None:
    """Read a whole number such as 7, 7.0 or "7"; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    found = re.fullmatch(r"\s*(-?\d{1,12})(?:\.0+)?\s*", str(value), re.ASCII)
    return int(found[1]) if found else None


def listed(names: list[str]) -> str:
    """Join names as in "A, B and C"."""
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1] if names else "") if part)


def copies(count: float) -> str:
    """Write "1 copy", "3 copies"."""
    return f"{count:g} {'copy' if count == 1 else 'copies'}"
