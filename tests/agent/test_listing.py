"""Conversations by name: renamed, deleted, and listed without being read whole."""

from contextlib import suppress

import pytest
from sqlalchemy import Engine, func, select

from agent.archive import LONGEST_NAME, Archive, LeaseLost, NameTaken, lease, waiting_lease
from agent.archive.tables import CONVERSATIONS, EVENTS, RUNS
from agent.models.scripted import ScriptedModel, call, say
from tests.agent.playing import Shelf, agent_for
from tests.agent.test_approval import YES, asker
from tests.agent.test_archive import answer, lapse


def rows_left(engine: Engine) -> dict[str, int]:
    with engine.connect() as db:
        return {t.name: db.scalar(select(func.count()).select_from(t)) or 0 for t in (CONVERSATIONS, EVENTS, RUNS)}


def waiting(archive: Archive) -> str:
    """A conversation whose run waits for a person."""
    conversation = archive.start("1")
    agent = asker(ScriptedModel("t", [call("put", what="pen", count=2), say("x")]), Shelf())
    with lease(archive, conversation) as run_id:
        list(agent.stream(conversation, "Put two.", run_id=run_id))
    return conversation.handle


# Names


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("gifts", "gifts"),
        ("  gifts \n", "gifts"),
        ("", None),
        ("   ", None),
        ("caf\udce9", "caf?"),
        ("é" * 200, "é" * LONGEST_NAME),
    ],
)
def test_a_conversation_gets_the_name_it_is_given(archive: Archive, name: str, kept: str | None) -> None:
    conversation = archive.start("1")
    answer(archive, conversation, say("Hi."), text="What is new?")
    archive.rename("1", conversation.handle, name)
    (row,) = archive.listing.conversations("1")
    assert (row.name, row.title) == (kept, kept or "What is new?")
    assert archive.find("1", conversation.handle)
    if kept:
        again = archive.find("1", kept)
        assert again
        assert again.handle == conversation.handle


def test_a_name_another_conversation_of_the_owner_has_is_refused(archive: Archive) -> None:
    taken, other = archive.start("1", "gifts"), archive.start("1", "old")
    for name in ("gifts", " gifts "):
        with pytest.raises(NameTaken, match="has this name already"):
            archive.rename("1", other.handle, name)
    assert archive.find("1", "old").handle == other.handle  # type: ignore[union-attr]
    archive.rename("1", taken.handle, "gifts")  # its own name
    archive.rename("1", taken.handle, "")
    archive.rename("1", other.handle, "gifts")
    assert archive.find("1", "gifts").handle == other.handle  # type: ignore[union-attr]


def test_two_conversations_may_have_no_name_and_two_owners_the_same(archive: Archive) -> None:
    mine, also, theirs = archive.start("1", "a"), archive.start("1", "b"), archive.start("2")
    archive.rename("1", mine.handle, "")
    archive.rename("1", also.handle, "")
    archive.rename("2", theirs.handle, "gifts")
    archive.rename("1", mine.handle, "gifts")


def test_nobody_renames_a_conversation_of_somebody_else(archive: Archive) -> None:
    mine = archive.start("1", "mine")
    archive.rename("2", mine.handle, "theirs")
    assert archive.find("1", "mine")
    assert archive.find("2", "theirs") is None


# Deleting


def test_a_deleted_conversation_is_gone_events_and_all(engine: Engine, archive: Archive) -> None:
    gone, kept = archive.start("1", "gifts"), archive.start("1")
    answer(archive, gone, call("look"), say("Hi."))
    run_id = answer(archive, kept, say("Hello."))
    assert archive.delete("1", gone.handle) is True
    assert archive.delete("1", gone.handle) is False
    assert archive.find("1", "gifts") is None
    assert [*rows_left(engine).values()] == [1, len(kept.events), 1]
    assert archive.listing.run_events("1", run_id) == list(kept.events)
    archive.start("1", "gifts")


def test_nobody_deletes_a_conversation_of_somebody_else(archive: Archive) -> None:
    mine = archive.start("1")
    run_id = answer(archive, mine, say("Hi."))
    for forged in (mine.handle, "", "%", "x"):
        assert archive.delete("2", forged) is False
    assert archive.delete("1", "x") is False
    assert archive.listing.run_events("1", run_id) == list(mine.events)


