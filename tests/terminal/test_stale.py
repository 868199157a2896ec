"""The stale-data caveat from a terminal: the second form's script, the other channel, and the experiment."""

import pytest

from assistant.bookshop import Bookshop
from tests.terminal.conftest import JOB, Command

TOTAL = "What is my cart total now?"


def test_the_second_form_answers_from_its_history_and_the_record_marks_what_is_overtaken(
    terminal: Command, program: Command
) -> None:
    terminal("ask", JOB, "--model", "offline", "--session", "talk", "--json")
    first = terminal("ask", TOTAL, "--model", "offline", "--session", "talk", "--json").json
    assert ("$16.50" in first["answer"], first["tool_calls"], first["stale"]) == (True, 0, [])
    assert program("cart", "set", "7", "2").status == 0  # another process
    again = terminal("ask", TOTAL, "--model", "offline", "--session", "talk", "--json").json
    assert ("$16.50" in again["answer"], again["tool_calls"]) == (True, 0)
    (cart,) = again["stale"]
    assert (cart["resource"], cart["turn"], cart["step"]) == ("cart", 1, 4)
    assert cart["seen_version"] < cart["current_version"] == again["cart"]["version"]
    assert (cart["seen"], cart["current"], cart["stated_in_answer"]) == ("total $16.50", "total $33.00", True)
    assert [claim["verdict"] for claim in again["claims"]] == ["contradicted"]
    (heard,) = [event for event in again["events"] if event["kind"] == "shop_changed"]
    assert (heard["resource"], heard["by"], heard["now"]) == ("cart", "terminal", "total $33.00")


@pytest.mark.parametrize("cure", ["snapshot", "verify", "instruct"])
def test_a_cure_is_chosen_by_flag(terminal: Command, cure: str) -> None:
    flags = ("--model", "offline", "--session", "talk", "--freshness", cure, "--json")
    terminal("ask", JOB, *flags)
    terminal("cart", "set", "7", "2")
    told = terminal("ask", TOTAL, *flags).json
    assert ("$33.00" in told["answer"], told["stale"], told["stop_reason"]) == (True, [], "done")
    assert told["claims"][0]["verdict"] == "backed"


def test_an_unknown_cure_is_wrong_usage(terminal: Command) -> None:
    ended = terminal("ask", "Hi", "--freshness", "magic")
    assert ended.status == 2
    assert "history" in ended.complaint


def test_a_price_is_changed_through_the_other_channel_and_moves_the_cart(terminal: Command) -> None:
    terminal("cart", "add", "7")
    before = terminal("cart", "show", "--json").json
    assert terminal("price", "set", "7", "17.25", "--json").json == {
        "book_id": 7, "title": "The Quiet Orchard", "price": "17.25",
    }  # fmt: skip
    after = terminal("cart", "show", "--json").json
    assert (after["total"], after["version"] > before["version"]) == ("17.25", True)
    assert terminal("price", "set", "7", "cheap").status == 2


def test_the_website_acts_before_a_step(terminal: Command) -> None:
    told = terminal("ask", JOB, "--model", "offline", "--meanwhile", "4:stock 7 3", "--json").json
    heard = [event for event in told["events"] if event["kind"] == "shop_changed"]
    assert [(event["resource"], event["version_before"]) for event in heard] == [("stock:7", 0)]
    assert terminal("ask", "Hi", "--meanwhile", "cart 7 2").status == 2


def test_the_experiment_prints_rates_for_every_cure_and_answers_side_by_side(
    terminal: Command, shop: Bookshop
) -> None:
    told = terminal("lab", "stale", "--rounds", "1", "--json").json
    rows = {(row["cure"], row["changed"]): row for row in told["rows"]}
    assert set(rows) == {
        (cure, changed)
        for cure in ("history", "instruct", "stamp", "snapshot", "verify")
        for changed in (True, False)
    }
    assert all(row["trials"] == 50 for row in rows.values())
    assert rows["history", True]["stale"] == 50
    assert (rows["verify", True]["stale"], rows["verify", False]["hedged"]) == (0, 0)
    instruct, stamp = rows["instruct", False], rows["stamp", True]
    assert instruct["added_calls"] > 1
    assert instruct["added_tokens"] > 0
    assert (stamp["added_calls"], stamp["prefix_lost"]) == (0, 50)
    assert stamp["added_tokens"] > 0
    low, high = rows["verify", True]["rates"]["stale"]["interval_95"]
    assert (low, 0 < high < 0.08) == (0, True)
    examples = told["examples"]
    assert len(examples) == 6 * 5
    run = terminal("runs", "show", examples[0]["run_id"], "--json").json
    assert run["events"][-1]["answer"] == examples[0]["answer"]
    assert terminal("cart", "show", "--json").json["lines"] == []
