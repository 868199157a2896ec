"""``--session``: conversations that go on, belong to one customer, and answer one message at a time."""

import secrets
import string
from typing import Any

import pytest

from agent.archive import lease
from agent.trace.documents import load_events
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


def test_conversations_are_listed_by_what_was_asked_first_and_by_their_name(terminal: Command) -> None:
    told = terminal("ask", "Where is my order O-1001?", "--model", "offline", "--json").json
    terminal("ask", "hello", "--model", "offline", "--session", "gifts")
    gifts, orders = terminal("sessions", "list", "--json").json["sessions"]
    assert (gifts["name"], gifts["title"], gifts["turns"], gifts["live"]) == ("gifts", "gifts", 1, False)
    assert (orders["session_id"], orders["title"]) == (told["session_id"], "Where is my order O-1001?")
    assert terminal("sessions", "list", "--customer", "2", "--json").json == {"sessions": []}
    assert "Where is my order" in terminal("sessions", "list").out


def test_a_conversation_is_renamed_and_goes_on_under_its_new_name(terminal: Command) -> None:
    told = terminal("ask", "hello", "--model", "offline", "--json").json
    assert terminal("sessions", "rename", told["session_id"], "presents").status == 0
    again = terminal("ask", "hello", "--model", "offline", "--session", "presents", "--json").json
    assert again["session_id"] == told["session_id"]
    terminal("ask", "hello", "--model", "offline", "--session", "other")
    refused = terminal("sessions", "rename", "other", "presents")
    assert (refused.status, "already" in refused.complaint) == (2, True)


def test_a_deleted_conversation_is_gone_and_what_it_did_stays(terminal: Command) -> None:
    told = terminal("ask", JOB, "--model", "offline", "--session", "gone", "--json").json
    assert terminal("sessions", "delete", "gone", "--yes").status == 0
    assert terminal("sessions", "list", "--json").json == {"sessions": []}
    assert terminal("runs", "show", told["run_id"]).status == 2
    assert terminal("cart", "show", "--json").json["total"] == "16.50"
    assert terminal("sessions", "delete", "gone", "--yes").status == 2


def test_a_busy_conversation_is_not_deleted(terminal: Command, shop: Bookshop) -> None:
    conversation = shop.conversation(1, "busy")
    with lease(shop.archive, conversation):
        assert terminal("sessions", "delete", conversation.handle, "--yes").status == 2


def test_an_exported_conversation_loads_again_event_for_event(terminal: Command, shop: Bookshop) -> None:
    told = terminal("ask", JOB, "--model", "offline", "--session", "talk", "--json").json
    conversation = shop.archive.find("1", "talk")
    assert conversation
    assert load_events(terminal("sessions", "export", "talk").out) == list(conversation.events)
    assert load_events(terminal("runs", "export", told["run_id"]).out) == conversation.run_events()
    assert terminal("sessions", "export", "nothing").status == 2


def test_of_ten_thousand_guessed_handles_none_is_accepted(terminal: Command, shop: Bookshop) -> None:
    told = terminal("ask", "hello", "--model", "offline", "--json").json
    mine = told["session_id"]
    guesses = {secrets.token_urlsafe(16) for _ in range(10_000)}
    guesses |= {mine[:-1] + last for last in string.ascii_letters + string.digits} | {mine.swapcase(), mine[:-1]}
    guesses |= {f"{number}{mine[len(str(number)) :]}" for number in range(1_000)}
    guesses -= {mine}
    found = [guess for guess in guesses if shop.archive.length("1", guess) is not None]
    assert (len(guesses) >= 10_000, found) == (True, [])
    assert shop.archive.find("2", mine) is None


def test_another_customers_order_looks_like_no_order(terminal: Command) -> None:
    theirs = 1011
    asked = [
        terminal("ask", f"Where is my order O-{number}?", "--model", "offline", "--json").json["answer"]
        for number in (theirs, 9_876)
    ]
    assert asked[0].replace(str(theirs), "N") == asked[1].replace("9876", "N")


def test_a_name_of_broken_bytes_is_a_name_too(terminal: Command) -> None:
    for turn in (1, 2):
        told = terminal("ask", "hello", "--session", "caf\udce9", *OFFLINE)
        assert (told.status, told.json["events"][0]["turn"]) == (0, turn)
    ended = terminal("continue", "--session", "caf\udcff", "--json")
    assert ended.status == 2
    assert ended.complaint


def test_a_handle_means_its_own_conversation_and_not_one_that_is_named_like_it(terminal: Command) -> None:
    meant, other = (terminal("ask", "hello", *OFFLINE).json["session_id"] for _ in range(2))
    terminal("sessions", "rename", other, meant)
    assert terminal("sessions", "delete", meant, "--yes").status == 0
    assert [one["session_id"] for one in terminal("sessions", "list", "--json").json["sessions"]] == [other]


def test_a_conversation_that_is_not_listed_can_still_be_deleted(terminal: Command, shop: Bookshop) -> None:
    shop.conversation(1, "empty, so it is not listed")
    assert terminal("sessions", "delete", "empty, so it is not listed", "--yes").status == 0
    assert shop.archive.find("1", "empty, so it is not listed") is None
