"""Runs under way: started, watched, stopped and waited for, as pages do."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine

from agent.archive import Archive, ConversationBusy, Runs, Snapshot
from agent.loop.agent import Agent
from agent.models.scripted import Line, ScriptedModel, call, say
from agent.views.conversation import Conversation
from assistant.bookshop import Bookshop
from assistant.shop_tools import ShopTools
from lab.scripts import LIGHTHOUSE
from tests.agent.playing import Shelf, agent_for, kinds, of

PATIENCE = 20.0
SLOW = Line(text="word " * 100, thinking="I think.", pause=0.2)


@pytest.fixture
def runs(archive: Archive) -> Runs:
    return Runs(archive)


def start(runs: Runs, conversation: Conversation, *lines: Any, shelf: Shelf | None = None) -> str:
    agent = agent_for(ScriptedModel("test", lines), (shelf or Shelf()).tools())
    return runs.start(agent, conversation, "Hello", "m1")


def until(runs: Runs, handle: str, wanted: Callable[[Snapshot], bool]) -> Snapshot:
    """Look until a snapshot is ``wanted``."""
    pause, deadline = threading.Event(), time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        snapshot = runs.snapshot(handle)
        assert snapshot
        if wanted(snapshot):
            return snapshot
        pause.wait(0.005)
    raise AssertionError(f"never seen; the last was {snapshot.doing}")


def test_a_run_goes_on_in_the_background_and_ends(engine: Engine, archive: Archive, runs: Runs) -> None:
    conversation = archive.start("1")
    agent = agent_for(ScriptedModel("test", LIGHTHOUSE), ShopTools(engine, 1, "test"))
    run_id = runs.start(agent, conversation, "Hello", "m1")
    assert runs.wait(conversation.handle, PATIENCE)
    snapshot = runs.snapshot(conversation.handle)
    assert snapshot
    assert (snapshot.run_id, snapshot.question, snapshot.running) == (run_id, "Hello", False)
    assert list(snapshot.events) == archive.listing.run_events("1", run_id) == list(conversation.events)
    assert snapshot.events[-1].kind == "run_finished"


def test_words_and_thoughts_are_seen_as_they_come(archive: Archive, runs: Runs) -> None:
    conversation = archive.start("1")
    start(runs, conversation, SLOW)
    first = until(runs, conversation.handle, lambda s: s.text != "")
    assert (first.thinking, first.doing, first.running, first.stopping) == ("I think.", "answering", True, False)
    second = until(runs, conversation.handle, lambda s: len(s.text) > len(first.text))
    assert second.text.startswith(first.text)
    assert second.seconds > first.seconds
    runs.stop(conversation.handle)
    assert runs.wait(conversation.handle, PATIENCE)


def test_a_snapshot_says_which_tool_is_running(archive: Archive, runs: Runs) -> None:
    conversation, shelf = archive.start("1"), Shelf()
    start(runs, conversation, call("hang"), say("Done."), shelf=shelf)
    assert shelf.hanging.wait(PATIENCE)
    assert until(runs, conversation.handle, lambda s: s.doing == "running hang").running
    shelf.held.set()
    assert runs.wait(conversation.handle, PATIENCE)


def test_every_event_of_a_snapshot_is_in_the_database_already(archive: Archive, runs: Runs) -> None:
    conversation = archive.start("1")
    seen: list[int] = []

    def kept(snapshot: Snapshot) -> bool:
        shown, stored = snapshot.events, archive.listing.run_events("1", snapshot.run_id)
        assert stored[: len(shown)] == list(shown)
        seen.append(len(shown))
        return not snapshot.running

    start(runs, conversation, *[call("look", what=str(n)) for n in range(5)], say("x"))
    until(runs, conversation.handle, kept)
    assert seen == sorted(seen)
    assert seen[-1] == len(conversation.events)


def test_stop_ends_a_run_at_once(archive: Archive, runs: Runs) -> None:
    conversation = archive.start("1")
    start(runs, conversation, Line(text="word " * 100, pause=3_600))
    until(runs, conversation.handle, lambda s: s.doing == "waiting for the model")
    runs.stop(conversation.handle)
    assert runs.wait(conversation.handle, PATIENCE)
    snapshot = runs.snapshot(conversation.handle)
    assert snapshot
    assert (snapshot.running, snapshot.stopping) == (False, True)
    assert of(snapshot.events, "run_finished")[0].stop_reason == "cancelled"


def test_stop_ends_a_run_whose_tool_hangs(archive: Archive, runs: Runs) -> None:
    conversation, shelf = archive.start("1"), Shelf()
    start(runs, conversation, call("hang"), shelf=shelf)
    assert shelf.hanging.wait(PATIENCE)
    runs.stop(conversation.handle)
    assert runs.wait(conversation.handle, PATIENCE)
    shelf.held.set()
    assert conversation.events[-1].kind == "run_finished"


def test_a_second_start_is_refused_and_harms_nothing(engine: Engine, archive: Archive, runs: Runs) -> None:
    conversation, shelf = archive.start("1"), Shelf()
    run_id = start(runs, conversation, call("hang"), say("Done."), shelf=shelf)
    assert shelf.hanging.wait(PATIENCE)
    for other in (runs, Bookshop(engine).runs):
        with pytest.raises(ConversationBusy):
            start(other, conversation, say("never"))
    snapshot = runs.snapshot(conversation.handle)
    assert snapshot
    assert (snapshot.run_id, snapshot.running) == (run_id, True)
    shelf.held.set()
    assert runs.wait(conversation.handle, PATIENCE)
    assert conversation.events[-1].answer == "Done."  # type: ignore[union-attr]


def test_the_next_message_can_be_sent_as_soon_as_the_wait_is_over(archive: Archive, runs: Runs) -> None:
    conversation = archive.start("1")
    for number in range(5):
        start(runs, conversation, say(f"Answer {number}."))
        assert runs.wait(conversation.handle, PATIENCE)
    answers = [event.answer for event in of(conversation.events, "run_finished")]
    assert answers == [f"Answer {number}." for number in range(5)]


def test_conversations_run_side_by_side(archive: Archive, runs: Runs) -> None:
    shelf, conversations = Shelf(), [archive.start("1") for _ in range(4)]
    for conversation in conversations:
        start(runs, conversation, call("hang"), say("Done."), shelf=shelf)
    for conversation in conversations:
        until(runs, conversation.handle, lambda s: s.doing == "running hang")
    shelf.held.set()
    assert all(runs.wait(conversation.handle, PATIENCE) for conversation in conversations)


def broken(moment: Any, run: Any) -> None:
    raise ZeroDivisionError("a guard broke")


def test_a_broken_run_ends_and_is_logged(archive: Archive, runs: Runs, caplog: pytest.LogCaptureFixture) -> None:
    conversation = archive.start("1")
    agent = Agent(ScriptedModel("test", [say("x")]), Shelf().tools(), "x", extra_guards=[broken])
    with caplog.at_level(logging.ERROR, "agent.archive.runs"):
        run_id = runs.start(agent, conversation, "Hello", "m1")
        assert runs.wait(conversation.handle, PATIENCE)
    assert "a guard broke" in caplog.text
    assert kinds(archive.listing.run_events("1", run_id)) == ["run_started", "user_message", "run_finished"]
    snapshot = runs.snapshot(conversation.handle)
    assert snapshot
    assert of(snapshot.events, "run_finished")[0].stop_reason == "internal_error"


def test_a_broken_run_frees_its_conversation(archive: Archive, runs: Runs) -> None:
    conversation = archive.start("1")
    runs.start(
        Agent(ScriptedModel("test", [say("x")]), Shelf().tools(), "x", extra_guards=[broken]),
        conversation,
        "Hello",
        "m1",
    )
    assert runs.wait(conversation.handle, PATIENCE)
    start(runs, conversation, say("Well again."))
    assert runs.wait(conversation.handle, PATIENCE)
    assert of(conversation.events, "run_finished")[-1].answer == "Well again."


def test_a_conversation_without_a_run_has_no_snapshot_and_nothing_to_wait_for(runs: Runs) -> None:
    assert runs.snapshot("nobody") is None
    assert runs.wait("nobody", 0)
    runs.stop("nobody")


def test_waiting_gives_up_after_its_seconds(archive: Archive, runs: Runs) -> None:
    conversation, shelf = archive.start("1"), Shelf()
    start(runs, conversation, call("hang"), say("Done."), shelf=shelf)
    assert runs.wait(conversation.handle, 0.01) is False
    shelf.held.set()
    assert runs.wait(conversation.handle, PATIENCE)


def test_a_second_run_shows_its_own_events_only(archive: Archive, runs: Runs) -> None:
    conversation = archive.start("1")
    for word in ("One.", "Two."):
        start(runs, conversation, say(word))
        assert runs.wait(conversation.handle, PATIENCE)
    snapshot = runs.snapshot(conversation.handle)
    assert snapshot
    assert kinds(snapshot.events) == [
        "run_started",
        "user_message",
        "model_request",
        "model_reply",
        "run_finished",
    ]
    assert snapshot.text == "Two."
