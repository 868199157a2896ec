"""What a phrase says of books: titles that stand in it, how many copies, or a kind by author, genre and price.

The stand-in has no grammar of titles. It searches with the customer's words and looks which of the titles, authors
and genres that come back stand in them.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from rapidfuzz import fuzz, process

from assistant.offline.notes import Book, Notes, dollars, money, whole

ALIKE = 88.0
"""From 0 to 100: how alike a phrase and a title must be where no title stands in the phrase."""
_COUNTED = re.findall(r"\w+", "zero one two three four five six seven eight nine ten eleven twelve")
_COUNTS = {word: number for number, word in enumerate(_COUNTED)} | {"dozen": 12, "a": 1, "another": 1}
_COUNT = re.compile(
    rf"(?<![\w.,$−-])(?P<count>-?\d{{1,6}}(?:\.\d{{1,3}})?|{'|'.join(_COUNTS)}) "
    r"(?:more cop(?:y|ies)|more|cop(?:y|ies))\b(?: of\b)?",
    re.I,
)
_UNDER = re.compile(r"\b(?:for )?(?:under|below|less than|cheaper than) (\$?\d+(?:\.\d+)?)(?: dollars)?", re.I)
_CHEAPEST = re.compile(r"\b(?:the )?cheapest\b(?: (?:edition|copy) of\b)?", re.I)
_AUTHOR = re.compile(r"\bby ([^\d,.?!]+)$", re.I)
_ARTICLE = re.compile(r"^(?:the|a|an) (?=.)")
_BOOK_ID = re.compile(r"\b(?:book|id)(?: number)? #?(\d{1,9})\b")
_MARK = re.compile("[\ue000-\uf8ff]")
"""Signs of no script: each stands for a book that was found in a text."""
_QUOTES = str.maketrans({"’": "'", "‘": "'", "`": "'", **dict.fromkeys('"“”„«»「」', " ")})
_ACCENTS = re.compile("[\u0300-\u036f]")
_ORDINALS = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1}
_PLACE = re.compile(rf"(?:the )?(?P<place>cheapest|{'|'.join(_ORDINALS)})(?: one| book)?(?: instead)?")
_IT = re.compile(r"(?:it|this|that|one|another|(?:this|that|another) (?:one|book))?")
_ROW = re.compile(r"^- .*\(book (\d{1,9})\)$", re.M)
_FILLERS = {
    *re.findall(r"\w+", "a an the and plus of by book books novel title called both also please add edition")
}


Pick = tuple[Sequence[Book], float]
"""A book that a phrase names, with the copies asked for: several books where they share the title."""


class Unclear(Exception):
    """The customer has to say more; the message tells them what."""


@dataclass(frozen=True)
class Kind:
    """A kind of book: what to search for, by whom it is, and below which price."""

    query: str
    author: str
    under: Decimal | None
    cheapest: bool

    def narrows(self, books: Iterable[Book]) -> bool:
        """Whether the phrase names an author, a price or one of the genres of these books at all."""
        return bool(self.author or self.under or self.cheapest or self._genre(books))

    def of(self, books: Sequence[Book]) -> list[Book]:
        """The books of this kind, each once; the first of the cheapest alone where that is asked for."""
        genre = self._genre(books)
        kept = [book for book in {book.id: book for book in books}.values() if genre in ("", book.genre)]
        if self.author:
            kept = [book for book in kept if stands_in(plain(self.author), plain(book.author))]
        if self.under is not None:
            kept = [book for book in kept if book.price is not None and book.price < self.under]
        return sorted(kept, key=lambda book: book.price or 0)[:1] if self.cheapest else kept

    def names_genre(self, book: Book) -> bool:
        """Whether the phrase names the genre of a book."""
        return stands_in(_singular(book.genre), _singular(self.query))

    def _genre(self, books: Iterable[Book]) -> str:
        named = {book.genre for book in books if self.names_genre(book)}
        return max(named, key=len, default="")  # "science" stands in "science fiction", too


def kind_in(phrase: str) -> Kind:
    """Read a phrase as the description of a kind of book."""
    under, rest = _UNDER.search(phrase), _UNDER.sub("", phrase).strip()
    author, query = _AUTHOR.search(rest), " ".join(_CHEAPEST.sub("", rest).split())
    return Kind(
        query, author[1] if author else "", money(under[1]) if under else None, query != " ".join(rest.split())
    )


def count_in(phrase: str) -> tuple[float, str]:
    """The copies a phrase asks for, 1 if it does not say, and the phrase without that."""
    found = _COUNT.search(phrase)
    if not found:
        return 1, phrase
    count = found["count"].lower()
    rest = " ".join(f"{phrase[: found.start()]} {phrase[found.end() :]}".split())
    return (_COUNTS[count] if count in _COUNTS else float(count)), rest


def named_in(phrase: str, found: Sequence[Book], known: Mapping[int, Book]) -> tuple[list[Pick], list[str]]:
    """The books whose title, or id as in "book 7", stands in a phrase, in its order; and the words left over."""
    text, marked = plain(phrase), list[list[Book]]()

    def mark(books: list[Book]) -> str:
        marked.append(books)
        return f" {chr(0xE000 + len(marked) - 1)} "

    titles = _by_title(found)
    for title in sorted(titles, key=len, reverse=True):  # the longer first: one title may stand in another
        if stands_in(title, text):
            text = re.sub(rf"(?:\b(?:the|an?) )?{_whole(title)}", mark(titles[title]), text, count=1)
    text = _BOOK_ID.sub(lambda id_: mark([known.get(int(id_[1]), Book(int(id_[1]), f"Book {id_[1]}"))]), text)
    if not marked:
        return _most_alike(text, titles), []
    gaps = [count_in(gap) for gap in _MARK.split(text)]
    signs = zip(_MARK.findall(text), gaps, strict=False)  # what follows the last sign counts nothing
    picks: list[Pick] = [(marked[ord(sign) - 0xE000], count) for sign, (count, _) in signs]
    told = {word for books, _ in picks for book in books for word in plain(f"{book.author} {book.genre}").split()}
    rest = [word.strip(".,;:!?&()'") for _, gap in gaps for word in gap.split()]
    return picks, [word for word in rest if word and word not in told | _FILLERS]


def _most_alike(text: str, titles: Mapping[str, list[Book]]) -> list[Pick]:
    count, asked = count_in(text)
    best = process.extractOne(_ARTICLE.sub("", asked), list(titles), scorer=fuzz.ratio, score_cutoff=ALIKE)
    return [(titles[best[0]], count)] if best else []


def _by_title(books: Iterable[Book]) -> dict[str, list[Book]]:
    """Books by their titles, in plain letters and without the article: editions stand together."""
    titles: dict[str, list[Book]] = {}
    for book in books:
        titles.setdefault(_ARTICLE.sub("", plain(book.title)), []).append(book)
    return titles


def pointed_at(phrase: str, notes: Notes) -> Book | None:
    """The book that a phrase such as "it" or "the second one" points at; None if it does not point.

    Raises Unclear if there is nothing there, or several.
    """
    words, shown = plain(phrase), offered(notes)
    if _IT.fullmatch(words):
        return _spoken_of(notes)
    if not (found := _PLACE.fullmatch(words)):
        return None
    if found["place"] == "cheapest":
        return min(shown, key=lambda book: book.price or 0, default=None)
    if not (there := shown[_ORDINALS[found["place"]] :]):
        raise Unclear(f"I have listed {len(shown)} books, so I do not know which one you mean.")
    return there[0]


def offered(notes: Notes) -> list[Book]:
    """The books that the last answer listed, in its order."""
    return [notes.books[int(id_)] for id_ in _ROW.findall(notes.said) if int(id_) in notes.books]


def _spoken_of(notes: Notes) -> Book:
    """The one book of the last answer: the only one it listed, or the last one a call was about that it names."""
    shown = offered(notes)
    if len(shown) > 1:
        raise Unclear(f"There are several:\n{rows(shown)}\n{notes.question or 'Tell me which one, please.'}")
    touched = [notes.books.get(whole(made.arguments.get("book_id")) or 0) for made in reversed(notes.earlier)]
    for book in [*shown, *touched]:
        if book and book.title in notes.said:
            return book
    raise Unclear("Tell me the title of the book you mean, please.")


def rows(books: Iterable[Book]) -> str:
    """A list of books, each with its id, by which ``offered`` knows it again."""
    return "\n".join(
        f"- {', '.join(filter(None, (book.title, book.author, book.genre, dollars(book.price))))} (book {book.id})"
        for book in books
    )


def plain(text: str) -> str:
    """A text in small letters, without accents, quotes and what ends a sentence, to compare it."""
    bare = _ACCENTS.sub("", unicodedata.normalize("NFKD", _MARK.sub(" ", text).translate(_QUOTES).casefold()))
    return " ".join(unicodedata.normalize("NFC", bare).split()).strip(" .,;:!?")


def stands_in(part: str, text: str) -> bool:
    """Whether words stand in a text, one after the other."""
    return bool(part) and re.search(_whole(part), text) is not None


def _whole(part: str) -> str:
    return rf"(?<!\w){re.escape(part)}(?!\w)"


def _singular(text: str) -> str:
    words = re.findall(r"\w+", plain(text))
    return " ".join(f"{word[:-3]}y" if word.endswith("ies") else word.removesuffix("s") for word in words)
