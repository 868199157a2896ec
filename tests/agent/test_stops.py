"""How a run stops early, and who then answers."""

import pytest
from sqlalchemy import Engine

import store
from agent.guards.limits import UNGUARDED, Limits
from agent.loop.agent import Agent
from agent.models.scripted import Line, ScriptedModel, call, say
from agent.trace import ModelReply, Usage
from agent.trace.stop_reasons import STOPS
from agent.views.conversation import Conversation
from assistant.shop_tools import ShopTools
from tests.agent.playing import (
    ASK,
    CALL,
    END,
    LEFT,
    OPEN,
    WRAP_UP,
    Shelf,
    agent_for,
    assert_paired,
    calls,
    of,
    play,
)


@pytest.mark.parametrize("limit", [1, 2, 8])
@pytest.mark.parametrize("wrap_up", [True, False])
def test_the_step_limit_is_the_exact_number_of_requests(limit: int, wrap_up: bool) -> None:
    lines = [call("look", what=str(number)) for number in range(limit)]
    played = play(*lines, say("So far."), max_steps=limit, wrap_up=wrap_up, max_tokens=None)
    assert played.kinds == [*OPEN, *CALL * limit, *(WRAP_UP if wrap_up else ["guard_decision", *END])]
    assert len(played.model.requests) == limit + wrap_up
    end = played.events[-1]
    assert (end.stop_reason, end.steps, end.model_calls) == ("max_steps", limit, limit + wrap_up)
    assert end.answer_by == ("model" if wrap_up else "program")


def test_the_wrap_up_request_has_no_tools_and_every_call_before_it_has_a_result() -> None:
    played = play(calls(("look", {}), ("look", {"what": "b"})), say("So far."), max_tool_calls=1)
    assert played.kinds == [*OPEN, *CALL, "guard_decision", "tool_finished", "note", *ASK, *END]
    assert played.result.answer.startswith("So far.\n\nBy the record of this run: Nothing was changed.")
    assert "Not run: look(what='b')." in played.result.answer
    assert (played.result.steps, played.result.model_calls) == (1, 2)
    messages, tools = played.model.requests[-1]
    assert tools == []
    assert [message["role"] for message in messages[-4:]] == ["assistant", "tool", "tool", "user"]
    assert played.results[1] == "Not run: the limit of 1 tool call was reached."


@pytest.mark.parametrize("last", [call("look"), say(""), say("  \n"), call("no_such_tool"), Line(thinking="hm")])
def test_a_wrap_up_without_words_is_answered_by_the_program(last: Line) -> None:
    played = play(call("put", what="pen"), last, max_steps=1)
    end = played.events[-1]
    assert (end.stop_reason, end.answer_by) == ("max_steps", "program")
    assert "put 1 × pen on the shelf" in end.answer
    assert_paired(played)


def test_a_dangling_call_beside_words_is_not_taken_for_an_answer() -> None:
    dangling = Line(text="Let me look once more.", calls=(("look", {"what": "b"}),))
    played = play(call("look"), dangling, max_steps=1)
    assert played.kinds == [*OPEN, *CALL, *WRAP_UP[:-1], "tool_finished", *END]
    assert (played.result.answer_by, played.result.tool_calls) == ("program", 1)
    assert played.results[-1] == "Not run: tools are no longer available."


def test_a_request_that_would_pass_the_token_limit_is_never_sent() -> None:
    told = calls(("tell", {"length": 4_000}), usage=Usage(input_tokens=600, output_tokens=10))
    played = play(told, say("never"), max_tokens=1_000, max_result_chars=None, wrap_up=False)
    stop = played.of("guard_decision")[0]
    assert (stop.guard, stop.action, stop.threshold) == ("max_tokens", "stop", 1_000)
    assert stop.value > 1_000
    assert len(played.model.requests) == 1
    assert play(say("never"), text="x" * 9_000, max_tokens=1_000, wrap_up=False).model.requests == []


def test_the_input_token_limit_leaves_output_alone() -> None:
    talk = Line(thinking="x" * 40_000, calls=(("look", {}),), usage=Usage(input_tokens=100, output_tokens=10_000))
    assert play(talk, say("Ok."), max_tokens=None, max_input_tokens=60_000).result.stop_reason == "done"
    assert play(talk, say("Ok."), max_tokens=10_000).result.stop_reason == "max_tokens"


def test_the_identical_call_is_refused_at_the_third_time_and_ends_the_run_at_the_fourth() -> None:
    played = play(call("look"), wrap_up=False)
    assert played.kinds == [*OPEN, *CALL * 2, *ASK, *LEFT, *ASK, *LEFT, *END]
    nudge, stop = played.of("guard_decision")
    assert (nudge.action, nudge.value, stop.action, stop.value) == ("nudge", 3, "stop", 4)
    assert played.results[2].startswith("GUARD: not run. You already called look with these arguments 2 times")
    assert (played.result.stop_reason, played.result.tool_calls) == ("repeated_call", 2)


