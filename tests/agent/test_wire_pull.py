"""Recordings of pulls: progress that jumps, refusals, and ends that are none."""

import threading
from pathlib import Path
from typing import Any

import pytest

from agent.cancel import Cancel
from agent.models.engine import PullFailed, PullProgress
from agent.models.ollama import OllamaEngine
from tests.agent.wire import CASES, assert_readable, failed, wire_of
from tests.ollama_server import OllamaServer, Step

NAME = "qwen3:4b"
FIRST, SECOND = "sha256:3e4cb1417446", "sha256:9aa11bb22cc3"
SUCCESS = {"status": "success"}


def layer(digest: str, total: Any, completed: Any = None) -> dict[str, Any]:
    part = {"status": f"pulling {digest[7:]}", "digest": digest, "total": total}
    return part if completed is None else part | {"completed": completed}


def fetch(step: Step) -> tuple[list[PullProgress], str, int]:
    """Pull a model; the progress, why it failed ("" where it did not), and how often the server was asked."""
    with OllamaServer(pull=[step | {"line_delay_s": 0.003}]) as server:
        try:
            progress, why = list(OllamaEngine(server.url).pull(NAME)), ""
        except PullFailed as failure:
            progress, why = [], str(failure)
            assert_readable(why)
            assert "\n" not in why
    assert [body["model"] for body in server.pulls] == [NAME]
    return progress, why, len(server.pulls)


def watch(step: Step) -> tuple[list[PullProgress], str]:
    """The same, one by one, so that progress before a failure counts."""
    progress: list[PullProgress] = []
    with OllamaServer(pull=[step | {"line_delay_s": 0.003}]) as server:
        try:
            for item in OllamaEngine(server.url).pull(NAME):
                progress.append(item)  # noqa: PERF402  # a failure must leave what came before
        except PullFailed as failure:
            return progress, str(failure)
    return progress, ""


def fractions(progress: list[PullProgress], digest: str) -> list[float | None]:
    return [item.fraction for item in progress if item.layer and digest[7:].startswith(item.layer)]


def test_a_registry_that_wants_a_newer_server_is_said_in_one_line_and_asked_once() -> None:
    _, why, times = fetch(wire_of("pull-needs-newer-server")[0])
    assert "newer" in why
    assert "Ollama" in why
    assert times == 1


def test_progress_that_goes_backwards_stays_between_0_and_1_and_the_failure_says_that_a_new_pull_resumes() -> None:
    progress, why = watch(wire_of("pull-progress-goes-backwards")[0])
    shown = [fraction for fraction in fractions(progress, FIRST) if fraction is not None]
    assert shown == sorted(shown)
    assert all(0 <= fraction <= 1 for fraction in shown)
    assert shown[-1] == pytest.approx(2_300_000_000 / 2_497_280_480)
    assert "pull again" in why
    assert_readable(why)


def test_a_pull_counts_as_done_only_on_success() -> None:
    assert watch({"lines": [layer(FIRST, 10, 10), SUCCESS]})[1] == ""
    for lines in ([layer(FIRST, 10, 10)], [], [{"status": "verifying sha256 digest"}], [{"status": "succes"}]):
        assert watch({"lines": lines})[1]
    assert watch({"lines": [layer(FIRST, 10, 10)], "then": "close"})[1]
    assert watch({"lines": [layer(FIRST, 10, 10)], "then": "reset"})[1]


@pytest.mark.parametrize("then", ["end", "close"])
def test_success_counts_however_the_connection_ends(then: str) -> None:
    assert watch({"lines": [SUCCESS], "then": then})[1] == ""


def test_each_layer_has_its_own_progress() -> None:
    lines = [layer(FIRST, 100), layer(SECOND, 10), layer(FIRST, 100, 50), layer(SECOND, 10, 10), SUCCESS]
    progress, _ = watch({"lines": lines})
    assert fractions(progress, FIRST)[-1] == 0.5
    assert fractions(progress, SECOND)[-1] == 1.0
    assert len({item.layer for item in progress if item.layer}) == 2


@pytest.mark.parametrize(
    ("total", "completed"),
    [
        (0, 0),
        (0, 10),
        (100, 250),
        (100, -5),
        (-1, 5),
        (None, 5),
        ("100", "50"),
        (True, True),
        ([1], {}),
        (10**400, 5),
        (1, 10**400),
        (1e308, 10**400),
        (0.5, 0.25),
        (float("inf"), float("inf")),
        (float("nan"), 1),
    ],
)
def test_a_fraction_never_leaves_0_to_1_whatever_the_server_counts(total: Any, completed: Any) -> None:
    progress, why = watch({"lines": [layer(FIRST, 100, 40), layer(FIRST, total, completed), SUCCESS]})
    shown = [fraction for fraction in fractions(progress, FIRST) if fraction is not None]
    assert why == ""
    assert all(0 <= fraction <= 1 for fraction in shown)
    assert shown == sorted(shown)


@pytest.mark.parametrize(
    ("step", "hint"),
    [
        ({"lines": [{"error": "pull model manifest: file does not exist"}]}, NAME),
        ({"lines": [layer(FIRST, 9, 1), {"error": "max retries exceeded: unexpected EOF"}]}, "pull again"),
        ({"lines": [{"error": "write /root/.ollama/models/x: no space left on device"}]}, "disk"),
        ({"lines": [{"error": "dial tcp: lookup registry.ollama.ai: no such host"}]}, "again"),
        ({"lines": [{"error": {"code": 3, "message": "odd"}}]}, ""),
        ({"lines": ["<html><h1>captive portal</h1></html>"]}, ""),
        ({"status": 200, "body": "<html></html>", "headers": {"Content-Type": "text/html"}}, "roxy"),
        ({"status": 502, "body": ""}, "roxy"),
        (failed(500, "something went wrong"), ""),
        (failed(400, "invalid model name"), ""),
        ({"behaviour": "close-before-response"}, ""),
        ({"behaviour": "reset-before-response"}, ""),
        ({"lines": ["7", "[]", SUCCESS]}, ""),
    ],
)
def test_a_pull_that_fails_says_so_in_one_readable_line_and_is_not_repeated(step: Step, hint: str) -> None:
    _, why, times = fetch(step)
    assert why
    assert hint in why
    assert times == 1


def test_no_server_is_a_failure_that_names_the_command() -> None:
    with OllamaServer() as server:
        pass
    with pytest.raises(PullFailed, match="ollama serve"):
        list(OllamaEngine(server.url).pull(NAME))


def test_a_pull_can_be_stopped_while_the_server_is_silent() -> None:
    cancel = Cancel()
    with OllamaServer(pull=[{"lines": [layer(FIRST, 100, 10)], "then": "hang"}]) as server:
        timer = threading.Timer(0.2, cancel.request)
        timer.start()
        with pytest.raises(PullFailed, match="stopped"):
            list(OllamaEngine(server.url).pull(NAME, cancel))
        assert server.wait_until(lambda seen: seen.disconnects)
        timer.join()


def test_leaving_the_iteration_stops_the_pull() -> None:
    with OllamaServer(pull=[{"lines": [layer(FIRST, 100, 10)], "then": "hang"}]) as server:
        progress = OllamaEngine(server.url).pull(NAME)
        next(iter(progress))
        progress.close()  # type: ignore[attr-defined]  # a generator
        assert server.wait_until(lambda seen: seen.disconnects)


def test_every_recording_is_named_in_a_test() -> None:
    written = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_wire_*.py"))
    assert len(CASES) == 64
    assert [name for name in CASES if f'"{name}"' not in written] == []
