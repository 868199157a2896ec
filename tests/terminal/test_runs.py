"""``bookshop runs``: what was kept of the runs."""

import csv
import io
import json
from datetime import datetime

import pandas
import pytest

from agent.views.frames import COLUMNS
from cli import app
from terminal.shell import run_program
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


def test_a_run_is_exported_whole_as_json(terminal: Command) -> None:
    told = terminal("ask", JOB, "--model", "offline", "--json").json
    for words in ((), ("--format", "json")):
        assert terminal("runs", "export", told["run_id"], *words).json == {"version": 1, "events": told["events"]}


@pytest.mark.parametrize(("frame", "rows"), [(None, 5), ("steps", 5), ("calls", 4), ("decisions", 0), ("runs", 1)])
def test_a_run_is_exported_as_a_table_in_csv_and_parquet(
    capsysbinary: pytest.CaptureFixture[bytes], frame: str | None, rows: int
) -> None:
    run_program(app, ["ask", JOB, "--model", "offline", "--json"])
    run_id = json.loads(capsysbinary.readouterr().out)["run_id"]
    words = ["runs", "export", run_id, *(("--frame", frame) if frame else ())]
    columns = COLUMNS[frame or "steps"]

    assert run_program(app, [*words, "--format", "csv"]) == 0
    told = list(csv.reader(io.StringIO(capsysbinary.readouterr().out.decode())))
    assert told[0] == list(columns)
    assert [row[0] for row in told[1:]] == [run_id] * rows

    assert run_program(app, [*words, "--format", "parquet"]) == 0
    table = pandas.read_parquet(io.BytesIO(capsysbinary.readouterr().out))
    assert {name: str(dtype) for name, dtype in table.dtypes.items()} == {
        name: dtype for name, (dtype, _) in columns.items()
    }
    assert len(table) == rows
    assert [
        ["" if pandas.isna(cell) else str(cell) for cell in row] for row in table.itertuples(index=False)
    ] == told[1:]


def test_what_is_unknown_is_an_empty_cell(terminal: Command) -> None:
    told = terminal("ask", "hello", "--model", "offline", "--json").json
    (row,) = csv.DictReader(io.StringIO(terminal("runs", "export", told["run_id"], "--format", "csv").out))
    assert (row["cost"], row["load_s"], row["tools_s"], row["stop"]) == ("", "", "", "done")
    assert int(row["input"]) > 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--frame", "steps"), "--format csv or parquet"),
        (("--format", "json", "--frame", "runs"), "--format csv or parquet"),
        (("--format", "xml"), "parquet"),
        (("--format", "csv", "--frame", "events"), "decisions"),
    ],
)
def test_an_export_that_is_not_there_is_refused(terminal: Command, words: tuple[str, ...], said: str) -> None:
    ended = terminal("runs", "export", "any", *words)
    assert ended.status == 2
    assert said in ended.complaint


def test_parquet_is_not_written_to_a_terminal(terminal: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    ended = terminal("runs", "export", "any", "--format", "parquet")
    assert ended.status == 2
    assert "send it to a file" in ended.complaint


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
