"""The real program as a process: what a shell, a script and Ctrl-C see."""

import os
import signal
import subprocess
import threading
import time

import pytest

from assistant.bookshop import Bookshop
from tests.terminal.conftest import JOB, PROGRAM, Command, tool_calls

PATIENCE = 30


def test_the_lighthouse_job_prints_one_json_object_and_nothing_else(program: Command, terminal: Command) -> None:
    ended = program("ask", JOB, "--model", "offline", "--json")
    assert (ended.status, ended.err) == (0, "")
    assert ended.json["stop_reason"] == "done"
    assert tool_calls(ended.json) == ["search_books", "check_stock", "check_stock", "add_to_cart"]
    assert ended.json["cart"]["total"] == "16.50"
    cut_short = terminal("ask", JOB, "--model", "offline", "--json", "--max-steps", 2)
    assert (cut_short.status, cut_short.json["stop_reason"]) == (3, "max_steps")


def test_with_no_ollama_it_ends_at_its_first_request_with_one_line(program: Command, terminal: Command) -> None:
    ended = program("ask", JOB, "--model", "qwen3:4b")
    (run,) = terminal("runs", "list", "--json").json["runs"]
    told = terminal("runs", "show", run["run_id"], "--json").json["events"]
    assert [event["kind"] for event in told].count("model_request") == 1
    assert ended.status == 4
    assert "ollama serve" in ended.out
    assert len(ended.out.splitlines()) == 1


def test_a_chat_through_a_pipe_answers_and_ends_with_the_input(program: Command) -> None:
    ended = program("chat", "--model", "offline", typed=f"{JOB}\nWhat is my cart total now?")
    assert ended.status == 0
    assert "The Quiet Orchard" in ended.out
    assert ended.out.count("16.50") >= 2
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("flags", [(), ("--json",)], ids=["words", "json"])
def test_ctrl_c_ends_the_run_at_once_and_keeps_its_record(
    flags: tuple[str, ...], terminal: Command, shop: Bookshop
) -> None:
    running = subprocess.Popen(
        [PROGRAM, "ask", "Tell me all", "--model", "script:slow", *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    with running:
        try:
            _wait_for_the_answer_to_begin(shop)
            running.send_signal(signal.SIGINT)
            out, err = running.communicate(timeout=PATIENCE)
        finally:
            running.kill()
    assert running.returncode == 3
    assert "Traceback" not in err
    (run,) = terminal("runs", "list", "--json").json["runs"]
    assert run["stop_reason"] == "cancelled"
    assert run["answer"] in out
    replies = [
        event for event in shop.archive.listing.run_events("1", run["run_id"]) if event.kind == "model_reply"
    ]
    assert [reply.incomplete for reply in replies].count(False) == 1  # the second would have taken minutes


def _wait_for_the_answer_to_begin(shop: Bookshop) -> None:
    """The script's second reply takes minutes; its request is in the database before it begins."""
    deadline = time.monotonic() + PATIENCE
    tick = threading.Event()
    while time.monotonic() < deadline:
        runs = shop.archive.listing.runs("1")
        events = shop.archive.listing.run_events("1", runs[0].run_id) if runs else []
        if sum(event.kind == "model_request" for event in events) == 2:
            return
        tick.wait(0.05)
    raise AssertionError("the run did not begin")


def test_a_reader_that_goes_away_leaves_no_traceback(terminal: Command) -> None:
    terminal("ask", JOB, "--model", "offline", "--json")
    line = f"'{PROGRAM}' runs list --json | true"
    ended = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert "Traceback" not in ended.stderr
    assert "broke" not in ended.stderr


def test_titles_in_other_scripts_print_where_the_terminal_knows_no_unicode(
    program: Command, terminal: Command
) -> None:
    assert terminal("cart", "add", 74).status == 0
    ended = program("cart", "show", "--json", PYTHONIOENCODING="ascii")
    assert ended.status == 0, ended.err
    assert ended.json["lines"][0]["book_id"] == 74


def test_help_is_shown_for_every_command(terminal: Command) -> None:
    ended = terminal("--help")
    assert ended.status == 0
    for name in ("ask", "chat", "doctor", "cart", "stock", "order", "runs", "db"):
        assert name in ended.out
