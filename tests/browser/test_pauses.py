"""Runs that stand still in a real browser: a call that waits for a person, a run that was stopped; and the lab."""

from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect
from sqlalchemy import Engine

import store
from agent.archive import Archive
from tests.browser.conftest import JOB, READY, Server, answered, handle_of, send, stop_button


def card(page: Page) -> Locator:
    return page.locator("[class*=st-key-stop-card]")


def request(page: Page) -> Locator:
    return page.get_by_role("heading", name="May this call run?")


def in_cart(shop: Engine) -> list[tuple[int, int]]:
    return [(line.book_id, line.quantity) for line in store.view_cart(shop, 1).lines]


def test_a_request_survives_a_reload_and_a_restart_and_yes_runs_the_call(
    visit: Callable[..., Page], server: Server, shop: Engine, archive: Archive
) -> None:
    page = visit(f"{server.url}/?approve_above=0")
    send(page, JOB)
    expect(request(page)).to_be_visible()
    address = page.url
    page.reload()
    expect(request(page)).to_be_visible()
    page.context.close()
    server.stop()
    server.start()
    page = visit(address)
    expect(request(page)).to_be_visible()
    expect(page.get_by_text("Another program is answering")).to_have_count(0)
    assert in_cart(shop) == []
    send(page, "And another thing")
    expect(page.get_by_test_id("stToast")).to_contain_text("A call waits for you")
    expect(page.get_by_test_id("stChatInputTextArea")).to_have_value("And another thing")
    page.get_by_role("button", name="Yes", exact=True).click()
    answered(page)
    expect(page.get_by_text("Total $16.50", exact=True)).to_be_visible()
    assert in_cart(shop) == [(7, 1)]
    expect(page.get_by_test_id("stChatInputTextArea")).to_have_value("And another thing")
    (run,) = [run for run in archive.listing.runs("1") if run.handle == handle_of(page)]
    assert run.stop_reason == "done"


def test_other_arguments_are_typed_and_sent_with_enter(
    visit: Callable[..., Page], server: Server, shop: Engine
) -> None:
    page = visit(f"{server.url}/?approve_above=0")
    send(page, JOB)
    expect(request(page)).to_be_visible()
    page.locator("summary", has_text="Yes, with other arguments").click()
    quantity = page.get_by_role("textbox", name="quantity")
    quantity.fill("many")
    quantity.press("Enter")
    expect(page.get_by_role("alert").filter(has_text="quantity")).to_be_visible()
    expect(quantity).to_have_value("many")
    assert in_cart(shop) == []
    quantity.fill("2")
    quantity.press("Enter")
    answered(page)
    expect(page.get_by_text("Total $33.00", exact=True)).to_be_visible()
    assert in_cart(shop) == [(7, 2)]


def test_an_answer_from_elsewhere_shows_by_itself(
    visit: Callable[..., Page], server: Server, shop: Engine
) -> None:
    page = visit(f"{server.url}/?approve_above=0")
    send(page, JOB)
    expect(request(page)).to_be_visible()
    other = visit(page.url)
    other.get_by_role("button", name="No", exact=True).click()
    expect(request(page)).to_have_count(0)
    answered(page)
    assert in_cart(shop) == []


def test_a_stopped_run_goes_on_with_more(visit: Callable[..., Page], server: Server, shop: Engine) -> None:
    page = visit(f"{server.url}/?max_steps=2")
    send(page, JOB)
    expect(card(page)).to_contain_text("Steps · 2 of 2")
    slider = page.locator(".st-key-max_steps").get_by_role("slider")
    for value in ("3", "4", "5", "6"):
        slider.press("ArrowRight")
        expect(page.locator(".st-key-max_steps").get_by_test_id("stSliderThumbValue")).to_have_text(value)
    page.wait_for_selector(READY)
    card(page).get_by_role("button", name="Continue with more").click()
    expect(page.get_by_text("Total $16.50", exact=True)).to_be_visible()
    expect(stop_button(page)).to_have_count(0)
    expect(card(page)).to_have_count(0)
    expect(page.get_by_text("This run goes on from the one before")).to_be_visible()
    assert in_cart(shop) == [(7, 1)]


def test_the_lab_runs_a_model_and_the_settings_of_the_shop_are_kept(page: Page) -> None:
    slider = page.locator(".st-key-max_steps").get_by_role("slider")
    slider.press("ArrowRight")
    page.wait_for_url("**max_steps=8*")
    page.get_by_role("link", name="Lab").click()
    models = page.get_by_role("combobox", name="Models")
    models.click()
    models.press_sequentially("doublebuyer")
    models.press("Enter")
    models.press("Escape")
    page.get_by_role("button", name="Run the experiment: 2 runs").click()
    expect(page.get_by_role("heading", name="Guards on", exact=True)).to_be_visible()
    off, on = (page.get_by_test_id("stColumn").filter(has_text=mode) for mode in ("Guards off", "Guards on"))
    expect(off).to_contain_text("2 effects")
    expect(on).to_contain_text("1 effect")
    on.locator("summary", has_text="Guards").click()
    expect(on.get_by_role("table")).to_contain_text("replay 1 of 1")
    page.get_by_role("link", name="Back to the shop").click()
    expect(page.locator(".st-key-max_steps").get_by_test_id("stSliderThumbValue")).to_have_text("8")
