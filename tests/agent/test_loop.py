"""Whole runs, driven by scripts: what happens, in which order, and how it ends."""

from typing import Any

import pytest
from sqlalchemy import Engine

import store
from agent.archive import Archive, lease
from agent.loop.agent import Agent
from agent.models.scripted import Line, ScriptedModel, call, say
from agent.tools import FunctionTools, Tool, ToolOutcome
from agent.trace import ModelFault, ModelReply, Usage
from agent.views.conversation import Conversation
from assistant.shop_tools import ShopTools
from lab.scripts import ENDLESS, LIGHTHOUSE
from tests.agent.playing import (
    ASK,
    ASKED,
    CALL,
    END,
    OPEN,
    Shelf,
    agent_for,
    assert_answered_once,
    assert_paired,
    calls,
    kinds,
    of,
    play,
)


def test_an_answer_at_once_is_one_request() -> None:
    played = play(say("Good day."))
    assert played.kinds == [*OPEN, *ASK, *END]
    end = played.events[-1]
    assert (end.stop_reason, end.answer, end.answer_by, end.steps) == ("done", "Good day.", "model", 1)


def search_books(query: str, max_results: int = 5) -> ToolOutcome:
    return ToolOutcome(result="2 The Last Lighthouse, 7 The Quiet Orchard")


def check_stock(book_id: int) -> ToolOutcome:
    return ToolOutcome(result=str(15 * (book_id == 7)))


def add_to_cart(key: str, book_id: int, quantity: int = 1) -> ToolOutcome:
    return ToolOutcome(result="added")


def test_the_lighthouse_job_is_five_model_calls_and_four_tool_calls_on_plain_functions() -> None:
    tools = FunctionTools(Tool.of(search_books), Tool.of(check_stock), Tool.of(add_to_cart, side_effecting=True))
    played = play(*LIGHTHOUSE, toolbox=tools, text=ASKED)
    assert played.kinds == [*OPEN, *CALL * 4, *ASK, *END]
    assert played.results == ["2 The Last Lighthouse, 7 The Quiet Orchard", "0", "15", "added"]


def test_the_lighthouse_job_fills_the_cart_of_the_real_shop(engine: Engine) -> None:
    played = play(*LIGHTHOUSE, toolbox=ShopTools(engine, 1, "test"), text=ASKED)
    result = played.result
    assert played.kinds == [*OPEN, *CALL * 4, *ASK, *END]
    assert (result.stop_reason, result.steps, result.model_calls, result.tool_calls) == ("done", 5, 5, 4)
    assert '"in_stock": 0' in played.results[1]
    assert '"in_stock": 15' in played.results[2]
    assert played.results[3] == '{"added": "The Quiet Orchard", "quantity": 1, "cart_total": "16.50"}'
    assert store.view_cart(engine, 1).total_cents == 1650
    sent = [reply.usage.input_tokens for reply in played.of("model_reply")]
    assert sent == sorted(set(sent))


@pytest.mark.parametrize("reason", ["model_unavailable", "model_error", "max_seconds"])
def test_a_model_that_fails_ends_the_run_with_its_reason_and_no_wrap_up(reason: Any) -> None:
    failed = ModelReply(model="m", error=ModelFault(stop_reason=reason, message="the server is not there"))
    played = play(call("put", what="pen"), failed)
    assert played.kinds == [*OPEN, *CALL, *ASK, *END]
    end = played.events[-1]
    assert (end.stop_reason, end.answer_by) == (reason, "program")
    assert "the server is not there" in end.answer
    assert "put 1 × pen" in end.answer


def test_a_reply_that_broke_off_is_not_taken_for_an_answer() -> None:
    played = play(ModelReply(model="m", text="The total is 1", incomplete=True))
    assert played.result.stop_reason == "model_error"


def test_words_a_model_or_server_garbled_do_not_end_a_run(archive: Archive) -> None:
    garbled = "caf\udce9 \ud800"
    fault = ModelFault(stop_reason="model_error", message=garbled)
    reply = ModelReply(
        model="m", text=garbled, thinking=garbled, warnings=[garbled], repairs=[garbled], error=fault
    )
    conversation = archive.start("1")
    with lease(archive, conversation):
        played = play(calls((garbled, {garbled: garbled}), text=garbled), reply, conversation=conversation)
    assert played.result.stop_reason == "model_error"
    assert list(archive.find("1", conversation.handle).events) == list(conversation.events)  # type: ignore[union-attr]


def test_a_model_that_gives_no_reply_is_a_bug_that_is_recorded_and_raised() -> None:
    class Silent(ScriptedModel):
        def stream(self, *_: Any) -> Any:
            return SilentStream()

    class SilentStream(list[Any]):
        def close(self) -> None:
            pass

    conversation = Conversation()
    with pytest.raises(RuntimeError, match="must end its stream with a reply"):
        agent_for(Silent("test", [])).run(conversation, "Hello")
    assert conversation.events[-1].stop_reason == "internal_error"  # type: ignore[union-attr]


