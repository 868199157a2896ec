"""The trace as a document: what is written can be read again, anything else is refused in words."""

import json
import math
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from agent.models.scripted import Line, call, say
from agent.trace import EVENT, ModelReply, ToolFinished, UserMessage
from agent.trace.documents import UnreadableTrace, dump_events, load_events
from assistant.shop_tools import ShopTools
from lab.scripts import ENDLESS, LIGHTHOUSE
from tests.agent.playing import calls, made, play

TRACE = dump_events(play(*[call("look")] * 5, say("x")).events)
FIRST = json.loads(TRACE)["events"][0]


@pytest.mark.parametrize(
    "lines",
    [LIGHTHOUSE, ENDLESS, (say("", thinking="?"),), (calls(("a", {"n": [1.5, None]}), ("b", {})), say("é"))],
)
def test_a_trace_saved_and_loaded_again_is_equal_event_for_event(engine: Engine, lines: tuple[Line, ...]) -> None:
    events = list(play(*lines, toolbox=ShopTools(engine, 1, "test")).events)
    assert load_events(dump_events(events)) == events
    assert dump_events(load_events(dump_events(events))) == dump_events(events)


def test_every_event_has_its_kind_its_step_and_the_time_in_utc() -> None:
    for event in json.loads(TRACE)["events"]:
        assert {"kind", "step", "at"} <= set(event)
        assert event["at"].endswith("Z")
    assert [event["step"] for event in json.loads(TRACE)["events"]][:6] == [0, 0, 1, 1, 1, 1]


def test_the_fields_other_programs_rely_on_are_there() -> None:
    events = {event["kind"]: event for event in json.loads(TRACE)["events"]}
    wanted = {
        "user_message": "text",
        "model_request": "estimated_input_tokens resent_tokens new_tokens wrap_up",
        "model_reply": "text thinking tool_calls usage timings_ms done_reason model repairs",
        "tool_started": "call",
        "tool_finished": "call ran ok result chars_cut duration_ms reads changes",
        "guard_decision": "guard action value threshold reason",
        "run_finished": "stop_reason answer answer_by",
    }
    missing = {kind: set(fields.split()) - set(events[kind]) for kind, fields in wanted.items()}
    assert not any(missing.values()), missing
    usage, timings = events["model_reply"]["usage"], events["model_reply"]["timings_ms"]
    assert set(usage) == {"input_tokens", "output_tokens", "cached_tokens", "estimated"}
    assert set(timings) == {"load", "prompt", "generation", "first_token", "total"}
    assert set(events["tool_finished"]["call"]) == {"id", "name", "arguments"}


TEXT = st.text(st.characters(codec="utf-8"), max_size=40)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**40), 10**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
TIMES = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
CALLS = st.builds(made, TEXT, TEXT).flatmap(
    lambda c: st.dictionaries(TEXT, JSON, max_size=3).map(lambda a: c.model_copy(update={"arguments": a}))
)
EVENTS = st.lists(
    st.builds(UserMessage, at=TIMES, text=TEXT, turn=st.integers(1, 9), client_message_id=TEXT)
    | st.builds(ModelReply, at=TIMES, model=TEXT, text=TEXT, thinking=TEXT, tool_calls=st.lists(CALLS, max_size=2))
    | st.builds(
        ToolFinished,
        at=TIMES,
        call=CALLS,
        raw_arguments=st.dictionaries(TEXT, JSON, max_size=3),
        ran=st.booleans(),
        ok=st.booleans(),
        result=TEXT,
        duration_ms=st.floats(0, 1e9),
    ),
    max_size=4,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(EVENTS)
def test_any_events_come_back_equal(events: list[Any]) -> None:
    assert load_events(dump_events(events)) == events
    assert [EVENT.validate_json(event.model_dump_json()) for event in events] == events


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan, 1e308, 10**40])
def test_any_number_a_model_writes_is_kept_in_a_form_that_comes_back_equal(number: float) -> None:
    events = list(play(call("look", what=number), say("x")).events)
    assert load_events(dump_events(events)) == events


@pytest.mark.parametrize(
    ("version", "shown"),
    [(0, "0"), (2, "2"), (99, "99"), ("1", "'1'"), (None, "None"), ([1], "[1]")],
)
def test_an_unknown_version_is_refused_in_words(version: Any, shown: str) -> None:
    with pytest.raises(UnreadableTrace) as refused:
        load_events(json.dumps({"version": version, "events": []}))
    assert str(refused.value) == f"This trace has version {shown}; this program reads version 1."


@pytest.mark.parametrize(
    "garbage",
    [
        *("", "{", "nonsense", "\0", "\ufeff" + TRACE, TRACE[:-5], "9" * 6_000, '{"version": 1}', "'x'"),
        *("[]", "null", "1", '"x"', "[" * 100_000, '{"a":' * 100_000),
        *('{"version": 1, "events": {}}', '{"version": 1, "events": null}', '{"version": 1, "events": [1]}'),
    ],
    ids=range(18),
)
def test_garbage_is_refused_in_words(garbage: str) -> None:
    with pytest.raises(UnreadableTrace, match=r"^This trace "):
        load_events(garbage)


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "run_stopped"},
        {"kind": None},
        {"at": "yesterday"},
        {"step": "one"},
        {"extra": 1},
        {"model": "x"},
        {"turn": 1.5},
        {"run_id": None},
    ],
)
def test_a_damaged_event_is_named(change: dict[str, Any]) -> None:
    document = json.dumps({"version": 1, "events": [FIRST, FIRST | change]})
    with pytest.raises(UnreadableTrace, match="damaged at event 1"):
        load_events(document)


def test_a_missing_field_is_damage() -> None:
    short = {name: value for name, value in FIRST.items() if name != "run_id"}
    with pytest.raises(UnreadableTrace, match="damaged at event 0"):
        load_events(json.dumps({"version": 1, "events": [short]}))


def test_events_are_frozen() -> None:
    event = play(say("x")).events[-1]
    with pytest.raises(ValueError, match="frozen"):
        event.answer = "other"  # type: ignore[misc]
