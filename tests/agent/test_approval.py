"""Calls that wait for a person: the run pauses, is kept, and goes on with the answer."""

import shutil
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

import store
from agent.archive import ConversationBusy, lease, waiting_lease
from agent.guards.limits import Limits
from agent.loop.agent import Agent
from agent.loop.tool_call import Approval
from agent.models.scripted import Line, ScriptedModel, call, say
from agent.tools import FunctionTools
from agent.trace.documents import dump_events, load_events
from agent.views.conversation import Conversation
from assistant.bookshop import Bookshop, open_bookshop
from assistant.settings import Settings
from tests.agent.playing import ASK, END, OPEN, RUN, Shelf, assert_answered_once, calls, kinds, of
from tests.agent.test_archive import lapse

PUT, DONE = call("put", what="pen", count=2), say("There.")
YES, NO = Approval(approved=True, by="test"), Approval(approved=False, by="test")
WAITS = ["approval_requested"]


def many(arguments: Any) -> str:
    return f"{arguments['count']} are many" if arguments["count"] > 1 else ""


def careful(shelf: Shelf) -> FunctionTools:
    """The shelf whose ``put`` asks a person about more than one thing."""
    tools = shelf.tools()
    return FunctionTools(*[replace(t, approval=many) if t.name == "put" else t for t in tools.tools])


def asker(model: ScriptedModel, shelf: Shelf, **limits: Any) -> Agent:
    kept = Limits(**limits)
    return Agent(model, careful(shelf), "Be brief.", kept)


def paused(*lines: Line, **limits: Any) -> tuple[Agent, Conversation, Shelf]:
    """A run that was driven until it waits."""
    shelf, conversation = Shelf(), Conversation()
    agent = asker(ScriptedModel("t", lines), shelf, **limits)
    list(agent.stream(conversation, "Hello"))
    assert conversation.run.waiting
    return agent, conversation, shelf


def go_on(agent: Agent, conversation: Conversation, approval: Approval | None) -> list[Any]:
    return list(agent.resume(conversation, approval))


def test_a_call_that_needs_a_person_pauses_the_run_and_is_not_run() -> None:
    _, conversation, shelf = paused(PUT, DONE)
    assert kinds(conversation.events) == [*OPEN, *ASK, *WAITS]
    request = conversation.events[-1]
    assert request.kind == "approval_requested"
    assert (request.call.name, request.call.arguments) == ("put", {"what": "pen", "count": 2})
    assert request.reason == "2 are many"
    assert not shelf.things
    assert not conversation.run.finished


def test_a_call_the_policy_lets_pass_asks_nobody() -> None:
    shelf = Shelf()
    result = asker(ScriptedModel("t", [call("put", what="pen"), DONE]), shelf).run(Conversation(), "Hello")
    assert (result.stop_reason, shelf.things["pen"]) == ("done", 1)
    assert of(result.trace, "approval_requested") == []


def test_yes_runs_the_call_and_the_run_goes_on_to_its_answer() -> None:
    agent, conversation, shelf = paused(PUT, DONE)
    go_on(agent, conversation, YES)
    assert kinds(conversation.events) == [*OPEN, *ASK, *WAITS, "approval_answered", *RUN, *ASK, *END]
    assert shelf.things["pen"] == 2
    assert conversation.events[-1].stop_reason == "done"  # type: ignore[union-attr]
    assert_answered_once(conversation)
    assert load_events(dump_events(conversation.events)) == list(conversation.events)


def test_no_is_a_result_the_model_reads() -> None:
    agent, conversation, shelf = paused(PUT, say("Then not."))
    go_on(agent, conversation, NO)
    assert kinds(conversation.events) == [*OPEN, *ASK, *WAITS, "approval_answered", "tool_finished", *ASK, *END]
    (finished,) = of(conversation.events, "tool_finished")
    assert (finished.ran, finished.ok, finished.not_run) == (False, False, "declined")
    assert agent.model.requests[-1][0][-1]["content"] == finished.result  # type: ignore[attr-defined]
    assert "did not allow" in finished.result
    assert not shelf.things


