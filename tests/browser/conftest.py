"""A real server and a real browser; without Chromium the tests are skipped, or fail where they are required."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, Playwright, Request, Response, expect, sync_playwright
from sqlalchemy import Engine

import store
from agent.archive import Archive
from assistant.bookshop import Bookshop

ROOT = Path(__file__).parents[2]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
REQUIRED = os.environ.get("BOOKSHOP_BROWSER_TESTS") == "required"
SWITCHES = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE = 30.0
READY = "[data-testid=stApp][data-test-connection-state=CONNECTED][data-test-script-state=notRunning]"
JOB = "Add The Last Lighthouse to my cart. If it is not available, add another novel by the same author."


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test of this folder drives a browser."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


def until(seen: Callable[[], bool], what: str, seconds: float = PATIENCE) -> None:
    """Wait until something can be seen from outside, and fail after ``seconds``."""
    deadline = time.monotonic() + seconds
    while not seen():
        assert time.monotonic() < deadline, f"{what}: not within {seconds:g} s"
        time.sleep(0.05)


class Server:
    """``streamlit run app.py`` on a free port, with a shop of its own; can be started again on the same one."""

    def __init__(self, database: Path, **surroundings: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = database.with_suffix(".log")
        self._env = os.environ | {"BOOKSHOP_DATABASE_URL": f"sqlite:///{database}"} | surroundings
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={self.port}"]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--server.headless=true"], cwd=ROOT, env=self._env, stdout=log, stderr=log
            )
        until(self._healthy, f"the server is up (see {self.log})", 60)

    def stop(self) -> None:
        if self._process:
            self._process.terminate()
            self._process.wait(PATIENCE)

    def kill(self) -> None:
        assert self._process
        self._process.kill()
        self._process.wait(PATIENCE)

    def _healthy(self) -> bool:
        assert self._process
        assert self._process.poll() is None, self.log.read_text()
        try:
            with urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=2) as answer:
                return bool(answer.read() == b"ok")
        except OSError:
            return False


@dataclass
class Watch:
    """What must not happen in a page: errors, failed requests, requests to anywhere but the server."""

    host: str
    wrong: list[str] = field(default_factory=list)

    def over(self, page: Page) -> None:
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("request", self._request)
        page.on("requestfailed", self._failed)
        page.on("response", self._response)
        page.on("websocket", lambda socket: self._address(socket.url))

    def _request(self, request: Request) -> None:
        self._address(request.url)

    def _address(self, url: str) -> None:
        if urlsplit(url).scheme not in ("data", "blob") and urlsplit(url).netloc != self.host:
            self.wrong.append(f"elsewhere: {url}")

    def _failed(self, request: Request) -> None:
        if "ERR_ABORTED" not in (request.failure or ""):  # which is what leaving a page does to its requests
            self.wrong.append(f"failed: {request.url}: {request.failure}")

    def _response(self, response: Response) -> None:
        if response.status >= 400:
            self.wrong.append(f"status {response.status}: {response.url}")


@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    """Not for the whole session: while it lives, an event loop runs in this thread, and no other can."""
    if CHROMIUM is None:
        if REQUIRED:
            pytest.fail("No Chromium was found, and BOOKSHOP_BROWSER_TESTS requires it.")
        pytest.skip("no Chromium was found")
    expect.set_options(timeout=12_000)
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="package")
def browser(playwright: Playwright) -> Iterator[Browser]:
    launched = playwright.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
    yield launched
    launched.close()


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory, seed_file: Path) -> Path:
    return Path(shutil.copy(seed_file, tmp_path_factory.mktemp("server") / "shop.db"))


@pytest.fixture(scope="module")
def shop(database: Path) -> Iterator[Engine]:
    """The shop of the server, as another program sees it."""
    engine = store.open_shop(f"sqlite:///{database}")
    yield engine
    engine.dispose()


@pytest.fixture
def archive(shop: Engine) -> Archive:
    return Bookshop(shop).archive


@pytest.fixture(scope="module")
def model() -> str:
    """The model of a module's server."""
    return "offline"


@pytest.fixture(scope="module")
def server(database: Path, playwright: Playwright, model: str) -> Iterator[Server]:
    """The server of a module; without a browser there is none."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen: no Ollama
        ollama = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        running = Server(database, BOOKSHOP_MODEL=model, OLLAMA_HOST=ollama)
        running.start()
        yield running
        running.stop()


@pytest.fixture
def watch(server: Server) -> Iterator[Watch]:
    seen = Watch(urlsplit(server.url).netloc)
    yield seen
    assert seen.wrong == []


@pytest.fixture
def visit(browser: Browser, server: Server, watch: Watch, shop: Engine) -> Iterator[Callable[..., Page]]:
    """Open the page in a context of its own, as another visitor; the cart is empty at first."""
    store.clear_cart(shop, 1, by="test")
    contexts = []

    def open_page(url: str = "", *, width: int = 1440, height: int = 1000, scheme: str = "light") -> Page:
        size = {"width": width, "height": height}
        context = browser.new_context(viewport=size, color_scheme=scheme, reduced_motion="reduce")
        contexts.append(context)
        page = context.new_page()
        watch.over(page)
        page.goto(url or server.url)
        page.wait_for_selector(READY)
        expect(page.get_by_test_id("stChatInputTextArea")).to_be_visible()
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def page(visit: Callable[..., Page]) -> Page:
    """The page as a new visitor finds it."""
    return visit()


def send(page: Page, text: str) -> None:
    """Type a message and send it with Enter."""
    box = page.get_by_test_id("stChatInputTextArea")
    box.fill(text)
    box.press("Enter")


def answered(page: Page) -> None:
    """Wait until the answer is there and nothing is live any more."""
    expect(page.get_by_role("group", name="Chat message from assistant").last).to_contain_text("tool call")
    expect(stop_button(page)).to_have_count(0)
    page.wait_for_selector(READY)


def stop_button(page: Page) -> Locator:
    return page.locator(".st-key-stop button")


def handle_of(page: Page) -> str:
    """The handle of the page's conversation, which the address names from the first message on."""
    page.wait_for_url(re.compile(r"[?&]c="))
    return parse_qs(urlsplit(page.url).query)["c"][0]
