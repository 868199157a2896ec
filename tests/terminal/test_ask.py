"""``bookshop ask``: the Lighthouse job, the JSON contract, and the limits."""

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

import store
from assistant.bookshop import Bookshop
from tests.terminal.conftest import JOB, Command, tool_calls

RESULT = {
    "run_id",
    "session_id",
    "stop_reason",
    "answer",
    "steps",
    "model_calls",
    "tool_calls",
    "usage",
    "cost_usd",
    "seconds",
    "cart",
    "answer_by",
    "stale",
    "claims",
    "warnings",
    "events",
}
USAGE = {"input_tokens", "output_tokens", "total_tokens", "complete", "estimated"}
CART = {"lines", "total", "version"}
LINE = {"book_id", "title", "quantity", "price", "line_total"}
STALE = {
    "resource",
    "turn",
    "step",
    "seen_version",
    "current_version",
    "seen",
    "current",
    "stated_in_answer",
}
EVENTS = {
    "run_started": {"run_id", "model", "settings", "instructions", "tools"},
    "user_message": {"text", "turn"},
    "model_request": {"estimated_input_tokens", "resent_tokens", "new_tokens", "wrap_up"},
    "model_reply": {"text", "thinking", "tool_calls", "usage", "timings_ms", "done_reason", "model", "repairs"},
    "tool_started": {"call"},
    "tool_finished": {"call", "ran", "ok", "result", "chars_cut", "duration_ms", "reads", "changes"},
    "run_finished": {"stop_reason", "answer", "answer_by"},
}
ANOTHER_AUTHOR = """title,author,genre,price,stock
The Salt Ferry,Ines Quarrel,novel,14.00,0
A Cookbook for Ferrymen,Ines Quarrel,cooking,9.00,4
The Paper Harbour,Ines Quarrel,novel,12.25,3
"""


def test_the_lighthouse_job_is_done_in_five_steps_and_four_calls(terminal: Command) -> None:
    ended = terminal("ask", JOB, "--model", "offline", "--json")
    told = ended.json
    assert (ended.status, ended.err) == (0, "")
    assert (told["stop_reason"], told["answer_by"]) == ("done", "model")
    assert (told["steps"], told["model_calls"], told["tool_calls"]) == (5, 5, 4)
    assert tool_calls(told) == ["search_books", "check_stock", "check_stock", "add_to_cart"]
    assert told["cart"]["lines"] == [
        {"book_id": 7, "title": "The Quiet Orchard", "quantity": 1, "price": "16.50", "line_total": "16.50"}
    ]
    assert told["cart"]["total"] == "16.50"
    assert "16.50" in told["answer"]


def test_input_tokens_rise_with_every_step_and_add_up(terminal: Command) -> None:
    told = terminal("ask", JOB, "--model", "offline", "--json").json
    replies = [event for event in told["events"] if event["kind"] == "model_reply"]
    sent = [reply["usage"]["input_tokens"] for reply in replies]
    assert len(sent) == 5
    assert sent == sorted(set(sent))
    assert told["usage"]["input_tokens"] == sum(sent)
    assert told["usage"]["output_tokens"] == sum(reply["usage"]["output_tokens"] for reply in replies)
    assert told["usage"]["total_tokens"] == told["usage"]["input_tokens"] + told["usage"]["output_tokens"]


def test_the_json_has_exactly_the_keys_of_the_contract(terminal: Command) -> None:
    told = terminal("ask", JOB, "--model", "offline", "--json").json
    assert set(told) == RESULT
    assert set(told["usage"]) == USAGE
    assert set(told["cart"]) == CART
    assert [set(line) for line in told["cart"]["lines"]] == [LINE]


def test_the_json_has_the_types_of_the_contract(terminal: Command) -> None:
    told = terminal("ask", JOB, "--model", "offline", "--json").json
    for name in ("run_id", "session_id", "stop_reason", "answer"):
        assert isinstance(told[name], str)
        assert told[name]
    for name in ("steps", "model_calls", "tool_calls"):
        assert isinstance(told[name], int)
    assert isinstance(told["seconds"], float)
    assert told["cost_usd"] is None
    assert told["usage"]["complete"] is True
    assert told["usage"]["estimated"] is True
    assert told["stale"] == told["warnings"] == []
    assert [claim["verdict"] for claim in told["claims"]] == ["backed", "backed"]
    assert all(set(claim) == {"text", "verdict", "why"} for claim in told["claims"])
    assert isinstance(told["cart"]["version"], int)


