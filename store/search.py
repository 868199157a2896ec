"""Searching the catalog: titles first, then authors and genres, then more by the author of the best title."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rapidfuzz import process
from rapidfuzz.distance import OSA, JaroWinkler
from sqlalchemy import Connection, Engine, Integer, bindparam, text

from store.checked import whole_number
from store.database import read
from store.full_text import matcher
from store.words import STOP_WORDS, fold, words_of

LONGEST_QUERY = 400
MOST_WORDS = 12
MOST_RESULTS = 50
SHORTEST_CORRECTED = 3
MOST_CANDIDATES = 20_000
ANYWHERE = "title author genre description"

_EXACT = text("SELECT id, title FROM book WHERE title_key = :key ORDER BY id LIMIT :most")
_TITLE = text("SELECT title FROM book_text WHERE book_id = :book")
_OTHERS_BY_AUTHOR = text(
    """SELECT other.id FROM book AS best JOIN book AS other ON other.author = best.author AND other.id <> best.id
    WHERE best.id = :book ORDER BY other.genre <> best.genre, other.stock = 0, other.id LIMIT :most"""
)
_HITS = text("SELECT id, title, author, genre, price_cents FROM book WHERE id IN :ids").bindparams(
    bindparam("ids", expanding=True)
)
_KNOWN = text("SELECT 1 FROM known_word WHERE length = :length AND word = :word")
_LENGTHS = bindparam("lengths", expanding=True, type_=Integer)
_NEAR = "SELECT word FROM known_word WHERE length IN :lengths"
_NEAR_ANY_LETTER = text(f"{_NEAR} LIMIT :most").bindparams(_LENGTHS)
_NEAR_ONE_LETTER = text(f"{_NEAR} AND word >= :letter AND word < :next LIMIT :most").bindparams(_LENGTHS)


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
    """The books found, the best first; ``corrected`` holds the words searched for instead of misspelled ones."""

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
        hits = {row.id: BookHit(*row) for row in db.execute(_HITS, {"ids": ids})}
        return SearchResult(tuple(hits[id_] for id_ in ids), corrected)


def _found(db: Connection, exact: list[int], words: list[str], most: int) -> tuple[list[int], str | None]:
    if not words:
        return _ranked(db, exact, [], most), None
    if ids := _ranked(db, exact, words, most):
        return ids, None
    likely = [_corrected(db, word) for word in words]
    corrected = " ".join(likely) if likely != words else None
    if corrected and (ids := _ranked(db, _exact_titles(db, corrected, corrected), likely, most)):
        return ids, corrected
    return _ranked(db, [], likely, most, every=False), corrected


def _ranked(db: Connection, exact: list[int], words: list[str], most: int, *, every: bool = True) -> list[int]:
    """Rank ids by the rule of the shop, at most so many.

    An exact title is what was asked for, so other titles like it leave two places of five to its author.
    """
    match = matcher(db, words, most)
    titles = _merged(exact, match("title", every=every))
    near = titles
    if len(titles) < most:
        near = _merged(titles, match("title author genre", every=every))
    found = near or match(ANYWHERE, every=every)
    places = most - most * 2 // 5 if exact else most
    ids = found[:places]
    if len(ids) < most and found and (titles or _title_has(db, found[0], words)):
        ids = _merged(ids, db.scalars(_OTHERS_BY_AUTHOR, {"book": found[0], "most": most}))
    ids = _merged(ids, found)
    if near and len(ids) < most:
        ids = _merged(ids, match(ANYWHERE, every=every))
    return ids[:most]


def _merged(*lists: Iterable[int]) -> list[int]:
    return list(dict.fromkeys(id_ for ids in lists for id_ in ids))


def _exact_titles(db: Connection, key: str, query: str) -> list[int]:
    """Find the books with this very title, the same spelling before a plural or another article."""
    if not key:
        return []
    rows = db.execute(_EXACT, {"key": key, "most": MOST_RESULTS}).all()
    wanted = fold(query).split()
    return [row.id for row in sorted(rows, key=lambda row: fold(row.title).split() != wanted)]


def _title_has(db: Connection, book_id: int, words: Sequence[str]) -> bool:
    title = db.scalar(_TITLE, {"book": book_id}) or ""
    return any(f" {word} " in f" {title} " for word in words)


def _corrected(db: Connection, word: str) -> str:
    """Replace a word that the catalog does not have by the nearest one it has, where one is near enough."""
    length, letter = len(word), word[0]
    if length < SHORTEST_CORRECTED or not word.isalpha() or db.scalar(_KNOWN, {"length": length, "word": word}):
        return word

    def of_lengths(spread: int) -> dict[str, object]:
        return {"lengths": list(range(length - spread, length + spread + 1)), "most": MOST_CANDIDATES}

    # Most people get the first letter right, and the table finds those quickly.
    alike = db.scalars(_NEAR_ONE_LETTER, of_lengths(2) | {"letter": letter, "next": chr(ord(letter) + 1)}).all()
    return _nearest(word, alike) or _nearest(word, db.scalars(_NEAR_ANY_LETTER, of_lengths(1)).all()) or word


def _nearest(word: str, candidates: Sequence[str]) -> str | None:
    """Pick the word with the fewest slips: one in a short word, three at most in a long one."""
    slips = 1 + (len(word) > 4) + (len(word) > 11)
    near = process.extract(word, candidates, scorer=OSA.distance, score_cutoff=slips, limit=8)
    best = min(near, key=lambda found: (found[1], -JaroWinkler.similarity(word, found[0])), default=None)
    return best[0] if best else None
