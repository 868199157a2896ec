"""The guard ledger and the stop card, read from recorded runs."""

import json
from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any, get_args

import pytest

from agent.guards.budgets import BACKSTOP, Backstop, Misconfigured
from agent.guards.ledger import Entry
from agent.guards.limits import PRESETS, Limits
from agent.loop.agent import Agent
from agent.loop.tool_call import Approval
from agent.models.scripted import Line, ScriptedModel, call, say
from agent.trace import AnyEvent, StopReason
from agent.trace.documents import dump_events, load_events
from agent.trace.stop_reasons import STOPS
from agent.views.conversation import Conversation
from agent.views.result import AgentResult
from assistant.bookshop import Bookshop
from assistant.settings import Settings
from assistant.stopping import labelled, run_ledger, share, stop_card
from lab.scripts import LIGHTHOUSE
from tests.agent.playing import Shelf, calls, kinds, of

GUARDS = [
    "max_steps",
    "max_seconds",
    "max_tokens",
    "max_tool_calls",
    "tool_cap",
    "ping_pong",
    "repeated_call",
    "replay_writes",
    "error_streak",
    "no_new_information",
    "unusable_reply",
    "context_window",
]
"""Those of the default limits, in the order they are asked."""


def events_of(bookshop: Bookshop, *lines: Line, **more: Any) -> Sequence[AnyEvent]:
    conversation = Conversation()
    agent = bookshop.agent(ScriptedModel("t", lines), 1, conversation, Settings(**more))
    return agent.run(conversation, "Hello").trace


def entries(bookshop: Bookshop, events: Sequence[AnyEvent], step: int) -> dict[str, Entry]:
    (found,) = [each for each in run_ledger(bookshop, events) if each.step == step]
    return {entry.guard: entry for entry in found.entries}


def test_each_step_tells_what_every_guard_looked_at(bookshop: Bookshop) -> None:
    events = events_of(bookshop, *LIGHTHOUSE)
    steps = run_ledger(bookshop, events)
    assert [step.step for step in steps] == [1, 2, 3, 4, 5]
    assert all([entry.guard for entry in step.entries] == GUARDS for step in steps)
    states = [{entry.guard: entry.state for entry in step.entries} for step in steps]
    assert {state for step in states for state in step.values()} == {"silent", "not asked"}
    fourth = entries(bookshop, events, 4)
    assert (fourth["max_steps"].value, fourth["max_steps"].threshold) == (3, 6)
    assert (fourth["max_tool_calls"].value, fourth["max_tool_calls"].threshold) == (3, 20)
    assert (fourth["repeated_call"].value, fourth["repeated_call"].threshold) == (1, 3)
    assert (fourth["replay_writes"].state, fourth["replay_writes"].value) == ("silent", 0)
    assert states[2]["replay_writes"] == "not asked"  # a read is none of its business
    assert states[3]["tool_cap"] == "not asked"  # no tool has one
    assert states[3]["unusable_reply"] == "not asked"
    assert states[4]["unusable_reply"] == "silent"
    requests = of(events, "model_request")
    assert fourth["max_tokens"].value == sum(
        (reply.usage.input_tokens + reply.usage.output_tokens for reply in of(events, "model_reply")[:3]),
        start=requests[3].estimated_input_tokens,
    )


def test_a_guard_after_the_deciding_one_was_not_asked(bookshop: Bookshop) -> None:
    same = call("add_to_cart", book_id=7)
    events = events_of(bookshop, same)
    third = entries(bookshop, events, 3)
    assert (third["repeated_call"].state, third["repeated_call"].action) == ("acted", "nudge")
    assert third["replay_writes"].state == "not asked"
    second = entries(bookshop, events, 2)
    assert (second["repeated_call"].state, second["replay_writes"].action) == ("silent", "replay")
    fourth = entries(bookshop, events, 4)
    assert (fourth["repeated_call"].action, fourth["repeated_call"].value) == ("stop", 4)


def test_the_ledger_is_the_same_for_a_trace_saved_and_loaded(bookshop: Bookshop) -> None:
    events = events_of(bookshop, calls(("check_stock", {"book_id": 2}), ("nothing", {})), *LIGHTHOUSE)
    assert run_ledger(bookshop, load_events(dump_events(events))) == run_ledger(bookshop, events)


def test_of_a_call_that_waited_for_a_person_the_guards_were_asked_once_before(bookshop: Bookshop) -> None:
    events = events_of(bookshop, call("add_to_cart", book_id=7), approve_above=Decimal(1))
    assert of(events, "run_finished")[0].stop_reason == "not_approved"
    first = entries(bookshop, events, 1)
    assert (first["max_tool_calls"].state, first["replay_writes"].state) == ("silent", "silent")
    card = stop_card(bookshop, events)
    assert card
    assert (card.decided, card.stop_reason) == (None, "not_approved")


