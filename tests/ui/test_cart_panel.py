"""The box with the copies of a line: what a person types is done once, what the box only repeats is not."""

import pytest
import streamlit as st

from ui.panels.cart_box import _set_copies

LINE = {"book_id": 7, "title": "The Quiet Orchard", "quantity": 1, "price": "16.50", "line_total": "16.50"}


class Shop:
    """Takes the changes of a cart, or refuses them."""

    def __init__(self) -> None:
        self.made: list[tuple[int, int]] = []
        self.refuses = False

    def change(self, book_id: int, quantity: int) -> bool:
        self.made.append((book_id, quantity))
        return not self.refuses


@pytest.fixture
def box(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    state: dict[str, int] = {"box": 1}
    monkeypatch.setattr(st, "session_state", state)
    return state


def test_a_box_that_tells_what_it_was_drawn_with_changes_nothing(box: dict[str, int]) -> None:
    shop = Shop()
    _set_copies(shop.change, LINE, "box")
    assert shop.made == []


def test_a_change_by_hand_is_made_once_though_it_is_told_again(box: dict[str, int]) -> None:
    shop = Shop()
    for wanted in (3, 3, 4, 1, 1):
        box["box"] = wanted
        _set_copies(shop.change, LINE, "box")
    assert shop.made == [(7, 3), (7, 4), (7, 1)]


def test_a_refused_change_sets_the_box_back(box: dict[str, int]) -> None:
    shop = Shop()
    shop.refuses = True
    box["box"] = 20
    _set_copies(shop.change, LINE, "box")
    assert box["box"] == 1
    assert shop.made == [(7, 20)]