def test_yes_with_other_arguments_runs_the_call_with_those() -> None:
    agent, conversation, shelf = paused(PUT, DONE)
    go_on(agent, conversation, Approval(approved=True, by="test", arguments={"what": "ink", "count": "3"}))
    (started,) = of(conversation.events, "tool_started")
    assert started.call.arguments == {"what": "ink", "count": 3}
    assert (dict(shelf.things), of(conversation.events, "run_finished")[0].stop_reason) == ({"ink": 3}, "done")
    (asked,) = [part for reply in of(conversation.events, "model_reply") for part in reply.tool_calls]
    assert asked.arguments == {"what": "pen", "count": 2}
    assert_answered_once(conversation)


@pytest.mark.parametrize("arguments", [{"what": "pen", "count": 0}, {"count": 1}, {"what": "pen", "huh": 1}, {}])
def test_other_arguments_that_cannot_be_are_a_result_the_model_reads(arguments: dict[str, Any]) -> None:
    agent, conversation, shelf = paused(PUT, DONE)
    go_on(agent, conversation, Approval(approved=True, by="test", arguments=arguments))
    (finished,) = of(conversation.events, "tool_finished")
    assert (finished.ran, finished.not_run) == (False, "bad_arguments")
    assert not shelf.things
    assert of(conversation.events, "run_finished")[0].stop_reason == "done"


def test_without_anybody_to_ask_the_run_ends_without_a_wrap_up() -> None:
    agent, conversation, shelf = paused(PUT, DONE)
    go_on(agent, conversation, None)
    assert kinds(conversation.events) == [*OPEN, *ASK, *WAITS, "tool_finished", *END]
    end = conversation.events[-1]
    assert end.kind == "run_finished"
    assert (end.stop_reason, end.answer_by, end.model_calls) == ("not_approved", "program", 1)
    assert "nobody was there to allow put" in end.answer
    assert "Not run: put(what='pen', count=2)." in end.answer
    assert not shelf.things
    assert_answered_once(conversation)


@pytest.mark.parametrize(("said", "things"), [(YES, {"pen": 2, "ink": 1}), (NO, {"ink": 1})])
def test_the_rest_of_a_batch_is_kept_and_runs_after_the_answer_in_its_order(
    said: Approval, things: dict[str, int]
) -> None:
    batch = calls(
        ("look", {}), ("put", {"what": "pen", "count": 2}), ("put", {"what": "ink"}), ("look", {"what": "b"})
    )
    agent, conversation, shelf = paused(batch, DONE)
    assert [each.call.name for each in of(conversation.events, "tool_finished")] == ["look"]
    go_on(agent, conversation, said)
    asked = [part.id for part in of(conversation.events, "model_reply")[0].tool_calls]
    assert [each.call.id for each in of(conversation.events, "tool_finished")] == asked
    assert dict(shelf.things) == things
    assert len(agent.model.requests) == 2  # type: ignore[attr-defined]


def test_two_calls_of_one_batch_are_asked_one_after_the_other() -> None:
    batch = calls(("put", {"what": "pen", "count": 2}), ("put", {"what": "ink", "count": 3}))
    agent, conversation, shelf = paused(batch, DONE)
    go_on(agent, conversation, YES)
    assert conversation.run.waiting
    assert conversation.run.waiting.call.arguments["what"] == "ink"
    go_on(agent, conversation, NO)
    assert dict(shelf.things) == {"pen": 2}
    assert [each.approved for each in of(conversation.events, "approval_answered")] == [True, False]
    assert_answered_once(conversation)


def test_a_hint_of_the_batch_waits_too_and_is_said_once_after_all_results() -> None:
    batch = calls(("look", {}), ("look", {}), ("put", {"what": "pen", "count": 2}), ("put", {"what": "ink"}))
    agent, conversation, _ = paused(batch, DONE, no_news_nudge_at=1, no_news_stop_at=None)
    assert of(conversation.events, "note") == []
    go_on(agent, conversation, YES)
    assert [note.purpose for note in of(conversation.events, "note")] == ["nudge"]
    roles = [message["role"] for message in agent.model.requests[-1][0]]  # type: ignore[attr-defined]
    assert roles == ["system", "user", "assistant", *["tool"] * 4, "user"]


