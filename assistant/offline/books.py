"""What the stand-in says of books: how many there are, and which ones fit."""

import re
from dataclasses import replace

from assistant.offline.choice import ALSO, SURE, books_meant, closest, kind_of, narrowed, offered, rows
from assistant.offline.desk import Desk
from assistant.offline.questions import search_question, stock_question
from assistant.offline.request import Wish, plain
from assistant.offline.results import Book
from assistant.offline.words import OPEN, alike, copies, dollars, listed

BROAD = ("novel", "mystery", "children")
"""Where to look for a book that is told by its price alone: the catalog is only searched by words."""

MOOD = re.compile(r"^(?:recommend|suggest|surprise|what should i read|i(?:['’]m| am) (?!looking)|i feel)", re.I)
_NOT_A_TITLE = re.compile(
    r"^(?:what|who|when|where|why|how|which|can|could|do|does|did|is|are|i|you|we|my|write|tell|translate|explain|play|"
    r"make|sing|calculate|compute|book a|open|send|call|help|give|if|let|should|will|would)\b",
    re.I,
)


def tell_stock(request: str, desk: Desk) -> str | None:
    """How many copies there are."""
    wish = stock_question(request)
    return stock_of(wish, desk) if wish else None


def stock_of(wish: Wish, desk: Desk) -> str:
    """How many copies there are of the book that is meant."""
    book = books_meant(wish, desk, "look up")[0]
    left = desk.stock(book.id)
    title = desk.notes.books.get(book.id, book).title
    price = f" It costs {dollars(book.price)}." if book.price is not None else ""
    if left == 0:
        return f"{title} is out of stock: there are 0 copies.{price}"
    return f"{title} is in stock: {copies(left)}.{price}"


def find_books(request: str, desk: Desk) -> str | None:
    """Books by title, author, genre and price."""
    if (wish := search_question(request)) is None:
        return None
    if wish.chooses and not wish.points and offered(desk.notes):
        return _list(narrowed(offered(desk.notes), wish), wish)
    if MOOD.search(plain(request)) and not (wish.filters or wish.by_subject or OPEN in request):
        return None
    if wish.points:
        return rows(books_meant(wish, desk, "look up"))
    if not wish.title:
        genres = (wish,) if wish.genre or wish.author else tuple(replace(wish, genre=genre) for genre in BROAD)
        found = [book for one in genres for book in kind_of(one, desk)]
        where = "" if len(genres) == 1 else "I looked among novels, mysteries and children's books. "
        return where + _list(narrowed(found, wish), wish)
    result = desk.search(f"{wish.title} {wish.author}".strip())
    corrected = result.data.get("corrected_query")
    spelled = f"I searched for “{corrected}” instead. " if isinstance(corrected, str) else ""
    fitting = narrowed(result.books, wish)
    if exact := [book for book in closest(wish.title, fitting) if alike(wish.title, book.title) >= SURE]:
        others = list(dict.fromkeys(book.title for book in fitting if book not in exact))
        also = f"\n{ALSO} {listed(others)}." if others else ""
        return f"{spelled}{_list(exact, wish)}{also}"
    return spelled + _list(fitting, wish)


def _list(books: list[Book], wish: Wish) -> str:
    if not books:
        return f"I found nothing that fits “{wish.phrase}”. Try the title, the author or the genre alone."
    if wish.cheapest or wish.dearest:
        which = "most expensive" if wish.dearest else "cheapest"
        return f"The {which} of the {len(books)} I found:\n{rows(books[:1])}"
    return (
        f"I found {'this book' if len(books) == 1 else f'these {min(len(books), 10)} books'}:\n{rows(books[:10])}"
    )


def bare_title(request: str, desk: Desk) -> str | None:
    """A title, an author or a genre and nothing else."""
    asked = plain(request)
    titled = OPEN in asked or (asked.istitle() and len(asked.split()) > 1)
    if not asked or len(asked.split()) > 8 or MOOD.search(asked) or (_NOT_A_TITLE.search(asked) and not titled):
        return None
    return find_books(f"find {asked}", desk)