def test_money_is_decimal_text_with_two_places(terminal: Command) -> None:
    cart = terminal("ask", "Add 3 copies of The Quiet Orchard", "--model", "offline", "--json").json["cart"]
    (line,) = cart["lines"]
    assert [line["quantity"], line["price"], line["line_total"]] == [3, "16.50", "49.50"]
    assert cart["total"] == "49.50"
    assert Decimal(cart["total"]) == 3 * Decimal(line["price"])


def test_every_event_has_its_kind_step_and_utc_time_and_the_promised_fields(terminal: Command) -> None:
    events = terminal("ask", JOB, "--model", "offline", "--json").json["events"]
    assert [event["kind"] for event in events[:2]] == ["run_started", "user_message"]
    assert events[-1]["kind"] == "run_finished"
    times = [datetime.fromisoformat(event["at"]) for event in events]
    assert times == sorted(times)
    assert all(time.utcoffset() == datetime.now(UTC).utcoffset() for time in times)
    for event in events:
        assert {"kind", "step", "at"} | EVENTS[event["kind"]] <= set(event)
    assert [event["step"] for event in events if event["kind"] == "model_request"] == [1, 2, 3, 4, 5]


def test_every_call_has_exactly_one_result_under_its_own_id(terminal: Command) -> None:
    events = terminal("ask", JOB, "--model", "offline", "--json").json["events"]
    asked = [call["id"] for event in events if event["kind"] == "model_reply" for call in event["tool_calls"]]
    answered = [event["call"]["id"] for event in events if event["kind"] == "tool_finished"]
    assert len(set(asked)) == 4
    assert answered == asked
    replies = [event for event in events if event["kind"] == "model_reply"]
    assert {"input_tokens", "output_tokens", "cached_tokens", "estimated"} == set(replies[0]["usage"])
    assert {"load", "prompt", "generation", "first_token", "total"} == set(replies[0]["timings_ms"])
    assert {"id", "name", "arguments"} == set(replies[0]["tool_calls"][0])


def test_two_steps_are_too_few_and_the_answer_says_what_was_not_done(terminal: Command) -> None:
    ended = terminal("ask", JOB, "--model", "offline", "--json", "--max-steps", 2)
    told = ended.json
    assert ended.status == 3
    assert told["stop_reason"] == "max_steps"
    assert told["cart"] == {"lines": [], "total": "0.00", "version": 0}
    assert (told["steps"], told["model_calls"], told["tool_calls"]) == (2, 3, 2)
    assert any(word in told["answer"].lower() for word in ("not ", "nothing"))
    assert "add_to_cart" not in tool_calls(told)


def test_without_a_wrap_up_the_program_writes_the_answer(terminal: Command) -> None:
    ended = terminal("ask", JOB, "--model", "offline", "--json", "--max-steps", 2, "--no-wrap-up")
    told = ended.json
    assert (ended.status, told["answer_by"], told["model_calls"]) == (3, "program", 2)
    assert "limit of 2 steps" in told["answer"]
    assert "Nothing was changed" in told["answer"]


def test_the_stand_in_adds_the_lighthouse_once_it_is_in_stock(terminal: Command) -> None:
    assert terminal("stock", "set", 2, 1).status == 0
    told = terminal("ask", JOB, "--model", "offline", "--json").json
    assert [line["book_id"] for line in told["cart"]["lines"]] == [2]
    assert told["cart"]["total"] == "18.90"
    assert tool_calls(told) == ["search_books", "check_stock", "add_to_cart"]


def test_the_stand_in_adds_nothing_once_the_other_novel_is_gone_too(terminal: Command) -> None:
    assert terminal("stock", "set", 7, 0).status == 0
    ended = terminal("ask", JOB, "--model", "offline", "--json", "--max-steps", "none", "--max-tokens", "none")
    assert (ended.status, ended.json["stop_reason"]) == (0, "done")
    assert ended.json["cart"]["lines"] == []
    assert "add_to_cart" not in tool_calls(ended.json)
    assert any(word in ended.json["answer"].lower() for word in ("nothing", "not ", "none", "no other"))