def test_a_conversation_that_is_answering_is_not_deleted(engine: Engine, archive: Archive) -> None:
    conversation = archive.start("1")
    with lease(archive, conversation) as run_id:
        assert archive.delete("1", conversation.handle) is False
        agent_for(ScriptedModel("t", [say("Hi.")])).run(conversation, "Hello", run_id=run_id)
    assert archive.delete("1", conversation.handle) is True
    assert set(rows_left(engine).values()) == {0}


def test_a_conversation_that_waits_for_a_person_may_be_deleted(engine: Engine, archive: Archive) -> None:
    handle = waiting(archive)
    late = archive.find("1", handle)
    assert late
    assert archive.delete("1", handle) is True
    assert set(rows_left(engine).values()) == {0}
    with pytest.raises(Exception, match="answered already"), waiting_lease(archive, late):
        pass


def test_a_conversation_whose_request_is_being_answered_is_not_deleted(archive: Archive) -> None:
    conversation = archive.find("1", waiting(archive))
    assert conversation
    with waiting_lease(archive, conversation):
        assert archive.delete("1", conversation.handle) is False
        list(asker(ScriptedModel("t", [say("x")]), Shelf()).resume(conversation, YES))
    assert archive.delete("1", conversation.handle) is True


# Lists


def test_conversations_are_listed_with_the_one_used_last_first(archive: Archive) -> None:
    first, second, unused = archive.start("1"), archive.start("1", "gifts"), archive.start("1", "unused")
    answer(archive, first, say("Hi."), text="One")
    answer(archive, second, say("Hi."), text="Two")
    rows = archive.listing.conversations("1")
    assert [(row.handle, row.title, row.turns, row.live) for row in rows] == [
        (second.handle, "gifts", 1, False),
        (first.handle, "One", 1, False),
    ]
    answer(archive, first, call("look"), say("Again."), text="Three")
    rows = archive.listing.conversations("1")
    assert [(row.handle, row.first_request, row.turns) for row in rows] == [
        (first.handle, "One", 2),
        (second.handle, "Two", 1),
    ]
    assert all(row.begun <= row.used for row in rows)
    assert [row.handle for row in archive.listing.conversations("1", limit=1)] == [first.handle]
    assert archive.listing.conversations("2") == []
    assert unused.handle not in {row.handle for row in rows}


def test_a_conversation_is_live_while_its_run_goes_on_or_waits(archive: Archive) -> None:
    def live() -> list[bool]:
        return [row.live for row in archive.listing.conversations("1")]

    conversation = archive.start("1")
    with lease(archive, conversation) as run_id:
        (row,) = archive.listing.conversations("1")
        assert (row.live, row.title) == (True, "New conversation")  # nothing of it is kept yet
        agent_for(ScriptedModel("t", [say("Hi.")])).run(conversation, "Hello", run_id=run_id)
    assert live() == [False]
    waits = archive.find("1", waiting(archive))
    assert live() == [True, False]
    assert waits
    with waiting_lease(archive, waits):
        list(asker(ScriptedModel("t", [say("x")]), Shelf()).resume(waits, None))
    assert live() == [False, False]


def test_a_run_whose_program_died_is_live_until_it_is_closed(engine: Engine, archive: Archive) -> None:
    conversation = archive.start("1")
    stream = agent_for(ScriptedModel("t", [say("x")])).stream(conversation, "Hello", run_id="r1")
    with suppress(LeaseLost), lease(archive, conversation):
        next(item for item in stream if item.kind == "model_request")
    lapse(engine)
    assert [row.live for row in archive.listing.conversations("1")] == [True]


def test_the_ends_of_runs_are_listed_newest_first_without_those_that_have_none(archive: Archive) -> None:
    conversation = archive.start("1")
    answer(archive, conversation, call("look"), say("One."))
    answer(archive, conversation, say(""))
    answer(archive, archive.start("2"), say("Theirs."))
    waiting(archive)
    ends = archive.listing.finished("1")
    assert [(end.stop_reason, end.steps) for end in ends] == [("empty_answer", 3), ("done", 2)]
    assert [end.stop_reason for end in archive.listing.finished("1", limit=1)] == ["empty_answer"]
    assert archive.listing.finished("3") == []
    assert ends[1] == next(event for event in conversation.events if event.kind == "run_finished")
