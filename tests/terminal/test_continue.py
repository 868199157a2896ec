"""``bookshop continue``: on from a stopped run, or answered now; and the card that offers both."""

import io
from typing import Any

import pytest

import store
from assistant.bookshop import Bookshop
from tests.terminal.conftest import JOB, Command, tool_calls

STOPPED = ("ask", JOB, "--model", "offline", "--session", "mine", "--max-steps", 2)
ON = ("continue", "--model", "offline", "--session", "mine")


def test_a_stopped_run_goes_on_with_a_new_allowance_and_redoes_nothing(terminal: Command) -> None:
    first = terminal(*STOPPED, "--json").json
    ended = terminal(*ON, "--json")
    told = ended.json
    assert (first["stop_reason"], ended.status, told["stop_reason"]) == ("max_steps", 0, "done")
    assert told["session_id"] == first["session_id"]
    assert told["events"][0]["continues"] == first["run_id"]
    assert [event["text"] for event in told["events"] if event["kind"] == "user_message"] == ["Continue."]
    assert told["cart"]["total"] == "16.50"
    assert told["steps"] <= 6


def test_what_was_written_before_the_stop_is_not_written_again(terminal: Command, shop: Bookshop) -> None:
    buy = ("--model", "script:lighthouse", "--session", "mine", "--no-wrap-up", "--json")
    first = terminal("ask", JOB, *buy, "--max-steps", 4).json
    assert (first["stop_reason"], first["cart"]["total"]) == ("max_steps", "16.50")
    told = terminal("continue", *buy).json  # the script plays from its beginning, and adds once more
    assert told["stop_reason"] == "done"
    adds = [event for event in told["events"] if event["kind"] == "tool_finished"][-1]
    assert (adds["call"]["name"], adds["ran"], adds["not_run"]) == ("add_to_cart", False, "guard")
    assert told["cart"]["total"] == "16.50"
    assert [line.quantity for line in store.view_cart(shop.engine, 1).lines] == [1]


def test_without_tools_it_answers_now(terminal: Command) -> None:
    terminal(*STOPPED, "--no-wrap-up")
    told = terminal(*ON, "--no-tools", "--json").json
    assert told["events"][0]["tools"] == []
    assert [event["text"] for event in told["events"] if event["kind"] == "user_message"] == [
        "Continue, but answer now, without tools."
    ]
    assert (tool_calls(told), told["tool_calls"]) == ([], 0)
    assert told["answer"].strip()
    assert told["cart"]["lines"] == []


def test_a_model_that_calls_a_tool_all_the_same_runs_none(terminal: Command, shop: Bookshop) -> None:
    terminal("ask", JOB, "--model", "script:lighthouse", "--session", "mine", "--max-steps", 1)
    told = terminal("continue", "--no-tools", "--model", "script:lighthouse", "--session", "mine", "--json").json
    assert told["tool_calls"] == 0
    assert all(event["not_run"] for event in told["events"] if event["kind"] == "tool_finished")
    assert store.view_cart(shop.engine, 1).lines == ()


@pytest.mark.parametrize(
    "words",
    [
        ("continue",),
        ("continue", "--session", "nobody"),
        ("continue", "--session", "done"),
        ("continue", "--session", "done", "--no-tools"),
        ("continue", "--session", "done", "--customer", "2"),
        ("continue", "--session", "empty"),
    ],
)
def test_where_there_is_nothing_to_go_on_from_one_line_says_so(
    terminal: Command, shop: Bookshop, words: tuple[str, ...]
) -> None:
    terminal("ask", "hello", "--model", "offline", "--session", "done")
    shop.conversation(1, "empty")
    ended = terminal(*words, "--model", "offline", "--json")
    assert ended.status == 2
    assert ended.complaint


def test_the_card_says_why_it_stopped_how_near_the_rest_was_and_the_ways_on(terminal: Command) -> None:
    ended = terminal(*STOPPED)
    assert ended.status == 3
    assert "Stopped because it reached the limit of steps (Steps 2 of 2)." in ended.err
    (near,) = [line for line in ended.err.splitlines() if line.startswith("The other limits: ")]
    assert "Tool calls" in near
    assert "of 20" in near
    assert "Tokens" in near
    session = terminal("runs", "list", "--json").json["runs"][0]["session_id"]
    assert f"bookshop continue --session {session}\n" in ended.err
    assert f"bookshop continue --session {session} --no-tools" in ended.err
    assert "Stopped because" not in ended.out


def test_a_run_that_is_done_has_no_card(terminal: Command) -> None:
    assert "Stopped" not in terminal("ask", JOB, "--model", "offline").err


@pytest.mark.parametrize(
    ("flags", "because"),
    [
        (("--max-tokens", 2000), "the next step would have passed the token limit (Tokens "),
        (("--max-input-tokens", 2000), "the next step would have passed the limit of input tokens (Input tokens "),
        (("--max-tool-calls", 1), "it reached the limit of tool calls (Tool calls 1 of 1)"),
        (("--max-calls", "check_stock=1"), "it reached the limit of tool calls (Calls of one tool 1 of 1)"),
        (("--max-seconds", 0.000001), "its time was up (Seconds "),
        (
            ("--prices", "2.50/10", "--max-cost", "0.003"),
            "the next step would have passed the cost limit (Cost, dollars $",
        ),
        (
            ("--fault", "check_stock=failing", "--preset", "guarded"),
            "calls failed again and again (Failures in a row 2 of 2)",
        ),
    ],
)
def test_the_card_names_the_limit_with_its_figures(
    terminal: Command, flags: tuple[Any, ...], because: str
) -> None:
    ended = terminal("ask", JOB, "--model", "script:lighthouse", *flags)
    assert ended.status == 3
    assert f"Stopped because {because}" in ended.err


def test_a_chat_goes_on_from_a_stopped_run_and_survives_a_wrong_wish(
    terminal: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = f"/continue\n{JOB}\n/continue\n/continue\n/answer\nhello\n\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    ended = terminal("chat", "--model", "offline", "--max-steps", 3)
    assert ended.status == 0
    assert ended.err.count("There is no stopped run to go on from") == 3
    runs = terminal("runs", "list", "--json").json["runs"]
    assert runs[0]["text"] == "hello"
    assert "Continue." in [run["text"] for run in runs]
