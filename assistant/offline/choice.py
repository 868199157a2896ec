"""Which book is meant: by title, by id, by what is listed, or by pointing at something said before."""

import re
from decimal import Decimal

from assistant.offline.desk import Desk
from assistant.offline.history import Notes
from assistant.offline.request import Wish
from assistant.offline.results import Book
from assistant.offline.words import alike, copies, dollars, fold, whole, within

ALSO = "The search also brought"
SURE = 90.0
SAME_NAME = 85.0
_ROW = re.compile(r"^- (.+)$", re.M)
_ASIDE = re.compile(rf"^(?:- |{ALSO}).*$", re.M)


class Unclear(Exception):
    """The customer has to say more; the message tells them what. ``open``: there are several to choose from."""

    def __init__(self, message: str, *, is_open: bool = False) -> None:
        super().__init__(message)
        self.open = is_open


def row(book: Book, *, with_id: bool = False) -> str:
    """One line of a list."""
    facts = [f"book {book.id}: {book.title}" if with_id else book.title, book.author, book.genre]
    return "- " + ", ".join(fact for fact in [*facts, dollars(book.price)] if fact)


def rows(books: list[Book], *, with_id: bool = False) -> str:
    """A list of books."""
    return "\n".join(row(book, with_id=with_id) for book in books)


def books_meant(wish: Wish, desk: Desk, verb: str) -> list[Book]:
    """The book that is meant; several where any of them will do, the best first. Raises Unclear."""
    if wish.book_id is not None and not wish.title:
        return [_by_id(wish.book_id, desk)]
    if wish.chooses:
        return _pointed_at(wish, desk.notes)
    if not wish.title:
        found = kind_of(wish, desk)
        if not found:
            raise Unclear("I found no book of that kind, so there is nothing to choose from.")
        return found
    return _by_title(wish, desk, verb)


def kind_of(wish: Wish, desk: Desk) -> list[Book]:
    """Search by author, genre and price, and keep what fits; the cheapest first where that was asked for."""
    query = " ".join(part for part in (wish.genre, wish.author) if part)
    return narrowed(desk.search(query, many=True).books, wish) if query else []


def narrowed(books: list[Book], wish: Wish) -> list[Book]:
    """Keep the books whose author, genre and price fit a wish."""
    kept = [
        book
        for book in books
        if (not wish.author or same_author(wish.author, book.author))
        and (not wish.genre or fold(wish.genre) == fold(book.genre))
        and _price_fits(book.price, wish)
    ]
    if wish.cheapest or wish.dearest:
        kept.sort(key=lambda book: book.price or Decimal(0), reverse=wish.dearest)
    return kept


def same_author(asked: str, author: str) -> bool:
    """Whether a name, or the surname alone, is that of an author."""
    return alike(asked, author) >= SAME_NAME or within(asked, author)


def _price_fits(price: Decimal | None, wish: Wish) -> bool:
    if price is None:
        return not (wish.under or wish.over or wish.price)
    # "under 11" leaves out what costs 11.00 only when people argue about it; a shop shows it.
    return (
        (wish.under is None or price <= wish.under)
        and (wish.over is None or price >= wish.over)
        and (wish.price is None or price == wish.price)
    )


def _by_id(book_id: int, desk: Desk) -> Book:
    return desk.notes.books.get(book_id, Book(book_id, f"Book {book_id}"))


def _by_title(wish: Wish, desk: Desk, verb: str) -> list[Book]:
    # Two books of one request may have come with one search; what is only like one may hide the one that is meant.
    seen = [book for book in desk.notes.found if fold(wish.title) == fold(book.title)]
    found = (
        list({book.id: book for book in seen}.values()) or desk.search(f"{wish.title} {wish.author}".strip()).books
    )
    named = [book for book in found if alike(wish.phrase, book.title) >= SURE]
    fitting = named or narrowed(found, Wish("", author=wish.author))
    close = closest(wish.title if not named else wish.phrase, fitting)
    if not close and wish.book_id is not None:
        return [_by_id(wish.book_id, desk)]
    if not close:
        shown = f" I did find:\n{rows(found)}" if found else ""
        by = f" by {wish.author}" if wish.author else ""
        raise Unclear(f"I found no book called “{wish.title}”{by}.{shown}")
    picked = narrowed(close, wish) or close
    if len(picked) > 1 and not (wish.cheapest or wish.dearest):
        same = len({fold(book.title) for book in picked}) == 1
        what = f"{len(picked)} editions of {picked[0].title}" if same else f"several books like “{wish.title}”"
        count = f" ({copies(wish.quantity)})" if wish.quantity > 1 else ""
        raise Unclear(
            f"There are {what}:\n{rows(picked, with_id=True)}\nWhich one shall I {verb}{count}?", is_open=True
        )
    return picked[:1]


def closest(title: str, books: list[Book]) -> list[Book]:
    """The books with the title asked for; failing that, those whose titles hold all its words."""
    scored = sorted(((alike(title, book.title), book) for book in books), key=lambda pair: -pair[0])
    if scored and scored[0][0] >= SURE:
        best = fold(scored[0][1].title)
        return [book for _, book in scored if fold(book.title) == best]
    return [book for book in books if within(title, book.title)]


def _pointed_at(wish: Wish, notes: Notes) -> list[Book]:
    if wish.points:
        return [subject(notes)]
    shown = offered(notes)
    fitting = narrowed(shown, wish)
    if wish.place:
        place = wish.place - 1 if wish.place > 0 else wish.place
        fitting = fitting[place : place + 1 or None] if -len(fitting) <= place < len(fitting) else []
    if not fitting:
        seen = f" of these:\n{rows(shown)}" if shown else "? I have not listed any books yet."
        raise Unclear(f"Which book do you mean{seen}")
    return fitting[:1]


def offered(notes: Notes) -> list[Book]:
    """The books listed in the last answer, in its order; failing that, those of the last search."""
    lines = _ROW.findall(notes.said)
    told = {fact: book for book in notes.books.values() for fact in (row(book)[2:], row(book, with_id=True)[2:])}
    listed_books = [told[line] for line in lines if line in told]
    searches = (result.books for result in reversed(notes.earlier) if result.books)
    return listed_books or next(searches, [])


def subject(notes: Notes) -> Book:
    """The one book that was talked about last: listed alone, named in the last answer, or touched by a call."""
    rows_said = _ROW.findall(notes.said)
    if len(rows_said) == 1 and len(shown := offered(notes)) == 1:
        return shown[0]
    if len(rows_said) > 1 and notes.question:
        raise Unclear(f"There are several:\n{rows(offered(notes), with_id=True)}\n{notes.question}", is_open=True)
    touched = [
        book
        for result in reversed(notes.earlier)
        if result.name in ("check_stock", "add_to_cart")
        and (book := notes.books.get(whole(result.arguments.get("book_id")) or -1))
    ]
    prose = _ASIDE.sub("", notes.said)
    named = [*touched, *notes.books.values()]
    spoken = [(prose.rfind(book.title) + len(book.title), book) for book in named if book.title in prose]
    if spoken:
        # Later in the answer wins; where one title is within another, both end at one place and the longer wins.
        return max(spoken, key=lambda pair: (pair[0], len(pair[1].title)))[1]
    if touched:
        return touched[0]
    raise Unclear("Which book do you mean? Tell me its title, please.")
