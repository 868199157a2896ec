"""``bookshop ask`` against a server that speaks Ollama's wire format, and with none there."""

from itertools import pairwise
from typing import Any

import pytest

from tests.ollama_server import MODEL, OllamaServer, lighthouse, reply
from tests.terminal.conftest import JOB, Command, Outcome, tool_calls


@pytest.fixture
def asked(terminal: Command, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Put the Lighthouse job to a scripted server; what the command told, and what the server was sent."""

    def ask(*flags: object) -> tuple[Outcome, list[dict[str, Any]]]:
        with OllamaServer(lighthouse) as server:
            monkeypatch.setenv("OLLAMA_HOST", server.url)
            return terminal("ask", JOB, "--json", *flags), server.requests

    return ask


def calls_of(message: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    functions = [call["function"] for call in message.get("tool_calls") or []]
    return [(function["name"], function["arguments"]) for function in functions]


def test_the_job_takes_five_requests(asked: Any) -> None:
    ended, requests = asked("--model", MODEL)
    told = ended.json
    assert (ended.status, ended.err) == (0, "")
    assert (told["stop_reason"], told["steps"], told["model_calls"], told["tool_calls"]) == ("done", 5, 5, 4)
    assert tool_calls(told) == ["search_books", "check_stock", "check_stock", "add_to_cart"]
    assert told["cart"]["total"] == "16.50"
    assert len(requests) == 5


def test_the_tokens_are_those_the_server_counted(asked: Any) -> None:
    told = asked("--model", MODEL)[0].json
    replies = [event["usage"] for event in told["events"] if event["kind"] == "model_reply"]
    assert [usage["input_tokens"] for usage in replies] == [2196, 2628, 3018, 3283, 3594]
    assert [usage["output_tokens"] for usage in replies] == [140, 118, 97, 131, 164]
    assert told["usage"] == {
        "input_tokens": 14_719,
        "output_tokens": 650,
        "total_tokens": 15_369,
        "complete": True,
        "estimated": False,
    }


def test_each_request_holds_the_whole_history(asked: Any) -> None:
    _, requests = asked("--model", MODEL)
    histories = [request["messages"] for request in requests]
    for earlier, later in pairwise(histories):
        assert later[: len(earlier)] == earlier
        assert len(later) == len(earlier) + 2
    assert [message["role"] for message in histories[0]] == ["system", "user"]
    assert histories[0][1]["content"] == JOB


def test_calls_come_before_their_results_and_each_has_one(asked: Any) -> None:
    _, requests = asked("--model", MODEL)
    last = requests[-1]["messages"]
    assert [message["role"] for message in last[2:]] == ["assistant", "tool"] * 4
    for call, result in zip(last[2::2], last[3::2], strict=True):
        ((name, _),) = calls_of(call)
        assert result["tool_name"] == name
        assert result["content"]
    assert [calls_of(message)[0] for message in last[2::2]] == [
        ("search_books", {"query": "The Last Lighthouse"}),
        ("check_stock", {"book_id": 2}),
        ("check_stock", {"book_id": 7}),
        ("add_to_cart", {"book_id": 7, "quantity": 1}),
    ]


def test_every_request_offers_the_four_tools_in_their_order(asked: Any) -> None:
    _, requests = asked("--model", MODEL)
    for request in requests:
        names = [tool["function"]["name"] for tool in request["tools"]]
        assert names == ["search_books", "check_stock", "get_order_status", "add_to_cart"]
        assert (request["model"], request["stream"]) == (MODEL, True)


def test_two_steps_end_with_a_wrap_up_without_tools(asked: Any) -> None:
    ended, requests = asked("--model", MODEL, "--max-steps", 2)
    told = ended.json
    assert (ended.status, told["stop_reason"], told["answer_by"]) == (3, "max_steps", "model")
    assert (told["steps"], told["model_calls"], told["tool_calls"]) == (2, 3, 2)
    assert told["cart"]["lines"] == []
    assert "had to stop" in told["answer"]
    assert len(requests) == 3
    assert not requests[-1].get("tools")
    assert requests[-1]["messages"][: len(requests[1]["messages"])] == requests[1]["messages"]


def test_the_best_model_is_taken_where_the_server_has_it(asked: Any) -> None:
    told = asked()[0].json
    assert told["events"][0]["model"]["name"] == MODEL
    assert told["cart"]["total"] == "16.50"


def test_options_reach_the_server(asked: Any) -> None:
    _, requests = asked("--model", MODEL, "--num-ctx", 8192, "--seed", 5, "--temperature", 0.25, "--no-think")
    assert requests[0]["options"]["num_ctx"] == 8192
    assert requests[0]["options"]["seed"] == 5
    assert requests[0]["options"]["temperature"] == 0.25
    assert requests[0]["think"] is False


def test_a_server_without_the_model_is_said_so_with_the_command(
    terminal: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = {"status": 404, "body": {"error": "model 'qwen3:4b' not found"}}
    with OllamaServer([missing], models=()) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        ended = terminal("ask", "hello", "--model", MODEL, "--json")
        fallen_back = terminal("ask", "hello")
    assert (ended.status, ended.json["stop_reason"]) == (4, "model_unavailable")
    assert "ollama pull qwen3:4b" in ended.json["answer"]
    assert fallen_back.status == 0
    assert "ollama pull qwen3:4b" in fallen_back.err


def test_with_no_ollama_it_says_in_one_line_what_to_do(terminal: Command) -> None:
    ended = terminal("ask", JOB, "--model", MODEL)
    assert ended.status == 4
    (line,) = ended.out.splitlines()
    assert "ollama serve" in line
    assert "Traceback" not in ended.err


def test_with_no_ollama_the_json_says_so_and_tokens_are_unknown(terminal: Command) -> None:
    ended = terminal("ask", JOB, "--model", MODEL, "--json")
    told = ended.json
    assert (ended.status, ended.err) == (4, "")
    assert (told["stop_reason"], told["answer_by"], told["tool_calls"]) == ("model_unavailable", "program", 0)
    assert told["usage"]["input_tokens"] is told["usage"]["total_tokens"] is None
    assert told["usage"]["complete"] is False
    assert told["cart"]["lines"] == []


@pytest.mark.parametrize("address", ["not an address", "http://[", "127.0.0.1:99999", "http://", "ftp://x"])
def test_an_address_that_is_none_is_an_unreachable_model(
    terminal: Command, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", address)
    ended = terminal("ask", "hello", "--model", MODEL, "--json")
    assert (ended.status, ended.json["stop_reason"]) == (4, "model_unavailable")


@pytest.mark.parametrize(
    "broken",
    [
        reply("Half a character: \ud83d"),
        reply("Fine.", thinking="Half a character: \udc00"),
        reply(calls=[("search_books", {"query": "lighthouse \ud83d"})]),
        reply(calls=[("\ud83d", {})]),
    ],
    ids=["text", "thinking", "argument", "tool"],
)
def test_half_a_character_from_a_model_does_not_break_the_program(
    terminal: Command, monkeypatch: pytest.MonkeyPatch, broken: dict[str, Any]
) -> None:
    with OllamaServer([broken, reply("Done.")]) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        ended = terminal("ask", "hello", "--model", MODEL, "--json")
    assert ended.status == 0, ended.err
    assert ended.json["answer"]
