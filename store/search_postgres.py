"""Full-text search on PostgreSQL: a weighted index over the words of the books."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import text
from sqlmodel import Session

from store.words import Match

WEIGHTS = {"title": "A", "author": "B", "genre": "C", "description": "D"}
DOCUMENT = " || ".join(
    f"setweight(to_tsvector('simple', {field}), '{weight}')" for field, weight in WEIGHTS.items()
)
INDEX = (f"CREATE INDEX book_index ON book_text USING gin (({DOCUMENT}))",)

RANKED = text(
    f"""SELECT book_id FROM book_text, to_tsquery('simple', :query) AS query WHERE {DOCUMENT} @@ query
    ORDER BY ts_rank('{{0.1, 0.3, 0.5, 1.0}}', {DOCUMENT}, query, 1) DESC, book_id LIMIT :most"""  # noqa: S608
)


def matcher(db: Session, words: Sequence[str], most: int) -> Match:
    """Prepare the search for words: a function that lists the ids of books by field, the best first.

    Words come from `words_of`, so none holds an operator; the last may go on, as somebody is still typing it.
    """

    def match(fields: str, *, every: bool) -> list[int]:
        weights = "".join(WEIGHTS[field] for field in fields.split())
        terms = [_term(word, weights) for word in words[:-1]] + [_term(words[-1], "*" + weights)]
        return list(db.scalars(RANKED, {"query": (" & " if every else " | ").join(terms), "most": most}))

    return match


def _term(word: str, label: str) -> str:
    """Word one search word; a spaced run of characters is a phrase."""
    return "(" + " <-> ".join(f"{part}:{label}" for part in word.split()) + ")"
