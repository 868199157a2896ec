"""Conversations in the database: found by their owner alone, one live run each, closed when a process died."""

import json
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, select, update

import store
from agent.archive import Archive, ConversationBusy, LeaseLost, close_lapsed, lease
from agent.archive.lease import LAPSE_SECONDS
from agent.archive.tables import CONVERSATIONS, EVENTS, RUNS
from agent.models.scripted import ScriptedModel, call, say
from agent.tools import ToolOutcome
from agent.trace.documents import UnreadableTrace
from agent.views.conversation import Conversation
from assistant.bookshop import Bookshop
from assistant.shop_tools import ShopTools
from lab.scripts import LIGHTHOUSE
from tests.agent.playing import ASKED, agent_for, calls, kinds, of

ADD = call("add_to_cart", book_id=7)


def answer(
    archive: Archive, conversation: Conversation, *lines: Any, toolbox: Any = None, text: str = "Hi"
) -> str:
    """Answer a message as a command line does; returns the run id."""
    with lease(archive, conversation) as run_id:
        agent_for(ScriptedModel("test", lines), toolbox).run(conversation, text, run_id=run_id)
    return run_id


@pytest.fixture
def dead() -> Iterator[list[Any]]:
    """Runs that were left in the middle; a worker that wakes up too late may write no more."""
    streams: list[Any] = []
    yield streams
    for stream in streams:
        with suppress(LeaseLost):
            stream.close()


def die(
    dead: list[Any], archive: Archive, conversation: Conversation, *lines: Any, at: str, tools: Any = None
) -> None:
    """Leave a run as a killed process leaves it: right after the first event of kind ``at`` was kept."""
    with lease(archive, conversation) as run_id:
        agent = agent_for(ScriptedModel("test", lines), tools)
        dead.append(agent.stream(conversation, "Hi", run_id=run_id))
        while next(dead[-1]).kind != at:
            pass
        conversation.commit()
    lapse(archive.engine)


def lapse(engine: Engine) -> None:
    """Make every lease as old as that of a dead worker."""
    with engine.begin() as db:
        db.execute(update(RUNS).values(heartbeat=time.time() - LAPSE_SECONDS - 1))


def found(archive: Archive, conversation: Conversation) -> Conversation:
    again = archive.find("1", conversation.handle)
    assert again
    return again


def unknown(key: str) -> ToolOutcome | None:
    return None


def test_a_conversation_loaded_again_is_equal(engine: Engine, archive: Archive) -> None:
    conversation = archive.start("1")
    answer(archive, conversation, *LIGHTHOUSE, toolbox=ShopTools(engine, 1, "test"), text=ASKED)
    answer(archive, conversation, say("It is $16.50."), text="And the total?")
    again = found(archive, conversation)
    assert list(again.events) == list(conversation.events)
    assert again.history.messages() == conversation.history.messages()
    assert (again.saved, again.handle) == (len(conversation.events), conversation.handle)


def test_any_engine_will_do(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'own.db'}")
    archive = Archive(engine)
    archive.create()
    archive.create()
    conversation = archive.start("me")
    answer(archive, conversation, call("look"), say("Hello."))
    assert list(Archive(engine).find("me", conversation.handle).events) == list(conversation.events)  # type: ignore[union-attr]
    engine.dispose()


def test_a_conversation_belongs_to_its_owner(archive: Archive) -> None:
    mine = archive.start("1", "gifts")
    run_id = answer(archive, mine, say("Hello."))
    assert archive.find("2", mine.handle) is None
    assert archive.find("2", "gifts") is None
    assert archive.length("2", mine.handle) is None
    assert archive.listing.runs("2") == []
    assert archive.listing.run_events("2", run_id) == []
    assert archive.length("1", mine.handle) == len(mine.events)
    assert archive.listing.run_events("1", run_id) == list(mine.events)


@pytest.mark.parametrize(
    "forged", ["", "x", "a" * 22, "' OR 1=1 --", "%", "_" * 22, "\0", "é", "a" * 10_000, "../../etc/passwd"]
)
def test_a_forged_handle_finds_nothing_and_makes_nothing(archive: Archive, forged: str) -> None:
    archive.start("1", "gifts")
    assert archive.find("1", forged) is None
    assert archive.length("1", forged) is None
    with archive.engine.connect() as db:
        assert len(db.execute(select(CONVERSATIONS)).all()) == 1