def test_run_asks_whoever_it_was_given_and_nobody_means_no_approval() -> None:
    for approve, reason in (
        (lambda request: YES, "done"),
        (lambda request: None, "not_approved"),
        (None, "not_approved"),
    ):
        shelf = Shelf()
        result = asker(ScriptedModel("t", [PUT, DONE]), shelf).run(Conversation(), "Hello", approve=approve)
        assert (result.stop_reason, shelf.things["pen"]) == (reason, 2 * (reason == "done"))


def test_going_on_where_nothing_waits_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="waits"):
        list(asker(ScriptedModel("t", [DONE]), Shelf()).resume(Conversation(), YES))


def test_a_call_a_guard_refuses_is_not_put_to_a_person() -> None:
    agent, conversation, shelf = paused(
        calls(("put", {"what": "pen", "count": 2}), ("put", {"what": "pen", "count": 2})), DONE
    )
    go_on(agent, conversation, YES)
    assert [each.not_run for each in of(conversation.events, "tool_finished")] == [None, "guard"]
    assert len(of(conversation.events, "approval_requested")) == 1
    assert shelf.things["pen"] == 2


def test_the_time_a_person_takes_does_not_count() -> None:
    _, conversation, shelf = paused(PUT, DONE, max_seconds=30)
    request = conversation.events[-1]
    assert request.kind == "approval_requested"
    long_ago = [event.model_copy(update={"at": event.at.replace(year=2020)}) for event in conversation.events]
    again = Conversation("h", long_ago)
    go_on(asker(ScriptedModel("t", [DONE]), shelf, max_seconds=30), again, YES)
    end = again.events[-1]
    assert end.kind == "run_finished"
    assert end.stop_reason == "done"
    assert end.seconds is not None
    assert end.seconds < 20


def test_the_time_before_the_request_does_count() -> None:
    _, conversation, shelf = paused(PUT, DONE, max_seconds=30)
    spent = conversation.events[-1].model_copy(update={"elapsed_ms": 31_000.0})
    again = Conversation("h", [*conversation.events[:-1], spent])
    go_on(asker(ScriptedModel("t", [DONE]), shelf, max_seconds=30), again, YES)
    end = again.events[-1]
    assert end.kind == "run_finished"
    assert end.stop_reason == "max_seconds"
    assert end.seconds is not None
    assert end.seconds > 30


# In the database

ASKING = Settings(approve_above=Decimal(20))
BUY = [call("add_to_cart", book_id=7, quantity=2), DONE]


@pytest.fixture
def file(seed_file: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(seed_file, tmp_path / "waiting.db"))


def ask(shop: Bookshop, conversation: Conversation, *lines: Line) -> None:
    agent = shop.agent(ScriptedModel("t", lines), 1, conversation, ASKING)
    with lease(shop.archive, conversation) as run_id:
        list(agent.stream(conversation, "Add two.", run_id=run_id))


def opened(file: Path) -> Bookshop:
    return open_bookshop(f"sqlite:///{file}")


def test_a_run_that_waits_outlives_its_program_and_never_lapses(file: Path) -> None:
    first = opened(file)
    conversation = first.archive.start("1")
    ask(first, conversation, *BUY)
    lapse_none = first.close_lapsed_runs()
    first.close()
    second = opened(file)
    again = second.archive.find("1", conversation.handle)
    assert again
    assert lapse_none == second.close_lapsed_runs() == 0
    assert again.run.waiting
    assert kinds(again.events)[-1] == "approval_requested"
    assert second.archive.listing.runs("1")[0].stop_reason is None
    second.runs.resume(second.agent_of(ScriptedModel("t", [DONE]), 1, again), again, YES)
    assert second.runs.wait(again.handle, 10)
    assert again.events[-1].stop_reason == "done"  # type: ignore[union-attr]
    assert store.view_cart(second.engine, 1).lines[0].quantity == 2
    assert second.archive.listing.runs("1")[0].stop_reason == "done"
    second.close()


