"""A run of the Lighthouse job, for what is drawn from its events; the page without a browser."""

import shutil
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from agent.trace import AnyEvent
from agent.views.conversation import Conversation
from assistant.bookshop import Bookshop
from assistant.settings import Settings
from lab.scripts import scripted_models
from ui.opened import OPENED

JOB = "Add The Last Lighthouse to my cart. If it is not available, add another novel by the same author."
PAGE = Path(__file__).parents[2] / "ui" / "page.py"
PATIENCE = 30.0


@pytest.fixture
def lighthouse(bookshop: Bookshop) -> Sequence[AnyEvent]:
    """The events of the Lighthouse job: five steps, four calls."""
    conversation = Conversation()
    bookshop.agent(scripted_models()["script:lighthouse"], 1, conversation, Settings()).run(conversation, JOB)
    return conversation.run_events()


@pytest.fixture(scope="session")
def closed_port() -> Iterator[int]:
    """A port of this machine that nobody listens on, and nobody else can take."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.fixture
def surroundings(
    seed_file: Path, tmp_path: Path, closed_port: int, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """A shop of its own for every test, opened anew, and no Ollama."""
    file = shutil.copy(seed_file, tmp_path / "page.db")
    monkeypatch.setenv("BOOKSHOP_DATABASE_URL", f"sqlite:///{file}")
    monkeypatch.setenv("BOOKSHOP_MODEL", "offline")
    monkeypatch.setenv("OLLAMA_HOST", f"http://127.0.0.1:{closed_port}")
    OPENED.close()
    yield
    OPENED.close()


@pytest.fixture
def shop(surroundings: None) -> Bookshop:
    """The shop that the page has open."""
    return OPENED.shop()


@pytest.fixture
def page(surroundings: None) -> Iterator[AppTest]:
    """The page as a new visitor finds it; a run that is still live at the end is stopped."""
    at = AppTest.from_file(str(PAGE), default_timeout=60)
    at.run()
    yield at
    handle = handle_of(at)
    OPENED.shop().runs.stop(handle)
    assert OPENED.shop().runs.wait(handle, PATIENCE)


def handle_of(at: AppTest) -> str:
    kept = at.session_state  # which has no get()
    return str(kept["handle"]) if "handle" in kept else ""


def send(at: AppTest, text: str) -> None:
    """Type a message and run the page until the answer is there."""
    at.chat_input[0].set_value(text).run()
    until_idle(at)


def until_idle(at: AppTest) -> None:
    assert OPENED.shop().runs.wait(handle_of(at), PATIENCE)
    at.run()
    assert not at.exception


def open_steps(at: AppTest) -> None:
    """Open every step, as a click on each would."""
    for box in at.expander:
        if box.label.startswith("Step "):
            at.session_state[box.proto.id.split("-", 2)[2]] = True
    at.run()


def shown(at: AppTest) -> str:
    """All text of the page's main part, as Markdown."""
    kinds = ("markdown", "caption", "warning", "info", "error", "code", "text", "subheader", "title")
    return "\n".join(element.value for kind in kinds for element in at.get(kind))
