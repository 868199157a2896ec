"""Facts that were overtaken: known to the conversation, told to the model, stamped, and checked in the end."""

from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import Engine

import store
from agent.archive import Archive, lease
from agent.guards.before_answer import Freshness
from agent.guards.limits import Limits
from agent.loop.agent import Agent
from agent.models.scripted import Line, ScriptedModel, call, say
from agent.trace import AnyEvent, Fact, Overtaken
from agent.views.conversation import Conversation
from assistant.shop_tools import ShopTools
from tests.agent.playing import kinds, of

ADD, STOCK = call("add_to_cart", book_id=7), call("check_stock", book_id=7)
TOTAL = "What is my cart total now?"


def tell(news: Sequence[Fact]) -> str:
    return "; ".join(f"{fact.resource} {fact.value}" for fact in news)


def correct(answer: str, overtaken: Sequence[Overtaken]) -> str:
    """Finds the bare figures, for tests."""
    wrong = [one for one in overtaken if one.seen.value.removeprefix("total ") in answer]
    return " ".join(dict.fromkeys(f"It is {one.now.value}." for one in wrong))


def turn(
    engine: Engine, conversation: Conversation, *lines: Line, cure: Freshness | None = None, **limits: Any
) -> tuple[ScriptedModel, Sequence[AnyEvent]]:
    """One turn of a script on the real shop."""
    model, kept = ScriptedModel("test", lines), Limits(**limits)
    cure = cure or Freshness()
    agent = Agent(model, ShopTools(engine, 1, "assistant"), "Sell.", kept, freshness=cure)
    return model, agent.run(conversation, TOTAL).trace


def changed(engine: Engine, quantity: int = 2) -> None:
    store.set_quantity(engine, 1, 7, quantity, by="website")


def test_a_change_is_news_until_it_is_read_again(engine: Engine) -> None:
    conversation = Conversation()
    turn(engine, conversation, ADD, say("$16.50"))
    assert (conversation.knowledge.news, conversation.knowledge.overtaken()) == ({}, [])
    changed(engine)
    turn(engine, conversation, say("$16.50"))
    (one,) = conversation.knowledge.overtaken()
    assert (one.seen.value, one.turn, one.step, one.now.value) == ("total $16.50", 1, 1, "total $33.00")
    assert (
        conversation.knowledge.news["cart"].version == conversation.knowledge.versions["cart"] > one.seen.version
    )
    turn(engine, conversation, call("add_to_cart", book_id=9), say("$43.50"))
    assert conversation.knowledge.news == {}
    assert {one.seen.value for one in conversation.knowledge.overtaken()} == {"total $16.50"}


def test_a_change_carries_who_and_when_and_what_is_true_now_in_order(engine: Engine) -> None:
    conversation = Conversation()
    turn(engine, conversation, STOCK, ADD, say("Done."))
    store.set_stock(engine, 7, 9, by="warehouse")
    changed(engine)
    store.set_stock(engine, 7, 8, by="warehouse")
    _, events = turn(engine, conversation, say("Hm."))
    heard = of(events, "shop_changed")
    assert kinds(events)[:5] == ["run_started", "user_message", *["shop_changed"] * 3]
    assert [(one.resource, one.by, one.value) for one in heard] == [
        ("stock:7", "warehouse", "9"),
        ("cart", "website", "2 × The Quiet Orchard"),
        ("stock:7", "warehouse", "8"),
    ]
    assert [one.now for one in heard] == ["8 copies", "total $33.00", "8 copies"]
    assert [one.version_after for one in heard] == sorted(one.version_after for one in heard)
    assert all(one.changed_at.endswith("Z") for one in heard)


def test_a_reset_of_the_shop_overtakes_everything(engine: Engine) -> None:
    conversation = Conversation()
    turn(engine, conversation, STOCK, ADD, say("Done."))
    store.reset_shop(str(engine.url.render_as_string(hide_password=False)))
    _, events = turn(engine, conversation, say("Hm."))
    assert {one.resource for one in of(events, "shop_changed")} == {"stock:7", "cart"}
    assert [one.now.value for one in conversation.knowledge.overtaken()] == ["total $0.00"]


def test_without_a_cure_the_model_reads_nothing_of_it(engine: Engine) -> None:
    conversation = Conversation()
    turn(engine, conversation, ADD, say("$16.50"))
    changed(engine)
    model, events = turn(engine, conversation, say("$16.50"))
    assert "note" not in kinds(events)
    assert model.requests[0][0][-1] == {"role": "user", "content": TOTAL}


def test_the_snapshot_comes_once_after_the_history_and_counts_as_read(engine: Engine) -> None:
    conversation, cure = Conversation(), Freshness(tell=tell)
    turn(engine, conversation, ADD, say("$16.50"), cure=cure)
    changed(engine)
    model, events = turn(engine, conversation, say("$33.00"), cure=cure)
    assert kinds(events)[:4] == ["run_started", "user_message", "shop_changed", "note"]
    assert model.requests[0][0][-1] == {"role": "user", "content": "cart total $33.00"}
    assert all(request.prefix_kept for request in of(events, "model_request"))
    assert conversation.knowledge.facts["cart"].fact.value == "total $33.00"
    _, events = turn(engine, conversation, say("$33.00"), cure=cure)
    assert "note" not in kinds(events)


