"""Whatever a model does, a run keeps its promises."""

from collections import Counter
from itertools import pairwise
from typing import Any, get_args

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

import store
from agent.models.scripted import Line, say
from agent.trace import StopReason
from agent.trace.documents import dump_events, load_events
from assistant.shop_tools import ShopTools
from tests.agent.playing import Shelf, calls, play

THINGS = st.sampled_from(["pen", " PEN", "ink", "a long thing with words"])
LOOKS = st.tuples(st.just("look"), st.fixed_dictionaries({}, optional={"what": THINGS}))
PUTS = st.tuples(
    st.just("put"),
    st.fixed_dictionaries({"what": THINGS}, optional={"count": st.sampled_from([1, "2", 3.0, 20, "", None])}),
)
FAILS = st.tuples(st.just("fail"), st.fixed_dictionaries({}, optional={"again": st.integers(0, 3)}))
TELLS = st.tuples(st.just("tell"), st.fixed_dictionaries({"length": st.integers(0, 9_000)}))
UNKNOWN = st.tuples(
    st.sampled_from(["", "Look ", "export", "add_to_cart"]), st.dictionaries(st.text(), st.integers())
)
BAD = st.tuples(
    st.sampled_from(["look", "put", "tell"]),
    st.dictionaries(
        st.sampled_from(["what", "count", "length", "huh"]),
        st.sampled_from([None, True, -1, 1.5, 10**30, "two", [1], {"a": [1]}, "x" * 500]),
    ),
)
CALLS = st.lists(LOOKS | PUTS | FAILS | TELLS | UNKNOWN | BAD, min_size=1, max_size=4)
LINES = st.builds(
    lambda made, text: calls(*made, text=text), CALLS, st.sampled_from(["", "I will see."])
) | st.sampled_from([say(""), say(" \n"), Line(thinking="hm"), say("Here you are.")])


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(LINES, min_size=1, max_size=9))
def test_every_run_ends_once_within_its_limits_with_every_call_answered(lines: list[Line]) -> None:
    shelf = Shelf()
    played = play(*lines, toolbox=shelf.tools())
    end = played.events[-1]
    assert played.kinds.count("run_finished") == 1
    assert end.kind == "run_finished"
    assert end.stop_reason in get_args(StopReason)
    assert end.stop_reason != "internal_error"
    assert end.answer.strip()
    assert 1 <= end.steps <= 6
    assert end.steps <= end.model_calls == len(played.model.requests) <= end.steps + 1
    assert end.tool_calls <= 20
    assert_answered_in_order(played)
    assert shelf.things == effects(played)
    assert load_events(dump_events(played.events)) == list(played.events)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(LINES, min_size=1, max_size=6), st.lists(LINES, min_size=1, max_size=6))
def test_every_request_of_a_run_begins_with_the_one_before_it(first: list[Line], second: list[Line]) -> None:
    conversation = play(*first).conversation
    played = play(*second, conversation=conversation)
    for (before, _), (after, _) in pairwise(played.model.requests):
        assert after[: len(before)] == before
    for messages, _ in played.model.requests:
        asked = [part["id"] for message in messages for part in message.get("tool_calls", [])]
        assert [message["tool_call_id"] for message in messages if message["role"] == "tool"] == asked


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(LINES, min_size=1, max_size=6))
def test_a_message_sent_twice_has_the_effects_of_one(lines: list[Line]) -> None:
    keys = []
    for _ in range(2):
        shelf = Shelf()
        play(*lines, toolbox=shelf.tools(), message_id="m1")
        keys.append(shelf.keys)
    assert keys[0] == keys[1]
    assert len(set(keys[0])) == len(keys[0])


SHOP_CALLS = st.lists(
    st.tuples(st.just("add_to_cart"), st.fixed_dictionaries({"book_id": st.sampled_from([2, 7, "7", 9, 10**6])}))
    | st.tuples(st.just("check_stock"), st.fixed_dictionaries({"book_id": st.sampled_from([2, 7.0, 9, 0])})),
    min_size=1,
    max_size=3,
)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(SHOP_CALLS.map(lambda made: calls(*made)), min_size=1, max_size=6))
def test_the_cart_holds_what_the_trace_says_was_added(engine: Engine, lines: list[Line]) -> None:
    store.clear_cart(engine, 1, by="test")
    played = play(*lines, say("There."), toolbox=ShopTools(engine, 1, "test"))
    added = [change.effect for finished in played.of("tool_finished") for change in finished.changes]
    assert all(effect.startswith("added 1 × ") for effect in added)
    assert sum(line.quantity for line in store.view_cart(engine, 1).lines) == len(added)


def assert_answered_in_order(played: Any) -> None:
    asked = [part.id for reply in played.of("model_reply") for part in reply.tool_calls]
    assert [finished.call.id for finished in played.of("tool_finished")] == asked
    ran = [finished.call.id for finished in played.of("tool_finished") if finished.ran]
    assert [started.call.id for started in played.of("tool_started")] == ran


def effects(played: Any) -> Counter[str]:
    put: Counter[str] = Counter()
    for finished in played.of("tool_finished"):
        for change in finished.changes:
            put[change.resource] += change.version - change.version_before
    return put
