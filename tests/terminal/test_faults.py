"""``--fault TOOL=KIND``: what the model reads of a broken tool, what happens, and that nothing leaks."""

import re
from typing import Any

import pytest

from assistant.faults import HUGE_CHARS, LEAK, Fault
from tests.terminal.conftest import JOB, Command, Outcome

SCRIPT = ("ask", JOB, "--model", "script:lighthouse", "--json", "--max-steps", "none", "--max-tokens", "none")
LEAKS = [
    part for part in re.split(r"[:/@ ]+", LEAK) if len(part) > 4 and part not in ("could", "connect", "books")
]
"""The words of a driver that nobody may read: scheme, password, host, port."""


def assert_nothing_leaks(ended: Outcome) -> None:
    assert {"db-int-7.corp", "s3cret", "postgresql"} <= set(LEAKS)
    for part in LEAKS:
        assert part not in ended.out + ended.err


def results(told: dict[str, Any], tool: str) -> list[dict[str, Any]]:
    return [e for e in told["events"] if e["kind"] == "tool_finished" and e["call"]["name"] == tool]


def broken(terminal: Command, tool: str, kind: str, *flags: object) -> dict[str, Any]:
    ended = terminal(*SCRIPT, "--fault", f"{tool}={kind}", *flags)
    assert ended.err == ""
    assert_nothing_leaks(ended)
    assert ended.json["events"][0]["settings"]["faults"] == {tool: kind}
    return ended.json


FAILED = "check_stock failed for a reason of its own. Try once more, or go another way."
TIMED_OUT = "check_stock: the warehouse service timed out; try once more, or go another way"


@pytest.mark.parametrize(
    ("kind", "oks", "read"),
    [
        ("timeout", [False, True], TIMED_OUT),
        ("once", [False, True], FAILED),
        ("failing", [False, False], FAILED),
        ("wrong-type", [False, False], FAILED),
        ("empty", [True, True], ""),
    ],
)
def test_what_the_model_reads_of_a_broken_read(terminal: Command, kind: str, oks: list[bool], read: str) -> None:
    told = broken(terminal, "check_stock", kind)
    checks = results(told, "check_stock")
    assert [check["ok"] for check in checks] == oks
    assert all(check["ran"] for check in checks)
    assert checks[0]["result"] == read
    assert checks[0]["reads"] == []
    assert (told["stop_reason"], told["cart"]["total"]) == ("done", "16.50")


def test_a_huge_result_is_cut_like_any_other(terminal: Command) -> None:
    whole = results(broken(terminal, "check_stock", "huge", "--max-result-chars", "none"), "check_stock")
    assert [len(check["result"]) for check in whole] == [HUGE_CHARS] * 2
    cut = results(broken(terminal, "check_stock", "huge"), "check_stock")
    assert [check["chars_cut"] for check in cut] == [HUGE_CHARS - 2_000] * 2