def test_handles_are_long_and_never_alike(archive: Archive) -> None:
    handles = {archive.start("1").handle for _ in range(20)}
    assert len(handles) == 20
    assert min(map(len, handles)) >= 22


def test_two_owners_may_use_the_same_name(archive: Archive) -> None:
    one, two = archive.start("1", "gifts"), archive.start("2", "gifts")
    assert archive.find("1", "gifts").handle == one.handle  # type: ignore[union-attr]
    assert archive.find("2", "gifts").handle == two.handle  # type: ignore[union-attr]


def test_events_are_kept_before_the_model_and_a_writing_tool_are_called(engine: Engine, archive: Archive) -> None:
    conversation = archive.start("1")
    agent = agent_for(ScriptedModel("test", [ADD, say("Added.")]), ShopTools(engine, 1, "test"))
    with lease(archive, conversation) as run_id:
        stream = agent.stream(conversation, "Add it", run_id=run_id)
        kept = [(item.kind, archive.length("1", conversation.handle)) for item in stream]
    assert [row for row in kept if not row[0].endswith("_delta")] == [
        *[("run_started", 0), ("user_message", 0), ("model_request", 3), ("model_reply", 3), ("tool_started", 3)],
        *[("tool_finished", 5), ("model_request", 7), ("model_reply", 7), ("run_finished", 9)],
    ]


class Counted(Archive):
    """An archive that counts its transactions, and fails from one of them on."""

    def __init__(self, engine: Engine, working: int = 10**6) -> None:
        super().__init__(engine, transact=self._counting)
        self.transactions, self.working = 0, working
        self._real = Bookshop(engine).archive.transact

    def _counting(self, work: Any) -> Any:
        self.transactions += 1
        if self.transactions > self.working:
            raise store.ShopUnavailable("the disk is full")
        return self._real(work)


def test_a_step_is_kept_in_one_transaction(engine: Engine) -> None:
    archive = Counted(engine)
    conversation = archive.start("1")
    answer(archive, conversation, *[call("look", what=str(n)) for n in range(4)], say("x"))
    beginning_with_lease, requests, end = 1, 5, 1
    assert archive.transactions == beginning_with_lease + requests + end


def test_a_conversation_without_a_name_is_kept_from_its_first_run_on(archive: Archive) -> None:
    conversation = archive.start("1")
    assert archive.find("1", conversation.handle) is None
    answer(archive, conversation, say("x"))
    assert kinds(found(archive, conversation).events) == kinds(conversation.events)


def test_a_bare_run_of_a_kept_conversation_says_what_to_call_instead(archive: Archive) -> None:
    conversation = archive.start("1", "gifts")
    with pytest.raises(LeaseLost, match="run_turn") as failure:
        agent_for(ScriptedModel("test", [say("x")])).run(conversation, "Hello")
    assert not isinstance(failure.value.__context__, LeaseLost)
    assert found(archive, conversation).events == []
    answer(archive, found(archive, conversation), say("x"))


def test_a_second_live_run_is_refused_also_from_another_archive(engine: Engine, archive: Archive) -> None:
    conversation, elsewhere = archive.start("1"), Bookshop(engine).archive
    with lease(archive, conversation):
        for other in (archive, elsewhere):
            with (
                pytest.raises(ConversationBusy, match="answering already"),
                lease(other, found(other, conversation)),
            ):
                pass
        with lease(archive, archive.start("1")):
            pass
    assert conversation.events == []


def test_a_lease_is_free_again_when_its_run_has_finished(engine: Engine, archive: Archive) -> None:
    conversation = archive.start("1")
    answer(archive, conversation, say("One."))
    elsewhere = Bookshop(engine).archive
    answer(elsewhere, found(elsewhere, conversation), say("Two."))
    assert [event.answer for event in of(found(archive, conversation).events, "run_finished")] == ["One.", "Two."]


