"""The stale-data caveat in a real browser: another process changes the shop under an open page."""

import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect
from sqlalchemy import Engine

import store
from tests.browser.conftest import JOB, answered, send
from ui.news import NEWS_SECONDS

TOTAL = "What is my cart total now?"


def ask(page: Page, text: str) -> None:
    """Send a message and wait for its answer."""
    send(page, text)
    expect(page.get_by_role("group", name="Chat message from user").last).to_contain_text(text[:20])
    answered(page)


def elsewhere(database: Path, copies: int) -> None:
    """Change the cart from another engine, as another process does."""
    engine = store.open_shop(f"sqlite:///{database}")
    store.set_quantity(engine, 1, 7, copies, by="terminal")
    engine.dispose()


def test_a_change_made_elsewhere_shows_in_an_open_page_by_itself(
    visit: Callable[..., Page], database: Path, shop: Engine
) -> None:
    page = visit()
    ask(page, JOB)
    expect(page.get_by_text("Total $16.50", exact=True)).to_be_visible()
    elsewhere(database, 2)
    assert NEWS_SECONDS <= 1  # the page asks by itself this often
    expect(page.get_by_text("Pending: the shop has changed")).to_be_visible()
    expect(page.get_by_text("Total $33.00", exact=True)).to_be_visible()
    expect(page.get_by_text(re.compile("the total was .16.50, is .33.00")).first).to_be_visible()


def test_a_page_without_a_conversation_follows_the_cart_too(visit: Callable[..., Page], database: Path) -> None:
    page = visit()
    expect(page.get_by_text("The cart is empty.")).to_be_visible()
    elsewhere(database, 3)
    expect(page.get_by_text("Total $49.50", exact=True)).to_be_visible()


def test_the_stale_answer_is_marked_and_survives_a_reload(visit: Callable[..., Page], database: Path) -> None:
    page = visit()
    ask(page, JOB)
    elsewhere(database, 2)
    ask(page, TOTAL)
    for _ in range(2):
        expect(page.get_by_text("Does not hold: total $16.50")).to_be_visible()
        expect(page.get_by_text("The shop has changed since this was read.")).to_be_visible()
        page.reload()


def test_a_message_half_typed_survives_the_news(visit: Callable[..., Page], database: Path) -> None:
    page = visit()
    ask(page, JOB)
    box = page.get_by_test_id("stChatInputTextArea")
    box.fill("What about")
    elsewhere(database, 2)
    expect(page.get_by_text("Pending: the shop has changed")).to_be_visible()
    expect(box).to_have_value("What about")


def test_the_two_pages_of_two_browsers_share_one_cart(visit: Callable[..., Page]) -> None:
    one, other = visit(), visit()
    ask(one, JOB)
    expect(other.get_by_text("Total $16.50", exact=True)).to_be_visible()
    ask(other, "Add The Quiet Orchard to my cart.")
    expect(one.get_by_text("Pending: the shop has changed")).to_be_visible()
