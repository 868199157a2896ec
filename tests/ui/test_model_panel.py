"""The choice of models: what is said of the chosen one, getting a missing one, loading it."""

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from agent.models.engine import ModelCard
from tests.ollama_server import MODEL, OllamaServer, Step, reply
from ui.model_panel import card_lines, card_warnings
from ui.opened import LOOK_AGAIN_SECONDS, OPENED, Looked

PAGE = Path(__file__).parents[2] / "ui" / "page.py"
PATIENCE = 10.0


def layer(name: str, completed: int | None, total: int = 100) -> dict[str, object]:
    here = {} if completed is None else {"completed": completed}
    return {"status": f"pulling {name}", "digest": f"sha256:{name * 6}", "total": total} | here


@pytest.fixture
def ollama() -> Iterator[OllamaServer]:
    with OllamaServer([reply("Fine.")]) as server:
        yield server


@pytest.fixture(autouse=True)
def surroundings(
    seed_file: Path, tmp_path: Path, ollama: OllamaServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    file = shutil.copy(seed_file, tmp_path / "page.db")
    monkeypatch.setenv("BOOKSHOP_DATABASE_URL", f"sqlite:///{file}")
    monkeypatch.setenv("OLLAMA_HOST", ollama.url)
    monkeypatch.delenv("BOOKSHOP_MODEL", raising=False)
    OPENED.close()
    yield
    OPENED.close()


def visit() -> AppTest:
    at = AppTest.from_file(str(PAGE), default_timeout=60)
    at.run()
    assert not at.exception
    return at


def said(at: AppTest) -> str:
    """What the sidebar says, without the marks that keep it from being markup."""
    kinds = ("caption", "warning", "error", "code")
    texts = [element.value for kind in kinds for element in at.sidebar.get(kind)]
    return "\n".join(texts).replace("\\", "")


def until(at: AppTest, seen: Callable[[], bool]) -> None:
    """Run the page again and again, as its ticks do in a browser, until something shows."""
    deadline = time.monotonic() + PATIENCE
    while not seen():
        assert time.monotonic() < deadline, said(at)
        at.run()
        assert not at.exception


def button(at: AppTest, label: str) -> list[object]:
    return [found for found in at.sidebar.button if found.label.replace("\\", "") == label]


def press(at: AppTest, label: str) -> None:
    (found,) = button(at, label)
    found.click().run()
    assert not at.exception


def test_the_chosen_model_is_marked_with_what_it_can_do(ollama: OllamaServer) -> None:
    at = visit()
    until(at, lambda: "Tools yes" in said(at))
    assert at.selectbox(key="model").value == MODEL
    assert "2.5 GB" in said(at)
    digest = next(model.digest for model in OPENED.server().models)
    assert f"digest {str(digest).removeprefix('sha256:')[:12]}" in said(at)
    assert "Context 16,384 of 262,144" in said(at)


def test_a_model_that_cannot_call_tools_is_warned_of(ollama: OllamaServer) -> None:
    ollama.models, ollama.capabilities = (MODEL, "gemma:2b"), ("completion",)
    at = visit()
    at.selectbox(key="model").set_value("gemma:2b").run()
    until(at, lambda: "cannot call tools" in said(at))
    assert "Tools no · thinking no" in said(at)


def test_what_an_old_server_does_not_tell_is_unknown() -> None:
    card = ModelCard(name="x", digest=None, size=None)
    assert card_lines(card, 2_048) == [
        "Tools unknown · thinking unknown",
        "Context 2,048 of unknown",
    ]
    assert card_warnings(card, think=False, num_ctx=2_048) == []


def test_more_context_than_the_model_has_is_warned_of(ollama: OllamaServer) -> None:
    ollama.context_length = 8_192
    at = visit()
    until(at, lambda: "takes 8,192 tokens at most" in said(at))
    at.select_slider(key="num_ctx").set_value(4_096).run()
    assert "at most; the server" not in said(at)
    assert "Context 4,096 of 8,192" in said(at)


def test_the_chosen_context_is_asked_for(ollama: OllamaServer) -> None:
    at = visit()
    at.select_slider(key="num_ctx").set_value(32_768).run()
    at.toggle(key="think").set_value(False).run()
    at.chat_input[0].set_value("hello").run()
    assert OPENED.shop().runs.wait(str(at.session_state["handle"]), PATIENCE)
    (asked, *_) = ollama.requests
    assert asked["options"]["num_ctx"] == 32_768


def test_the_address_sets_the_context() -> None:
    at = AppTest.from_file(str(PAGE), default_timeout=60)
    at.query_params["num_ctx"] = "8,192"
    at.run()
    assert at.select_slider(key="num_ctx").value == 8_192


def test_a_missing_model_is_pulled_with_a_bar_for_each_layer_and_then_answers(ollama: OllamaServer) -> None:
    ollama.models = ()

    def pull(body: dict[str, object]) -> Step:
        ollama.models = (MODEL,)
        lines = [{"status": "pulling manifest"}, layer("aa", None), layer("aa", 50), layer("bb", 100)]
        lines += [layer("aa", 30), layer("aa", 70), {"status": "verifying sha256 digest"}, {"status": "success"}]
        return {"lines": lines, "line_delay_s": 0.1}

    ollama.pull = pull
    at = visit()
    assert at.selectbox(key="model").value == "offline"
    assert "is not pulled" in said(at)
    press(at, f"Get {MODEL}")
    seen: list[float] = []

    def there() -> bool:
        bars = [bar.proto.value for bar in at.sidebar.get("progress")]
        seen.extend(bars[:1])
        return not button(at, "Cancel") and at.selectbox(key="model").value == MODEL

    until(at, there)
    assert seen == sorted(seen)
    assert all(0 <= part <= 100 for part in seen)
    assert len(ollama.pulls) == 1


def test_a_pull_that_fails_says_why_and_that_it_can_go_on(ollama: OllamaServer) -> None:
    ollama.models = ()
    ollama.pull = ({"lines": [layer("aa", 50), {"error": "max retries exceeded: EOF"}]},)
    at = visit()
    press(at, f"Get {MODEL}")
    until(at, lambda: bool(at.sidebar.error))
    assert "pull again to go on from there" in said(at)
    assert button(at, f"Get {MODEL}")


def test_a_pull_without_success_is_not_done(ollama: OllamaServer) -> None:
    ollama.models = ()
    ollama.pull = ({"lines": [layer("aa", 100)]},)
    at = visit()
    press(at, f"Get {MODEL}")
    until(at, lambda: bool(at.sidebar.error))
    assert at.selectbox(key="model").value == "offline"


def test_a_cancelled_pull_hangs_up(ollama: OllamaServer) -> None:
    ollama.models = ()
    ollama.pull = ({"lines": [layer("aa", 50)], "then": "hang"},)
    at = visit()
    press(at, f"Get {MODEL}")
    until(at, lambda: bool(at.sidebar.get("progress")))
    press(at, "Cancel")
    assert ollama.wait_until(lambda server: server.disconnects, 2)
    until(at, lambda: "The pull was stopped" in said(at))
    assert not at.sidebar.error


def test_a_warm_up_loads_with_the_options_of_the_runs(ollama: OllamaServer) -> None:
    ollama.wire = ({"lines": [{"model": MODEL, "done": True, "done_reason": "load", "message": {"content": ""}}]},)
    at = visit()
    at.select_slider(key="num_ctx").set_value(8_192).run()
    press(at, "Warm up")
    until(at, lambda: "Loaded in" in said(at))
    (asked,) = ollama.requests
    assert asked["messages"] == []
    assert asked["options"]["num_ctx"] == 8_192


def test_a_warm_up_that_fails_says_why(ollama: OllamaServer) -> None:
    ollama.wire = ({"status": 500, "body": {"error": "model requires more system memory"}},)
    at = visit()
    press(at, "Warm up")
    until(at, lambda: "Not loaded:" in said(at))
    assert button(at, "Warm up")


def test_names_of_a_server_are_no_markup(ollama: OllamaServer) -> None:
    evil = "![x](http://evil/):red[x]"
    ollama.models = (evil, "script:endless", "offline")
    at = visit()
    assert at.selectbox(key="model").options.count("offline") == 1
    assert "script:endless" not in at.selectbox(key="model").options
    at.selectbox(key="model").set_value(evil).run()
    assert not at.exception
    assert "![x](" not in "\n".join(found.value for found in at.sidebar.caption)


def test_an_answer_that_is_known_is_shown_while_a_server_hangs() -> None:
    release = threading.Event()
    looked = Looked(lambda: release.wait(PATIENCE), False, at=time.monotonic() - 2 * LOOK_AGAIN_SECONDS)
    assert [looked.get(0.05) for _ in range(20)] == [False] * 20
    assert looked.looking is not None  # one look, which still goes on
    release.set()
    assert looked.get(PATIENCE, afresh=True) is True
