"""Search in a million books, against the LIKE scan of the same query in the same run."""

import itertools
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine, insert, text

from bench.report_table import Figure
from store.database import make_engine
from store.full_text import SQLITE_INDEX, SQLITE_REBUILD
from store.importing import NewBook, known_words, searchable, shelf_row
from store.schema import TABLES, Book, BookText, KnownWord
from store.search import search_books

BATCH = 10_000
VOCABULARY = 60_000
GENRES = ("novel", "mystery", "poetry", "history", "science", "cooking", "fantasy", "travel", "essays")
RUNS = 20
CLOSE_TO_A_SCAN = ("misspelled", "commonest words", "two letters")
"""Queries that may take as long as the scan; the others may take a twentieth of it."""

_FIRST = "SELECT id, title FROM book WHERE title LIKE :like OR author LIKE :like OR description LIKE :like"
SCANS = {"first five": f"{_FIRST} LIMIT 5", "titles first": f"{_FIRST} ORDER BY title NOT LIKE :like, id LIMIT 5"}


def measure(books: int) -> dict[str, dict[str, float]]:
    """Build a shop of generated books and time each kind of query on it.

    For each kind: p95 of our search and of two LIKE scans, in milliseconds. One scan stops at the first five books
    it meets, the other ranks title matches first, as our search does.
    """
    with tempfile.TemporaryDirectory() as made:
        engine = make_engine(URL.create("sqlite", database=str(Path(made) / "bench.db")))
        try:
            chance = random.Random(1)
            words = _vocabulary(chance)
            samples = _build(engine, books, words, chance)
            return {kind: _compared(engine, queries) for kind, queries in _queries(samples, words, chance).items()}
        finally:
            engine.dispose()


def _vocabulary(chance: random.Random) -> list[str]:
    vowels = ("a", "e", "i", "o", "u", "ar", "en", "il", "or")
    syllables = [consonant + vowel for consonant in "bcdfghklmnprstvz" for vowel in vowels]
    made: dict[str, None] = {}
    while len(made) < VOCABULARY:
        made["".join(chance.choice(syllables) for _ in range(chance.choice((2, 2, 3, 3, 3, 4))))] = None
    return list(made)


def _books(count: int, words: Sequence[str], chance: random.Random) -> Iterator[NewBook]:
    """Generate books: words by Zipf's law, ten books to an author, a rare name in one book of twenty."""
    weights = list(itertools.accumulate(1 / (rank + 3) for rank in range(len(words))))
    authors = [f"{chance.choice(words)} {chance.choice(words)}".title() for _ in range(max(1, count // 10))]
    for start in range(1, count + 1, BATCH):
        size = min(BATCH, count + 1 - start)
        drawn = iter(chance.choices(words, cum_weights=weights, k=size * 16))
        for id_ in range(start, start + size):
            title = "The " + " ".join(itertools.islice(drawn, 2 + id_ % 3)).title()
            description = " ".join(itertools.islice(drawn, 12)) + (_rare_name(id_) if id_ % 20 == 0 else "")
            genre = GENRES[id_ % len(GENRES)]
            yield NewBook(id_, title, chance.choice(authors), genre, 1_000, id_ % 5, description=description)


def _rare_name(number: int) -> str:
    return f" q{number:x}".translate(str.maketrans("0123456789", "ghijklmnop"))


def _build(engine: Engine, count: int, words: Sequence[str], chance: random.Random) -> list[NewBook]:
    """Fill the tables in batches, build the index once at the end, and keep some of the books to ask for."""
    samples: list[NewBook] = []
    known: set[str] = set()
    made = _books(count, words, chance)
    with engine.begin() as connection:
        TABLES.create_all(connection)
        while batch := list(itertools.islice(made, BATCH)):
            rows = [searchable(book) for book in batch]
            connection.execute(insert(Book), [shelf_row(book) for book in batch])
            connection.execute(insert(BookText), rows)
            known |= known_words(rows)
            samples += chance.sample(batch, min(5, len(batch)))
        connection.execute(insert(KnownWord), [{"length": len(word), "word": word} for word in sorted(known)])
        for statement in (*SQLITE_INDEX, SQLITE_REBUILD):
            connection.exec_driver_sql(statement)
    return samples


def _queries(samples: Sequence[NewBook], words: Sequence[str], chance: random.Random) -> dict[str, list[str]]:
    asked = chance.sample(list(samples), min(RUNS, len(samples)))
    return {
        "titles": [book.title for book in asked],
        "authors": [book.author for book in asked],
        "two words": [" ".join(chance.sample(book.description.split(), 2)) for book in asked],
        "rare words": [_rare_name(book.id - book.id % 20).strip() for book in asked if book.id >= 20],
        "misspelled": [_misspelled(book.title, chance) for book in asked],
        "commonest words": list(words[:3]),
        "two letters": sorted({word[:2] for word in words[:8]})[:3],
    }


def _misspelled(title: str, chance: random.Random) -> str:
    """Drop a letter from the longest word of a title."""
    longest = max(title.split(), key=len)
    gap = chance.randrange(1, len(longest) - 1)
    return title.replace(longest, longest[:gap] + longest[gap + 1 :])


def _compared(engine: Engine, queries: Sequence[str]) -> dict[str, float]:
    """Time both on warm caches: every scan reads what the last one read, so search is asked once before."""
    for query in queries:
        search_books(engine, query)
    result = {"search": _p95([_milliseconds(partial(search_books, engine, query)) for query in queries])}
    with engine.connect() as connection:

        def scan(statement: str, query: str) -> None:
            connection.execute(text(statement), {"like": f"%{query}%"}).all()

        for name, statement in SCANS.items():
            result[name] = _p95([_milliseconds(partial(scan, statement, query)) for query in queries])
    return result


def _milliseconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def _p95(times: Sequence[float]) -> float:
    return statistics.quantiles(times, n=20, method="inclusive")[-1]


def figures(books: int) -> Iterator[Figure]:
    """Our search beside scans with LIKE, 95th percentile in milliseconds."""
    for kind, found in measure(books).items():
        target = 1.0 if kind in CLOSE_TO_A_SCAN else 0.05
        for scan in SCANS:
            yield Figure(f"search, {kind}: against a scan, {scan}", "ms", found["search"], found[scan], target)
