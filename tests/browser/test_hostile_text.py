"""What a model writes is shown as text: no formula, image, link, heading or badge of its making."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Playwright, expect

from tests.browser.conftest import READY, Server, answered, send
from tests.ollama_server import MODEL, OllamaServer, reply

HOSTILE = {
    "prices": "It is $16.50 and 18.90$, area $x^2$, $$y$$ or 5$/6$",
    "formula between unequal backticks": "``$x$`",
    "formula between escaped backticks": "\\`$x$\\`",
    "formula in a split code span": "`a\n\n$x$\n\nb`",
    "image": "![x](http://elsewhere.invalid/?d=1) ![y][z]\n\n[z]: http://elsewhere.invalid/",
    "link": "[x](http://elsewhere.invalid/) <http://elsewhere.invalid/> http://elsewhere.invalid/",
    "bare address": "_www.elsewhere.invalid_ and 1https://elsewhere.invalid/",
    "mail address": "write to evil@elsewhere.invalid",
    "badge": ":green-badge[Paid] :red[sold] :material/check: :rainbow[x]",
    "badge between unequal backticks": "``:green-badge[Paid]`",
    "badge between escaped backticks": "\\`:green-badge[Paid]\\`",
    "heading": "# SOLD OUT",
    "underlined heading": "SOLD OUT\n===",
    "heading in a list": "1. # SOLD OUT",
    "page": "<b>x</b><img src=x><script>alert(1)</script>",
}
FAKED = {
    "a formula": ".katex",
    "an image": "img",
    "a link": "a[href]",
    "a heading": "h1, h2, h3, h4, h5, h6",
    "a badge": ".is-badge, .stMarkdownBadge, [class*=Badge]",
    "a colour": ".colored-text, span[style*=color]",
    "markup": "b, script",
}


@pytest.fixture(scope="module")
def ollama() -> Iterator[OllamaServer]:
    with OllamaServer(lambda body: reply(HOSTILE[body["messages"][-1]["content"]], chunks=1)) as running:
        yield running


@pytest.fixture(scope="module")
def server(database: Path, playwright: Playwright, ollama: OllamaServer) -> Iterator[Server]:
    running = Server(database, BOOKSHOP_MODEL=MODEL, OLLAMA_HOST=ollama.url)
    running.start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def faked(browser: Browser, server: Server) -> Iterator[Callable[[str], list[str]]]:
    """Let the model write a text, and tell what became of it in the page."""
    context = browser.new_context(reduced_motion="reduce")
    page: Page = context.new_page()
    page.goto(server.url)
    page.wait_for_selector(READY)
    expect(page.get_by_test_id("stChatInputTextArea")).to_be_visible()

    def write(name: str) -> list[str]:
        said = page.get_by_role("group", name="Chat message from assistant")
        before = said.count()
        send(page, name)
        expect(said).to_have_count(before + 1)
        answered(page)
        return [what for what, mark in FAKED.items() if said.last.locator("p, div").locator(mark).count()]

    yield write
    context.close()


@pytest.mark.parametrize("name", HOSTILE)
def test_what_a_model_writes_stays_text(faked: Callable[[str], list[str]], name: str) -> None:
    assert faked(name) == []
