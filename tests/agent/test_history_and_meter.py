"""What the model gets and what it will cost: views folded from the events."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

from agent.models.scripted import Asked, Line, ScriptedModel, call, say
from agent.trace import Usage, UserMessage
from agent.trace.documents import dump_events, load_events
from agent.views.conversation import Conversation
from agent.views.history import History, message_size
from agent.views.tokens import Meter
from lab.scripts import LIGHTHOUSE
from tests.agent.playing import agent_for, calls, of, play

LINES = [
    *(call("look", what=str(number)) for number in range(3)),
    calls(("tell", {"length": 1_500}), ("look", {}), thinking="I think about it for a while. " * 9),
    call("put", what="a pen of some length"),
    say("There you are: " + "many words " * 30),
]


class Counting(ScriptedModel):
    """A script that counts ``k`` characters a token, tools included, as a server would."""

    def __init__(self, lines: Sequence[Line], k: float) -> None:
        super().__init__("counting", self.play)
        self.lines, self.k = lines, k

    def play(self, asked: Asked) -> Line:
        size = sum(map(message_size, asked.messages)) + sum(len(repr(tool)) for tool in asked.tools)
        line = self.lines[min(asked.number, len(self.lines)) - 1]
        usage = Usage(input_tokens=round(size / self.k), output_tokens=5)
        return Line(line.text, line.thinking, line.calls, usage)


def counted(k: float, turns: int = 1, **limits: Any) -> list[tuple[Any, int]]:
    """Each request of some turns with the tokens its reply told."""
    conversation = Conversation()
    for _ in range(turns):
        agent_for(Counting(LINES, k), max_tokens=None, max_steps=20, **limits).run(
            conversation, "What is there? " * 9
        )
    replies = [reply.usage.input_tokens for reply in of(conversation.events, "model_reply")]
    return list(zip(of(conversation.events, "model_request"), replies, strict=True))


@pytest.mark.parametrize("k", [0.6, 1.0, 2.5, 3.7, 4.0, 8.0])
@pytest.mark.parametrize("turns", [1, 3])
def test_after_one_reply_every_estimate_is_within_5_percent(k: float, turns: int) -> None:
    for request, tokens in counted(k, turns)[1:]:
        assert abs(request.estimated_input_tokens - tokens) <= 0.05 * tokens


def test_the_wrap_up_is_estimated_without_its_tools() -> None:
    conversation = Conversation()
    agent_for(Counting([call("look"), call("look", what="b"), say("x")], 3), max_steps=2).run(conversation, "Hi")
    request, reply = of(conversation.events, "model_request")[-1], of(conversation.events, "model_reply")[-1]
    assert request.wrap_up
    assert abs(request.estimated_input_tokens - reply.usage.input_tokens) <= 0.05 * reply.usage.input_tokens


@pytest.mark.parametrize("turns", [1, 3])
def test_resent_and_new_tokens_make_the_total_and_resent_is_what_was_counted(turns: int) -> None:
    rows = counted(3.0, turns)
    for request, _ in rows:
        assert request.resent_tokens + request.new_tokens == request.estimated_input_tokens
        assert request.resent_tokens >= 0
        assert request.new_tokens >= 0
    assert rows[0][0].resent_tokens == 0
    first_turn = rows[: len(LINES)]
    assert [request.resent_tokens for request, _ in first_turn[1:]] == [tokens for _, tokens in first_turn[:-1]]


def test_the_first_estimate_counts_four_characters_a_token() -> None:
    played = play(say("x"), text="y" * 4_000)
    size = sum(map(message_size, played.model.requests[0][0])) + sum(map(len, map(repr, played.events[0].tools)))
    assert played.of("model_request")[0].estimated_input_tokens == round(size / 4)


def test_what_was_sent_is_resent_though_its_reply_told_no_count() -> None:
    unknown = [Line(calls=line.calls, text=line.text, usage=Usage()) for line in LINES]
    requests = play(*unknown, max_tokens=None).of("model_request")
    for before, after in pairwise(requests):
        assert after.resent_tokens == before.estimated_input_tokens


def test_a_count_that_is_missing_once_leaves_resent_at_what_was_sent() -> None:
    counted_once = [call("look"), calls(("tell", {"length": 2_000}), usage=Usage()), call("look"), say("x")]
    counted_once[0] = calls(("look", {}), usage=Usage(input_tokens=500, output_tokens=1))
    counted_once[2] = calls(("look", {"what": "b"}), usage=Usage())
    requests = play(*counted_once).of("model_request")
    assert requests[3].resent_tokens >= requests[2].estimated_input_tokens


@pytest.mark.parametrize("lines", [LINES, LIGHTHOUSE, [call("look")], [say("")]])
def test_views_rebuilt_from_stored_events_equal_those_folded_live(lines: Sequence[Line]) -> None:
    live = play(*lines).conversation
    play(*lines, conversation=live)
    again = Conversation(live.handle, load_events(dump_events(live.events)))
    assert again.history.messages() == live.history.messages()
    assert again.history.next_digest() == live.history.next_digest()
    for view in ("run", "meter", "history"):
        assert vars(getattr(again, view)) == vars(getattr(live, view))
    assert (again.knowledge.facts, again.knowledge.versions) == (live.knowledge.facts, live.knowledge.versions)


def test_a_loaded_conversation_goes_on_as_the_live_one_would() -> None:
    live = play(*LINES).conversation
    again = Conversation(live.handle, load_events(dump_events(live.events)))
    one, other = (play(say("On."), conversation=c, text="Go on") for c in (live, again))
    assert one.model.requests == other.model.requests
    sent = [
        (r.digest, r.estimated_input_tokens, r.resent_tokens)
        for r in (*one.of("model_request"), *other.of("model_request"))
    ]
    assert sent[0] == sent[1]


def test_the_size_of_a_history_is_that_of_its_messages() -> None:
    conversation = Conversation()
    for _ in range(3):
        play(*LINES, conversation=conversation)
        assert conversation.history.size == sum(map(message_size, conversation.history.messages()))


def test_other_instructions_take_the_place_of_the_old_ones() -> None:
    conversation = play(say("x")).conversation
    model = ScriptedModel("test", [say("y")])
    agent = agent_for(model)
    type(agent)(model, agent.toolbox, "Be long.").run(conversation, "Hi")
    system = [message["content"] for message in model.requests[0][0] if message["role"] == "system"]
    assert system == ["Be long."]
    assert model.requests[0][0][0]["content"] == "Be long."
    assert conversation.history.size == sum(map(message_size, conversation.history.messages()))


def test_an_event_the_model_does_not_read_changes_nothing() -> None:
    played = play(*[call("look")] * 4, say("x"))
    history = History()
    for event in played.events:
        before = len(history.messages())
        history.add(event)
        unread = event.kind in ("tool_started", "guard_decision", "model_request")
        assert not unread or len(history.messages()) == before


def test_a_meter_that_has_seen_nothing_estimates_from_characters() -> None:
    history, meter = History(), Meter()
    history.add(UserMessage(text="x" * 384, turn=1, client_message_id="m"))
    assert meter.estimate(history) == (0, 100, False)


def test_what_a_conversation_read_is_known_with_turn_and_step() -> None:
    played = play(call("look", what="pen"), call("put", what="pen", count=3), say("x"))
    seen = played.conversation.knowledge.facts["pen"]
    assert (seen.fact.version, seen.turn, seen.step) == (3, 1, 2)
    assert played.conversation.knowledge.versions == {"pen": 3}


def test_a_run_is_found_among_the_runs_of_a_conversation() -> None:
    conversation = Conversation()
    runs = [play(say(word), conversation=conversation) for word in ("a", "b", "c")]
    for played in runs:
        assert conversation.run_events(played.result.run_id) == list(played.events)
    assert conversation.run_events() == list(runs[-1].events)
    assert conversation.run_events("other") == []
