"""The main job in a real browser, and what surrounds it: reload, other browsers, keyboard, sizes, headers."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine

import store
from tests.browser.conftest import JOB, Server, Watch, answered, send

OVERFLOW = """() => [document.documentElement, document.body,
    ...document.querySelectorAll('#stMain, [data-testid=stMainBlockContainer]')]
    .filter(box => box.scrollWidth > box.clientWidth + 1).map(box => box.dataset.testid || box.tagName)"""


def steps(page: Page) -> list[str]:
    return page.locator("[data-step=true]").all_inner_texts()


def bars(page: Page) -> list[str]:
    """The steps the chart has bars for, as it tells them to a screen reader."""
    marks = page.get_by_test_id("stVegaLiteChart").locator("[aria-roledescription=bar]")
    labels = [mark.get_attribute("aria-label") or "" for mark in marks.all()]
    return sorted({label.split(";")[0] for label in labels})


def assert_whole(page: Page) -> None:
    """The answer, five steps, five bars and the cart are all there."""
    answered(page)
    answer = page.get_by_role("group", name="Chat message from assistant").last
    expect(answer).to_contain_text("The Quiet Orchard")
    expect(answer).to_contain_text("$16.50")
    expect(page.locator("[data-step=true]")).to_have_count(5)
    expect(page.get_by_test_id("stVegaLiteChart").locator("[aria-roledescription=bar]")).to_have_count(15)
    assert bars(page) == [f"step: {number}" for number in range(1, 6)]
    expect(page.get_by_role("spinbutton", name="Copies of The Quiet Orchard")).to_have_value("1")
    expect(page.get_by_text("Total $16.50", exact=True)).to_be_visible()


def test_the_job_shows_all_and_keeps_it_over_a_reload_and_in_another_browser(
    page: Page, visit: Callable[..., Page]
) -> None:
    send(page, JOB)
    assert_whole(page)
    for label, name in zip(
        steps(page), ["search_books", "check_stock", "check_stock", "add_to_cart"], strict=False
    ):
        assert name in label
    page.reload()
    assert_whole(page)
    assert_whole(visit(page.url))
    expect(page.locator(".katex")).to_have_count(0)


def test_a_step_opens_to_its_call_and_its_result(page: Page) -> None:
    send(page, JOB)
    answered(page)
    step = page.locator("[data-step=true]").nth(3)
    step.locator("summary").first.click()
    expect(step).to_contain_text("add_to_cart(book_id=7")
    expect(step).to_contain_text("16.50")
    expect(step).to_contain_text("cart")


def test_the_first_suggestion_does_the_job(page: Page) -> None:
    page.get_by_role("button", name=re.compile("Lighthouse")).click()
    assert_whole(page)


def test_the_job_can_be_done_with_the_keyboard_alone(page: Page) -> None:
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to main content"
    page.keyboard.press("Enter")
    focused = "document.activeElement.dataset.testid"
    for _ in range(20):
        if page.evaluate(focused) == "stChatInputTextArea":
            break
        page.keyboard.press("Tab")
    assert page.evaluate(focused) == "stChatInputTextArea"
    page.keyboard.type(JOB)
    page.keyboard.press("Enter")
    assert_whole(page)


def test_a_cart_line_is_changed_and_taken_out_by_hand(page: Page, shop: Engine) -> None:
    store.add_to_cart(shop, 1, 7, by="test")
    page.reload()
    copies = page.get_by_role("spinbutton", name="Copies of The Quiet Orchard")
    copies.fill("3")
    copies.press("Enter")
    expect(page.get_by_text("Total $49.50", exact=True)).to_be_visible()
    assert store.view_cart(shop, 1).lines[0].quantity == 3
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_text("The cart is empty.")).to_be_visible()
    assert store.view_cart(shop, 1).lines == ()


def test_a_refused_change_is_said_and_the_box_shows_what_is_in_the_cart(page: Page, shop: Engine) -> None:
    store.add_to_cart(shop, 1, 7, by="test")
    page.reload()
    copies = page.get_by_role("spinbutton", name="Copies of The Quiet Orchard")
    copies.fill("20")
    copies.press("Enter")
    expect(page.get_by_test_id("stToast")).to_contain_text("in stock")
    expect(copies).to_have_value("1")
    assert store.view_cart(shop, 1).lines[0].quantity == 1


def test_a_stopped_run_says_why_in_words(page: Page) -> None:
    steps_slider = page.locator(".st-key-max_steps").get_by_role("slider")
    expect(page.locator(".st-key-max_steps").get_by_test_id("stSliderThumbValue")).to_have_text("6")
    for shown in ("5", "4", "3", "2"):
        steps_slider.press("ArrowLeft")
        expect(page.locator(".st-key-max_steps").get_by_test_id("stSliderThumbValue")).to_have_text(shown)
    expect(page.get_by_text("a run ends after 3 model calls")).to_be_visible()
    send(page, JOB)
    answered(page)
    expect(page.get_by_text("Not finished: it reached the limit of steps (max_steps).")).to_be_visible()
    expect(page.get_by_text("The cart is empty.")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_nothing_is_wider_than_the_window(
    visit: Callable[..., Page], shop: Engine, scheme: str, width: int
) -> None:
    page = visit(width=width, height=844, scheme=scheme)
    send(page, f"{JOB} {'x' * 300}")
    answered(page)
    store.add_to_cart(shop, 1, 3, by="test")  # the longest title
    page.reload()
    expect(page.locator("[data-step=true]").first).to_be_visible()
    assert page.evaluate(OVERFLOW) == []
    background = page.evaluate("getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor")
    assert background == ("rgb(17, 22, 29)" if scheme == "dark" else "rgb(255, 255, 255)")


def test_the_visitor_has_a_cookie_that_scripts_cannot_read(page: Page, server: Server) -> None:
    (cookie,) = [cookie for cookie in page.context.cookies() if cookie["name"] == "visitor"]
    assert cookie["httpOnly"] is True
    assert cookie["sameSite"] == "Lax"
    assert len(cookie["value"]) >= 16
    assert "visitor" not in page.evaluate("document.cookie")
    page.reload()
    assert cookie["value"] in [now["value"] for now in page.context.cookies()]


def test_every_page_goes_with_the_security_headers(page: Page, server: Server) -> None:
    answer = page.request.get(server.url)
    policy = answer.headers["content-security-policy"]
    for rule in (
        "default-src 'self'",
        "object-src 'none'",
        "frame-ancestors 'self'",
        "img-src 'self' data: blob:",
    ):
        assert rule in policy
    assert "script-src 'self' 'unsafe-inline'" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"


def test_the_browser_blocks_what_comes_from_elsewhere(page: Page, watch: Watch) -> None:
    """Past the escaping there is a second wall: an image of another host is not even asked for."""
    blocked = page.evaluate("""() => new Promise(done => {
        document.addEventListener('securitypolicyviolation', event => done(event.effectiveDirective))
        const image = new Image(); image.src = 'http://elsewhere.invalid/x.png'
        setTimeout(() => done('nothing'), 5000) })""")
    assert blocked == "img-src"
    assert [what for what in watch.wrong if not what.endswith(("elsewhere.invalid/x.png", ": csp"))] == []
    watch.wrong.clear()


def test_a_restarted_server_brings_the_conversation_back(
    page: Page, server: Server, visit: Callable[..., Page]
) -> None:
    send(page, JOB)
    answered(page)
    address = page.url
    page.context.close()
    server.stop()
    server.start()
    assert_whole(visit(address))