def test_a_change_there_and_back_is_not_told(engine: Engine) -> None:
    conversation, cure = Conversation(), Freshness(tell=tell)
    turn(engine, conversation, STOCK, ADD, say("$16.50"), cure=cure)
    for quantity in (2, 1):
        changed(engine, quantity)
    _, events = turn(engine, conversation, say("$16.50"), cure=cure)
    assert [event.kind for event in events].count("shop_changed") == 2
    assert "note" not in kinds(events)
    changed(engine)
    _, events = turn(engine, conversation, say("$33.00"), cure=cure)
    assert [note.text for note in of(events, "note")] == ["cart total $33.00"]


def test_a_snapshot_tells_what_was_heard_before_the_cure_was_chosen(engine: Engine) -> None:
    conversation = Conversation()
    turn(engine, conversation, ADD, say("$16.50"))
    changed(engine)
    turn(engine, conversation, say("$16.50"))
    _, events = turn(engine, conversation, say("$33.00"), cure=Freshness(tell=tell))
    assert "shop_changed" not in kinds(events)
    assert [note.text for note in of(events, "note")] == ["cart total $33.00"]


def test_a_change_between_two_steps_is_told_before_the_next(engine: Engine) -> None:
    conversation = Conversation()
    model = ScriptedModel("test", [STOCK, say("9")])
    agent = Agent(model, ShopTools(engine, 1, "a"), "", freshness=Freshness(tell=tell))
    for event in agent.stream(conversation, "Watch."):
        if event.kind == "tool_finished":
            store.set_stock(engine, 7, 9, by="warehouse")
    assert kinds(conversation.events)[4:9] == [
        "tool_started", "tool_finished", "shop_changed", "note", "model_request",
    ]  # fmt: skip
    assert model.requests[1][0][-1]["content"] == "stock:7 9 copies"


def stamped(conversation: Conversation) -> list[str]:
    return [message["content"] for message in conversation.history.messages() if message["role"] == "tool"]


def test_stamped_results_carry_time_and_version_and_are_marked_in_place_once(engine: Engine) -> None:
    conversation, cure = Conversation(), Freshness(stamps=True)
    turn(engine, conversation, STOCK, ADD, say("$16.50"), cure=cure)
    first = stamped(conversation)
    assert first[0].splitlines()[1].endswith(" UTC, stock:7 v0]")
    assert f"cart v{conversation.knowledge.facts['cart'].fact.version}]" in first[1]
    changed(engine)
    _, events = turn(engine, conversation, say("Hm."), cure=cure)
    assert [request.prefix_kept for request in of(events, "model_request")] == [False]
    marked = stamped(conversation)
    assert marked[0] == first[0]
    assert marked[1].startswith(first[1])
    assert marked[1].count("[OVERTAKEN: cart") == 1
    changed(engine, 3)
    turn(engine, conversation, say("Hm."), cure=cure)
    assert stamped(conversation) == marked


def test_what_changed_while_stamps_were_off_is_marked_when_they_are_on_again(engine: Engine) -> None:
    conversation, cure = Conversation(), Freshness(stamps=True)
    turn(engine, conversation, ADD, say("$16.50"), cure=cure)
    changed(engine)
    turn(engine, conversation, say("Hm."))
    assert "[OVERTAKEN" not in stamped(conversation)[0]
    _, events = turn(engine, conversation, say("Hm."), cure=cure)
    assert stamped(conversation)[0].count("[OVERTAKEN: cart") == 1
    assert [request.prefix_kept for request in of(events, "model_request")] == [False]
    again = Conversation(events=conversation.events)
    assert again.history.messages() == conversation.history.messages()
    assert (again.history.size, again.history.digest) == (conversation.history.size, conversation.history.digest)


def test_a_result_marked_before_it_was_sent_loses_no_cache(engine: Engine) -> None:
    conversation = Conversation()
    model = ScriptedModel("test", [STOCK, say("9")])
    agent = Agent(model, ShopTools(engine, 1, "a"), "", freshness=Freshness(stamps=True))
    for event in agent.stream(conversation, "Watch."):
        if event.kind == "tool_finished":
            store.set_stock(engine, 7, 9, by="warehouse")
    request = of(conversation.events, "model_request")[1]
    assert request.prefix_kept
    assert "[OVERTAKEN: stock:7" in request.new_messages[-1]["content"]


