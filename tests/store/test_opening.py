"""Opening a shop: made when absent, refused when it is not ours or not whole."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

import store

OPEN = (
    "import sys, store; e = store.open_shop(sys.argv[1]); print(len(store.check_shop(e)), store.latest_change(e))"
)


def run_sql(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def refusal(path: Path) -> str:
    with pytest.raises(store.ShopUnavailable) as caught:
        store.open_shop(f"sqlite:///{path}")
    message = str(caught.value)
    assert len(message) <= 300
    assert "\n" not in message
    assert str(path.parent) not in message
    assert "SELECT" not in message
    return message


def test_an_absent_shop_is_made_and_seeded_with_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "down" / "my shop.db"
    engine = store.open_shop(f"sqlite:///{path}")
    assert store.check_stock(engine, 7) == store.Stock(7, "The Quiet Orchard", "Mira Holt", 15, 0)
    assert store.check_stock(engine, 2).in_stock == 0
    assert store.check_shop(engine) == []
    assert len(store.list_customers(engine)) >= 6
    engine.dispose()
    assert [item.name for item in path.parent.iterdir()] == ["my shop.db"]


def test_a_shop_may_be_seeded_from_another_folder(tmp_path: Path) -> None:
    (tmp_path / "books.csv").write_text("id,title,author,genre,price,stock\n5,Only,One,novel,1.00,1\n")
    (tmp_path / "customers.csv").write_text("id,name,email\n1,Ann,ann@example.com\n")
    (tmp_path / "orders.csv").write_text(
        "order_id,customer_id,status,placed_on,shipped_on,expected_on,delivered_on,book_id,quantity,price\n"
    )
    engine = store.open_shop(f"sqlite:///{tmp_path / 'shop.db'}", seed=tmp_path)
    assert [hit.id for hit in store.search_books(engine, "only").books] == [5]
    engine.dispose()


def test_a_bad_seed_leaves_no_shop_behind(tmp_path: Path) -> None:
    with pytest.raises(store.ShopError):
        store.open_shop(f"sqlite:///{tmp_path / 'shop.db'}", seed=tmp_path / "nowhere")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "empty"),
        (b"hello, I am a diary\n" * 400, "damaged or not a database"),
        (b"SQLite format 3\x00", "damaged"),
    ],
    ids=["0 bytes", "garbage", "a header only"],
)
def test_what_is_no_database_is_refused_and_left_alone(tmp_path: Path, content: bytes, word: str) -> None:
    path = tmp_path / "shop.db"
    path.write_bytes(content)
    assert word in refusal(path)
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_a_database_without_tables_is_refused(tmp_path: Path) -> None:
    run_sql(tmp_path / "shop.db", "CREATE TABLE t (a)", "DROP TABLE t")
    assert "empty" in refusal(tmp_path / "shop.db")


def test_the_database_of_another_program_is_refused_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    run_sql(path, "CREATE TABLE bookmarks (url TEXT)")
    before = path.read_bytes()
    assert "another program" in refusal(path)
    assert path.read_bytes() == before


def test_tables_of_others_beside_ours_are_welcome(file: Path) -> None:
    run_sql(file, "CREATE TABLE conversation (id INTEGER PRIMARY KEY)", "INSERT INTO conversation VALUES (1)")
    engine = store.open_shop(f"sqlite:///{file}")
    assert store.check_shop(engine) == []
    engine.dispose()


def test_a_newer_shop_is_refused(file: Path) -> None:
    run_sql(file, "UPDATE shop_meta SET value = 99")
    assert "newer" in refusal(file)


@pytest.mark.parametrize("statement", ["DROP TABLE cart_line", "DELETE FROM shop_meta"])
def test_a_shop_with_parts_missing_is_refused(file: Path, statement: str) -> None:
    run_sql(file, statement)
    assert "damaged" in refusal(file)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_a_truncated_shop_is_refused(file: Path, share: float) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * share)])
    assert "damaged" in refusal(file)


def test_a_destroyed_page_is_noticed(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[8192:12288] = b"\xff" * 4096
    file.write_bytes(content)
    assert "damaged" in refusal(file)


def test_a_left_over_log_of_a_deleted_shop_is_not_replayed_into_a_new_one(tmp_path: Path) -> None:
    (tmp_path / "shop.db-wal").write_bytes(b"old")
    assert "shop.db-wal is still there" in refusal(tmp_path / "shop.db")


@pytest.mark.parametrize(
    "url", ["shop.db", "sqlite://", "sqlite:///:memory:", "mysql://u:secret@db-int-7/x", "", "::"]
)
def test_an_address_that_is_no_shop_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(store.ShopUnavailable) as caught:
        store.open_shop(url)
    assert "secret" not in str(caught.value)


def test_two_processes_opening_an_absent_shop_at_once_both_succeed(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'shop.db'}"
    both = [subprocess.Popen([sys.executable, "-c", OPEN, url], stdout=subprocess.PIPE) for _ in range(2)]
    assert [process.communicate()[0].split() for process in both] == [[b"0", b"0"]] * 2


def test_init_refuses_what_exists(file: Path, tmp_path: Path) -> None:
    with pytest.raises(store.ShopUnavailable, match="exists already"):
        store.init_shop(f"sqlite:///{file}")
    store.init_shop(f"sqlite:///{tmp_path / 'new.db'}").dispose()


def test_reset_brings_the_seed_back_leaves_other_tables_and_keeps_counting(file: Path) -> None:
    url = f"sqlite:///{file}"
    run_sql(file, "CREATE TABLE conversation (id INTEGER PRIMARY KEY)", "INSERT INTO conversation VALUES (1)")
    engine = store.open_shop(url)
    store.add_to_cart(engine, 1, 7, by="test", key="k")
    store.set_stock(engine, 7, 3, by="test")
    store.reset_shop(url)
    assert store.view_cart(engine, 1) == store.CartView((), 0, 3)
    assert store.check_stock(engine, 7) == store.Stock(7, "The Quiet Orchard", "Mira Holt", 15, 3)
    assert store.applied_write(engine, "k") is None
    assert [change.resource for change in store.changes_since(engine, 0)] == ["cart:1", "stock:7", "shop"]
    assert [hit.id for hit in store.search_books(engine, "The Quiet Orchard", 1).books] == [7]
    assert store.check_shop(engine) == []
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM conversation")).scalar() == 1
    engine.dispose()


def test_the_pragmas_are_set_on_every_connection(file: Path) -> None:
    engine = store.open_shop(f"sqlite:///{file}")
    with engine.connect() as one, engine.connect() as two:
        for connection in (one, two):
            names = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
            set_to = [connection.execute(text(f"PRAGMA {name}")).scalar() for name in names]
            assert set_to == ["wal", 1, 1, 1000]
    engine.dispose()


def test_a_check_names_what_is_wrong(file: Path) -> None:
    run_sql(
        file,
        "INSERT INTO shop_change VALUES (1, 'cart:1', 'x', 'x', 0, '', '')",
        "DELETE FROM book_text WHERE book_id = 7",
        "INSERT INTO order_line VALUES (4040, 7, 1, 1)",
        "INSERT INTO book_index(rowid, title) VALUES (9999, 'ghost')",
    )
    engine = store.open_shop(f"sqlite:///{file}")
    assert store.check_shop(engine) == [
        "table order_line refers to a row that is missing from orders",
        "the search index does not agree with the books",
        "book 7 cannot be found by search",
        "cart 1 has a version older than its last change",
    ]
    engine.dispose()
