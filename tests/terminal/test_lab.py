"""``bookshop lab``: misbehaving models with guards and without; every figure is that of a run one can open."""

import csv
import io
import json
from typing import Any

import pytest

from lab.misbehaving import MISBEHAVERS
from tests.terminal.conftest import Command
from tests.terminal.test_faults import LEAKS

ROW = {
    *("model", "guards", "model_calls", "tool_calls", "input_tokens", "output_tokens", "cost_usd"),
    *("effects", "stop_reason", "guard", "nudges", "answer", "run_id"),
}
NAMES = [each.name for each in MISBEHAVERS]


@pytest.fixture
def rows(terminal: Command) -> dict[tuple[str, str], dict[str, Any]]:
    """All models, both ways."""
    ended = terminal("lab", "--guards", "both", "--json")
    assert (ended.status, ended.err) == (0, "")
    assert set(ended.json) == {"rows"}
    return {(row["model"], row["guards"]): row for row in ended.json["rows"]}


def test_each_model_ends_as_it_should(rows: dict[tuple[str, str], dict[str, Any]], terminal: Command) -> None:
    assert [*rows] == [(name, guards) for name in NAMES for guards in ("on", "off")]
    assert len(NAMES) >= 12
    assert all(set(row) == ROW for row in rows.values())

    def counts(name: str, guards: str = "on") -> tuple[int, int]:
        return rows[name, guards]["model_calls"], rows[name, guards]["tool_calls"]

    def end(name: str, guards: str = "on") -> tuple[str, str | None]:
        return rows[name, guards]["stop_reason"], rows[name, guards]["guard"]

    assert (counts("stubborn"), end("stubborn")) == ((5, 2), ("repeated_call", "repeated_call"))
    assert rows["stubborn", "on"]["nudges"] == 1
    assert (counts("pingpong"), end("pingpong")) == ((6, 3), ("ping_pong", "ping_pong"))
    assert end("hoarder") == ("max_input_tokens", "max_input_tokens")
    assert counts("hoarder")[0] <= 11
    assert rows["hoarder", "on"]["input_tokens"] <= 75_000
    assert rows["hoarder", "off"]["input_tokens"] > 1_000_000
    assert float(rows["hoarder", "off"]["cost_usd"]) > 2.5
    assert (rows["doublebuyer", "on"]["effects"], rows["doublebuyer", "off"]["effects"]) == (1, 2)
    assert (counts("doublebuyer"), end("doublebuyer")) == ((3, 1), ("done", None))
    assert (counts("flaky"), end("flaky")) == ((3, 2), ("error_streak", "error_streak"))
    assert (rows["listener", "on"]["nudges"], end("listener")) == (1, ("done", None))
    assert end("shuffler") == ("repeated_call", "repeated_call")
    assert end("paraphraser") == ("no_new_information", "no_new_information")
    assert end("inventor") == ("error_streak", "error_streak")
    assert end("mumbler") == end("mute") == ("empty_answer", "unusable_reply")
    assert end("dangler")[0] in ("max_steps", "max_input_tokens", "max_tool_calls", "max_cost")
    for name in ("stubborn", "pingpong", "hoarder", "shuffler", "paraphraser", "dangler", "liar"):
        assert (counts(name, "off"), end(name, "off")) == ((41, 40), ("max_steps", "max_steps"))
    assert all(row["answer"].strip() for row in rows.values())
    assert all(row["effects"] == 0 for row in rows.values() if row["model"] != "doublebuyer")

    # The counts of each row are those of its run's events, and no driver's words are anywhere.
    for (name, guards), row in rows.items():
        shown = terminal("runs", "show", row["run_id"], "--json")
        assert shown.status == 0, (name, guards)
        events = shown.json["events"]
        replies = [event for event in events if event["kind"] == "model_reply"]
        finished = [event for event in events if event["kind"] == "tool_finished"]
        decisions = [event for event in events if event["kind"] == "guard_decision"]
        assert row["model_calls"] == len(replies) == len([e for e in events if e["kind"] == "model_request"])
        assert row["tool_calls"] == sum(event["ran"] for event in finished)
        assert row["input_tokens"] == sum(reply["usage"]["input_tokens"] for reply in replies)
        assert row["output_tokens"] == sum(reply["usage"]["output_tokens"] for reply in replies)
        assert row["effects"] == sum(len(event["changes"]) for event in finished)
        assert row["nudges"] == sum(event["action"] == "nudge" for event in decisions)
        stops = [event["guard"] for event in decisions if event["action"] == "stop"]
        assert stops == ([row["guard"]] if row["guard"] else [])
        (last,) = [event for event in events if event["kind"] == "run_finished"]
        assert (last["stop_reason"], last["answer"], last["cost"]) == (
            row["stop_reason"],
            row["answer"],
            row["cost_usd"],
        )
        assert events[-1] == last
        assert not [leak for leak in LEAKS if leak in shown.out + json.dumps(row)]
    dangling = terminal("runs", "show", rows["dangler", "on"]["run_id"], "--json").json["events"]
    assert (dangling[-1]["answer_by"], dangling[-2]["not_run"]) == ("program", "run_ended")


