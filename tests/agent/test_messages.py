"""What a model is sent: everything, in order, and never twice."""

from itertools import pairwise
from typing import Any

import pytest
from sqlalchemy import Engine

from agent.models.scripted import Line, call, say
from agent.trace import ModelFault, ModelReply
from assistant.shop_tools import ShopTools
from lab.scripts import ENDLESS, LIGHTHOUSE
from tests.agent.playing import (
    Shelf,
    assert_paired,
    calls,
    made,
    of,
    play,
)


def test_the_next_turn_is_told_what_the_program_answered_in_place_of_a_dangling_call() -> None:
    dangling = Line(text="Let me look once more.", calls=(("look", {"what": "b"}),))
    first = play(call("look"), dangling, max_steps=1)
    second = play(say("Hello."), conversation=first.conversation)
    assert first.result.answer in [message["content"] for message in second.model.requests[0][0]]


@pytest.mark.parametrize(
    "broken", [{"incomplete": True}, {"error": ModelFault(stop_reason="model_error", message="x")}]
)
def test_the_calls_of_a_reply_that_broke_off_are_not_run_and_leave_no_orphan(broken: dict[str, Any]) -> None:
    shelf = Shelf()
    first = play(ModelReply(model="m", tool_calls=[made("put", what="pen")], **broken), toolbox=shelf.tools())
    assert first.result.stop_reason == "model_error"
    assert not shelf.things
    second = play(say("Hi."), conversation=first.conversation)
    assert_paired(second)
    assert [m["role"] for m in second.model.requests[0][0]] == ["system", "user", "assistant", "user"]


def test_the_second_turn_sees_the_whole_first_turn() -> None:
    first = play(calls(("look", {"what": "pen"}), thinking="I look."), say("None."), text="Any pens?")
    second = play(say("As I said."), conversation=first.conversation, text="And now?")
    messages = second.model.requests[0][0]
    assert [message["role"] for message in messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    assert [message["content"] for message in messages[1:]] == ["Any pens?", "", "pen: 0", "None.", "And now?"]
    assert second.events[0].turn == second.events[1].turn == 2


def test_thoughts_are_sent_again_within_a_turn_and_not_in_the_next() -> None:
    first = play(calls(("look", {}), thinking="I look."), say("None.", thinking="Nothing."))
    second = play(say("Again."), conversation=first.conversation)
    assert [m["thinking"] for m in first.model.requests[1][0] if "thinking" in m] == ["I look."]
    assert [m for m in second.model.requests[0][0] if "thinking" in m] == []


@pytest.mark.parametrize("lines", [LIGHTHOUSE, ENDLESS, (say(""),), (call("nope"), say("x"))])
def test_within_a_run_each_request_begins_with_the_one_before(engine: Engine, lines: tuple[Line, ...]) -> None:
    played = play(*lines, toolbox=ShopTools(engine, 1, "test"))
    sent = [messages for messages, _ in played.model.requests]
    for before, after in pairwise(sent):
        assert after[: len(before)] == before
        assert len(after) > len(before)
    assert [m for request in played.of("model_request") for m in request.new_messages] == sent[-1]
    digests = [request.digest for request in played.of("model_request")]
    assert len(set(digests)) == len(digests)


def test_the_digest_depends_on_every_earlier_message() -> None:
    one, same, other = (play(say("Hi."), say("Ho."), text=text) for text in ("a", "a", "b"))
    for played in (one, same, other):
        play(say("Again."), conversation=played.conversation, text="c")
    digest = [of(played.conversation.events, "model_request")[-1].digest for played in (one, same, other)]
    assert digest[0] == digest[1] != digest[2]
