"""Getting and loading a model from the page, in a real browser over a scripted Ollama server."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import JOB, Server, answered, send, until
from tests.ollama_server import MODEL, SCRIPTS, OllamaServer, Step, Wire

THINKING_ONLY = (
    '{{ range .Messages }}{{ if eq .Role "tool" }}{{ .Content }}{{ end }}{{ end }}{{ .Tools }}'
    "<|im_start|>assistant\n<think>"
)


def layer(digest: str, completed: int) -> dict[str, object]:
    return {"status": f"pulling {digest}", "digest": f"sha256:{digest}", "total": 100, "completed": completed}


@pytest.fixture(scope="module")
def ollama() -> Iterator[OllamaServer]:
    with OllamaServer(SCRIPTS["lighthouse"], template=THINKING_ONLY) as scripted:
        yield scripted


@pytest.fixture(scope="module")
def server(database: Path, browser: Browser, ollama: OllamaServer) -> Iterator[Server]:
    """The page over the scripted server, with the best model there is."""
    running = Server(database, BOOKSHOP_MODEL="", OLLAMA_HOST=ollama.url)
    running.start()
    yield running
    running.stop()


@pytest.fixture
def without(ollama: OllamaServer, visit: Callable[..., Page]) -> Callable[[Wire], Page]:
    """Open the page over a server that has no model, and that pulls like this."""

    def open_page(pull: Wire) -> Page:
        ollama.models, ollama.pull = (), pull
        ollama.pulls.clear()
        ollama.disconnects.clear()
        page = visit()
        get = page.get_by_role("button", name=f"Get {MODEL}", exact=True)

        def offered() -> bool:
            """The page may have seen the model of an earlier test some seconds ago."""
            if get.count() == 0:
                page.reload()
                expect(page.get_by_test_id("stChatInputTextArea")).to_be_visible()  # drawn after the sidebar
            return get.count() > 0

        until(offered, "the missing model is offered")
        return page

    return open_page


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def bars(page: Page) -> list[str]:
    found = page.locator(".st-key-model-place").get_by_role("progressbar")
    return [bar.get_attribute("aria-valuenow") or "" for bar in found.all()]


def test_a_cancelled_pull_hangs_up_and_can_be_begun_again(
    without: Callable[[Wire], Page], ollama: OllamaServer
) -> None:
    page = without(({"lines": [layer("3e4cb1417446", 45), layer("ae370d884f10", 100)], "then": "hang"},))
    press(page, f"Get {MODEL}")
    expect(page.get_by_text("3e4cb1417446 · 45%")).to_be_visible()
    assert bars(page) == ["45", "100"]
    press(page, "Cancel")
    assert ollama.wait_until(lambda seen: seen.disconnects, 2)
    expect(page.get_by_text("The pull was stopped")).to_be_visible()
    expect(page.get_by_role("button", name=f"Get {MODEL}", exact=True)).to_be_visible()


def test_a_pull_that_fails_says_why_and_what_to_do(without: Callable[[Wire], Page]) -> None:
    page = without(({"lines": [layer("3e4cb1417446", 62), {"error": "max retries exceeded: EOF"}]},))
    press(page, f"Get {MODEL}")
    expect(page.get_by_role("alert")).to_contain_text("pull again to go on from there")
    expect(page.get_by_role("progressbar")).to_have_count(0)


def test_a_pull_goes_on_over_a_reload_and_ends_with_the_model_chosen(
    without: Callable[[Wire], Page], ollama: OllamaServer
) -> None:
    def pull(body: dict[str, object]) -> Step:
        ollama.models = (MODEL,)
        lines: list[object] = [layer("3e4cb1417446", part) for part in (10, 40, 20, 60, 80, 100)]
        return {"lines": [*lines, {"status": "writing manifest"}, {"status": "success"}], "line_delay_s": 0.5}

    page = without(pull)
    press(page, f"Get {MODEL}")
    expect(page.get_by_text("3e4cb1417446 ·")).to_be_visible()
    page.reload()
    expect(page.get_by_text("3e4cb1417446 ·")).to_be_visible()
    expect(page.get_by_text("Tools yes · thinking always")).to_be_visible()
    expect(page.get_by_text("Context 16,384 of 262,144")).to_be_visible()
    expect(page.get_by_role("combobox", name="Model")).to_have_value(MODEL)
    assert len(ollama.pulls) == 1


@pytest.fixture
def ready(ollama: OllamaServer, visit: Callable[..., Page]) -> Page:
    """The page over a server that has the model, or gets it at once if the page has not seen it yet."""
    ollama.models, ollama.pull = (MODEL,), ({"lines": [{"status": "success"}]},)
    page = visit()
    again = page.get_by_role("button", name=f"Get {MODEL}", exact=True)
    until(lambda: page.get_by_text("Tools yes").count() + again.count() > 0, "the model is looked at")
    if again.count():
        press(page, f"Get {MODEL}")
    expect(page.get_by_text("Tools yes")).to_be_visible()
    return page


def test_a_tag_that_always_thinks_is_warned_of_when_thinking_is_off(ready: Page) -> None:
    ready.locator(".st-key-model-settings summary").click()
    ready.locator(".st-key-think label").first.click()
    expect(ready.get_by_text("This tag always thinks; qwen3:4b-instruct does not.")).to_be_visible()
    expect(ready.locator(".st-key-model-settings summary")).to_contain_text("no thinking")
    ready.wait_for_url("**think=false*")


def test_a_warm_up_says_when_the_model_is_loaded(ready: Page, ollama: OllamaServer) -> None:
    press(ready, "Warm up")
    expect(ready.get_by_text("Loaded in")).to_be_visible()
    assert ollama.requests[-1]["messages"] == []


def test_a_step_says_where_its_time_went(ready: Page) -> None:
    send(ready, JOB)
    answered(ready)
    step = ready.locator("[data-step=true]").nth(3)
    step.locator("summary").first.click()
    expect(step.get_by_text("Time: load")).to_contain_text(
        "load 90 ms · prompt 0.2 s · thinking and writing 0.9 s (146 tokens/s) · tools"
    )