def test_with_the_default_limits_too_nothing_is_added_when_all_are_gone(terminal: Command) -> None:
    terminal("stock", "set", 7, 0)
    ended = terminal("ask", JOB, "--model", "offline", "--json")
    assert ended.json["cart"]["lines"] == []
    assert "added" not in ended.json["answer"].replace("nothing was added", "").replace("not added", "").lower()


def test_the_job_is_done_for_the_books_of_another_author(terminal: Command, tmp_path: Path) -> None:
    books = tmp_path / "more.csv"
    books.write_text(ANOTHER_AUTHOR, encoding="utf-8")
    assert terminal("db", "import", books).status == 0
    told = terminal("ask", JOB.replace("Last Lighthouse", "Salt Ferry"), "--model", "offline", "--json").json
    assert [line["title"] for line in told["cart"]["lines"]] == ["The Paper Harbour"]
    assert told["cart"]["total"] == "12.25"


def test_without_json_the_answer_goes_to_stdout_and_the_steps_to_stderr(terminal: Command) -> None:
    ended = terminal("ask", JOB, "--model", "offline")
    assert ended.status == 0
    assert ended.out.startswith("The Last Lighthouse is out of stock")
    assert ended.out.count("\n") == 1
    for name in ("search_books", "check_stock", "add_to_cart", "stand-in"):
        assert name in ended.err


def test_without_a_model_and_without_ollama_the_stand_in_answers_and_says_why(terminal: Command) -> None:
    ended = terminal("ask", "hello")
    assert ended.status == 0
    assert "Ollama is not running" in ended.err
    assert "ollama serve" in ended.err
    assert "ollama pull qwen3:4b" in ended.err


def test_the_surroundings_may_name_the_model(terminal: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOOKSHOP_MODEL", "script:lighthouse")
    told = terminal("ask", JOB, "--json").json
    assert told["events"][0]["model"]["name"] == "script:lighthouse"
    assert told["cart"]["total"] == "16.50"


@pytest.mark.parametrize(
    ("flags", "name", "value"),
    [
        (("--max-steps", "none"), "max_steps", None),
        (("--max-tool-calls", "none"), "max_tool_calls", None),
        (("--max-tokens", "none"), "max_tokens", None),
        (("--max-input-tokens", "none"), "max_input_tokens", None),
        (("--max-seconds", "none"), "max_seconds", None),
        (("--max-result-chars", "none"), "max_result_chars", None),
        (("--max-steps", "3"), "max_steps", 3),
        (("--max-tool-calls", "0"), "max_tool_calls", 0),
        (("--max-seconds", "2.5"), "max_seconds", 2.5),
        (("--max-input-tokens", "9000"), "max_input_tokens", 9000),
        (("--preset", "guarded"), "max_input_tokens", 60_000),
        (("--preset", "guarded"), "max_steps", 12),
        (("--preset", "first-post"), "max_tool_calls", None),
        (("--preset", "guarded", "--max-steps", "7"), "max_steps", 7),
        (("--no-guards",), "max_steps", 40),
        (("--no-guards",), "max_tokens", None),
        (("--no-guards", "--max-steps", "5"), "max_steps", 5),
        ((), "max_steps", 6),
        ((), "max_tokens", 20_000),
    ],
)
def test_a_flag_sets_its_limit(terminal: Command, flags: tuple[str, ...], name: str, value: object) -> None:
    told = terminal("ask", "hello", "--model", "offline", "--json", *flags).json
    assert told["events"][0]["settings"]["limits"][name] == value


@pytest.mark.parametrize(
    ("flags", "name", "value"),
    [
        (("--num-ctx", "4096"), "num_ctx", 4096),
        (("--seed", "7"), "seed", 7),
        (("--temperature", "0.5"), "temperature", 0.5),
        (("--no-think",), "think", False),
        ((), "num_predict", 4096),
    ],
)
def test_a_flag_sets_an_option_of_the_model(
    terminal: Command, flags: tuple[str, ...], name: str, value: object
) -> None:
    told = terminal("ask", "hello", "--model", "offline", "--json", *flags).json
    assert told["events"][0]["settings"]["options"][name] == value


def test_the_search_size_is_what_a_search_returns(terminal: Command) -> None:
    told = terminal("ask", JOB, "--model", "offline", "--json", "--max-results", 2).json
    assert told["events"][0]["settings"]["search_size"] == 2


@pytest.mark.parametrize(
    "flag",
    [
        "--model",
        "--db",
        "--session",
        "--customer",
        "--json",
        "--max-steps",
        "--max-tokens",
        "--max-input-tokens",
        "--max-tool-calls",
        "--max-seconds",
        "--max-result-chars",
        "--max-results",
        "--preset",
        "--no-guards",
        "--no-wrap-up",
        "--num-ctx",
        "--think",
        "--no-think",
        "--seed",
        "--temperature",
    ],
)
def test_help_names_the_flag(terminal: Command, flag: str) -> None:
    assert flag in terminal("ask", "--help").out


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (("--max-steps", 1), "max_steps"),
        (("--max-tool-calls", 1), "max_tool_calls"),
        (("--max-tokens", 2000), "max_tokens"),
        (("--max-input-tokens", 2000), "max_input_tokens"),
        (("--max-seconds", 0.000001), "max_seconds"),
    ],
)
def test_a_limit_that_is_reached_ends_with_its_reason_and_status_3(
    terminal: Command, flags: tuple[object, ...], reason: str
) -> None:
    ended = terminal("ask", JOB, "--model", "offline", "--json", *flags)
    assert (ended.status, ended.json["stop_reason"]) == (3, reason)
    assert ended.json["answer"].strip()
    assert ended.json["events"][-1]["stop_reason"] == reason