def test_a_respelled_call_is_the_identical_call() -> None:
    put = [{"what": "pen"}, {"what": " PEN ", "count": "1"}, {"count": 1.0, "what": "Pen"}, {"what": "pen"}]
    played = play(*[call("put", **arguments) for arguments in put])
    assert (played.result.stop_reason, played.result.tool_calls) == ("repeated_call", 1)
    assert [decision.action for decision in played.of("guard_decision")] == ["replay", "nudge", "stop"]


def test_a_model_that_takes_the_hint_is_nudged_once_and_answers() -> None:
    played = play(*[call("look")] * 3, say("There is none."))
    assert [decision.action for decision in played.of("guard_decision")] == ["nudge"]
    assert played.result.stop_reason == "done"


def test_in_the_first_posts_preset_the_identical_call_is_refused_each_time_and_never_stops() -> None:
    played = play(call("look"), repeat_stop_at=None, wrap_up=False)
    assert [decision.action for decision in played.of("guard_decision")] == [*["nudge"] * 4, "stop"]
    assert played.result.stop_reason == "max_steps"


def test_reads_count_anew_after_a_change_and_writes_do_not() -> None:
    read = play(*[call("look")] * 2, call("put", what="pen"), *[call("look")] * 2, say("Two."))
    assert (read.result.stop_reason, read.result.tool_calls, read.of("guard_decision")) == ("done", 5, [])
    wrote = play(*[call("put", what="pen"), call("put", what="ink")] * 3, say("x"), wrap_up=False)
    assert [decision.action for decision in wrote.of("guard_decision")] == ["replay", "replay", "nudge", "stop"]
    assert (wrote.result.stop_reason, wrote.result.tool_calls) == ("ping_pong", 2)


def test_reads_count_anew_after_a_change_through_another_channel(engine: Engine) -> None:
    model = ScriptedModel("test", [call("check_stock", book_id=7)] * 3 + [say("Nine.")])
    conversation = Conversation()
    for event in agent_for(model, ShopTools(engine, 1, "test")).stream(conversation, "Watch it."):
        if event.kind == "tool_finished" and event.call.id == "call_1.2.1":
            store.set_stock(engine, 7, 9, by="warehouse")
    assert '"in_stock": 9' in of(conversation.events, "tool_finished")[-1].result


def test_without_limits_the_model_goes_on_as_long_as_it_likes() -> None:
    off = {name: None for name in Limits.model_fields if UNGUARDED.model_dump()[name] is None}
    played = play(*[call("look")] * 60, say("Enough."), **off, max_steps=None, tool_seconds=None)
    assert (played.result.steps, played.result.tool_calls, played.of("guard_decision")) == (61, 60, [])


def test_the_repeat_stop_holds_with_the_nudge_switched_off() -> None:
    played = play(call("look"), repeat_nudge_at=None, repeat_stop_at=4, wrap_up=False)
    assert (played.result.stop_reason, played.result.tool_calls) == ("repeated_call", 3)


@pytest.mark.parametrize("nothing", [say(""), say(" \n"), Line(thinking="I think.")])
def test_an_empty_reply_gets_two_corrective_turns_and_then_ends_the_run(nothing: Line) -> None:
    played = play(nothing)
    corrected = [*ASK, "guard_decision", "note"]
    assert played.kinds == [*OPEN, *corrected * 2, *ASK, "guard_decision", *END]
    end = played.events[-1]
    assert (end.stop_reason, end.answer_by, end.steps) == ("empty_answer", "program", 3)
    assert len(played.model.requests) == 3


def test_a_model_that_recovers_after_an_empty_reply_is_done() -> None:
    played = play(say(""), say("Here I am."))
    assert (played.result.stop_reason, played.result.answer) == ("done", "Here I am.")
    assert played.model.requests[1][0][-1]["content"] == played.of("note")[0].text


def test_a_wrap_up_that_broke_off_is_not_taken_for_an_answer() -> None:
    played = play(call("look"), ModelReply(model="m", text="The total is 1", incomplete=True), max_steps=1)
    assert (played.result.stop_reason, played.result.answer_by) == ("max_steps", "program")


@pytest.mark.parametrize("limits", [{"max_steps": 1}, {"max_tool_calls": 1}, {"max_tokens": 400}])
def test_the_programs_answer_names_what_was_done_and_why_it_ended(limits: dict[str, int]) -> None:
    played = play(call("put", what="pen", count=2), call("look"), wrap_up=False, **limits)
    end = played.events[-1]
    assert end.stop_reason == next(iter(limits))
    assert "put 2 × pen on the shelf" in end.answer
    assert str(*limits.values()) in end.answer


def test_the_programs_answer_says_when_nothing_was_changed() -> None:
    assert "Nothing was changed." in play(call("look"), max_steps=1, wrap_up=False).result.answer


def test_an_answer_is_never_empty_even_without_guards() -> None:
    result = Agent(ScriptedModel("test", [say("")]), Shelf().tools(), "x", UNGUARDED).run(Conversation(), "Hello")
    assert result.answer


def test_the_stops_that_are_wrapped_up_are_those_of_the_design() -> None:
    budgets = {"max_steps", "max_tool_calls", "max_tokens", "max_input_tokens", "max_cost"}
    assert budgets | {"repeated_call", "ping_pong", "no_new_information", "error_streak"} == {
        reason for reason, stop in STOPS.items() if stop.wraps_up
    }
