"""Stopping a run, whatever it waits for."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine

import store
from agent.cancel import Cancel, Cancelled, Runner
from agent.models.scripted import Line, ScriptedModel, call, say
from agent.tools import ToolOutcome
from agent.trace import ToolCall
from agent.views.conversation import Conversation
from assistant.shop_tools import ShopTools
from tests.agent.playing import Shelf, agent_for, calls, kinds, of, play

SLOW = Line(text="one word after the other " * 200, pause=0.1)
THINKS = Line(text="x " * 100, thinking="Let me see.", pause=60)


def stop_when(
    wanted: Callable[[Any], bool], *lines: Line, shelf: Shelf | None = None, **limits: Any
) -> Conversation:
    """Run a script and ask it to stop as soon as an item is ``wanted``."""
    cancel, conversation = Cancel(), Conversation()
    agent = agent_for(ScriptedModel("test", lines), (shelf or Shelf()).tools(), **limits)
    for item in agent.stream(conversation, "Hello", cancel=cancel):
        if wanted(item):
            cancel.request()
    return conversation


def end_of(conversation: Conversation) -> tuple[str, str]:
    end = conversation.events[-1]
    assert end.kind == "run_finished"
    assert kinds(conversation.events).count("run_finished") == 1
    assert end.answer
    return end.stop_reason, end.answer_by


def test_a_run_stopped_before_it_began_calls_no_tool() -> None:
    cancel, shelf = Cancel(), Shelf()
    cancel.request()
    played = play(call("put", what="pen"), say("never"), toolbox=shelf.tools(), cancel=cancel)
    assert end_of(played.conversation) == ("cancelled", "program")
    assert not shelf.things


def test_a_run_stopped_before_it_began_asks_no_model() -> None:
    cancel = Cancel()
    cancel.request()
    assert play(say("never"), cancel=cancel).model.requests == []


@pytest.mark.parametrize(("kind", "line"), [("thinking_delta", THINKS), ("text_delta", SLOW)])
def test_a_run_stops_at_once_while_the_model_thinks_or_answers(kind: str, line: Line) -> None:
    conversation = stop_when(lambda item: item.kind == kind, line)
    assert end_of(conversation) == ("cancelled", "program")
    assert kinds(conversation.events) == [
        "run_started",
        "user_message",
        "model_request",
        "model_reply",
        "run_finished",
    ]
    (reply,) = of(conversation.events, "model_reply")
    assert reply.incomplete
    assert len(reply.text) < len(line.text) / 10


def test_a_half_answer_is_not_what_the_next_turn_remembers() -> None:
    conversation = stop_when(lambda item: item.kind == "text_delta", SLOW)
    messages = play(say("Hi."), conversation=conversation).model.requests[0][0]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user"]
    assert messages[2]["content"] == of(conversation.events, "run_finished")[0].answer


def test_a_run_stops_at_once_while_a_tool_hangs_and_that_is_no_tool_error() -> None:
    cancel, shelf, conversation = Cancel(), Shelf(), Conversation()
    agent = agent_for(ScriptedModel("test", [calls(("hang", {}), ("look", {}))]), shelf.tools())
    worker = threading.Thread(target=lambda: agent.run(conversation, "Hello", cancel=cancel))
    worker.start()
    assert shelf.hanging.wait(5)
    cancel.request()
    worker.join(5)
    assert not worker.is_alive()
    shelf.held.set()
    assert end_of(conversation) == ("cancelled", "program")
    results = [finished.result for finished in of(conversation.events, "tool_finished")]
    assert results == ["hang was stopped by the user before it answered.", "Not run: you stopped it."]
    assert len(of(conversation.events, "model_request")) == 1


def test_calls_after_the_stop_are_not_run() -> None:
    shelf = Shelf()
    twice = calls(("put", {"what": "pen"}), ("put", {"what": "ink"}))
    conversation = stop_when(lambda item: item.kind == "tool_finished", twice, shelf=shelf)
    assert end_of(conversation) == ("cancelled", "program")
    assert dict(shelf.things) == {"pen": 1}
    assert [finished.ran for finished in of(conversation.events, "tool_finished")] == [True, False]
    assert "put 1 × pen on the shelf" in conversation.events[-1].answer


def test_there_is_no_wrap_up_after_a_stop_by_a_person() -> None:
    conversation = stop_when(lambda item: item.kind == "tool_finished", call("look"), max_steps=1)
    assert end_of(conversation) == ("cancelled", "program")
    assert not of(conversation.events, "note")


def test_a_wrap_up_that_is_stopped_keeps_the_reason_of_the_run() -> None:
    conversation = stop_when(lambda item: item.kind == "text_delta", call("look"), SLOW, max_steps=1)
    assert end_of(conversation) == ("max_steps", "program")


class HangingTools(ShopTools):
    """The shop's tools; adding waits until the test lets it, before or after its effect."""

    def __init__(self, engine: Engine, *, effect_first: bool) -> None:
        super().__init__(engine, 1, "assistant")
        self.effect_first, self.held, self.after = effect_first, threading.Event(), threading.Event()

    def call(self, call: ToolCall, key: str) -> ToolOutcome:
        if not self.effect_first:
            self.held.wait(20)
        outcome = super().call(call, key)
        self.after.set()
        if self.effect_first:
            self.held.wait(20)
        return outcome


