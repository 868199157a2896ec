"""``bookshop ask`` against servers that hang or break off: it ends in time, says so, and asks for nothing more."""

import pytest

from tests.ollama_server import MODEL, OllamaServer, Step, chunk
from tests.terminal.conftest import Command

LIMIT = 2.0
"""Seconds that the run may take; the servers hang for ever, or for minutes."""
HANGING: dict[str, Step] = {
    "before the first byte": {"behaviour": "hang-before-response"},
    "after the headers": {"lines": [], "then": "hang"},
    "between tokens": {"lines": [chunk(content="Once "), chunk(content="upon ")], "then": "hang"},
    "a token every 20 seconds": {"lines": [chunk(content="drip ")] * 100, "line_delay_s": 20},
    "a token ever so often": {"lines": [chunk(content="drip ")] * 1_000, "line_delay_s": 0.2},
}


@pytest.mark.parametrize("step", HANGING.values(), ids=HANGING)
def test_ask_ends_within_its_time_without_a_wrap_up(program: Command, step: Step) -> None:
    with OllamaServer([step]) as server:
        ended = program("ask", "Hello", "--model", MODEL, "--max-seconds", LIMIT, "--json", OLLAMA_HOST=server.url)
        assert server.wait_until(lambda seen: seen.disconnects)
    assert (ended.status, ended.json["stop_reason"]) == (3, "max_seconds")
    assert (ended.json["answer_by"], ended.json["model_calls"]) == ("program", 1)
    assert len(server.requests) == 1
    assert server.requests[0]["tools"]


@pytest.mark.parametrize(
    "last", [{"error": "an unknown error was encountered while running the model "}, "7", "<html></html>"]
)
def test_a_server_that_fails_in_mid_answer_leaves_nothing_on_stderr(program: Command, last: object) -> None:
    with OllamaServer([{"lines": [chunk(content="Dune is"), last]}]) as server:
        ended = program("ask", "Hello", "--model", MODEL, "--json", OLLAMA_HOST=server.url)
    assert (ended.status, ended.json["stop_reason"], ended.err) == (4, "model_error", "")