def test_a_slow_tool_answers_late_and_right(terminal: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assistant.faults.SLOW_SECONDS", 0.2)
    (added,) = results(broken(terminal, "add_to_cart", "slow"), "add_to_cart")
    assert added["ok"]
    assert added["duration_ms"] >= 200


def test_a_slow_tool_does_not_hold_a_run_beyond_its_seconds(terminal: Command) -> None:
    told = broken(terminal, "search_books", "slow", "--max-seconds", 0.5)
    (searched,) = results(told, "search_books")
    assert (told["stop_reason"], searched["ran"], searched["ok"]) == ("max_seconds", True, False)


@pytest.mark.parametrize("kind", ["empty", "wrong-type", "huge"])
def test_a_write_whose_answer_is_spoilt_happens_once_and_is_told(terminal: Command, kind: str) -> None:
    told = broken(terminal, "add_to_cart", kind)
    (added,) = results(told, "add_to_cart")
    assert (added["ran"], added["ok"]) == (True, True)
    assert [change["effect"] for change in added["changes"]] == ["added 1 × The Quiet Orchard to the cart"]
    assert [line["quantity"] for line in told["cart"]["lines"]] == [1]


@pytest.mark.parametrize("kind", ["failing", "once", "timeout"])
def test_a_write_that_broke_before_it_began_changed_nothing(terminal: Command, kind: str) -> None:
    told = broken(terminal, "add_to_cart", kind, "--max-steps", 4, "--no-wrap-up")
    (added,) = results(told, "add_to_cart")
    assert (added["ok"], added["changes"], told["cart"]["lines"]) == (False, [], [])
    assert "Done:" not in told["answer"]


def test_the_stand_in_tries_a_check_that_timed_out_again_or_says_so(terminal: Command) -> None:
    ended = terminal("ask", JOB, "--model", "offline", "--json", "--fault", "check_stock=timeout")
    checks = results(ended.json, "check_stock")
    assert checks[0]["result"] == TIMED_OUT
    assert ended.json["stop_reason"] in ("done", "max_steps")
    assert ended.json["cart"]["lines"] == [] or len(checks) > 1
    assert_nothing_leaks(ended)


def test_several_tools_can_be_broken_at_once(terminal: Command) -> None:
    told = terminal(*SCRIPT, "--fault", "check_stock=once", "--fault", "search_books=empty").json
    assert results(told, "search_books")[0]["result"] == ""
    assert [check["ok"] for check in results(told, "check_stock")] == [False, True]


def test_in_words_too_nothing_leaks(terminal: Command) -> None:
    ended = terminal("ask", JOB, "--model", "offline", "--fault", "check_stock=failing", "--debug")
    assert "failed for a reason of its own" in ended.err
    assert_nothing_leaks(ended)


def test_every_kind_is_named_in_the_help(terminal: Command) -> None:
    shown = " ".join(terminal("ask", "--help").out.replace("│", " ").split())
    assert all(kind in shown for kind in Fault)


@pytest.mark.parametrize(
    "fault",
    [
        "check_stock=broken",
        "no_tool=failing",
        "check_stock",
        "=failing",
        "check_stock=",
        "failing",
        "check_stock=FAILING",
    ],
)
def test_an_unknown_tool_or_kind_is_refused_in_one_line(terminal: Command, fault: str) -> None:
    ended = terminal("ask", "hello", "--model", "offline", "--fault", fault)
    assert ended.status == 2
    assert ended.complaint


@pytest.mark.parametrize("cap", ["check_stock=x", "check_stock=-1", "no_tool=1", "check_stock", "check_stock=1.5"])
def test_a_cap_that_is_none_is_refused_in_one_line(terminal: Command, cap: str) -> None:
    ended = terminal("ask", "hello", "--model", "offline", "--max-calls", cap)
    assert ended.status == 2
    assert ended.complaint


def test_a_cap_ends_the_run_with_the_reason_of_tool_calls(terminal: Command) -> None:
    ended = terminal(*SCRIPT, "--max-calls", "check_stock=1", "--no-wrap-up")
    told = ended.json
    assert (ended.status, told["stop_reason"], told["tool_calls"]) == (3, "max_tool_calls", 2)
    assert "check_stock may be called 1 time in a run" in told["answer"]


@pytest.mark.parametrize("prices", ["2.50", "x/y", "-1/2", "2.50/", "1e9/1", "nan/1"])
def test_prices_that_are_none_are_refused_in_one_line(terminal: Command, prices: str) -> None:
    ended = terminal("ask", "hello", "--model", "offline", f"--prices={prices}")
    assert ended.status == 2
    assert ended.complaint


def test_a_price_makes_a_cost_and_its_limit_ends_the_run(terminal: Command) -> None:
    free = terminal(*SCRIPT, "--max-cost", "0.000001").json
    assert (free["cost_usd"], free["stop_reason"]) == (None, "done")
    paid = terminal(*SCRIPT, "--prices", "2.50/10").json
    replies = [event["usage"] for event in paid["events"] if event["kind"] == "model_reply"]
    micros = sum(usage["input_tokens"] * 25 + usage["output_tokens"] * 100 for usage in replies)
    assert float(paid["cost_usd"]) == micros / 10_000_000
    half = float(paid["cost_usd"]) / 2
    dear = terminal(*SCRIPT, "--prices", "2.50/10", "--max-cost", half, "--no-wrap-up")
    assert (dear.status, dear.json["stop_reason"]) == (3, "max_cost")
    assert 0 < float(dear.json["cost_usd"]) < half * 1.5