def test_a_conversation_that_went_on_elsewhere_is_refused_in_words(engine: Engine, archive: Archive) -> None:
    here, elsewhere = archive.start("1", "gifts"), Bookshop(engine).archive
    answer(elsewhere, found(elsewhere, here), say("One."))
    with pytest.raises(ConversationBusy):
        answer(archive, here, say("Two."))
    answer(archive, found(archive, here), say("Three."))


def test_a_worker_whose_lease_was_taken_writes_nothing_more(engine: Engine, archive: Archive) -> None:
    conversation = archive.start("1")
    with lease(archive, conversation) as run_id:
        stream = agent_for(ScriptedModel("test", [call("look"), say("x")])).stream(
            conversation, "Hi", run_id=run_id
        )
        next(item for item in stream if item.kind == "model_request")
        lapse(engine)
        assert close_lapsed(Bookshop(engine).archive, unknown) == 1
        with pytest.raises(LeaseLost):
            list(stream)
    assert kinds(found(archive, conversation).events) == [
        "run_started",
        "user_message",
        "model_request",
        "run_finished",
    ]


def test_a_run_that_cannot_be_kept_does_not_block_its_conversation(engine: Engine, archive: Archive) -> None:
    full = Counted(engine, working=3)
    conversation = full.start("1")
    with pytest.raises(store.ShopUnavailable):
        answer(full, conversation, call("look"), say("x"))
    full.working = 99
    lapse(engine)
    close_lapsed(archive, unknown)
    answer(archive, found(archive, conversation), say("The disk is fine again."))


def test_only_runs_whose_lease_has_lapsed_are_closed(dead: list[Any], engine: Engine, archive: Archive) -> None:
    live = archive.start("1")
    lapsed = archive.start("1")
    die(dead, archive, lapsed, call("look"), at="model_reply")
    with lease(archive, live):
        assert close_lapsed(Bookshop(engine).archive, unknown) == 1
        assert close_lapsed(Bookshop(engine).archive, unknown) == 0
    end = found(archive, lapsed).events[-1]
    assert (end.kind, end.stop_reason, end.answer_by) == ("run_finished", "interrupted", "program")
    assert found(archive, live).events == []


@pytest.mark.parametrize("took_effect", [True, False])
def test_an_unanswered_write_gets_its_true_outcome(
    dead: list[Any], engine: Engine, archive: Archive, took_effect: bool
) -> None:
    conversation, tools = archive.start("1"), ShopTools(engine, 1, "test")
    die(dead, archive, conversation, ADD, at="tool_started", tools=tools)
    started = of(conversation.events, "tool_started")[0]
    if took_effect:
        tools.call(started.call, started.key)
    assert close_lapsed(Bookshop(engine).archive, tools.outcome) == 1
    again = found(archive, conversation)
    result, end = again.events[-2:]
    assert result.kind == "tool_finished"
    assert (result.ran, result.ok, bool(result.changes)) == (took_effect,) * 3
    assert (result.step, result.call, result.key) == (started.step, started.call, started.key)
    assert end.kind == "run_finished"
    assert ("added 1 × The Quiet Orchard" in end.answer) is took_effect
    assert end.tool_calls == took_effect


def test_calls_that_were_never_begun_are_told_apart_from_those_with_an_unknown_end(
    dead: list[Any], archive: Archive
) -> None:
    conversation = archive.start("1")
    die(dead, archive, conversation, calls(("look", {}), ("look", {"what": "b"})), at="tool_started")
    assert close_lapsed(archive, unknown) == 1
    results = [event.result for event in of(found(archive, conversation).events, "tool_finished")]
    assert results == [
        "Not known: the program ended before the result came.",
        "Not run: the program ended before.",
    ]


def test_a_closed_run_is_read_by_the_next_turn(dead: list[Any], archive: Archive) -> None:
    conversation = archive.start("1")
    die(dead, archive, conversation, calls(("look", {}), ("look", {"what": "b"})), at="model_reply")
    close_lapsed(archive, unknown)
    again, model = found(archive, conversation), ScriptedModel("test", [say("Again.")])
    with lease(archive, again) as run_id:
        agent_for(model).run(again, "Go on", run_id=run_id)
    messages = model.requests[0][0]
    asked = [part["id"] for message in messages for part in message.get("tool_calls", [])]
    assert [message["tool_call_id"] for message in messages if message["role"] == "tool"] == asked
    assert again.events[-1].kind == "run_finished"


