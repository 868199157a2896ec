"""Searching the catalog: titles first, then authors and genres, then more by the author of the best title."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Engine, select
from sqlmodel import Session, col

from store import search_postgres, search_sqlite
from store.checked import whole_number
from store.engine import read
from store.models import Book, BookText
from store.spelling import corrected_words
from store.words import STOP_WORDS, Match, fold, words_of

LONGEST_QUERY = 400
MOST_WORDS = 12
MOST_RESULTS = 50
ANYWHERE = "title author genre description"


@dataclass(frozen=True)
class BookHit:
    """A book that was found; the price is in cents."""

    id: int
    title: str
    author: str
    genre: str
    price_cents: int


@dataclass(frozen=True)
class SearchResult:
    """The books found, the best first; `corrected` holds the words searched for instead of misspelled ones."""

    books: tuple[BookHit, ...]
    corrected: str | None = None


def search_books(engine: Engine, query: str, max_results: int = 5) -> SearchResult:
    """Find books by title, author, genre or description, 1 to 50 of them; any text at all is a valid query.

    Every word must be found; failing that, misspelled words are corrected; failing that, any word will do. Stop
    words count only where they make up a whole title.
    """
    whole_number(max_results, 1, MOST_RESULTS, "max_results")
    query = query[:LONGEST_QUERY]
    all_words = words_of(query)[:MOST_WORDS]
    words = [word for word in all_words if word not in STOP_WORDS]
    with read(engine) as db:
        exact = _exact_titles(db, " ".join(words or all_words), query)
        ids, corrected = _found(db, exact, words, max_results)
        return SearchResult(_hits(db, ids), corrected)


def _found(db: Session, exact: list[int], words: list[str], most: int) -> tuple[list[int], str | None]:
    if not words:
        return _ranked(db, exact, [], most), None
    if ids := _ranked(db, exact, words, most):
        return ids, None
    likely = corrected_words(db, words)
    corrected = " ".join(likely) if likely != words else None
    if corrected and (ids := _ranked(db, _exact_titles(db, corrected, corrected), likely, most)):
        return ids, corrected
    return _ranked(db, [], likely, most, every=False), corrected


def _ranked(db: Session, exact: list[int], words: list[str], most: int, *, every: bool = True) -> list[int]:
    """Rank ids by the rule of the shop, at most so many.

    An exact title is what was asked for, so other titles like it leave two places of five to its author.
    """
    match = _matcher(db, words, most)
    titles = _merged(exact, match("title", every=every))
    near = titles
    if len(titles) < most:
        near = _merged(titles, match("title author genre", every=every))
    found = near or match(ANYWHERE, every=every)
    places = most - most * 2 // 5 if exact else most
    ids = found[:places]
    if len(ids) < most and found and (titles or _title_has(db, found[0], words)):
        ids = _merged(ids, _others_by_author(db, found[0], most))
    ids = _merged(ids, found)
    if near and len(ids) < most:
        ids = _merged(ids, match(ANYWHERE, every=every))
    return ids[:most]


def _matcher(db: Session, words: Sequence[str], most: int) -> Match:
    if not words:
        return lambda fields, *, every: []  # noqa: ARG005 - stop words alone match nothing
    if db.get_bind().dialect.name == "postgresql":
        return search_postgres.matcher(db, words, most)
    return search_sqlite.matcher(db, words, most)


def _merged(*lists: Iterable[int]) -> list[int]:
    return list(dict.fromkeys(id_ for ids in lists for id_ in ids))


def _exact_titles(db: Session, key: str, query: str) -> list[int]:
    """Find the books with this very title, the same spelling before a plural or another article."""
    if not key:
        return []
    same = select(col(Book.id), col(Book.title)).where(col(Book.title_key) == key).order_by(col(Book.id))
    rows = db.execute(same.limit(MOST_RESULTS)).all()
    wanted = fold(query).split()
    return [row.id for row in sorted(rows, key=lambda row: fold(row.title).split() != wanted)]


def _title_has(db: Session, book_id: int, words: Sequence[str]) -> bool:
    title = db.scalar(select(col(BookText.title)).where(col(BookText.book_id) == book_id)) or ""
    return any(f" {word} " in f" {title} " for word in words)


def _others_by_author(db: Session, book_id: int, most: int) -> list[int]:
    """List other books by the author of a book: the same genre first, what is in stock first, then by id."""
    best = db.get_one(Book, book_id)
    others = select(col(Book.id)).where(col(Book.author) == best.author, col(Book.id) != book_id)
    ranked = others.order_by(col(Book.genre) != best.genre, col(Book.stock) == 0, col(Book.id))
    return list(db.scalars(ranked.limit(most)))


def _hits(db: Session, ids: list[int]) -> tuple[BookHit, ...]:
    rows = db.execute(
        select(col(Book.id), col(Book.title), col(Book.author), col(Book.genre), col(Book.price_cents)).where(
            col(Book.id).in_(ids)
        )
    )
    hits = {row.id: BookHit(*row) for row in rows}
    return tuple(hits[id_] for id_ in ids)
