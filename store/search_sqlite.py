"""Full-text search on SQLite: an FTS5 index over the words of the books, kept in step by triggers."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import text
from sqlmodel import Session

from store.words import Match

# bm25 counts all the books that hold a word, so a very common word costs time without telling much: beyond this
# many matches the first ones found are taken.
MOST_RANKED = 1_000

INDEX = (
    """CREATE VIRTUAL TABLE book_index USING fts5(
        title, author, genre, description, content='book_text', content_rowid='book_id', prefix='2 3')""",
    """CREATE TRIGGER book_text_added AFTER INSERT ON book_text BEGIN
        INSERT INTO book_index(rowid, title, author, genre, description)
        VALUES (new.book_id, new.title, new.author, new.genre, new.description); END""",
    """CREATE TRIGGER book_text_removed AFTER DELETE ON book_text BEGIN
        INSERT INTO book_index(book_index, rowid, title, author, genre, description)
        VALUES ('delete', old.book_id, old.title, old.author, old.genre, old.description); END""",
    """CREATE TRIGGER book_text_changed AFTER UPDATE ON book_text BEGIN
        INSERT INTO book_index(book_index, rowid, title, author, genre, description)
        VALUES ('delete', old.book_id, old.title, old.author, old.genre, old.description);
        INSERT INTO book_index(rowid, title, author, genre, description)
        VALUES (new.book_id, new.title, new.author, new.genre, new.description); END""",
)
REBUILD = "INSERT INTO book_index(book_index) VALUES ('rebuild')"

# Title over author over genre over description.
RANKED = text(
    """SELECT rowid FROM book_index WHERE book_index MATCH :query
    ORDER BY bm25(book_index, 10, 5, 3, 1), rowid LIMIT :most"""
)
# With words in nearly every book bm25 tells no more than this: the shorter text says it with fewer other words.
FIRST_FOUND = text(
    """SELECT found.rowid FROM (SELECT rowid FROM book_index WHERE book_index MATCH :query LIMIT :ranked) AS found
    JOIN book_text ON book_id = found.rowid ORDER BY length(title), book_id LIMIT :most"""
)
COUNTED = text("SELECT count(*) FROM (SELECT rowid FROM book_index WHERE book_index MATCH :query LIMIT :ranked)")


def matcher(db: Session, words: Sequence[str], most: int) -> Match:
    """Prepare the search for words: a function that lists the ids of books by field, the best first.

    Words come from `words_of`, so none holds a quote; the last may go on, as somebody is still typing it.
    """
    # Reading on from a very common word means merging the whole of its long list, for little news.
    typed = len(words[-1]) > 1 and not _is_common(db, _query(words[-1:], "", typed=False))
    common = not typed or _is_common(db, _query(words, " OR ", typed=typed))

    def match(fields: str, *, every: bool) -> list[int]:
        query = f"{{{fields}}} : ({_query(words, ' AND ' if every else ' OR ', typed=typed)})"
        values = {"query": query, "ranked": MOST_RANKED, "most": most}
        return list(db.scalars(FIRST_FOUND if common else RANKED, values))

    return match


def _is_common(db: Session, query: str) -> bool:
    counted: int = db.scalar(COUNTED, {"query": query, "ranked": MOST_RANKED}) or 0
    return counted == MOST_RANKED


def _query(words: Sequence[str], joint: str, *, typed: bool) -> str:
    return joint.join(f'"{word}"' for word in words) + ("*" if typed else "")
