"""Search: what is found, in which order, and that no text at all can break it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, event

import store

BOOKS = """id,title,author,genre,price,stock,description
1001,The Cellarman's Daughter,Ada Fen,novel,10.00,1,
1002,吾輩は猫である,夏目漱石,novel,10.00,1,
1003,ألف ليلة وليلة,شهرزاد,fantasy,10.00,1,
1004,What About Me,Bo Lind,essays,10.00,1,
1005,C# in Slow Motion,Ada Fen,programming,10.00,1,
1006,C++ in Slow Motion,Ada Fen,programming,10.00,1,
1007,100% Cotton,Bo Lind,cooking,10.00,1,
1008,Brücke über die Straße,Jörg Müller,novel,10.00,1,
1009,The Salt Road,Cy Dahl,novel,10.00,0,
1010,The Salt Road Home,Di Ek,novel,10.00,1,
1011,The Salt Roads,Di Ek,novel,10.00,1,
1012,Down the Salt Road,Di Ek,novel,10.00,1,
1013,The Salt Road Again,Di Ek,novel,10.00,1,
1014,Nothing Alike,Cy Dahl,novel,10.00,0,
1015,Something Else,Cy Dahl,poetry,10.00,9,
1016,Unlike the Rest,Cy Dahl,novel,10.00,3,
1017,도깨비의 밤,김하늘,novel,10.00,1,
1018,Żółw i łódź,Łucja Øst,children,10.00,1,
"""


@pytest.fixture(scope="module")
def books(seed_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("books")
    path = folder / "books.csv"
    path.write_text(BOOKS, encoding="utf-8")
    engine = store.open_shop(f"sqlite:///{shutil.copy(seed_file, folder)}")
    store.import_books(engine, path)
    yield engine
    engine.dispose()


def found(shop: Engine, query: str, most: int = 5) -> list[int]:
    return [book.id for book in store.search_books(shop, query, most).books]


def test_the_last_lighthouse_brings_the_quiet_orchard_before_any_other_novel_by_mira_holt(books: Engine) -> None:
    hits = store.search_books(books, "The Last Lighthouse", 5).books
    by_her = [hit.id for hit in hits if hit.author == "Mira Holt" and hit.genre == "novel"]
    assert hits[0].id == 2
    assert by_her[:2] == [2, 7]


def test_an_exact_title_leaves_places_to_its_author_whoever_that_is(books: Engine) -> None:
    assert found(books, "the salt road") == [1009, 1011, 1010, 1016, 1014]


@pytest.mark.parametrize("most", [1, 2, 3, 4, 8])
def test_as_many_books_come_as_were_asked_for(books: Engine, most: int) -> None:
    hits = found(books, "the salt road", most)
    assert (hits[0], len(set(hits))) == (1009, most)


@pytest.mark.parametrize("most", [0, -1, 51, True, 10**30])
def test_an_impossible_number_of_results_is_refused(library: Engine, most: int) -> None:
    with pytest.raises(store.BadInput, match="max_results must be a whole number from 1 to 50"):
        store.search_books(library, "novel", most)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("cellarman's", 1001),
        ("cellarmans", 1001),
        ("Cellarman", 1001),
        ("CELLARMAN’S daughter", 1001),
        ("cellarm", 1001),
        ("吾輩は猫である", 1002),
        ("猫", 1002),
        ("夏目漱石", 1002),
        ("ألف ليلة وليلة", 1003),
        ("ليلة", 1003),
        ("أَلْف لَيْلَة", 1003),
        ("شهرزاد", 1003),
        ("What About Me", 1004),
        ("what about ME?", 1004),
        ("It Is What It Was", 106),
        ("C#", 1005),
        ("c++ slow", 1006),
        ("C++ in Slow Motion", 1006),
        ("100% Cotton", 1007),
        ("100%", 1007),
        ("muller", 1008),
        ("Müller", 1008),
        ("MÜLLER", 1008),
        ("mu\u0308ller", 1008),
        ("brucke strasse", 1008),
        ("Straße", 1008),
        ("도깨비", 1017),
        ("zolw i lodz", 1018),
        ("Ostatni", 96),
        ("lucja ost", 1018),
        ("last lighthouse", 2),
        ("The Last Lighthouse by Mira Holt", 2),
        ("do you have the book The Last Lighthouse?", 2),
        ("417", 11),
    ],
)
def test_a_book_is_found_first_however_it_is_written(books: Engine, query: str, first: int) -> None:
    assert found(books, query)[:1] == [first]


@pytest.mark.parametrize(
    "query", ["Mira Holt", "something by mira holt", "novels by Mira Holt", "books by MIRA HOLT", "holt mira"]
)
def test_an_author_is_found_in_any_wording(library: Engine, query: str) -> None:
    assert {hit.author for hit in store.search_books(library, query).books} == {"Mira Holt"}


@pytest.mark.parametrize("query", ["poetry", "Poetry", "some poetry please", "poetri"])
def test_a_genre_is_found(library: Engine, query: str) -> None:
    assert {hit.genre for hit in store.search_books(library, query).books} == {"poetry"}


def test_titles_come_before_genres_and_a_plural_finds_the_same(library: Engine) -> None:
    hits = store.search_books(library, "mysteries", 10).books
    in_title = ["myster" in hit.title.lower() for hit in hits]
    assert in_title == sorted(in_title, reverse=True)
    assert sum(hit.genre == "mystery" for hit in hits) > 5
    assert hits == store.search_books(library, "mystery", 10).books


@pytest.mark.parametrize("query", ["the", "a", "of", "books by", "find me some books", "and the of a"])
def test_stop_words_alone_match_nothing(library: Engine, query: str) -> None:
    assert found(library, query) == []


@pytest.mark.parametrize(
    ("query", "corrected", "first"),
    [
        ("The Last Lighthose", "last lighthouse", 2),
        ("last lihgthouse", "last lighthouse", 2),
        ("Mira Hollt", "mira holt", None),
        ("Quiet Orchrad", "quiet orchard", 7),
        ("Rira Holt", "mira holt", None),
    ],
)
def test_a_misspelling_is_corrected_and_said(
    library: Engine, query: str, corrected: str, first: int | None
) -> None:
    result = store.search_books(library, query)
    assert result.corrected == corrected
    assert result.books[0].author == "Mira Holt"
    assert first in (None, result.books[0].id)


def test_what_is_spelled_right_is_not_corrected(library: Engine) -> None:
    assert store.search_books(library, "Quiet Orchard").corrected is None


def test_any_word_will_do_when_no_book_has_all(library: Engine) -> None:
    assert 7 in found(library, "orchard submarine", 10)


HOSTILE = [
    "", " ", "'", '"', '"""', "';--", "'; DROP TABLE book; --", "*", "a*", "**", "NEAR(",
    "NEAR(a b, 3)", "AND", "OR", "NOT", "a AND", "AND a", "a OR OR b", "NOT NOT", "title:",
    "title:lighthouse", "{title author}: x", "-x", "--", "^", "^last", "+", "a + b", "c++",
    "100%", "%", "_", "\\", "\\'", "(", ")", "()", "((((", "[", "]", "{", "}", "<b>", "&amp;",
    "|", "!", "~", "@", "#", "$", "€", "\x00", "a\x00b", "\x00\x00\x00", "\n\r\t", "\u2028",
    "\u202e", "\ufeff", "\ud800", "a\udfffb", "\udc00\ud800", "\U0010ffff", "📚", "👩‍👩‍👧‍👦",
    "é" * 500, "e" + "\u0301" * 5000, "ا" * 300, "مرحبا \u202e abc", "猫" * 400, "x" * 10_000,
    "word " * 2_000, "(" * 2_000, "[" * 2_000, '"' * 2_001, "* " * 1_000, "ﷺ" * 400, "İstanbul",
    "ſ", "K", "ǅ", "¹²³", "１２３", "٣", "१", "null", "None", "${x}", "{{x}}", "{0}", "%s",
    "%(a)s", ":query", "?1", "book_index", "rank", "ｱｲｳ", "ㅋㅋ", "\u3099",
    "\U00020000\U00020001", "a'b'c", "l’été", "—", "…",
]  # fmt: skip


@pytest.mark.parametrize("query", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_breaks_the_search(library: Engine, query: str) -> None:
    assert len(store.search_books(library, query).books) <= 5


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    query=st.text(st.characters(codec=None), max_size=60) | st.text("last'\"*()-^:+{}NEARORAND \x00", max_size=40)
)
def test_no_generated_text_breaks_the_search(library: Engine, query: str) -> None:
    result = store.search_books(library, query, 3)
    assert len({book.id for book in result.books}) == len(result.books) <= 3


def test_no_text_of_a_user_becomes_sql(library: Engine) -> None:
    statements: list[str] = []

    def note(_connection, _cursor, statement, *_rest) -> None:
        statements.append(statement)

    event.listen(library, "before_cursor_execute", note)
    for query in ("xyzzy'; DROP TABLE book", "title:xyzzy NEAR(xyzzy)", "xyzzi"):
        store.search_books(library, query)
    event.remove(library, "before_cursor_execute", note)
    assert statements
    assert not any("xyzz" in statement for statement in statements)