def test_stamps_and_marks_are_the_same_in_a_conversation_loaded_again(engine: Engine, archive: Archive) -> None:
    conversation, cure = archive.start("1"), Freshness(stamps=True, tell=tell)
    for lines in ((STOCK, ADD, say("$16.50")), (say("Hm."),), (ADD, say("Hm."))):
        model, kept = ScriptedModel("test", lines), Limits()
        agent = Agent(model, ShopTools(engine, 1, "a"), "", kept, freshness=cure)
        with lease(archive, conversation) as run_id:
            agent.run(conversation, "Hello", run_id=run_id)
        changed(engine)
    again = archive.find("1", conversation.handle)
    assert again
    assert again.history.messages() == conversation.history.messages()
    assert again.history.size == conversation.history.size
    assert (again.history.digest, again.knowledge.overtaken()) == (
        conversation.history.digest,
        conversation.knowledge.overtaken(),
    )


VERIFY = Freshness(tell=tell, correct=correct)


def test_an_answer_with_an_overtaken_figure_is_asked_for_again_once(engine: Engine) -> None:
    conversation = Conversation()
    turn(engine, conversation, ADD, say("$16.50"), cure=VERIFY)
    changed(engine)
    model, events = turn(engine, conversation, say("It is $16.50."), say("It is $33.00."), cure=VERIFY)
    decision, end = of(events, "guard_decision")[0], events[-1]
    assert (decision.guard, decision.action, end.answer, end.answer_by) == (
        "fresh_answer", "nudge", "It is $33.00.", "model",
    )  # fmt: skip
    assert model.requests[1][0][-1]["content"] == (
        "Your answer states what is true no more. It is total $33.00. Answer again."
    )


def test_an_answer_that_stays_wrong_is_corrected_by_the_program_and_marked(engine: Engine) -> None:
    conversation = Conversation()
    turn(engine, conversation, ADD, say("$16.50"), cure=VERIFY)
    changed(engine)
    model, events = turn(engine, conversation, say("It is $16.50."), cure=VERIFY)
    end = events[-1]
    assert [decision.action for decision in of(events, "guard_decision")] == ["nudge", "correct"]
    assert (end.stop_reason, end.answer_by, len(model.requests)) == ("done", "program", 2)
    assert end.answer.startswith("Corrected by the program: It is total $33.00.")
    assert end.answer.endswith("It is $16.50.")


def test_a_wrap_up_is_corrected_too(engine: Engine) -> None:
    conversation = Conversation()
    turn(engine, conversation, ADD, say("$16.50"), cure=VERIFY)
    changed(engine)
    look = call("search_books", query="orchard")
    _, events = turn(engine, conversation, look, say("It is $16.50."), cure=VERIFY, max_steps=1)
    assert (events[-1].stop_reason, events[-1].answer_by) == ("max_steps", "program")
    assert events[-1].answer.startswith("Corrected by the program:")


@pytest.mark.parametrize("wrap_up", [True, False])
def test_an_answer_that_cannot_be_asked_for_again_is_corrected_all_the_same(engine: Engine, wrap_up: bool) -> None:
    conversation = Conversation()
    turn(engine, conversation, ADD, say("$16.50"), cure=VERIFY)
    changed(engine)
    model, events = turn(engine, conversation, say("It is $16.50."), cure=VERIFY, max_steps=1, wrap_up=wrap_up)
    assert (events[-1].stop_reason, len(model.requests)) == ("done", 1)
    assert events[-1].answer.startswith("Corrected by the program: It is total $33.00.")


def test_the_model_reads_a_correction_in_the_next_turn(engine: Engine, archive: Archive) -> None:
    conversation = archive.start("1")
    for lines in ((ADD, say("$16.50")), (say("It is $16.50."),)):
        kept = Limits()
        agent = Agent(ScriptedModel("t", lines), ShopTools(engine, 1, "a"), "", kept, freshness=VERIFY)
        with lease(archive, conversation) as run_id:
            agent.run(conversation, TOTAL, run_id=run_id)
        changed(engine)
    again = archive.find("1", conversation.handle)
    assert again
    assert again.history.messages() == conversation.history.messages()
    assert again.history.messages()[-1] == {
        "role": "assistant", "content": "Corrected by the program: It is total $33.00.",
    }  # fmt: skip


def test_a_change_while_the_model_writes_counts(engine: Engine) -> None:
    conversation = Conversation()
    turn(engine, conversation, ADD, say("$16.50"), cure=VERIFY)
    model, kept = ScriptedModel("test", [say("It is $16.50."), say("It is $33.00.")]), Limits()
    agent = Agent(model, ShopTools(engine, 1, "a"), "Sell.", kept, freshness=VERIFY)
    for event in agent.stream(conversation, TOTAL):
        if event.kind == "text_delta" and event.text == "It":
            changed(engine)
    assert conversation.events[-1].answer == "It is $33.00."  # type: ignore[union-attr]


def test_without_a_change_verify_is_like_no_cure_at_all(engine: Engine) -> None:
    sent = []
    for cure, customer_total in ((VERIFY, "$16.50"), (Freshness(), "$33.00")):
        conversation = Conversation()
        turn(engine, conversation, ADD, say(customer_total), cure=cure)
        model, events = turn(engine, conversation, say(f"It is {customer_total}."), cure=cure)
        assert kinds(events) == ["run_started", "user_message", "model_request", "model_reply", "run_finished"]
        sent.append(len(model.requests))
    assert sent == [1, 1]
