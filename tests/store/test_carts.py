"""Carts: adding, changing, the limits, and one effect for each key."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, text
from sqlalchemy.exc import IntegrityError

import store

LIGHTHOUSE, ORCHARD = 2, 7


def test_adding_tells_what_is_in_the_cart_and_what_it_costs(shop: Engine) -> None:
    assert store.add_to_cart(shop, 1, ORCHARD, by="test") == store.Added(7, "The Quiet Orchard", 1, 1, 1650, 0, 1)
    assert store.add_to_cart(shop, 1, ORCHARD, 2, by="test") == store.Added(
        7, "The Quiet Orchard", 2, 3, 4950, 1, 2
    )
    line = store.LineInCart(7, "The Quiet Orchard", 3, 1650, 4950)
    assert store.view_cart(shop, 1) == store.CartView((line,), 4950, 2)


def test_every_change_is_listed_with_who_made_it(shop: Engine) -> None:
    store.add_to_cart(shop, 1, ORCHARD, by="assistant")
    store.set_stock(shop, ORCHARD, 9, by="warehouse")
    store.set_quantity(shop, 1, ORCHARD, 4, by="page")
    store.set_quantity(shop, 1, ORCHARD, 4, by="nobody, as nothing changes")
    store.remove_from_cart(shop, 1, ORCHARD, by="page")
    seen = [
        (c.number, c.resource, c.version_before, c.version, c.by, c.before, c.after)
        for c in store.changes_since(shop, 0)
    ]
    assert seen == [
        (1, "cart:1", 0, 1, "assistant", "0 × The Quiet Orchard", "1 × The Quiet Orchard"),
        (2, "stock:7", 0, 2, "warehouse", "15", "9"),
        (3, "cart:1", 1, 3, "page", "1 × The Quiet Orchard", "4 × The Quiet Orchard"),
        (4, "cart:1", 3, 4, "page", "4 × The Quiet Orchard", "0 × The Quiet Orchard"),
    ]
    assert store.latest_change(shop) == 4
    assert [c.number for c in store.changes_since(shop, {"cart:1": 1, "order:5": 1})] == [3, 4]
    assert store.changes_since(shop, 4) == []
    assert store.changes_since(shop, {}) == []


@pytest.mark.parametrize(
    "quantity", [0, -1, 21, 2**63, 10**30, 1.0, 1.5, True, "3", "1_0", "١", None, [1], float("nan")]
)
def test_only_a_whole_number_from_1_to_20_can_be_added(shop: Engine, quantity: object) -> None:
    with pytest.raises(store.BadInput, match="quantity must be a whole number from 1 to 20"):
        store.add_to_cart(shop, 1, ORCHARD, quantity, by="test")  # type: ignore[arg-type]
    assert store.latest_change(shop) == 0


@pytest.mark.parametrize(
    ("book", "quantity", "error", "message"),
    [
        (LIGHTHOUSE, 1, store.OutOfStock, "book 2 'The Last Lighthouse' is out of stock (0 copies)"),
        (ORCHARD, 16, store.NotEnough, "only 15 in stock of book 7 'The Quiet Orchard', 0 already in the cart"),
        (9999, 1, store.NoSuchBook, "there is no book with the id 9999; call search_books"),
        (10**30, 1, store.NoSuchBook, "there is no book with the id 1000"),
        (True, 1, store.NoSuchBook, "there is no book with the id True"),
    ],
)
def test_a_refusal_says_what_to_do_next_and_changes_nothing(
    shop: Engine, book: int, quantity: int, error: type[store.ShopError], message: str
) -> None:
    with pytest.raises(error) as caught:
        store.add_to_cart(shop, 1, book, quantity, by="test", key="k")
    assert str(caught.value).startswith(message)
    assert len(str(caught.value)) <= 300
    assert store.latest_change(shop) == 0
    assert store.applied_write(shop, "k") is None


@pytest.mark.parametrize("customer", [0, 99, -1, True, 10**30])
def test_an_unknown_customer_has_no_cart(shop: Engine, customer: int) -> None:
    with pytest.raises(store.NoSuchCustomer):
        store.view_cart(shop, customer)
    with pytest.raises(store.NoSuchCustomer):
        store.add_to_cart(shop, customer, ORCHARD, by="test")


def test_stock_is_checked_against_the_sum_in_this_cart_and_not_reserved(shop: Engine) -> None:
    store.add_to_cart(shop, 1, ORCHARD, 10, by="test")
    with pytest.raises(store.NotEnough, match=r"only 15 in stock of .*, 10 already in the cart"):
        store.add_to_cart(shop, 1, ORCHARD, 6, by="test")
    assert store.add_to_cart(shop, 2, ORCHARD, 15, by="test").in_cart == 15
    assert store.check_stock(shop, ORCHARD).in_stock == 15


def test_a_line_holds_at_most_20_copies(shop: Engine) -> None:
    store.set_stock(shop, ORCHARD, 100, by="test")
    store.add_to_cart(shop, 1, ORCHARD, 15, by="test")
    with pytest.raises(store.TooMany, match="at most 20 copies of one book, and 15 of 'The Quiet Orchard'"):
        store.add_to_cart(shop, 1, ORCHARD, 6, by="test")
    assert store.add_to_cart(shop, 1, ORCHARD, 5, by="test").in_cart == 20


def test_a_cart_keeps_what_it_holds_when_stock_falls_and_may_be_made_smaller(shop: Engine) -> None:
    store.add_to_cart(shop, 1, ORCHARD, 10, by="test")
    store.set_stock(shop, ORCHARD, 1, by="test")
    assert store.set_quantity(shop, 1, ORCHARD, 5, by="test").total_cents == 5 * 1650
    with pytest.raises(store.NotEnough):
        store.set_quantity(shop, 1, ORCHARD, 6, by="test")


def test_the_same_key_has_one_effect_and_one_answer(shop: Engine) -> None:
    first = store.add_to_cart(shop, 1, ORCHARD, 2, by="test", key="k")
    store.set_stock(shop, ORCHARD, 0, by="test")
    again = store.add_to_cart(shop, 1, ORCHARD, 2, by="test", key="k")
    assert (first.replayed, again.replayed) == (False, True)
    assert again == store.applied_write(shop, "k")
    assert (again.in_cart, again.version) == (first.in_cart, first.version)
    assert store.view_cart(shop, 1).version == first.version


@pytest.mark.parametrize(("customer", "book", "quantity"), [(2, 7, 1), (1, 10, 1), (1, 7, 2)])
def test_a_key_cannot_be_used_for_another_request(shop: Engine, customer: int, book: int, quantity: int) -> None:
    store.add_to_cart(shop, 1, ORCHARD, 1, by="test", key="k")
    with pytest.raises(store.KeyReused):
        store.add_to_cart(shop, customer, book, quantity, by="test", key="k")
    assert store.latest_change(shop) == 1


def test_a_failure_is_not_stored_under_its_key(shop: Engine) -> None:
    with pytest.raises(store.OutOfStock):
        store.add_to_cart(shop, 1, LIGHTHOUSE, by="test", key="k")
    store.set_stock(shop, LIGHTHOUSE, 1, by="test")
    assert store.add_to_cart(shop, 1, LIGHTHOUSE, by="test", key="k").replayed is False


@pytest.mark.parametrize("key", ["", "x" * 256, "a\nb", "\ud800", "\x00"])
def test_a_key_that_cannot_be_kept_is_refused(shop: Engine, key: str) -> None:
    with pytest.raises(store.BadInput, match="an idempotency key must be"):
        store.add_to_cart(shop, 1, ORCHARD, by="test", key=key)


def test_sixteen_threads_with_one_key_have_one_effect_and_equal_answers(shop: Engine) -> None:
    with ThreadPoolExecutor(16) as threads:
        jobs = [threads.submit(store.add_to_cart, shop, 1, ORCHARD, 1, by="test", key="k") for _ in range(16)]
        answers = [job.result() for job in jobs]
    assert store.view_cart(shop, 1).lines[0].quantity == 1
    assert sorted(answer.replayed for answer in answers) == [False] + [True] * 15
    assert len({(answer.in_cart, answer.cart_total_cents, answer.version) for answer in answers}) == 1


def test_removing_what_is_not_there_is_refused_and_setting_it_to_0_is_not(shop: Engine) -> None:
    with pytest.raises(store.NotInCart, match="'The Quiet Orchard' is not in the cart"):
        store.remove_from_cart(shop, 1, ORCHARD, by="test")
    assert store.set_quantity(shop, 1, ORCHARD, 0, by="test") == store.CartView((), 0, 0)
    assert store.clear_cart(shop, 1, by="test") == store.CartView((), 0, 0)


def test_the_database_itself_refuses_impossible_rows(shop: Engine) -> None:
    for statement in (
        "INSERT INTO cart_line VALUES (1, 7, 0)",
        "INSERT INTO cart_line VALUES (1, 7, 21)",
        "INSERT INTO cart_line VALUES (1, 7, 1.5)",
        "INSERT INTO cart_line VALUES (1, 7, 'two')",
        "INSERT INTO cart_line VALUES (1, 9999, 1)",
        "UPDATE book SET stock = -1",
    ):
        with pytest.raises(IntegrityError), shop.begin() as connection:
            connection.execute(text(statement))


operation = st.tuples(
    st.sampled_from(["add", "set", "remove", "clear", "stock", "again"]),
    st.sampled_from([ORCHARD, LIGHTHOUSE, 10]),
    st.integers(1, 12),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operations=st.lists(operation, max_size=20))
def test_any_sequence_of_changes_agrees_with_a_dictionary(
    seed_file: Path, file: Path, operations: list[tuple[str, int, int]]
) -> None:
    shop = store.open_shop(f"sqlite:///{shutil.copy(seed_file, file)}")
    stock = {book: store.check_stock(shop, book).in_stock for book in (ORCHARD, LIGHTHOUSE, 10)}
    held: dict[int, int] = {}
    last: tuple[int, int, str] | None = None
    for turn, (kind, book, number) in enumerate(operations):
        have = held.get(book, 0)
        try:
            match kind:
                case "add":
                    store.add_to_cart(shop, 1, book, number, by="test", key=f"{turn}")
                    last = (book, number, f"{turn}")
                    assert have + number <= min(stock[book], 20)
                    held[book] = have + number
                case "again" if last:
                    assert store.add_to_cart(shop, 1, last[0], last[1], by="test", key=last[2]).replayed
                case "set":
                    store.set_quantity(shop, 1, book, number, by="test")
                    assert number <= max(have, stock[book])
                    held[book] = number
                case "remove":
                    store.remove_from_cart(shop, 1, book, by="test")
                    assert held.pop(book)
                case "clear":
                    store.clear_cart(shop, 1, by="test")
                    held.clear()
                case "stock":
                    stock[book] = store.set_stock(shop, book, number, by="test").in_stock
        except (store.OutOfStock, store.NotEnough, store.TooMany):
            assert have + number > min(stock[book], 20) if kind == "add" else number > max(have, stock[book])
        except store.NotInCart:
            assert not have
    cart = store.view_cart(shop, 1)
    assert {line.book_id: line.quantity for line in cart.lines} == held
    assert cart.total_cents == sum(line.quantity * line.price_cents for line in cart.lines)
    assert store.check_shop(shop) == []
    shop.dispose()
