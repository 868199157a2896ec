"""Limits are exact, counted where it matters: at the server."""

from collections.abc import Callable
from typing import Any

import pytest

from agent.guards.limits import LIMIT_DIALS
from tests.ollama_server import MODEL, Body, OllamaServer, Step, reply
from tests.terminal.conftest import Command, Outcome

Asked = Callable[..., tuple[Outcome, list[Body]]]
OPEN_END = ("--max-steps", "none", "--max-tokens", "none", "--max-tool-calls", "none")


def endless(body: Body) -> Step:
    """Checks another book with every request; without tools it says so."""
    if not body.get("tools"):
        return reply("I had to stop.", usage=(900, 10))
    done = sum(message["role"] == "tool" for message in body["messages"])
    return reply(calls=[("check_stock", {"book_id": done + 1})], usage=(1_000 + 50 * done, 10))


@pytest.fixture
def asked(terminal: Command, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Ask a model that never stops by itself; what came of it, and what the server was sent."""

    def ask(*flags: object, wire: Any = endless) -> tuple[Outcome, list[Body]]:
        with OllamaServer(wire) as server:
            monkeypatch.setenv("OLLAMA_HOST", server.url)
            return terminal("ask", "Check them all.", "--model", MODEL, "--json", *flags), server.requests

    return ask


@pytest.mark.parametrize("limit", [1, 2, 8])
def test_without_a_wrap_up_the_server_is_asked_exactly_as_often_as_the_limit_says(
    asked: Asked, limit: int
) -> None:
    ended, requests = asked(*OPEN_END, "--max-steps", limit, "--no-wrap-up")
    assert len(requests) == limit
    assert all(request["tools"] for request in requests)
    told = ended.json
    assert (ended.status, told["stop_reason"], told["answer_by"]) == (3, "max_steps", "program")
    assert (told["steps"], told["model_calls"], told["tool_calls"]) == (limit, limit, limit)


@pytest.mark.parametrize("limit", [1, 2, 8])
def test_with_a_wrap_up_the_server_is_asked_once_more_without_tools(asked: Asked, limit: int) -> None:
    ended, requests = asked(*OPEN_END, "--max-steps", limit)
    assert [bool(request.get("tools")) for request in requests] == [True] * limit + [False]
    told = ended.json
    assert (ended.status, told["stop_reason"], told["answer_by"]) == (3, "max_steps", "model")
    assert (told["steps"], told["model_calls"], told["tool_calls"]) == (limit, limit + 1, limit)
    flags = [event["wrap_up"] for event in told["events"] if event["kind"] == "model_request"]
    assert flags == [False] * limit + [True]


@pytest.mark.parametrize("limit", [0, 1, 2, 8])
@pytest.mark.parametrize("wrap_up", [True, False])
def test_exactly_as_many_calls_run_as_the_limit_says(asked: Asked, limit: int, wrap_up: bool) -> None:
    flags = (*OPEN_END, "--max-tool-calls", limit, "--wrap-up" if wrap_up else "--no-wrap-up")
    ended, requests = asked(*flags)
    told = ended.json
    assert (told["stop_reason"], told["tool_calls"], told["steps"]) == ("max_tool_calls", limit, limit + 1)
    assert len(requests) == limit + 1 + wrap_up
    assert sum(event["kind"] == "tool_started" for event in told["events"]) == limit


@pytest.mark.parametrize(("limit", "ran"), [(3, 3), (4, 4), (5, 5), (8, 8), (9, 8)])
def test_a_batch_runs_as_far_as_the_limit_and_the_rest_has_its_results(asked: Asked, limit: int, ran: int) -> None:
    def batches(body: Body) -> Step:
        done = sum(message["role"] == "tool" for message in body["messages"])
        if done >= 8:
            return reply("There.")
        return reply(calls=[("check_stock", {"book_id": done + number}) for number in range(1, 5)])

    ended, _ = asked(*OPEN_END, "--max-tool-calls", limit, "--no-wrap-up", wire=batches)
    finished = [event for event in ended.json["events"] if event["kind"] == "tool_finished"]
    assert [event["ran"] for event in finished] == [True] * ran + [False] * (len(finished) - ran)
    assert len(finished) in (4, 8)
    assert ended.json["stop_reason"] == ("done" if limit >= 8 else "max_tool_calls")


@pytest.mark.parametrize("flag", ["--max-tokens", "--max-input-tokens"])
@pytest.mark.parametrize("limit", [1, 500, 3_000, 5_000, 9_999])
def test_a_prompt_that_would_pass_the_token_limit_is_never_sent(asked: Asked, flag: str, limit: int) -> None:
    ended, requests = asked(*OPEN_END, flag, limit, "--no-wrap-up")
    told = ended.json
    assert told["stop_reason"] == flag.removeprefix("--").replace("-", "_")
    assert len(requests) == told["model_calls"] == sum(e["kind"] == "model_request" for e in told["events"])
    spent = 0
    for event in told["events"]:
        if event["kind"] == "model_request":
            assert spent + event["estimated_input_tokens"] <= limit
        elif event["kind"] == "model_reply":
            spent += event["usage"]["input_tokens"]
            spent += event["usage"]["output_tokens"] if flag == "--max-tokens" else 0
    (stop,) = [event for event in told["events"] if event["kind"] == "guard_decision"]
    assert stop["value"] > limit
    assert stop["value"] == spent + stop["estimated_input_tokens"]
    assert spent <= limit + 100  # the estimates go by the server's own counts


@pytest.mark.parametrize("limit", [3_000, 5_000])
def test_the_wrap_up_is_outside_the_token_limit_and_is_one_request(asked: Asked, limit: int) -> None:
    plain = asked(*OPEN_END, "--max-tokens", limit, "--no-wrap-up")[1]
    ended, requests = asked(*OPEN_END, "--max-tokens", limit)
    assert len(requests) == len(plain) + 1
    assert not requests[-1].get("tools")
    assert ended.json["answer"].startswith("I had to stop.")


def test_a_server_that_tells_no_counts_is_held_to_the_estimates(asked: Asked) -> None:
    def silent(body: Body) -> Step:
        done = sum(message["role"] == "tool" for message in body["messages"])
        return reply(calls=[("check_stock", {"book_id": done + 1})], usage=None)

    ended, requests = asked(*OPEN_END, "--max-tokens", 6_000, "--no-wrap-up", wire=silent)
    told = ended.json
    sent = [event["estimated_input_tokens"] for event in told["events"] if event["kind"] == "model_request"]
    assert (told["stop_reason"], told["usage"]["input_tokens"]) == ("max_tokens", None)
    assert len(requests) == len(sent) > 1
    assert sum(sent) <= 6_000 < sum(sent) + 2 * sent[-1]


def test_stuck_runs_are_ended_at_the_server_too(asked: Asked) -> None:
    same = [reply(calls=[("check_stock", {"book_id": 7})])]
    ended, requests = asked(*OPEN_END, "--no-wrap-up", wire=same)
    assert (ended.json["stop_reason"], len(requests), ended.json["tool_calls"]) == ("repeated_call", 4, 2)


def test_every_limit_that_can_be_set_has_a_flag(terminal: Command) -> None:
    told = terminal("ask", "--help").out
    assert all(f"--{name.replace('_', '-')} " in told for name in LIMIT_DIALS)
    ended = terminal("ask", "hello", "--model", "offline", "--json", "--error-streak", 1, "--no-replay-writes")
    limits = ended.json["events"][0]["settings"]["limits"]
    assert (limits["error_streak"], limits["replay_writes"], limits["wrap_up"]) == (1, False, True)
