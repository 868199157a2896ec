"""The shop by hand: carts, stock, orders, the database, the doctor."""

import io
from pathlib import Path

import pytest

import store
from assistant.bookshop import Bookshop
from tests.terminal.conftest import JOB, Command

EMPTY = {"lines": [], "total": "0.00", "version": 0}
BAD_BOOKS = {
    "no columns": "",
    "a column is missing": "title,author,genre,price\nA,B,novel,1.00\n",
    "a price is none": "title,author,genre,price,stock\nGood,A,novel,1.00,1\nBad,A,novel,cheap,1\n",
    "a price is negative": "title,author,genre,price,stock\nGood,A,novel,1.00,1\nBad,A,novel,-1.00,1\n",
    "a stock is negative": "title,author,genre,price,stock\nGood,A,novel,1.00,1\nBad,A,novel,1.00,-1\n",
    "a value too many": "title,author,genre,price,stock\nGood,A,novel,1.00,1\nBad,A,novel,1.00,1,9\n",
    "a title is empty": "title,author,genre,price,stock\nGood,A,novel,1.00,1\n,A,novel,1.00,1\n",
    "an id occurs twice": "id,title,author,genre,price,stock\n900,Good,A,novel,1.00,1\n900,Bad,A,novel,1.00,1\n",
    "an unknown column": "title,author,genre,price,stock,colour\nGood,A,novel,1.00,1,red\n",
}


def test_a_cart_is_added_to_set_removed_from_and_cleared(terminal: Command) -> None:
    assert terminal("cart", "show", "--json").json == EMPTY
    added = terminal("cart", "add", 7, 2, "--json").json
    assert added["lines"] == [
        {"book_id": 7, "title": "The Quiet Orchard", "quantity": 2, "price": "16.50", "line_total": "33.00"}
    ]
    assert added["total"] == "33.00"
    changed = terminal("cart", "set", 7, 5, "--json").json
    assert (changed["lines"][0]["quantity"], changed["total"]) == (5, "82.50")
    assert terminal("cart", "remove", 7, "--json").json["lines"] == []
    terminal("cart", "add", 7)
    terminal("cart", "add", 9)
    assert terminal("cart", "show", "--json").json["total"] == "27.00"
    cleared = terminal("cart", "clear", "--json").json
    assert (cleared["lines"], cleared["total"]) == ([], "0.00")


def test_the_version_of_a_cart_rises_with_every_change_and_only_then(terminal: Command) -> None:
    commands = [("add", 7), ("show",), ("set", 7, 3), ("set", 7, 3), ("remove", 7), ("clear",)]
    versions = [terminal("cart", *words, "--json").json["version"] for words in commands]
    assert versions[0] == versions[1] < versions[2] == versions[3] < versions[4] == versions[5]


def test_a_cart_in_words_shows_prices_with_the_dollar_sign(terminal: Command) -> None:
    assert terminal("cart", "show").out == "The cart is empty.\n"
    shown = terminal("cart", "add", 7, 2).out
    assert "The Quiet Orchard" in shown
    assert "$16.50" in shown
    assert "Total $33.00" in shown


def test_carts_of_two_customers_are_apart(terminal: Command) -> None:
    terminal("cart", "add", 7, "--customer", 2)
    assert terminal("cart", "show", "--json").json == EMPTY
    assert terminal("cart", "show", "--customer", 2, "--json").json["total"] == "16.50"


def test_a_title_that_looks_like_markup_is_printed_as_it_is(terminal: Command, tmp_path: Path) -> None:
    books = tmp_path / "more.csv"
    books.write_text(
        "title,author,genre,price,stock\n[red]Ten[/red] [/x],A. Uthor,novel,1.00,9\n", encoding="utf-8"
    )
    terminal("db", "import", books)
    found = terminal("ask", "Add [red]Ten[/red] [/x] to my cart", "--model", "offline", "--json").json
    (line,) = found["cart"]["lines"]
    assert line["title"] == "[red]Ten[/red] [/x]"
    assert "[red]Ten[/red] [/x]" in terminal("cart", "show").out
    stocked = terminal("stock", "set", line["book_id"], 3)
    assert stocked.out == "[red]Ten[/red] [/x]: 3 in stock\n"


def test_setting_the_stock_tells_what_it_is_now(terminal: Command, shop: Bookshop) -> None:
    told = terminal("stock", "set", 2, 4, "--json").json
    assert set(told) == {"book_id", "title", "in_stock", "version"}
    assert (told["book_id"], told["title"], told["in_stock"]) == (2, "The Last Lighthouse", 4)
    assert store.check_stock(shop.engine, 2).in_stock == 4
    assert terminal("stock", "set", 2, 0).out == "The Last Lighthouse: 0 in stock\n"


