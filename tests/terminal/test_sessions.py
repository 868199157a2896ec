"""``--session``: conversations that go on, belong to one customer, and answer one message at a time."""

from typing import Any

import pytest

from agent.lease import lease
from assistant.bookshop import Bookshop
from tests.ollama_server import MODEL, OllamaServer, lighthouse
from tests.terminal.conftest import JOB, Command

OFFLINE = ("--model", "offline", "--json")


def test_a_name_of_ones_own_begins_and_then_continues_a_conversation(terminal: Command) -> None:
    first = terminal("ask", JOB, "--session", "mine", *OFFLINE).json
    second = terminal("ask", "What is my cart total now?", "--session", "mine", *OFFLINE).json
    assert first["session_id"] == second["session_id"]
    assert first["run_id"] != second["run_id"]
    turns = [
        event["turn"] for told in (first, second) for event in told["events"] if event["kind"] == "user_message"
    ]
    assert turns == [1, 2]


def test_the_id_of_an_earlier_answer_continues_it_too(terminal: Command) -> None:
    first = terminal("ask", "hello", *OFFLINE).json
    second = terminal("ask", "hello again", "--session", first["session_id"], *OFFLINE).json
    assert second["session_id"] == first["session_id"]
    assert second["events"][0]["turn"] == 2


def test_without_a_session_each_message_has_a_conversation_of_its_own(terminal: Command) -> None:
    handles = {terminal("ask", "hello", *OFFLINE).json["session_id"] for _ in range(2)}
    assert len(handles) == 2
    assert all(len(handle) > 15 for handle in handles)


def test_the_events_told_are_those_of_this_run_alone(terminal: Command) -> None:
    terminal("ask", JOB, "--session", "mine", *OFFLINE)
    events = terminal("ask", "hello", "--session", "mine", *OFFLINE).json["events"]
    assert [event["kind"] for event in events].count("run_started") == 1
    assert [event["text"] for event in events if event["kind"] == "user_message"] == ["hello"]


def test_the_second_message_is_sent_with_the_history_of_the_first(
    terminal: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    with OllamaServer(lighthouse) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        terminal("ask", JOB, "--session", "mine", "--model", MODEL, "--json")
        terminal("ask", "And once more?", "--session", "mine", "--model", MODEL, "--json")
        before, after = (_without_thoughts(server.requests[number]["messages"]) for number in (4, 5))
    assert after[: len(before)] == before
    assert [message["role"] for message in after[len(before) :]] == ["assistant", "user"]
    assert after[-1]["content"] == "And once more?"


def _without_thoughts(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Earlier turns are sent without what the model thought in them."""
    return [{name: value for name, value in message.items() if name != "thinking"} for message in messages]


def test_the_same_name_is_another_conversation_for_another_customer(terminal: Command) -> None:
    mine = terminal("ask", "hello", "--session", "talk", *OFFLINE).json
    theirs = terminal("ask", "hello", "--session", "talk", "--customer", 2, *OFFLINE).json
    assert mine["session_id"] != theirs["session_id"]
    assert theirs["events"][0]["turn"] == 1


def test_the_id_of_somebody_elses_conversation_does_not_open_it(terminal: Command) -> None:
    mine = terminal("ask", "My secret is 1234", *OFFLINE).json
    theirs = terminal("ask", "hello", "--session", mine["session_id"], "--customer", 2, *OFFLINE)
    assert theirs.status in (0, 2)
    assert "1234" not in theirs.out
    if theirs.status == 0:
        assert theirs.json["session_id"] != mine["session_id"]
        assert theirs.json["events"][0]["turn"] == 1


def test_a_message_in_a_busy_conversation_is_refused(terminal: Command, shop: Bookshop) -> None:
    terminal("ask", "hello", "--session", "mine", *OFFLINE)
    conversation = shop.conversation(1, "mine")
    with lease(shop.archive, conversation):
        complaint = terminal("ask", "hello", "--session", "mine", *OFFLINE)
    assert complaint.status == 2
    assert "answering already" in complaint.complaint


def test_a_busy_conversation_leaves_the_others_alone(terminal: Command, shop: Bookshop) -> None:
    with lease(shop.archive, shop.conversation(1, "busy")):
        assert terminal("ask", "hello", "--session", "free", *OFFLINE).status == 0


def test_a_customer_keeps_one_cart_over_all_conversations(terminal: Command) -> None:
    terminal("ask", JOB, *OFFLINE)
    told = terminal("ask", "What is my cart total now?", *OFFLINE).json
    assert told["cart"]["total"] == "16.50"
    assert terminal("ask", "hello", "--customer", 2, *OFFLINE).json["cart"]["lines"] == []


def test_a_name_of_broken_bytes_is_a_name_too(terminal: Command) -> None:
    for turn in (1, 2):
        told = terminal("ask", "hello", "--session", "caf\udce9", *OFFLINE)
        assert (told.status, told.json["events"][0]["turn"]) == (0, turn)
    ended = terminal("continue", "--session", "caf\udcff", "--json")
    assert ended.status == 2
    assert ended.complaint