class LateTools(ShopTools):
    """The shop's tools; the first adding times out, and takes effect when the test says ``land``."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine, 1, "assistant")
        self.late: list[tuple[ToolCall, str]] = []

    def call(self, call: ToolCall, key: str) -> ToolOutcome:
        if call.name == "add_to_cart" and not self.late:
            self.late.append((call, key))
            raise TimeoutError
        return super().call(call, key)

    def land(self) -> None:
        super().call(*self.late[0])


ADD, CHECK = call("add_to_cart", book_id=7), call("check_stock", book_id=7)
IN_THE_CART = "added 1 × The Quiet Orchard to the cart"


def test_an_effect_that_took_place_before_the_time_out_is_told_as_done(engine: Engine) -> None:
    tools = HangingTools(engine, effect_first=True)
    played = play(ADD, say("Added."), toolbox=tools, tool_seconds=1)
    tools.held.set()
    finished = played.of("tool_finished")[0]
    assert (finished.ran, finished.ok) == (True, True)
    assert finished.changes[0].effect == IN_THE_CART


def test_an_open_effect_is_not_denied_when_the_time_is_over(engine: Engine) -> None:
    tools = HangingTools(engine, effect_first=False)
    played = play(ADD, say("x"), toolbox=tools, max_seconds=1)
    tools.held.set()
    assert tools.after.wait(5)
    assert store.view_cart(engine, 1).total_cents == 1650
    assert played.result.stop_reason == "max_seconds"
    assert "Nothing was changed" not in played.result.answer


def test_a_late_effect_is_recorded(engine: Engine) -> None:
    tools, conversation = LateTools(engine), Conversation()
    for item in agent_for(ScriptedModel("test", [ADD, CHECK, say("Well.")]), tools).stream(
        conversation, "Add it."
    ):
        if item.kind == "tool_finished" and item.call.name == "add_to_cart":
            tools.land()
    told = [event.resource for event in of(conversation.events, "shop_changed")]
    told += [change.resource for event in of(conversation.events, "tool_finished") for change in event.changes]
    assert told == ["cart"]


def test_a_retry_after_a_time_out_adds_no_second_time(engine: Engine) -> None:
    tools = LateTools(engine)
    played = play(ADD, ADD, say("Added."), toolbox=tools)
    tools.land()
    assert played.result.stop_reason == "done"
    assert store.view_cart(engine, 1).lines[0].quantity == 1


def test_a_retry_after_a_late_effect_is_told_once(engine: Engine) -> None:
    tools, conversation = LateTools(engine), Conversation()
    agent = agent_for(ScriptedModel("test", [ADD, ADD, CHECK]), tools, max_steps=3, wrap_up=False)
    for item in agent.stream(conversation, "Add"):
        if item.kind == "tool_finished" and not item.ok:
            tools.land()
    assert store.view_cart(engine, 1).lines[0].quantity == 1
    assert conversation.events[-1].answer.count(IN_THE_CART) == 1  # type: ignore[union-attr]


def test_an_effect_that_comes_after_the_run_is_recorded_in_the_next(engine: Engine) -> None:
    tools, conversation = LateTools(engine), Conversation()
    first = play(ADD, say("?"), toolbox=tools, conversation=conversation)
    tools.land()
    second = play(CHECK, say("!"), toolbox=tools, conversation=conversation)
    assert not first.of("shop_changed")
    assert [event.resource for event in second.of("shop_changed")] == ["cart"]


def test_a_write_that_breaks_after_its_effect_is_told_as_done(engine: Engine) -> None:
    class Breaks(ShopTools):
        def call(self, call: ToolCall, key: str) -> ToolOutcome:
            super().call(call, key)
            raise ConnectionResetError("the line went dead")

    played = play(ADD, say("Added."), toolbox=Breaks(engine, 1, "test"))
    assert played.of("tool_finished")[0].ok
    assert store.view_cart(engine, 1).lines[0].quantity == 1


def test_work_within_its_time_returns_or_raises_what_it_does() -> None:
    runner = Runner()
    assert runner.run(lambda: 7, 5, Cancel()) == 7
    assert runner.run(lambda: None, None, Cancel()) is None
    with pytest.raises(KeyError):
        runner.run(lambda: {}["x"], 5, Cancel())
    runner.close()


def test_work_beyond_its_time_is_left_alone() -> None:
    held, runner, cancel = threading.Event(), Runner(), Cancel()
    with pytest.raises(TimeoutError):
        runner.run(lambda: held.wait(20), 0.02, Cancel())
    assert runner.run(lambda: "another thread", 5, Cancel()) == "another thread"
    cancel.request()
    with pytest.raises(Cancelled):
        runner.run(lambda: held.wait(20), 5, cancel)
    held.set()
    runner.close()


def test_a_wish_to_stop_ends_what_is_waited_for_now_and_nothing_later() -> None:
    cancel, ended = Cancel(), []
    with cancel.ending(lambda: ended.append("inner")):
        cancel.request()
    with cancel.ending(lambda: ended.append("late")):
        pass
    cancel.request()
    assert ended == ["inner", "late"]
    assert cancel.wanted
