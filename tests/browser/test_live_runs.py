"""A run that takes a minute, and a page that stays usable all the while."""

import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect
from sqlalchemy import Engine, update

import store
from agent.archive import Archive
from agent.archive.tables import RUNS
from tests.browser.conftest import Server, handle_of, send, stop_button, until


@pytest.fixture(scope="module")
def model() -> str:
    """A search, and then an answer of 240 words in a minute."""
    return "script:slow"


@pytest.fixture
def live(page: Page) -> Page:
    """The page in the middle of a run."""
    send(page, "Tell me all")
    expect(answer(page)).to_contain_text("One word comes")
    return page


def answer(page: Page) -> Locator:
    return page.get_by_role("group", name="Chat message from assistant").last


def assert_goes_on(page: Page, archive: Archive) -> None:
    """More words come, and nothing has ended the run."""
    before = len(answer(page).inner_text())
    until(lambda: len(answer(page).inner_text()) > before + 10, "more words come")
    expect(stop_button(page)).to_be_visible()
    assert stop_reason(archive, handle_of(page)) is None


def stop_reason(archive: Archive, handle: str) -> str | None:
    (run,) = [run for run in archive.listing.runs("1", 100) if run.handle == handle]
    return run.stop_reason


def stop(page: Page) -> None:
    stop_button(page).click()
    expect(page.get_by_text("Not finished: you stopped it")).to_be_visible()


def test_stop_ends_the_run_in_the_middle_of_its_answer(live: Page, archive: Archive) -> None:
    stop(live)
    (run,) = [run for run in archive.listing.runs("1", 100) if run.handle == handle_of(live)]
    *_, reply, end = archive.listing.run_events("1", run.run_id)
    assert (end.kind, run.stop_reason) == ("run_finished", "cancelled")
    assert (reply.kind, reply.incomplete) == ("model_reply", True)  # of a minute
    expect(stop_button(live)).to_have_count(0)


def test_a_slider_moved_in_the_middle_does_not_end_it(live: Page, archive: Archive) -> None:
    slider = live.locator(".st-key-max_steps").get_by_role("slider")
    slider.press("ArrowRight")
    expect(live.locator(".st-key-max_steps").get_by_test_id("stSliderThumbValue")).to_have_text("8")
    assert_goes_on(live, archive)
    stop(live)


def test_a_cart_line_changed_in_the_middle_takes_effect_and_does_not_end_it(
    page: Page, shop: Engine, archive: Archive
) -> None:
    store.add_to_cart(shop, 1, 7, by="test")
    send(page, "Tell me all")
    expect(answer(page)).to_contain_text("One word comes")
    copies = page.get_by_role("spinbutton", name="Copies of The Quiet Orchard")
    copies.fill("3")
    copies.press("Enter")
    expect(page.get_by_text("Total $49.50", exact=True)).to_be_visible()
    assert store.view_cart(shop, 1).lines[0].quantity == 3
    assert_goes_on(page, archive)
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_text("The cart is empty.")).to_be_visible()
    assert_goes_on(page, archive)
    stop(page)


def test_a_number_half_typed_in_the_cart_survives_the_ticks(page: Page, shop: Engine) -> None:
    store.add_to_cart(shop, 1, 7, by="test")
    send(page, "Tell me all")
    expect(answer(page)).to_contain_text("One word comes")
    copies = page.get_by_role("spinbutton", name="Copies of The Quiet Orchard")
    copies.fill("1")
    copies.press("End")
    copies.press("0")
    before = len(answer(page).inner_text())
    until(lambda: len(answer(page).inner_text()) > before + 30, "several ticks go by")
    expect(copies).to_have_value("10")
    copies.press("Enter")
    expect(page.get_by_text("Total $165.00", exact=True)).to_be_visible()
    stop(page)


def test_a_reload_in_the_middle_shows_it_live_again(live: Page, archive: Archive) -> None:
    live.reload()
    expect(answer(live)).to_contain_text("One word comes")
    assert_goes_on(live, archive)
    stop(live)


def test_a_closed_tab_does_not_end_it_and_another_browser_can_stop_it(
    live: Page, archive: Archive, visit: Callable[..., Page]
) -> None:
    address, handle = live.url, handle_of(live)
    live.context.close()
    other = visit(address)
    expect(answer(other)).to_contain_text("One word comes")
    assert stop_reason(archive, handle) is None
    stop(other)


def test_steps_show_while_they_happen(live: Page) -> None:
    expect(live.locator("[data-step=true]").first).to_contain_text("search_books")
    expect(live.locator("[data-step=true]")).to_have_count(2)
    stop(live)
    expect(live.locator("[data-step=true]")).to_have_count(2)


def test_a_step_opened_in_the_middle_stays_open(live: Page) -> None:
    step = live.locator("[data-step=true]").first
    step.locator("summary").first.click()
    expect(step).to_contain_text("search_books(query=")
    before = len(answer(live).inner_text())
    until(lambda: len(answer(live).inner_text()) > before + 30, "several ticks go by")
    expect(step.get_by_text("search_books(query=")).to_be_visible()
    stop(live)


def test_a_message_sent_in_the_middle_stays_in_the_box(live: Page, archive: Archive) -> None:
    send(live, "And another thing")
    expect(live.get_by_test_id("stToast")).to_contain_text("Still answering")
    expect(live.get_by_test_id("stChatInputTextArea")).to_have_value("And another thing")
    assert_goes_on(live, archive)
    expect(live.get_by_test_id("stChatInputTextArea")).to_have_value("And another thing")
    stop(live)


def test_a_message_half_typed_survives_the_end_of_the_run(live: Page) -> None:
    box = live.get_by_test_id("stChatInputTextArea")
    box.fill("And another")
    stop(live)
    expect(box).to_have_value("And another")


def test_a_run_that_died_with_its_server_does_not_block_the_conversation(
    live: Page, server: Server, shop: Engine, archive: Archive, visit: Callable[..., Page]
) -> None:
    address, handle = live.url, handle_of(live)
    live.context.close()
    server.kill()
    server.start()  # at once: the lease of the dead run has not lapsed yet
    with shop.begin() as db:
        db.execute(update(RUNS).where(RUNS.c.stop_reason.is_(None)).values(heartbeat=time.time() - 60))
    page = visit(address)
    send(page, "Are you still there?")
    expect(answer(page)).to_contain_text("One word comes")
    assert "interrupted" in {run.stop_reason for run in archive.listing.runs("1", 100) if run.handle == handle}
    stop(page)
