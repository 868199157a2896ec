"""``--approve-above``: the person at the terminal is asked, and where there is none the run ends in words."""

import os
import pty
import subprocess
from collections.abc import Iterator
from decimal import Decimal

import pytest

import store
from agent.archive import lease
from agent.guards.limits import Limits
from agent.models.scripted import ScriptedModel, call
from assistant.bookshop import Bookshop
from assistant.settings import Settings
from tests.terminal.conftest import JOB, PROGRAM, Command, Outcome

ASK = ("ask", JOB, "--model", "script:lighthouse", "--approve-above", "10")
PROMPT = "Allow it? yes, no, or other arguments such as quantity=1:"
REQUEST = (
    "add_to_cart(book_id=7, quantity=1) waits for you: The cart would come to $16.50, above the limit of $10.00."
)


@pytest.fixture
def typing(terminal: Command, monkeypatch: pytest.MonkeyPatch) -> Iterator[Command]:
    """Run a command with a terminal at its input, and these keys already typed."""
    keyboard, screen = pty.openpty()
    with os.fdopen(screen, encoding="utf-8") as stdin, os.fdopen(keyboard, "wb", buffering=0) as keys:
        monkeypatch.setattr("sys.stdin", stdin)

        def run(typed: str, *words: object) -> Outcome:
            keys.write(typed.encode())
            return terminal(*words)

        yield run


def copies(shop: Bookshop) -> int:
    return sum(line.quantity for line in store.view_cart(shop.engine, 1).lines)


def test_a_program_of_its_own_asks_on_a_real_terminal(shop: Bookshop) -> None:
    keyboard, screen = pty.openpty()
    try:
        os.write(keyboard, b"\nyes\n")
        ended = subprocess.run(
            [PROGRAM, *ASK], stdin=screen, capture_output=True, text=True, timeout=60, check=False
        )
    finally:
        os.close(keyboard)
        os.close(screen)
    assert (ended.returncode, ended.stderr.count(PROMPT), copies(shop)) == (0, 2, 1)


@pytest.mark.parametrize(
    ("typed", "asked", "held", "status"),
    [
        ("yes\n", 1, 1, 0),
        ("Y\n", 1, 1, 0),
        ("no\n", 1, 0, 0),
        ("quantity=2\n", 1, 2, 0),
        ("\n\nno\n", 3, 0, 0),
        ("maybe\nquantity=99\nhuh=1\nquantity=3\n", 4, 3, 0),
        ("\x04", 1, 0, 3),
    ],
)
def test_the_person_at_the_terminal_is_asked(
    typing: Command, shop: Bookshop, typed: str, asked: int, held: int, status: int
) -> None:
    ended = typing(typed, *ASK)
    assert ended.status == status, ended
    assert REQUEST in ended.err
    assert ended.err.count(PROMPT) == asked
    assert copies(shop) == held
    assert len(ended.out.splitlines()) == 1  # the answer and nothing else


def test_with_nobody_at_the_terminal_the_run_ends_as_not_approved(terminal: Command, shop: Bookshop) -> None:
    ended = terminal(*ASK)
    assert ended.status == 3
    assert "nobody was there to allow add_to_cart" in ended.out
    assert "Stopped because nobody allowed the call it waited for." in ended.err
    assert copies(shop) == 0


def test_in_json_nobody_is_asked_and_the_events_say_what_waited(terminal: Command) -> None:
    ended = terminal(*ASK, "--json")
    told = ended.json
    assert (ended.status, told["stop_reason"], told["answer_by"], told["cart"]["lines"]) == (
        3,
        "not_approved",
        "program",
        [],
    )
    kinds = [event["kind"] for event in told["events"]]
    assert kinds[-3:] == ["approval_requested", "tool_finished", "run_finished"]
    request = next(event for event in told["events"] if event["kind"] == "approval_requested")
    assert request["call"]["arguments"] == {"book_id": 7, "quantity": 1}


def test_a_cart_within_the_limit_asks_nobody(terminal: Command) -> None:
    told = terminal(*ASK[:-1], "16.50", "--json").json
    assert (told["stop_reason"], told["cart"]["total"]) == ("done", "16.50")


def test_a_run_that_was_not_approved_can_be_gone_on_from(typing: Command, shop: Bookshop) -> None:
    typing("\x04", *ASK, "--session", "mine")
    ended = typing(
        "yes\n", "continue", "--session", "mine", "--model", "script:lighthouse", "--approve-above", "10"
    )
    assert ended.status == 0
    assert copies(shop) == 1


@pytest.mark.parametrize("amount", ["-1", "x", "", "nan", "inf", "$", "1e99999"])
def test_an_amount_that_is_none_is_refused_in_one_line(terminal: Command, amount: str) -> None:
    ended = terminal("ask", "hello", "--model", "offline", f"--approve-above={amount}")
    assert ended.status == 2
    assert ended.complaint


def test_a_run_of_the_page_that_waits_is_answered_first_and_goes_on_under_its_own_limits(
    typing: Command, shop: Bookshop
) -> None:
    conversation = shop.archive.start("1")
    kept = Settings(limits=Limits(max_steps=1, wrap_up=False), approve_above=Decimal(1))
    agent = shop.agent(ScriptedModel("t", [call("add_to_cart", book_id=7)]), 1, conversation, kept)
    with lease(shop.archive, conversation) as run_id:
        list(agent.stream(conversation, "Add it.", run_id=run_id))
    ended = typing("yes\n", "ask", "hello", "--session", conversation.handle, "--model", "offline")
    assert ended.status == 0
    assert ended.err.index("add_to_cart(book_id=7, quantity=1) waits for you") < ended.err.index("user: hello")
    runs = shop.archive.listing.runs("1")
    assert [(run.text, run.stop_reason, run.steps) for run in runs] == [
        ("hello", "done", 1),
        ("Add it.", "max_steps", 1),
    ]
    assert copies(shop) == 1


def test_a_run_that_waits_is_busy_for_who_cannot_be_asked(terminal: Command, shop: Bookshop) -> None:
    conversation = shop.archive.start("1")
    agent = shop.agent(
        ScriptedModel("t", [call("add_to_cart", book_id=7)]), 1, conversation, Settings(approve_above=Decimal(1))
    )
    with lease(shop.archive, conversation) as run_id:
        list(agent.stream(conversation, "Add it.", run_id=run_id))
    ended = terminal("ask", "hello", "--session", conversation.handle, "--model", "offline", "--json")
    assert ended.status == 2
    assert "waits for your approval" in ended.complaint
    assert shop.archive.listing.runs("1")[0].stop_reason is None
