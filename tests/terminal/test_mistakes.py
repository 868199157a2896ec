"""Whatever is wrong with a command is one line on stderr, and exit status 2."""

from pathlib import Path

import pytest

from agent.trace import StopReason
from agent.trace.stop_reasons import STOPS
from tests.terminal.conftest import Command

ASK = ("ask", "hello", "--model", "offline")
WRONG = [
    *[
        (*ASK, "--max-steps", value)
        for value in ("0", "-1", "-2", "1.5", "x", "", "nan", "inf", "1e99", "1001", "NONE")
    ],
    *[(*ASK, "--max-tool-calls", value) for value in ("-1", "-2", "0.5", "x")],
    *[(*ASK, "--max-tokens", value) for value in ("0", "-1", "x", "1.5")],
    *[(*ASK, "--max-input-tokens", value) for value in ("0", "-1", "x")],
    *[(*ASK, "--max-seconds", value) for value in ("0", "-1", "-0.5", "nan", "inf", "x", "1 minute")],
    *[(*ASK, "--max-result-chars", value) for value in ("0", "-1", "x")],
    *[(*ASK, "--max-results", value) for value in ("0", "51", "-1", "x", "none")],
    *[(*ASK, "--num-ctx", value) for value in ("0", "511", "x")],
    *[(*ASK, "--temperature", value) for value in ("-0.1", "2.1", "x", "nan")],
    (*ASK, "--seed", "x"),
    (*ASK, "--preset", "wild"),
    (*ASK, "--customer", "0"),
    (*ASK, "--customer", "x"),
    (*ASK, "--customer", "99"),
    (*ASK, "--customer", "9" * 30),
    (*ASK, "--no-such-flag"),
    ("ask",),
    ("ask", "hello", "--model", "script:no-such-script"),
    ("ask", "hello", "more"),
    ("no-such-command",),
    ("cart", "no-such-command"),
    ("cart", "show", "--customer", "99"),
    ("cart", "add", "9999"),
    ("cart", "add", "9" * 30),
    ("cart", "add", "seven"),
    ("cart", "add", "7", "0"),
    ("cart", "add", "7", "21"),
    ("cart", "add", "7", "16"),
    ("cart", "add", "2"),
    ("cart", "add", "7", "--customer", "99"),
    ("cart", "set", "7", "21"),
    ("cart", "set", "9999", "1"),
    ("cart", "set", "7"),
    ("cart", "remove", "7"),
    ("cart", "clear", "--customer", "99"),
    ("stock", "set", "9999", "1"),
    ("stock", "set", "7", "9" * 30),
    ("stock", "set", "7", "many"),
    ("order", "set", "9999", "shipped"),
    ("order", "set", "O-x", "shipped"),
    ("order", "set", "1001", "lost"),
    ("runs", "list", "--limit", "0"),
    ("runs", "list", "--customer", "0"),
    ("db", "import", "no-such-file.csv"),
    ("db", "init"),
    ("cart", "show", "--db", "nonsense"),
    ("cart", "show", "--db", "mysql://somewhere/shop"),
    ("cart", "show", "--db", "sqlite://"),
]
STATUSES: dict[StopReason, int] = {
    "done": 0,
    "max_steps": 3,
    "max_tool_calls": 3,
    "max_tokens": 3,
    "max_input_tokens": 3,
    "max_cost": 3,
    "repeated_call": 3,
    "ping_pong": 3,
    "no_new_information": 3,
    "error_streak": 3,
    "max_seconds": 3,
    "context_window": 3,
    "cancelled": 3,
    "not_approved": 3,
    "empty_answer": 4,
    "model_unavailable": 4,
    "model_error": 4,
    "internal_error": 1,
}


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_a_wrong_command_is_refused_in_one_line(terminal: Command, words: tuple[str, ...]) -> None:
    ended = terminal(*words)
    assert ended.status == 2, ended
    assert ended.complaint


@pytest.mark.parametrize("words", [("cart",), ("db",), ("runs",), ("stock",), ("order",), ()], ids=" ".join)
def test_a_command_without_its_second_word_shows_the_help_and_no_empty_complaint(
    terminal: Command, words: tuple[str, ...]
) -> None:
    ended = terminal(*words)
    assert "Usage" in ended.out + ended.err
    assert ". Try --help." not in ended.err.splitlines()


@pytest.mark.parametrize("words", [("cart", "add", "9999"), ("cart", "add", "7", "0"), ("runs", "show", "x")])
def test_json_or_not_a_refusal_prints_nothing_to_stdout(terminal: Command, words: tuple[str, ...]) -> None:
    ended = terminal(*words, "--json")
    assert ended.status == 2
    assert ended.complaint


@pytest.mark.parametrize(
    "words", [("cart", "add", "9999"), ("cart", "add", "seven"), ("order", "set", "1", "lost")]
)
def test_debug_adds_the_traceback_before_the_line(terminal: Command, words: tuple[str, ...]) -> None:
    plain, debugged = terminal(*words), terminal(*words, "--debug")
    assert (plain.status, debugged.status) == (2, 2)
    assert debugged.out == ""
    assert "Traceback" in debugged.err
    assert debugged.err.endswith(plain.err)


@pytest.mark.parametrize(
    "content", [b"", b"garbage" * 1000, b"SQLite format 3\x00" + b"\x00" * 5000], ids=["empty", "garbage", "torn"]
)
@pytest.mark.parametrize(
    "words", [("cart", "show"), ("ask", "hello", "--model", "offline", "--json"), ("db", "check")]
)
def test_a_database_that_is_none_is_refused_without_its_path(
    terminal: Command, file: Path, content: bytes, words: tuple[str, ...]
) -> None:
    file.write_bytes(content)
    ended = terminal(*words)
    assert ended.status == 2
    assert str(file.parent) not in ended.complaint
    assert file.read_bytes() == content


def test_a_refused_database_is_a_finding_of_the_doctor(terminal: Command, file: Path) -> None:
    file.write_bytes(b"")
    findings = {finding["what"]: finding for finding in terminal("doctor", "--json").json["findings"]}
    assert findings["Database"]["ok"] is False


@pytest.mark.parametrize(("reason", "status"), STATUSES.items())
def test_each_stop_reason_has_its_exit_status(reason: StopReason, status: int) -> None:
    assert STOPS[reason].exit_status == status