def test_a_program_that_dies_right_after_it_asked_leaves_a_run_that_waits(
    bookshop: Bookshop, engine: Engine
) -> None:
    conversation = bookshop.archive.start("1")
    agent = bookshop.agent(ScriptedModel("t", BUY), 1, conversation, ASKING)
    dying = lease(bookshop.archive, conversation)
    run_id = dying.__enter__()
    list(agent.stream(conversation, "Add two.", run_id=run_id))
    lapse(engine)
    later = Bookshop(engine)
    later.close_lapsed_runs()
    again = later.archive.find("1", conversation.handle)
    assert again
    assert again.run.waiting
    with waiting_lease(later.archive, again):
        go_on(later.agent_of(ScriptedModel("t", [DONE]), 1, again), again, YES)
    assert store.view_cart(engine, 1).lines[0].quantity == 2
    bookshop.archive.pulse.drop(run_id)


def test_of_two_answers_to_one_request_one_counts(bookshop: Bookshop, engine: Engine) -> None:
    conversation = bookshop.archive.start("1")
    ask(bookshop, conversation, *BUY)
    other = Bookshop(engine)
    late = other.archive.find("1", conversation.handle)
    assert late
    with waiting_lease(bookshop.archive, conversation):
        with pytest.raises(ConversationBusy, match="answered already"), waiting_lease(other.archive, late):
            pass
        go_on(bookshop.agent(ScriptedModel("t", [DONE]), 1, conversation, ASKING), conversation, YES)
    with pytest.raises(ConversationBusy), waiting_lease(other.archive, late):
        pass
    assert store.view_cart(engine, 1).lines[0].quantity == 2


def test_an_answer_to_the_request_before_is_no_answer_to_this_one(bookshop: Bookshop, engine: Engine) -> None:
    conversation = bookshop.archive.start("1")
    two = calls(("add_to_cart", {"book_id": 7, "quantity": 2}), ("add_to_cart", {"book_id": 4, "quantity": 3}))
    ask(bookshop, conversation, two, DONE)
    stale = bookshop.archive.find("1", conversation.handle)
    assert stale
    with waiting_lease(bookshop.archive, conversation):
        go_on(bookshop.agent(ScriptedModel("t", [DONE]), 1, conversation, ASKING), conversation, YES)
    assert conversation.run.waiting
    with pytest.raises(ConversationBusy), waiting_lease(bookshop.archive, stale):
        pass
    again = bookshop.archive.find("1", conversation.handle)
    assert again
    with waiting_lease(bookshop.archive, again):
        go_on(bookshop.agent(ScriptedModel("t", [DONE]), 1, again, ASKING), again, YES)
    assert len(store.view_cart(engine, 1).lines) == 2


def test_a_new_message_while_a_run_waits_is_refused_in_words(bookshop: Bookshop) -> None:
    conversation = bookshop.archive.start("1")
    ask(bookshop, conversation, *BUY)
    with pytest.raises(ConversationBusy, match="waits for your approval"), lease(bookshop.archive, conversation):
        pass
    assert conversation.run.waiting


# The policy of the cart


@pytest.mark.parametrize(
    ("above", "book_id", "quantity", "asks"),
    [
        ("16.50", 7, 1, False),
        ("16.49", 7, 1, True),
        ("33", 7, 2, False),
        ("32.99", 7, 2, True),
        ("0", 7, 1, True),
        ("10000", 7, 15, False),
        ("1", 10**6, 1, False),
        ("1", 2, 1, False),
        ("1", 7, 16, False),
    ],
)
def test_a_cart_above_the_limit_needs_a_person(
    bookshop: Bookshop, above: str, book_id: int, quantity: int, asks: bool
) -> None:
    conversation, settings = Conversation(), Settings(approve_above=Decimal(above))
    line = call("add_to_cart", book_id=book_id, quantity=quantity)
    list(
        bookshop.agent(ScriptedModel("t", [line, DONE]), 1, conversation, settings).stream(conversation, "Add it.")
    )
    assert bool(of(conversation.events, "approval_requested")) is asks


def test_what_is_in_the_cart_already_counts(bookshop: Bookshop, engine: Engine) -> None:
    store.add_to_cart(engine, 1, 7, by="test")
    conversation = Conversation()
    agent = bookshop.agent(ScriptedModel("t", [call("add_to_cart", book_id=7), DONE]), 1, conversation, ASKING)
    list(agent.stream(conversation, "Add it."))
    (request,) = of(conversation.events, "approval_requested")
    assert request.reason == "The cart would come to $33.00, above the limit of $20.00."
    assert store.view_cart(engine, 1).total_cents == 1650