def test_a_broken_guard_is_recorded_and_raised() -> None:
    def broken(moment: Any, run: Any) -> None:
        if type(moment).__name__ == "BeforeTool":
            raise ZeroDivisionError

    conversation, shelf = Conversation(), Shelf()
    agent = Agent(
        ScriptedModel("test", [calls(("look", {}), ("look", {}))]), shelf.tools(), "x", extra_guards=[broken]
    )
    with pytest.raises(ZeroDivisionError):
        agent.run(conversation, "Hello")
    assert kinds(conversation.events) == [*OPEN, *ASK, "tool_finished", "tool_finished", *END]
    assert conversation.events[-1].stop_reason == "internal_error"
    assert conversation.events[-1].answer


def test_a_broken_model_is_recorded_and_raised() -> None:
    class Broken(ScriptedModel):
        def stream(self, *_: Any) -> Any:
            raise LookupError("no weights")

    conversation = Conversation()
    with pytest.raises(LookupError):
        agent_for(Broken("test", [])).run(conversation, "Hello")
    assert kinds(conversation.events) == [*OPEN, "model_request", *END]
    assert conversation.events[-1].stop_reason == "internal_error"


def test_a_drawing_bug_is_raised_where_it_is_and_the_run_is_closed() -> None:
    conversation = Conversation()
    stream = agent_for(ScriptedModel("test", LIGHTHOUSE)).stream(conversation, "Hello")
    with pytest.raises(ZeroDivisionError):
        for _ in stream:
            raise ZeroDivisionError
    stream.close()
    assert conversation.events[-1].kind == "run_finished"


@pytest.mark.parametrize("seen", range(1, 12))
def test_a_stream_closed_early_is_cancelled_with_every_call_answered_once(seen: int) -> None:
    conversation = Conversation()
    model = ScriptedModel(
        "test", [calls(("look", {}), ("look", {"what": "b"}), ("gone", {})), call("put", what="a")]
    )
    stream = agent_for(model).stream(conversation, "Hello")
    for _ in range(seen):
        next(stream)
    stream.close()
    end = conversation.events[-1]
    assert (end.kind, end.stop_reason, end.answer_by) == ("run_finished", "cancelled", "program")
    assert len(of(conversation.events, "run_finished")) == 1
    assert_answered_once(conversation)


def test_tokens_of_a_request_without_a_reply_are_unknown_and_not_none() -> None:
    conversation = Conversation()
    stream = agent_for(ScriptedModel("test", [say("Hello.")])).stream(conversation, "Hello")
    while next(stream).kind != "model_request":
        pass
    stream.close()
    assert conversation.events[-1].usage_complete is False


@pytest.mark.parametrize(
    "lines",
    [LIGHTHOUSE, ENDLESS, (say(""),), (call("add_to_cart", book_id=7), say("x")), (call("nope"), say("x"))],
)
def test_the_sums_of_a_run_are_those_of_its_events(engine: Engine, lines: tuple[Line, ...]) -> None:
    played = play(*lines, toolbox=ShopTools(engine, 1, "test"))
    end, replies, requests = played.events[-1], played.of("model_reply"), played.of("model_request")
    assert played.kinds.count("run_finished") == 1
    assert end.model_calls == len(requests)
    assert end.steps == sum(not request.wrap_up for request in requests)
    assert end.tool_calls == sum(finished.ran for finished in played.of("tool_finished"))
    assert end.usage.input_tokens == sum(reply.usage.input_tokens for reply in replies)
    assert end.usage.output_tokens == sum(reply.usage.output_tokens for reply in replies)
    assert end.usage_complete
    assert_paired(played)


def test_a_reply_without_counts_makes_the_sums_incomplete_and_unknown() -> None:
    known = play(calls(("look", {}), usage=Usage(input_tokens=9, output_tokens=1)), say("x", usage=Usage()))
    assert (known.result.usage_complete, known.result.usage.input_tokens) == (False, 9)
    unknown = play(say("x", usage=Usage()))
    assert (unknown.result.usage_complete, unknown.result.usage.input_tokens) == (False, None)


def test_a_run_records_its_limits_options_model_and_tools() -> None:
    started = play(say("Hi."), max_steps=3).events[0]
    assert started.settings["limits"]["max_steps"] == 3
    assert (started.settings["options"]["temperature"], started.settings["options"]["seed"]) == (0.0, 42)
    assert [tool["function"]["name"] for tool in started.tools] == ["look", "fail", "hang", "tell", "put"]
    assert (started.model.name, started.instructions) == ("script:test", "Be brief.")


def test_deltas_are_yielded_and_never_stored() -> None:
    conversation = Conversation()
    stream = agent_for(ScriptedModel("test", [say("Good day to you.", thinking="Hm.")])).stream(conversation, "Hi")
    items = list(stream)
    assert "".join(item.text for item in items if item.kind == "text_delta") == "Good day to you."
    assert [item for item in items if not item.kind.endswith("_delta")] == list(conversation.events)