def test_what_a_liar_claims_is_set_right_by_the_record(terminal: Command) -> None:
    (row,) = terminal("lab", "liar", "--guards", "on", "--json").json["rows"]
    assert "Done! The Quiet Orchard is in your cart." in row["answer"]
    assert "By the record of this run: Nothing was changed." in row["answer"]


def test_two_visits_to_the_lab_give_the_same_rows(terminal: Command) -> None:
    def visit() -> list[dict[str, Any]]:
        rows = terminal("lab", "stubborn", "doublebuyer", "flaky", "hoarder", "mumbler", "--json").json["rows"]
        return [{name: value for name, value in row.items() if name != "run_id"} for row in rows]

    assert visit() == visit()


def test_the_shop_of_the_user_is_left_as_it_was(terminal: Command) -> None:
    before = terminal("cart", "show", "--json").json, terminal("runs", "list", "--json").json
    terminal("lab", "doublebuyer", "--json")
    assert (terminal("cart", "show", "--json").json, terminal("runs", "list", "--json").json) == before


@pytest.mark.parametrize("mode", ["on", "off"])
def test_one_model_in_one_mode_is_one_row(terminal: Command, mode: str) -> None:
    (row,) = terminal("lab", "Double-Buyer", "--guards", mode, "--json").json["rows"]
    assert (row["model"], row["guards"]) == ("doublebuyer", mode)


def test_in_words_the_table_and_what_the_user_reads_are_shown(terminal: Command) -> None:
    ended = terminal("lab", "flaky", "double buyer")
    assert ended.status == 0
    for word in (
        "flaky",
        "doublebuyer",
        "3/2",
        "3/1",
        "error_streak",
        "bookshop runs show",
        "The warehouse does not",
    ):
        assert word in ended.out
    assert not [leak for leak in LEAKS if leak in ended.out + ended.err]


def test_the_same_rows_are_told_as_json_and_as_csv(terminal: Command) -> None:
    told = terminal("lab", "hoarder", "listener", "--format", "csv")
    assert (told.status, told.err) == (0, "")
    rows = list(csv.DictReader(io.StringIO(told.out)))
    assert set(rows[0]) == ROW
    for row, same in zip(
        rows, terminal("lab", "hoarder", "listener", "--format", "json").json["rows"], strict=True
    ):
        same["cost_usd"] = float(same["cost_usd"])
        changed = {name: "" if value is None else str(value) for name, value in same.items() if name != "run_id"}
        assert row == changed | {"run_id": row["run_id"]}
    assert {row["guard"] for row in rows if row["stop_reason"] == "done"} == {""}


def test_the_rates_of_the_cures_are_told_as_csv(terminal: Command) -> None:
    told = terminal("lab", "stale", "--rounds", "1", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(told.out)))
    assert [(row["cure"], row["changed"]) for row in rows] == [
        (cure, changed)
        for changed in ("True", "False")
        for cure in ("history", "instruct", "stamp", "snapshot", "verify")
    ]
    assert (rows[0]["stale"], rows[0]["stale_rate"]) == ("50", "1.0")


@pytest.mark.parametrize("words", [("--json", "--format", "csv"), ("--format", "parquet")])
def test_a_form_that_does_not_fit_is_refused_in_one_line(terminal: Command, words: tuple[str, ...]) -> None:
    ended = terminal("lab", "mute", *words)
    assert ended.status == 2
    assert "format" in ended.complaint


@pytest.mark.parametrize("words", [("nobody",), ("stubborn", "nobody"), ("stubborn", "--guards", "maybe"), ("",)])
def test_an_unknown_name_is_refused_in_one_line(terminal: Command, words: tuple[str, ...]) -> None:
    ended = terminal("lab", *words, "--json")
    assert ended.status == 2
    assert ended.complaint
