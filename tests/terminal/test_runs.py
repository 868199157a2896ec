"""``bookshop runs``: what was kept of the runs."""

import io
from datetime import datetime

import pytest

from tests.terminal.conftest import JOB, Command

RUN = {"run_id", "session_id", "started", "model", "text", "stop_reason", "answer", "steps"}


def test_no_runs_is_said_with_the_way_to_make_one(terminal: Command) -> None:
    assert terminal("runs", "list", "--json").json == {"runs": []}
    assert 'bookshop ask "..."' in terminal("runs", "list").out


def test_runs_are_listed_newest_first(terminal: Command) -> None:
    told = [terminal("ask", text, "--model", "offline", "--json").json for text in ("hello", JOB)]
    runs = terminal("runs", "list", "--json").json["runs"]
    assert [set(run) for run in runs] == [RUN, RUN]
    assert [run["run_id"] for run in runs] == [told[1]["run_id"], told[0]["run_id"]]
    newest = runs[0]
    assert (newest["text"], newest["steps"], newest["stop_reason"]) == (JOB, 5, "done")
    assert (newest["session_id"], newest["answer"]) == (told[1]["session_id"], told[1]["answer"])
    assert datetime.fromisoformat(newest["started"]).tzinfo is not None
    assert len(terminal("runs", "list", "--limit", 1, "--json").json["runs"]) == 1


def test_runs_in_words_fit_a_line_each(terminal: Command) -> None:
    terminal("ask", "hello [/red]\nthere", "--model", "offline", "--json")
    shown = terminal("runs", "list").out
    assert "hello [/red] there" in shown
    assert "done" in shown


def test_a_run_is_shown_with_the_events_it_was_told_with(terminal: Command) -> None:
    told = terminal("ask", JOB, "--model", "offline", "--json").json
    shown = terminal("runs", "show", told["run_id"], "--json").json
    assert set(shown) == {"run_id", "events"}
    assert shown["run_id"] == told["run_id"]
    assert shown["events"] == told["events"]


def test_a_run_in_words_tells_its_steps(terminal: Command) -> None:
    told = terminal("ask", JOB, "--model", "offline", "--json").json
    shown = terminal("runs", "show", told["run_id"]).out
    for word in ("step 1", "step 5", "search_books(query=", "add_to_cart(", "done: 5 steps, 4 tool calls"):
        assert word in shown


def test_a_guard_that_acted_is_shown(terminal: Command) -> None:
    told = terminal("ask", JOB, "--model", "offline", "--json", "--max-steps", 2).json
    shown = terminal("runs", "show", told["run_id"]).out
    assert "guard max_steps: stop at 2 of 2" in shown
    assert "wrap-up" in shown


@pytest.mark.parametrize("run_id", ["nothing", "", "0", "' OR 1=1 --"])
def test_an_unknown_run_is_said_so(terminal: Command, run_id: str) -> None:
    ended = terminal("runs", "show", run_id)
    assert ended.status == 2
    assert "bookshop runs list" in ended.complaint


def test_the_runs_of_another_customer_are_not_there(terminal: Command) -> None:
    told = terminal("ask", "hello", "--model", "offline", "--json").json
    assert terminal("runs", "list", "--customer", 2, "--json").json == {"runs": []}
    assert terminal("runs", "show", told["run_id"], "--customer", 2).status == 2


def test_a_chat_answers_line_by_line_in_one_conversation(
    terminal: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{JOB}\nWhat is my cart total now?\n\nnot any more\n"))
    ended = terminal("chat", "--model", "offline")
    assert ended.status == 0
    assert "The Quiet Orchard" in ended.out
    assert ended.out.count("16.50") >= 2
    runs = terminal("runs", "list", "--json").json["runs"]
    assert [run["text"] for run in runs] == ["What is my cart total now?", JOB]
    assert len({run["session_id"] for run in runs}) == 1
    assert f"--session {runs[0]['session_id']}" in ended.err
