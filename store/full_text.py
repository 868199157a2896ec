"""The full-text index over the words of the books: FTS5 on SQLite, a weighted GIN index on PostgreSQL."""

from collections.abc import Sequence
from typing import Protocol

from sqlalchemy import Connection, text

# bm25 counts all the books that hold a word, so a very common word costs time without telling much: beyond this
# many matches the first ones found are taken.
MOST_RANKED = 1_000

_INDEXED = """INSERT INTO book_index(rowid, title, author, genre, description)
    VALUES (new.book_id, new.title, new.author, new.genre, new.description)"""
_FORGOTTEN = """INSERT INTO book_index(book_index, rowid, title, author, genre, description)
    VALUES ('delete', old.book_id, old.title, old.author, old.genre, old.description)"""
SQLITE_INDEX = (
    """CREATE VIRTUAL TABLE book_index USING fts5(
        title, author, genre, description, content='book_text', content_rowid='book_id', prefix='2 3')""",
    f"CREATE TRIGGER book_text_added AFTER INSERT ON book_text BEGIN {_INDEXED}; END",
    f"CREATE TRIGGER book_text_removed AFTER DELETE ON book_text BEGIN {_FORGOTTEN}; END",
    f"CREATE TRIGGER book_text_changed AFTER UPDATE ON book_text BEGIN {_FORGOTTEN}; {_INDEXED}; END",
)
SQLITE_REBUILD = "INSERT INTO book_index(book_index) VALUES ('rebuild')"

# Title over author over genre over description.
_BEST = text(
    """SELECT rowid FROM book_index WHERE book_index MATCH :query
    ORDER BY bm25(book_index, 10, 5, 3, 1), rowid LIMIT :most"""
)
# With words in nearly every book bm25 tells no more than this: the shorter text says it with fewer other words.
_FIRST_FOUND = text(
    """SELECT found.rowid FROM (SELECT rowid FROM book_index WHERE book_index MATCH :query LIMIT :ranked) AS found
    JOIN book_text ON book_id = found.rowid ORDER BY length(title), book_id LIMIT :most"""
)
_COUNTED = text("SELECT count(*) FROM (SELECT rowid FROM book_index WHERE book_index MATCH :query LIMIT :ranked)")

WEIGHTS = {"title": "A", "author": "B", "genre": "C", "description": "D"}
_DOCUMENT = " || ".join(
    f"setweight(to_tsvector('simple', {field}), '{label}')" for field, label in WEIGHTS.items()
)
POSTGRES_INDEX = (f"CREATE INDEX book_index ON book_text USING gin (({_DOCUMENT}))",)
_BEST_ON_POSTGRES = text(
    f"""SELECT book_id FROM book_text, to_tsquery('simple', :query) AS query WHERE {_DOCUMENT} @@ query
    ORDER BY ts_rank('{{0.1, 0.3, 0.5, 1.0}}', {_DOCUMENT}, query, 1) DESC, book_id LIMIT :most"""  # noqa: S608
)


class Match(Protocol):
    """The ids of the books with every word, or with any, in some fields, the best first."""

    def __call__(self, fields: str, *, every: bool) -> list[int]: ...


def create_index(db: Connection) -> None:
    """Create the index of an empty shop inside a transaction."""
    for statement in POSTGRES_INDEX if db.dialect.name == "postgresql" else SQLITE_INDEX:
        db.exec_driver_sql(statement)


def matcher(db: Connection, words: Sequence[str], most: int) -> Match:
    """The search for some words, to be asked field by field for at most so many books.

    Words come from ``words_of``, so none holds a quote or an operator; the last may go on, as somebody is still
    typing it. No words match nothing.
    """
    if not words:
        return lambda fields, *, every: []  # noqa: ARG005 - whatever is asked
    return (_on_postgres if db.dialect.name == "postgresql" else _on_sqlite)(db, words, most)


def _on_sqlite(db: Connection, words: Sequence[str], most: int) -> Match:
    # Reading on from a very common word means merging the whole of its long list, for little news.
    typed = len(words[-1]) > 1 and not _is_common(db, _fts5(words[-1:], "", typed=False))
    common = not typed or _is_common(db, _fts5(words, " OR ", typed=typed))

    def match(fields: str, *, every: bool) -> list[int]:
        query = f"{{{fields}}} : ({_fts5(words, ' AND ' if every else ' OR ', typed=typed)})"
        values = {"query": query, "ranked": MOST_RANKED, "most": most}
        return list(db.scalars(_FIRST_FOUND if common else _BEST, values))

    return match


def _is_common(db: Connection, query: str) -> bool:
    return bool(db.scalar(_COUNTED, {"query": query, "ranked": MOST_RANKED}) == MOST_RANKED)


def _fts5(words: Sequence[str], joint: str, *, typed: bool) -> str:
    return joint.join(f'"{word}"' for word in words) + ("*" if typed else "")


def _on_postgres(db: Connection, words: Sequence[str], most: int) -> Match:
    def match(fields: str, *, every: bool) -> list[int]:
        label = "".join(WEIGHTS[field] for field in fields.split())
        terms = [_tsquery(word, label) for word in words[:-1]] + [_tsquery(words[-1], "*" + label)]
        values = {"query": (" & " if every else " | ").join(terms), "most": most}
        return list(db.scalars(_BEST_ON_POSTGRES, values))

    return match


def _tsquery(word: str, label: str) -> str:
    """Word one search word; a spaced run of characters is a phrase."""
    return "(" + " <-> ".join(f"{part}:{label}" for part in word.split()) + ")"
