"""Misspelled words, corrected to words that occur in the catalog."""

from __future__ import annotations

from collections.abc import Sequence

from rapidfuzz import process
from rapidfuzz.distance import OSA, JaroWinkler
from sqlalchemy import select
from sqlmodel import Session, col

from store.models import KnownWord

SHORTEST_WORD = 3
MOST_CANDIDATES = 20_000


def corrected_words(db: Session, words: Sequence[str]) -> list[str]:
    """Replace each word that the catalog does not have by the nearest one it has, where one is near enough."""
    return [_corrected(db, word) for word in words]


def _corrected(db: Session, word: str) -> str:
    if len(word) < SHORTEST_WORD or not word.isalpha() or _is_known(db, word):
        return word
    # Most people get the first letter right, and the index finds those quickly.
    return _nearest(word, _shortlist(db, word, word[0], 2)) or _nearest(word, _shortlist(db, word, "", 1)) or word


def _is_known(db: Session, word: str) -> bool:
    return db.get(KnownWord, (len(word), word)) is not None


def _shortlist(db: Session, word: str, start: str, spread: int) -> Sequence[str]:
    lengths = range(len(word) - spread, len(word) + spread + 1)
    near = select(col(KnownWord.word)).where(col(KnownWord.length).in_(lengths), col(KnownWord.word) >= start)
    if start:
        near = near.where(col(KnownWord.word) < chr(ord(start) + 1))
    return db.scalars(near.limit(MOST_CANDIDATES)).all()


def _nearest(word: str, candidates: Sequence[str]) -> str | None:
    """Pick the word with the fewest slips: one in a short word, three at most in a long one."""
    slips = 1 + (len(word) > 4) + (len(word) > 11)
    near = process.extract(word, candidates, scorer=OSA.distance, score_cutoff=slips, limit=8)
    best = min(near, key=lambda found: (found[1], -JaroWinkler.similarity(word, found[0])), default=None)
    return best[0] if best else None
