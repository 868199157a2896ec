"""Stock, orders, prices and the import of books."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Engine, text

import store

HEADER = "id,title,author,genre,price,stock,language,year,edition,description\n"


@pytest.mark.parametrize("value", ["O-1001", "o-1001", " 1001 ", "1001", 1001, "\tO-1001\n"])
def test_an_order_id_is_read_in_its_usual_forms(value: object) -> None:
    assert store.parse_order_id(value) == 1001


@pytest.mark.parametrize(
    "value",
    ["1 OR 1=1", "O-1001; O-2001", 10**30, True, False, None, 1001.0, [1001], "", "O-", "0", -1, 0, "-1001",
     "1_001", "١٠٠١", "１００１", "O--1001", "O-1001 O-1002", "1001.0", "1e3", "O-1001\x00", "x" * 10_000,
     "9" * 40, 2**31],
)  # fmt: skip
def test_anything_else_is_no_order_id(value: object) -> None:
    with pytest.raises(store.BadInput, match="order_id must be one order number such as O-1001"):
        store.parse_order_id(value)


def test_an_order_tells_its_dates_and_lines(shop: Engine) -> None:
    order = store.get_order_status(shop, 1, 1001)
    assert (order.id, order.status, order.placed_on, order.delivered_on) == (1001, "shipped", "2026-11-22", None)
    assert order.lines[0] == store.BoughtLine(7, "The Quiet Orchard", 1, 1650)
    assert order.version == 0


def test_the_order_of_another_customer_looks_exactly_like_none(shop: Engine) -> None:
    seen = []
    for order_id in (1001, 999_999):
        with pytest.raises(store.NoSuchOrder) as caught:
            store.get_order_status(shop, 2, order_id)
        seen.append((type(caught.value), str(caught.value).replace(str(order_id), "N")))
    assert seen[0] == seen[1]


def test_no_order_id_shows_the_order_of_somebody_else(shop: Engine) -> None:
    with shop.connect() as connection:
        own = set(connection.scalars(text("SELECT id FROM orders WHERE customer_id = 3")))
    assert own
    for order_id in range(1001, 1140):
        if order_id in own:
            assert store.get_order_status(shop, 3, order_id).id == order_id
        else:
            with pytest.raises(store.NoSuchOrder):
                store.get_order_status(shop, 3, order_id)


def test_an_order_changed_by_the_warehouse_has_a_new_version_and_date(shop: Engine) -> None:
    order = store.set_order_status(shop, 1001, "delivered", by="warehouse")
    assert (order.status, order.version) == ("delivered", 1)
    assert order.delivered_on
    assert order == store.get_order_status(shop, 1, 1001)
    assert store.set_order_status(shop, 1001, "delivered", by="nobody") == order
    assert [(c.resource, c.before, c.after) for c in store.changes_since(shop, 0)] == [
        ("order:1001", "shipped", "delivered")
    ]


@pytest.mark.parametrize("status", ["", "lost", "SHIPPED", "shipped'; --"])
def test_an_unknown_status_is_refused(shop: Engine, status: str) -> None:
    with pytest.raises(store.BadInput, match="status must be one of processing, shipped"):
        store.set_order_status(shop, 1001, status, by="test")


@pytest.mark.parametrize("copies", [-1, 1_000_001, True, 1.5, "3"])
def test_stock_is_a_whole_number(shop: Engine, copies: int) -> None:
    with pytest.raises(store.BadInput):
        store.set_stock(shop, 7, copies, by="test")


@pytest.mark.parametrize("book", [0, -7, 9999, 2**31, 2**63, 10**30, True])
def test_an_unknown_book_has_no_stock_and_no_details(shop: Engine, book: int) -> None:
    for ask in (store.check_stock, store.get_book):
        with pytest.raises(store.NoSuchBook):
            ask(shop, book)


def test_a_book_has_details(shop: Engine) -> None:
    book = store.get_book(shop, 7)
    assert (book.title, book.price_cents, book.language, book.year) == ("The Quiet Orchard", 1650, "en", 2022)


@pytest.mark.parametrize(
    ("written", "cents"), [("16.50", 1650), ("$16.5", 1650), ("16", 1600), (" 0.05 ", 5), ("100000", 10_000_000)]
)
def test_a_price_is_read_as_cents(written: str, cents: int) -> None:
    assert store.parse_price(written) == cents


@pytest.mark.parametrize(
    "written", ["", "-1", "1.505", "1,50", "1e3", "£3", "NaN", "١", "100000.01", "=1+1", ".5", "5."]
)
def test_what_is_no_price_is_refused(written: str) -> None:
    with pytest.raises(store.BadInput, match="price must be"):
        store.parse_price(written)


@pytest.mark.parametrize(("cents", "text"), [(1650, "16.50"), (5, "0.05"), (0, "0.00"), (123456, "1234.56")])
def test_cents_are_written_as_decimal_text(cents: int, text: str) -> None:
    assert store.decimal_text(cents) == text
    assert store.dollars(cents) == f"${text}"


def import_text(shop: Engine, tmp_path: Path, text: str | bytes) -> int:
    path = tmp_path / "new.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return store.import_books(shop, path)


def test_an_import_adds_replaces_and_numbers_books_and_notes_changed_stock(shop: Engine, tmp_path: Path) -> None:
    highest = max(hit.id for hit in store.search_books(shop, "novel", 50).books)
    text = (
        "title,author,genre,price,stock,id\n"
        "The Loud Orchard,Mira Holt,novel,17.00,4,7\nBrand New,Nia Nox,mystery,$9,3,\n"
    )
    assert import_text(shop, tmp_path, text) == 2
    assert store.check_stock(shop, 7) == store.Stock(7, "The Loud Orchard", "Mira Holt", 4, 1)
    assert [(c.resource, c.by, c.before, c.after) for c in store.changes_since(shop, 0)] == [
        ("stock:7", "import", "15", "4"),
        ("price:7", "import", "$16.50 each", "$17.00 each"),
    ]
    new = store.search_books(shop, "brand new").books[0]
    assert (new.author, new.price_cents) == ("Nia Nox", 900)
    assert new.id > highest
    assert all(hit.id != 7 for hit in store.search_books(shop, "The Quiet Orchard", 1).books)
    assert store.check_shop(shop) == []


def test_an_imported_author_gets_the_same_job_done(shop: Engine, tmp_path: Path) -> None:
    rows = (
        "5001,Iron Tide,Una Vale,novel,10,0",
        "5002,Wool,Una Vale,poetry,10,9",
        "5003,Salt,Una Vale,novel,10,2",
    )
    import_text(shop, tmp_path, HEADER + "".join(f"{row},,,,\n" for row in rows))
    assert [hit.id for hit in store.search_books(shop, "Iron Tide").books][:3] == [5001, 5003, 5002]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: the columns title, author, genre, price, stock are missing"),
        ("id,title,author,price,stock\n", "line 1: the columns genre are missing"),
        (HEADER.replace("year", "yeer"), "line 1: the column 'yeer' is unknown"),
        (HEADER.replace("year", "title"), "line 1: a column occurs twice"),
        (HEADER + "1,T,A,g,1.00,1\n", "line 2: there must be 10 values"),
        (HEADER + "1,T,A,g,1.00,1,en,2000,x,y,z\n", "line 2: there must be 10 values"),
        (HEADER + "900,T,A,g,1.00,1,,,,\n901,T,A,g,cheap,1,,,,\n", "line 3: price must be a decimal number"),
        (
            HEADER + "900,,A,g,1.00,1,,,,\n901,T,A,g,1,x,,,,\n",
            "line 2: title must not be empty (and 1 more",
        ),
        (HEADER + "900,T,A,g,1.00,1.5,,,,\n", "line 2: stock must be a whole number from 0"),
        (HEADER + "900,T,A,g,1.00,-1,,,,\n", "line 2: stock must be a whole number from 0"),
        (HEADER + "0,T,A,g,1.00,1,,,,\n", "line 2: id must be a whole number from 1"),
        (HEADER + "1x,T,A,g,1.00,1,,,,\n", "line 2: id must be a whole number from 1"),
        (HEADER + "900,T,A,g,1.00,1,,20000,,\n", "line 2: year must be a whole number"),
        (HEADER + "900,T,A,g,1.00,1,,,,\n900,U,A,g,1.00,1,,,,\n", "line 3: id 900 occurs twice"),
        (HEADER + f"900,{'T' * 301},A,g,1.00,1,,,,\n", "line 2: title must have at most 300 characters"),
        (HEADER + "900,T\x07,A,g,1.00,1,,,,\n", "line 2: title must not hold control characters"),
        (HEADER + '900,"T,A,g,1.00,1,,,,\n', "line 2: unexpected end of data"),
        (HEADER.encode() + b"900,\xff,A,g,1.00,1,,,,\n", "the file new.csv is not UTF-8 text"),
    ],
)
def test_a_wrong_file_is_refused_by_line_and_loses_nothing(
    shop: Engine, tmp_path: Path, text: str | bytes, message: str
) -> None:
    with pytest.raises(store.ShopError) as caught:
        import_text(shop, tmp_path, text)
    assert str(caught.value).startswith(message)
    assert store.latest_change(shop) == 0
    assert store.search_books(shop, "The Quiet Orchard").books[0].id == 7
    with pytest.raises(store.NoSuchBook):
        store.get_book(shop, 900)


def test_a_missing_file_is_refused(shop: Engine, tmp_path: Path) -> None:
    with pytest.raises(store.BadInput, match=r"the file none\.csv cannot be read"):
        store.import_books(shop, tmp_path / "none.csv")


def test_a_new_price_is_noted_for_each_cart_that_holds_the_book_and_no_other(shop: Engine) -> None:
    store.set_quantity(shop, 1, 7, 2, by="test")
    store.set_quantity(shop, 2, 7, 1, by="test")
    store.set_quantity(shop, 3, 9, 1, by="test")
    before = {customer: store.view_cart(shop, customer) for customer in (1, 2, 3)}
    last = store.latest_change(shop)
    store.set_price(shop, 7, 1_725, by="office")
    after = {customer: store.view_cart(shop, customer) for customer in (1, 2, 3)}
    assert [after[customer].total_cents for customer in (1, 2)] == [3_450, 1_725]
    assert after[3] == before[3]
    changes = store.changes_since(shop, last)
    assert [change.resource for change in changes] == ["price:7", "cart:1", "cart:2"]
    assert [change.version for change in changes[1:]] == [after[customer].version for customer in (1, 2)]
    assert [change.version_before for change in changes[1:]] == [before[customer].version for customer in (1, 2)]
    store.set_price(shop, 7, 1_725, by="office")
    assert store.latest_change(shop) == changes[-1].version


def test_several_new_prices_in_one_cart_are_one_chain_of_versions(shop: Engine, tmp_path: Path) -> None:
    for book in (7, 9):
        store.set_quantity(shop, 1, book, 1, by="test")
    version, last = store.view_cart(shop, 1).version, store.latest_change(shop)
    rows = [f"{book},x,y,novel,{price},15,en,2000,paperback,z" for book, price in ((7, "20.00"), (9, "30.00"))]
    file = tmp_path / "books.csv"
    file.write_text("\n".join(["id,title,author,genre,price,stock,language,year,edition,description", *rows]))
    store.import_books(shop, file)
    moved = [change for change in store.changes_since(shop, last) if change.resource == "cart:1"]
    assert [moved[0].version_before, moved[1].version_before] == [version, moved[0].version]
    assert store.view_cart(shop, 1).version == moved[1].version
    assert store.view_cart(shop, 1).total_cents == 5_000


@pytest.mark.parametrize("cents", [-1, 10**9, True])
def test_no_price_and_no_book_are_refused(shop: Engine, cents: int) -> None:
    with pytest.raises(store.BadInput):
        store.set_price(shop, 7, cents, by="office")
    with pytest.raises(store.NoSuchBook):
        store.set_price(shop, 99_999, 100, by="office")
