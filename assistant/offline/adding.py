"""How the stand-in adds books: look, decide, add, and say truly what became of it."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from assistant.offline.choice import Unclear, books_meant, narrowed, rows
from assistant.offline.desk import Added, Desk, Trouble
from assistant.offline.intents import Adding, Alternative
from assistant.offline.request import Wish
from assistant.offline.results import Book
from assistant.offline.wishes import wishes_of
from assistant.offline.words import copies, dollars, fold, listed


class Refused(Exception):
    """A book cannot be had; the message completes "The Last Lighthouse ..."."""


class InDoubt(Exception):
    """An add failed in a way that may have taken effect."""

    def __init__(self, book: Book, trouble: Trouble) -> None:
        super().__init__(
            f"I tried to add {book.title}, but the call failed (“{trouble}”) and may still have taken effect. "
            "Please look at your cart before you ask for it again; I have not repeated it."
        )


def add(job: Adding, desk: Desk, wishes: list[Wish] | None = None) -> str:
    """Add what a request asks for, one book after another, and tell what was done and what was not."""
    wishes = wishes or wishes_of(job, desk)
    wrong = next((wish for wish in wishes if wish.quantity < 1 or wish.quantity % 1), None)
    if wrong:
        rule = "a quantity is a whole number, 1 or more"
        return f"I cannot add {copies(wrong.quantity)}: {rule}. I have added nothing."
    if not desk.has("add_to_cart"):
        return "I have no tool to put anything into a cart here, so I have added nothing."
    told, total = [], None
    for wish in wishes:
        words, added = _obtain(wish, job, desk)
        told.append(words)
        total = added.total if added else total
    if total is not None:
        told.append(f"Your cart total is {dollars(total)}.")
    return "".join(f"{words}\n" if "\n" in words else f"{words} " for words in told).strip()


def _obtain(wish: Wish, job: Adding, desk: Desk) -> tuple[str, Added | None]:
    """Try the book that is meant, then what may stand in for it; the first that can be had is added."""
    refused: list[tuple[Book, str]] = []
    try:
        meant = _meant(wish, job, desk, refused)
        if job.only_instead and meant and (kept := _still_there(meant[0], desk)):
            return kept, None
        for book in chain(meant, _stand_ins(next(iter(meant), None), job.alternative, desk)):
            try:
                added = _add_one(book, int(wish.quantity), desk)
            except Refused as reason:
                refused.append((book, str(reason)))
            except InDoubt as doubt:
                return f"{_reasons(refused, end='. ')}{doubt}", None
            else:
                return _added_words(added, refused), added
    except Unclear as unclear:
        return f"{_reasons(refused, end='. ')}{unclear}", None
    except Trouble as trouble:
        failed = f"The shop could not answer (“{trouble}”), so I have not added it."
        return f"{_reasons(refused, end='. ')}{failed}", None
    return _nothing_added(refused, job.alternative, desk), None


def _meant(wish: Wish, job: Adding, desk: Desk, refused: list[tuple[Book, str]]) -> list[Book]:
    """The book that is asked for; one the catalog lacks counts as refused where an author is named to go by."""
    try:
        return books_meant(wish, desk, "add")
    except Unclear as unclear:
        if unclear.open or not (job.alternative and job.alternative.wish.author):
            raise
        refused.append((Book(0, f"“{wish.title}”"), "is not in the catalog"))
        return []


def _stand_ins(first: Book | None, alternative: Alternative | None, desk: Desk) -> Iterator[Book]:
    """What may be added instead: from what was found, or from one more search by the author's name."""
    if alternative is None:
        return
    wish = alternative.wish
    if alternative.same_author:
        author = (first.author if first else "") or _author(first, desk)
        if not author:
            return
        wish = replace(wish, author=author)
    elif wish.title or wish.book_id:
        yield from books_meant(wish, desk, "add")
        return
    others = _others(desk.notes.found, wish, first)
    if not others:
        searched = desk.search(wish.author or wish.genre, why="I look for others to take instead.")
        others = _others(searched.books, wish, first)
    yield from others


def _author(book: Book | None, desk: Desk) -> str:
    """Find the author of a book that is only known by its id."""
    title = desk.notes.books[book.id].title if book and book.id in desk.notes.books else ""
    found = desk.search(title).books if title else []
    return next((other.author for other in found if book and other.id == book.id), "")


def _others(books: list[Book], wish: Wish, first: Book | None) -> list[Book]:
    title = fold(first.title) if first else ""
    unique = {book.id: book for book in books if fold(book.title) != title and not (first and book.id == first.id)}
    return narrowed(list(unique.values()), wish)


def _copies_left(book: Book, desk: Desk) -> int | None:
    """The copies in stock, None where the shop does not tell: then the cart itself decides."""
    if not desk.has("check_stock"):
        return None
    try:
        return desk.stock(book.id)
    except Trouble as trouble:
        if "no book" in str(trouble):
            raise Refused(f"could not be had: the shop says “{trouble}”") from None
        return None


def _still_there(book: Book, desk: Desk) -> str:
    """Why nothing is added in place of a book that is not itself asked for; empty if it is gone."""
    try:
        left = _copies_left(book, desk)
    except Refused:
        return ""
    if left is None:
        return f"I could not read the stock of {book.title}, so I added nothing."
    return f"{book.title} is available ({copies(left)} in stock), so I added nothing in its place." if left else ""


def _add_one(book: Book, quantity: int, desk: Desk) -> Added:
    left = _copies_left(book, desk)
    if left == 0:
        raise Refused("is out of stock")
    if left is not None and left < quantity:
        raise Refused(f"has only {copies(left)} in stock")
    try:
        return desk.add(book, quantity)
    except Trouble as trouble:
        if trouble.unsure:
            raise InDoubt(book, trouble) from None
        if "out of stock" in str(trouble):
            raise Refused("is out of stock after all" if left else "is out of stock") from None
        raise Refused(f"could not be added: the shop says “{trouble}”") from None


def _added_words(added: Added, refused: list[tuple[Book, str]]) -> str:
    count = "" if added.quantity == 1 else f"{copies(added.quantity)} of "
    if not refused:
        return f"I added {count}{added.title} to your cart."
    return f"{_reasons(refused)}, so I added {count}{added.title} to your cart instead."


def _nothing_added(refused: list[tuple[Book, str]], alternative: Alternative | None, desk: Desk) -> str:
    book = refused[0][0]
    more = ""
    if alternative and len(refused) == 1:
        more = " I found nothing that could take its place."
    if alternative is None and book.author:
        others = _others(desk.notes.found, Wish("", author=book.author), book)[:3]
        more = f" Other books by {book.author} that I found:\n{rows(others)}" if others else ""
    return f"{_reasons(refused)}. I have not added {'anything' if len(refused) > 1 else 'it'} to your cart.{more}"


def _reasons(refused: list[tuple[Book, str]], end: str = "") -> str:
    gone = [book.title for book, why in refused if why == "is out of stock"]
    rest = [f"{book.title} {why}" for book, why in refused if why != "is out of stock"]
    both = [f"{listed(gone)} {'is' if len(gone) == 1 else 'are'} out of stock"] if gone else []
    return "; ".join([*both, *rest]) + (end if refused else "")