def test_the_model_that_asks_the_same_again_and_again_is_stopped(terminal: Command) -> None:
    ended = terminal("ask", JOB, "--model", "script:endless", "--json", "--max-steps", "none")
    assert (ended.status, ended.json["stop_reason"]) == (3, "repeated_call")
    assert ended.json["tool_calls"] == 2


def test_without_guards_the_cap_of_forty_steps_ends_it(terminal: Command) -> None:
    ended = terminal("ask", JOB, "--model", "script:endless", "--json", "--no-guards")
    assert (ended.status, ended.json["stop_reason"], ended.json["steps"]) == (3, "max_steps", 40)


def test_what_the_shop_overtook_is_listed_with_both_values(terminal: Command, shop: Bookshop) -> None:
    terminal("ask", JOB, "--model", "offline", "--session", "talk", "--json")
    store.add_to_cart(shop.engine, 1, 9, by="somebody else")
    told = terminal("ask", "hello", "--model", "offline", "--session", "talk", "--json").json
    assert [set(fact) for fact in told["stale"]] == [STALE] * len(told["stale"])
    (cart,) = [fact for fact in told["stale"] if fact["resource"] == "cart"]
    assert cart["seen_version"] < cart["current_version"]
    assert "16.50" in cart["seen"]
    assert "27.00" in cart["current"]
    assert (cart["turn"], cart["step"]) == (1, 4)
    assert cart["stated_in_answer"] is False


@pytest.mark.parametrize("text", ["", "   ", "\n", "x" * 4_001])
def test_an_empty_or_endless_message_is_refused_as_bad_input(terminal: Command, text: str) -> None:
    assert terminal("ask", text, "--model", "offline").status == 2


@pytest.mark.parametrize(
    "text",
    ["caf\udce9", "a\x00b", "\ud83d", "😀" * 50, "بستان الليمون", "[bold]x[/bold] [/]", "x" * 4_000],
    ids=["broken bytes", "nul", "half a character", "emoji", "arabic", "markup", "long"],
)
def test_any_text_is_answered(terminal: Command, text: str) -> None:
    ended = terminal("ask", text, "--model", "offline", "--json")
    assert ended.status == 0, ended.err
    assert ended.json["answer"].strip()


def test_text_that_looks_like_markup_of_the_terminal_is_printed_as_it_is(terminal: Command) -> None:
    ended = terminal("ask", "[bold]hello[/bold] [/nothing]", "--model", "offline")
    assert ended.status == 0, ended.err
    assert "[bold]hello[/bold]" in ended.err
