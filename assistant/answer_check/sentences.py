"""An answer laid out for reading: its sentences, what they name, and where in them something can be stated.

Known titles are blanked, so that no word and no number of a title counts. Everything is found in one pass and
looked up by its place; around a match only its own stretch is read: time grows with the length of the answer.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, TypeVar

T = TypeVar("T")
Sense = Literal["now", "past", "bound", "supposed"]
BLANK = "\ue000"
"""Stands for each sign of a known title."""
_UNKNOWN_BOOK = "stock:?"
CART = r"(?:cart|basket|trolley)"
LOOKED = r"as of|last (?:saw|read|checked|looked)"


# Where sentences and clauses end.
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[^a-z\s])|\n+")
_CLAUSE_END = re.compile(r"[;:,]\s|\b(?:and|but|so|because|while|although|though)\b")
# Books and orders; a number alone is an order where it is known to be one.
_WORD = re.compile(r"\w+")
_TITLE_BEGINS, _TITLE_ENDS = re.compile(r"(?<![\w$.,-])"), re.compile(r"(?!\w|[.,]\d)")
_OF_THINGS = re.compile(r"\s+(?:cop|in stock|left|available|books?|pages?)")
LIKE_A_TITLE = re.compile(
    r"(?<![\w'’])[A-Z][\w'’]{0,40}(?:\s(?:of|the|to|and|a|an|in|for|at)\b){0,3}\s[A-Z][\w'’]"
)
_ORDER = re.compile(
    r"\bo-?(\d{1,10})\b|\border (?:number )?#?(\d{1,10})\b|(?<![\w$.,-])(\d{4,10})(?!\w|-\d|[.,]\d)"
)
# Whether something is so now: the words of the past, and those that lead back to the present.
_TENSE = re.compile(
    rf"\b(?:(?P<past>was|were|had|came|before|earlier|previous(?:ly)?|formerly|no longer|not|\w{{1,8}}n['’]t|"
    rf"instead of|used to|until|old|{LOOKED}|last time|changed|from(?=\s+\$?\d))|"
    rf"is|are|has|have|(?:it|that|there)['’]s|now|currently|costs|comes|holds?|total|sum|{CART})\b"
)
_BOUND = re.compile(
    r"\b(?:under|below|less than|over|above|more than|budget(?: of)?|up to|at most|at least|within)\s*$"
)
_OR_LESS = re.compile(r"\s*(?:budget|limit|or (?:less|more|under|below|fewer))\b")
_SUPPOSED = re.compile(r"\b(?:if|unless|would|could|might)\b")


class Sentence(NamedTuple):
    """A sentence, its orders, and the books and orders it names or, where it names none, that were named last."""

    start: int
    end: int
    own_orders: tuple[str, ...]
    orders: tuple[str, ...]
    books: tuple[str, ...]
    titles: tuple[str, ...]


class Place(NamedTuple):
    """A match in a sentence, the place where the match before it ended, and its own stretch of its clause."""

    start: int
    end: int
    found: re.Match[str]
    sentence: Sentence
    last: int
    begin: int
    stop: int


class Text:
    """An answer without the marks of bold and code, and where it says what.

    ``plain`` is what people read, ``kept`` the place of each of its signs in the answer; ``blanked`` is ``plain``
    without titles, ``low`` that in lower case.
    """

    def __init__(self, answer: str, books: Mapping[str, Collection[int]], orders: Collection[int]) -> None:
        self.kept = [place for place, sign in enumerate(answer) if sign not in "*`"]
        self.plain = "".join([answer[place] for place in self.kept])
        signs, named = list(self.plain), list(_titles(_lower(self.plain), books))
        for start, end, _ in named:
            signs[start:end] = BLANK * (end - start)
        self.blanked = "".join(signs)
        self.low = _lower(self.blanked)
        self._titles = [(start, title.casefold()) for start, _, title in named]
        known = [(start, f"stock:{number}") for start, _, title in named for number in books[title]]
        unknown = [(found.start(), _UNKNOWN_BOOK) for found in LIKE_A_TITLE.finditer(self.blanked)]
        self._books = sorted(known + unknown)
        numbers = [(found, int(found[1] or found[2] or found[3])) for found in _ORDER.finditer(self.low)]
        self._orders = [(found.start(), f"order:{n}") for found, n in numbers if not found[3] or n in orders]
        self._tenses = [(found.start(), found["past"] is not None) for found in _TENSE.finditer(self.low)]
        self._clauses = list(_split(_CLAUSE_END, self.low))
        self._sentences = list(self._read_sentences())

    def _read_sentences(self) -> Iterator[Sentence]:
        books: tuple[str, ...] = ()
        orders: tuple[str, ...] = ()
        for start, end in _split(_SENTENCE_END, self.blanked):
            own = self.orders_in(start, end)
            books, orders = self.books_in(start, end) or books, own or orders
            yield Sentence(start, end, own, orders, books, self.titles_in(start, end))

    def titles_in(self, start: int, end: int) -> tuple[str, ...]:
        """The known titles that a stretch names, casefolded."""
        return _within(self._titles, start, end)

    def orders_in(self, start: int, end: int) -> tuple[str, ...]:
        """The orders that a stretch names."""
        return _within(self._orders, start, end)

    def books_in(self, start: int, end: int) -> tuple[str, ...]:
        """The books that a stretch names; one that is not known only where no known one is named."""
        found = _within(self._books, start, end)
        return tuple([name for name in found if name != _UNKNOWN_BOOK]) or found

    def places(
        self, pattern: re.Pattern[str], wanted: Callable[[re.Match[str]], bool] | None = None
    ) -> Iterator[Place]:
        """Where a pattern matches within a sentence, but for matches that are not wanted."""
        found = [one for one in pattern.finditer(self.low) if wanted is None or wanted(one)]
        last = 0
        for one, next_start in zip(found, [*(one.start() for one in found[1:]), len(self.low)], strict=False):
            start, end = one.span()
            sentence = self._sentences[bisect_left(self._sentences, (start + 1,)) - 1]
            clause = self._clauses[bisect_left(self._clauses, (start + 1,)) - 1]
            if end <= sentence.end:
                last = max(last, sentence.start)
                stop = min(clause[1], sentence.end, next_start)
                yield Place(start, end, one, sentence, last, max(last, clause[0]), stop)
                last = end

    def sense(self, place: Place) -> Sense:
        """How a figure is meant: by the words of its clause, else by the last of the clauses before."""
        if _BOUND.search(self.low, max(place.begin, place.start - 30), place.start):
            return "bound"
        if _OR_LESS.match(self.low, place.end, place.stop):
            return "bound"
        if _SUPPOSED.search(self.low, place.begin, place.stop):
            return "supposed"
        around = *_within(self._tenses, place.begin, place.start), *_within(self._tenses, place.end, place.stop)
        return "past" if True in (around or self._tense_before(place)) else "now"

    def _tense_before(self, place: Place) -> tuple[bool, ...]:
        number = bisect_left(self._tenses, (place.begin,)) - 1
        return self._tenses[number][1:] if number >= 0 and self._tenses[number][0] >= place.sentence.start else ()


def _within(marks: Sequence[tuple[int, T]], start: int, end: int) -> tuple[T, ...]:
    """What the marks in a stretch say, each once."""
    first, last = bisect_left(marks, (start,)), bisect_left(marks, (end,))
    return tuple(dict.fromkeys([said for _, said in marks[first:last]])) if first < last else ()


def _split(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """The stretches of a text between the matches of a pattern."""
    start = 0
    for found in pattern.finditer(text):
        yield start, found.start()
        start = found.end()
    yield start, len(text)


def _lower(text: str) -> str:
    """A text in lower case, sign for sign."""
    return text.replace("İ", "I").lower()  # the only sign that would become two


def _titles(low: str, books: Iterable[str]) -> Iterator[tuple[int, int, str]]:
    """Where known titles stand, whole; of two that begin at one place, the longer."""
    by_word = defaultdict(list)
    for title in sorted(books, key=len, reverse=True):
        if first := _WORD.search(lowered := _lower(title)):
            by_word[first[0]].append((first.start(), lowered, title))
    last = 0
    for word in _WORD.finditer(low) if by_word else ():
        for offset, lowered, title in by_word.get(word[0], ()):
            start = word.start() - offset
            end = start + len(title)
            if start >= last and low.startswith(lowered, start) and _is_title(low, start, end):
                yield start, end, title
                last = end
                break


def _is_title(low: str, start: int, end: int) -> bool:
    """Whether a title stands alone; one that is a number is not meant where things are counted."""
    if low[start:end].isdecimal() and _OF_THINGS.match(low, end):
        return False
    return bool(_TITLE_BEGINS.match(low, start) and _TITLE_ENDS.match(low, end))