def test_a_run_that_died_before_its_first_event_is_closed(engine: Engine, archive: Archive) -> None:
    conversation = archive.start("1")
    with lease(archive, conversation):
        pass
    lapse(engine)
    assert close_lapsed(archive, unknown) == 1
    assert archive.listing.runs("1")[0].stop_reason == "interrupted"
    answer(archive, conversation, say("Alive."))
    assert archive.length("1", conversation.handle) == len(conversation.events)


def test_the_shop_opens_and_closes_what_a_crash_left(dead: list[Any], engine: Engine, archive: Archive) -> None:
    conversation = archive.start("1")
    die(dead, archive, conversation, call("look"), at="model_reply")
    assert Bookshop(engine).close_lapsed_runs() == 1


def test_one_unreadable_conversation_does_not_keep_the_shop_shut(
    dead: list[Any], engine: Engine, archive: Archive
) -> None:
    newer, lapsed = archive.start("1"), archive.start("1")
    die(dead, archive, newer, call("look"), at="model_reply")
    die(dead, archive, lapsed, call("look"), at="model_reply")
    with engine.begin() as db:
        db.execute(update(CONVERSATIONS).where(CONVERSATIONS.c.handle == newer.handle).values(format=99))
    close_lapsed(archive, unknown)
    assert found(archive, lapsed).events[-1].kind == "run_finished"


def test_a_conversation_of_a_newer_format_is_refused_in_words(engine: Engine, archive: Archive) -> None:
    conversation = archive.start("1", "gifts")
    with engine.begin() as db:
        db.execute(update(CONVERSATIONS).values(format=2))
    with pytest.raises(UnreadableTrace, match="has format 2; update this program"):
        archive.find("1", conversation.handle)


@pytest.mark.parametrize("body", ["", "{", "{}", json.dumps({"kind": "note"}), "\0"])
def test_a_damaged_event_is_refused_in_words(engine: Engine, archive: Archive, body: str) -> None:
    conversation = archive.start("1")
    answer(archive, conversation, say("x"))
    with engine.begin() as db:
        db.execute(update(EVENTS).where(EVENTS.c.position == 2).values(body=body))
    with pytest.raises(UnreadableTrace):
        archive.find("1", conversation.handle)


def test_runs_are_listed_newest_first_with_what_became_of_them(archive: Archive) -> None:
    first, second = archive.start("1"), archive.start("1")
    one = answer(archive, first, call("look"), say("Good day."), text="Hello")
    two = answer(archive, second, say(""), text="Nothing?")
    three = answer(archive, first, say("Bye."), text="Bye")
    rows = archive.listing.runs("1")
    assert [row.run_id for row in rows] == [three, two, one]
    assert [(row.text, row.stop_reason, row.steps) for row in rows] == [
        ("Bye", "done", 1),
        ("Nothing?", "empty_answer", 3),
        ("Hello", "done", 2),
    ]
    assert [(row.handle, row.model, row.answer) for row in rows[2:]] == [
        (first.handle, "script:test", "Good day.")
    ]
    assert [row.run_id for row in archive.listing.runs("1", limit=1)] == [three]


def test_a_live_run_is_listed_without_an_end(archive: Archive) -> None:
    conversation = archive.start("1")
    stream = agent_for(ScriptedModel("test", [say("x")])).stream(conversation, "Hello", run_id="r1")
    with lease(archive, conversation):
        next(item for item in stream if item.kind == "model_request")
        (row,) = archive.listing.runs("1")
        assert (row.text, row.stop_reason, row.answer, row.steps) == ("Hello", None, "", None)
        stream.close()


@pytest.mark.parametrize("text", ["\ud800", "a\0b", "👩‍👩‍👧 ‮abc", "x" * 200_000])
def test_any_words_can_be_said_and_answered(archive: Archive, text: str) -> None:
    conversation = archive.start("1")
    answer(archive, conversation, call("put", what=text[:60]), say(text), text=text)
    assert kinds(found(archive, conversation).events) == kinds(conversation.events)