def test_the_card_has_the_deciding_value_and_the_others_nearest_first(bookshop: Bookshop) -> None:
    events = events_of(bookshop, *LIGHTHOUSE, limits=Limits(max_steps=3, max_tool_calls=4, max_tokens=None))
    card = stop_card(bookshop, events)
    assert card
    assert (card.stop_reason, card.ending.because) == ("max_steps", "it reached the limit of steps")
    assert card.decided == Entry("max_steps", "acted", 3, 3, "stop")
    assert labelled(card.decided) == "Steps 3 of 3"
    shares = [share(entry) for entry in card.others]
    assert shares == sorted(shares, reverse=True)
    assert (card.others[0].guard, card.others[0].value) == ("max_tool_calls", 3)
    assert not {"max_steps", "replay_writes", "unusable_reply"} & {entry.guard for entry in card.others}


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (Entry("max_tokens", "acted", 1_234_567, 1_200_000), "Tokens 1,234,567 of 1,200,000"),
        (Entry("max_seconds", "acted", 90.1, 90.0), "Seconds 90.1 of 90"),
        (Entry("max_cost", "acted", 0.30000000000000004, 0.25), "Cost, dollars $0.3000 of $0.25"),
        (Entry("tool_cap", "acted", 0, 0), "Calls of one tool 0 of 0"),
        (Entry("one_of_a_test", "silent", 2, 3), "one_of_a_test 2 of 3"),
        (Entry("max_steps"), "Steps 0 of 0"),
    ],
)
def test_figures_are_written_out_as_people_write_them(entry: Entry, words: str) -> None:
    assert labelled(entry) == words


@pytest.mark.parametrize("events", [[], None])
def test_a_run_that_goes_on_or_is_done_has_no_card(bookshop: Bookshop, events: list[AnyEvent] | None) -> None:
    done = events_of(bookshop, say("Hi."))
    assert stop_card(bookshop, done) is None
    assert stop_card(bookshop, done[:-1] if events is None else events) is None


def test_every_stop_reason_has_its_row_in_the_order_of_the_list() -> None:
    assert tuple(STOPS) == get_args(StopReason)
    assert all(stop.kind and stop.because for stop in STOPS.values())


NEW = ("moment", "elapsed_ms", "estimated_input_tokens", "call_id")


def aged(events: Sequence[AnyEvent]) -> list[AnyEvent]:
    """The events as they were stored before guards told their moment and settings the caps."""
    older = json.loads(dump_events(events))
    for event in older["events"]:
        match event["kind"]:
            case "guard_decision":
                for name in NEW:
                    del event[name]
            case "run_started":
                del event["prices"]
                kept = event["settings"]
                for name in ("tool_caps", "approve_above", "faults"):
                    del kept[name]
                for name in ("replay_writes", "max_cost", "error_streak", "no_news_stop_at", "ping_pong_stop_at"):
                    del kept["limits"][name]
            case "tool_finished":
                for name in ("found", "refused", "not_run"):
                    del event[name]
            case "model_request":
                del event["calibrated"]
    return load_events(json.dumps(older))


@pytest.mark.parametrize(
    "lines", [LIGHTHOUSE[:1], LIGHTHOUSE, [call("nothing")], [say("")]], ids=["same", "job", "unknown", "empty"]
)
def test_an_older_trace_has_a_ledger_and_a_card_too(bookshop: Bookshop, lines: list[Line]) -> None:
    old = aged(events_of(bookshop, *lines, limits=Limits(max_steps=4)))
    assert run_ledger(bookshop, old)
    card = stop_card(bookshop, old)
    end = old[-1]
    assert end.kind == "run_finished"
    stops = [event for event in of(old, "guard_decision") if event.action == "stop"]
    assert (card is None) == (end.stop_reason == "done")
    if card and stops:
        assert card.decided
        assert (card.decided.guard, card.decided.value) == (stops[0].guard, stops[0].value)


# The backstop


@pytest.mark.parametrize("limit", [1, 3])
def test_a_missing_guard_is_reported_two_steps_after_its_limit(limit: int) -> None:
    kept, conversation = Limits(max_steps=None, max_tokens=None), Conversation()
    lines = [call("look", what=str(number)) for number in range(20)]
    agent = Agent(ScriptedModel("t", lines), Shelf().tools(), "x", kept, extra_guards=[Backstop(limit)])
    with pytest.raises(Misconfigured, match=f"took {limit + BACKSTOP} steps .* limit of {limit}"):
        agent.run(conversation, "Hello")
    result = AgentResult.of(conversation)
    assert (result.stop_reason, result.steps) == ("internal_error", limit + BACKSTOP)
    assert kinds(conversation.events).count("run_finished") == 1
    assert "bug of ours" in result.answer


def test_with_its_guard_the_backstop_is_the_last_one_asked_and_never_reached() -> None:
    for limits in PRESETS.values():
        lines = [call("look", what=str(number)) for number in range(20)]
        agent = Agent(
            ScriptedModel("t", lines), Shelf().tools(), "x", limits, extra_guards=[lambda moment, run: None]
        )
        assert agent.guards[-1] == Backstop(limits.max_steps or 0)
        assert agent.run(Conversation(), "Hello").stop_reason == "max_steps"


def test_the_time_a_person_took_is_in_no_entry_of_the_ledger(bookshop: Bookshop) -> None:
    conversation, settings = Conversation(), Settings(limits=Limits(max_seconds=60), approve_above=Decimal(1))
    lines = [call("add_to_cart", book_id=7), call("check_stock", book_id=7), say("There.")]
    agent = bookshop.agent(ScriptedModel("t", lines), 1, conversation, settings)
    yes = Approval(approved=True, by="test")
    events = agent.run(conversation, "Add it.", approve=lambda request: yes).trace
    answered = next(place for place, event in enumerate(events) if event.kind == "approval_answered")
    hour = timedelta(hours=1)
    late = [
        event.model_copy(update={"at": event.at + hour * (place >= answered)})
        for place, event in enumerate(events)
    ]
    seconds = [
        entry.value
        for step in run_ledger(bookshop, late)
        for entry in step.entries
        if entry.guard == "max_seconds"
    ]
    assert len(seconds) == 3
    assert all(value is not None and value < 60 for value in seconds)