@pytest.mark.parametrize("name", ["1001", "O-1001", "o-1001"])
def test_an_order_is_set_by_its_number_in_either_form(terminal: Command, name: str) -> None:
    told = terminal("order", "set", name, "delivered", "--json").json
    assert set(told) == {"order_id", "status", "version"}
    assert (told["order_id"], told["status"]) == (1001, "delivered")
    assert terminal("order", "set", name, "cancelled").out == "O-1001: cancelled\n"


def test_a_changed_order_is_what_the_assistant_finds(terminal: Command) -> None:
    terminal("order", "set", "1001", "delivered")
    told = terminal("ask", "Where is my order O-1001?", "--model", "offline", "--json").json
    assert "delivered" in told["answer"]


def test_a_shop_is_made_where_there_is_none_and_only_there(terminal: Command, tmp_path: Path) -> None:
    new = f"sqlite:///{tmp_path / 'new.db'}"
    made = terminal("db", "init", "--db", new)
    assert (made.status, made.out) == (0, "The shop is ready.\n")
    again = terminal("db", "init", "--db", new)
    assert again.status == 2
    assert "exists already" in again.complaint
    assert terminal("cart", "show", "--db", new, "--json").json == EMPTY


def test_an_absent_shop_is_made_by_the_first_command(terminal: Command, tmp_path: Path) -> None:
    assert terminal("cart", "show", "--db", f"sqlite:///{tmp_path / 'absent.db'}", "--json").json == EMPTY


def test_a_sound_shop_passes_the_check(terminal: Command) -> None:
    assert terminal("db", "check").out == "All is well.\n"
    assert terminal("db", "check", "--json").json == {"problems": []}


def test_a_reset_brings_the_first_day_back_and_keeps_the_conversations(terminal: Command) -> None:
    terminal("ask", JOB, "--model", "offline", "--json")
    terminal("stock", "set", 2, 9)
    assert terminal("db", "reset", "--yes").status == 0
    assert terminal("cart", "show", "--json").json["lines"] == []
    assert len(terminal("runs", "list", "--json").json["runs"]) == 1
    assert terminal("ask", JOB, "--model", "offline", "--json").json["cart"]["total"] == "16.50"


@pytest.mark.parametrize("answer", ["n\n", ""])
def test_a_reset_that_nobody_confirms_does_nothing(
    terminal: Command, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    terminal("cart", "add", 7)
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))
    assert terminal("db", "reset").status == 3
    assert terminal("cart", "show", "--json").json["total"] == "16.50"


def test_a_confirmed_reset_is_done(terminal: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal("cart", "add", 7)
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert terminal("db", "reset").status == 0
    assert terminal("cart", "show", "--json").json["lines"] == []


def test_imported_books_are_found(terminal: Command, tmp_path: Path) -> None:
    books = tmp_path / "books.csv"
    books.write_text("title,author,genre,price,stock\nOne Odd Sock,A. Uthor,novel,3.50,2\n", encoding="utf-8")
    assert terminal("db", "import", books).out == "1 book brought in.\n"
    told = terminal("ask", "Add One Odd Sock to my cart", "--model", "offline", "--json").json
    assert told["cart"]["total"] == "3.50"


@pytest.mark.parametrize("name", BAD_BOOKS)
def test_of_bad_books_none_is_imported(terminal: Command, shop: Bookshop, tmp_path: Path, name: str) -> None:
    books = tmp_path / "books.csv"
    books.write_text(BAD_BOOKS[name], encoding="utf-8")
    ended = terminal("db", "import", books)
    assert ended.status == 2
    assert ended.complaint
    assert not [book for book in store.search_books(shop.engine, "Good", 20).books if book.title == "Good"]


@pytest.mark.parametrize("content", [None, b"title,author,genre,price,stock\n\xff\xfe,A,novel,1.00,1\n"])
def test_a_file_that_cannot_be_read_is_said_so(terminal: Command, tmp_path: Path, content: bytes | None) -> None:
    books = tmp_path / "books.csv"
    if content is not None:
        books.write_bytes(content)
    ended = terminal("db", "import", books)
    assert ended.status == 2
    assert "books.csv" in ended.complaint
    assert str(tmp_path) not in ended.complaint


def test_the_doctor_finds_no_ollama_and_says_what_to_do(terminal: Command) -> None:
    findings = terminal("doctor", "--json").json["findings"]
    assert [set(finding) for finding in findings] == [{"what", "found", "ok", "advice"}] * len(findings)
    by_name = {finding["what"]: finding for finding in findings}
    assert by_name["Database"]["ok"] is True
    assert by_name["Ollama"]["ok"] is False
    assert "ollama serve" in by_name["Ollama"]["advice"]
    assert all(finding["advice"] for finding in findings if not finding["ok"])


def test_the_doctor_in_words_holds_the_same(terminal: Command) -> None:
    told = terminal("doctor")
    assert told.status == 0
    for word in ("Python", "SQLite", "Database", "Ollama", "ollama pull qwen3:4b"):
        assert word in told.out
