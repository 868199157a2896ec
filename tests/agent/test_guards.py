"""Guards: each policy asked by hand, at the moments the loop would ask it."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.guards import guards_for
from agent.guards.before_answer import UnusableReply
from agent.guards.budgets import Backstop, MaxSeconds, MaxSteps, MaxToolCalls, TokenBudget, ToolCap
from agent.guards.context import ContextWindow
from agent.guards.guard import AfterTool, BeforeAnswer, BeforeModel, BeforeTool, Decision, Guard, Moment
from agent.guards.limits import PRESETS, UNGUARDED, Limits
from agent.guards.stuck import ErrorStreak, NoNews, PingPong, RepeatedCall
from agent.tools import Tool
from agent.trace import (
    AnyEvent,
    Change,
    ModelInfo,
    ModelReply,
    ModelRequest,
    Note,
    RunStarted,
    ToolFinished,
    Usage,
)
from agent.views.run import Tally
from agent.views.tokens import Estimate
from tests.agent.playing import Shelf, made

LOOK = Tool.of(Shelf().look)

STARTED = RunStarted(
    run_id="r", turn=1, model=ModelInfo(name="m", label="m"), settings={}, instructions="", tools=[]
)
REQUEST = ModelRequest(
    new_messages=[], digest="", estimated_input_tokens=70, resent_tokens=0, new_tokens=70, elapsed_ms=0
)
CORRECTED = Note(purpose="corrective", text="again")


def replied(read: int | None = 100, written: int | None = 10, text: str = "") -> ModelReply:
    return ModelReply(model="m", text=text, usage=Usage(input_tokens=read, output_tokens=written))


def ran(mark: str = "a", *, changed: bool = False, was_run: bool = True) -> ToolFinished:
    changes = [Change(resource="cart", version_before=0, version=1, value="1", effect="x")] if changed else []
    return ToolFinished(
        call=made(),
        raw_arguments={},
        ran=was_run,
        ok=True,
        not_run=None if was_run else "guard",
        result="",
        fingerprint=mark,
        changes=changes,
        side_effecting=changed,
    )


def tally(*events: AnyEvent) -> Tally:
    run = Tally()
    for event in (STARTED, *events):
        run.add(event)
    return run


def decided(guard: Guard, moment: Moment, run: Tally) -> Decision | None:
    """What a guard decides; None where it is silent, or was not asked."""
    found = guard(moment, run)
    return None if found is None or found.action == "pass" else found


def before_model(tokens: int = 100, elapsed: float = 0.0) -> BeforeModel:
    return BeforeModel(elapsed, Estimate(0, tokens, calibrated=False))


def before_tool(mark: str = "a", elapsed: float = 0.0) -> BeforeTool:
    return BeforeTool(elapsed, made(), mark, LOOK)


def before_answer(text: str = "", elapsed: float = 0.0) -> BeforeAnswer:
    reply = replied(text=text)
    unusable = None if text.strip() else "empty"
    return BeforeAnswer(elapsed, reply.model_copy(update={"unusable": unusable}), ("look",))


EVERY_MOMENT = (before_model(9**9, 9**9), before_tool("a", 9**9), AfterTool(9**9, ran()), before_answer("", 9**9))


@pytest.mark.parametrize(("asked", "decides"), [(0, False), (2, False), (3, True), (4, True)])
def test_max_steps_stops_the_request_after_the_last_step(asked: int, decides: bool) -> None:
    decision = decided(MaxSteps(3), before_model(), tally(*[REQUEST] * asked))
    assert (decision is not None) is decides
    assert decision is None or (decision.stop_reason, decision.value, decision.threshold) == (
        "max_steps",
        asked,
        3,
    )


def test_the_wrap_up_is_no_step() -> None:
    wrap_up = REQUEST.model_copy(update={"wrap_up": True})
    assert decided(MaxSteps(2), before_model(), tally(REQUEST, wrap_up)) is None


@pytest.mark.parametrize(("calls", "decides"), [(4, False), (5, True)])
def test_max_tool_calls_counts_calls_that_ran(calls: int, decides: bool) -> None:
    run = tally(*[ran(str(number)) for number in range(calls)], ran(was_run=False), ran(was_run=False))
    decision = decided(MaxToolCalls(5), before_tool("new"), run)
    assert (decision is not None) is decides
    assert decision is None or decision.stop_reason == "max_tool_calls"


@pytest.mark.parametrize(("next_size", "stops"), [(780, False), (781, True)])
def test_the_token_budget_counts_what_was_spent_and_what_comes(next_size: int, stops: bool) -> None:
    run = tally(REQUEST, replied(100, 10), REQUEST, replied(100, 10))
    decision = decided(TokenBudget(1_000, counts_output=True), before_model(next_size), run)
    assert (decision is not None) is stops
    assert decision is None or (decision.stop_reason, decision.value) == ("max_tokens", 1_001)


@pytest.mark.parametrize(("next_size", "stops"), [(800, False), (801, True)])
def test_the_input_token_budget_leaves_output_out(next_size: int, stops: bool) -> None:
    run = tally(REQUEST, replied(100, 9_999), REQUEST, replied(100, 9_999))
    decision = decided(TokenBudget(1_000, counts_output=False), before_model(next_size), run)
    assert (decision is not None) is stops
    assert decision is None or decision.stop_reason == "max_input_tokens"


def test_a_reply_without_counts_is_charged_with_its_estimate() -> None:
    run = tally(REQUEST, replied(None, None, text="x" * 40))
    assert (run.spent_input_tokens, run.spent_tokens) == (70, 80)
    assert (run.usage_complete, run.usage.input_tokens, run.usage.output_tokens) == (False, None, None)


@pytest.mark.parametrize("moment", [before_model(elapsed=5.0), before_tool(elapsed=5.0)])
def test_max_seconds_stops_between_calls(moment: Moment) -> None:
    decision = decided(MaxSeconds(5), moment, tally())
    assert decision is not None
    assert decision.stop_reason == "max_seconds"
    assert decided(MaxSeconds(5.1), moment, tally()) is None


@pytest.mark.parametrize("moment", [AfterTool(9, ran()), before_answer("x", 9)])
def test_max_seconds_takes_no_answer_away(moment: Moment) -> None:
    assert decided(MaxSeconds(5), moment, tally()) is None


@pytest.mark.parametrize(
    ("before", "action"),
    [
        ([], None),
        ([ran()], None),
        ([ran(), ran()], "nudge"),
        ([ran(), ran(), ran("b")], "nudge"),
        ([ran(), ran("b"), ran("c")], None),
        ([ran(), ran(), ran(was_run=False)], "stop"),
        ([ran(), ran(), ran("b", changed=True)], None),
        ([ran(changed=True), ran(changed=True)], "nudge"),
        ([ran(changed=True), ran("b", changed=True), ran(changed=True), ran("b")], "nudge"),
    ],
)
def test_the_identical_call_is_counted_from_the_last_change(before: list[AnyEvent], action: str | None) -> None:
    decision = decided(RepeatedCall(3, 4), before_tool("a"), tally(*before))
    assert (decision and decision.action) == action


@given(st.integers(2, 6), st.integers(0, 9), st.integers(0, 9))
def test_without_a_stop_the_repeated_call_is_refused_for_ever(nudge_at: int, same: int, other: int) -> None:
    run = tally(*[ran("a")] * same, *[ran("b")] * other)
    decision = decided(RepeatedCall(nudge_at, None), before_tool("a"), run)
    assert (decision is None) == (same + 1 < nudge_at)
    assert decision is None or (decision.action, decision.stop_reason) == ("nudge", None)


@pytest.mark.parametrize(
    ("text", "tries", "action"), [("Hi", 5, None), ("", 0, "nudge"), (" \n", 1, "nudge"), ("", 2, "stop")]
)
def test_an_empty_answer_is_asked_for_again_twice(text: str, tries: int, action: str | None) -> None:
    decision = decided(UnusableReply(2), before_answer(text), tally(*[CORRECTED] * tries))
    assert (decision and decision.action) == action
    assert action != "stop" or (decision and decision.stop_reason) == "empty_answer"


@pytest.mark.parametrize(
    ("guard", "kind"),
    [
        (MaxSteps(1), BeforeModel),
        (TokenBudget(1, counts_output=True), BeforeModel),
        (MaxToolCalls(0), BeforeTool),
        (RepeatedCall(2, 2), BeforeTool),
        (UnusableReply(0), BeforeAnswer),
    ],
)
def test_a_guard_is_silent_at_every_moment_but_its_own(guard: Guard, kind: type) -> None:
    run = tally(REQUEST, REQUEST, ran(), ran())
    assert [type(moment) for moment in EVERY_MOMENT if decided(guard, moment, run)] == [kind]


@pytest.mark.parametrize("moment", EVERY_MOMENT)
def test_a_reason_is_one_line_with_its_numbers(moment: Moment) -> None:
    run = tally(REQUEST, REQUEST, ran(), ran(), CORRECTED, CORRECTED)
    limits = Limits(max_steps=1, max_tool_calls=1, max_tokens=1, max_input_tokens=1, max_seconds=1)
    for decision in filter(None, (decided(guard, moment, run) for guard in guards_for(limits, 16_384))):
        assert 0 < len(decision.reason) <= 300
        assert "\n" not in decision.reason


@pytest.mark.parametrize(
    ("off", "gone"),
    [
        ("max_steps", MaxSteps),
        ("max_tool_calls", MaxToolCalls),
        ("max_tokens", TokenBudget),
        ("max_seconds", MaxSeconds),
        ("repeat_nudge_at", RepeatedCall),
        ("ping_pong_nudge_at", PingPong),
        ("no_news_nudge_at", NoNews),
        ("error_streak", ErrorStreak),
    ],
)
def test_a_limit_that_is_off_has_no_guard(off: str, gone: type) -> None:
    assert any(isinstance(guard, gone) for guard in guards_for(Limits(), 16_384))
    kept: dict[str, Any] = {off: None, off.replace("nudge", "stop"): None}
    assert not any(isinstance(guard, gone) for guard in guards_for(Limits(**kept), 16_384))


def test_the_presets_are_those_of_the_design() -> None:
    names = ("max_steps", "max_tool_calls", "max_tokens", "max_input_tokens", "max_seconds", "max_result_chars")
    rows = {name: tuple(getattr(limits, item) for item in names) for name, limits in PRESETS.items()}
    assert rows == {
        "default": (6, 20, 20_000, None, 600, 2_000),
        "first post": (6, None, 20_000, None, 240, None),
        "guarded": (12, 20, None, 60_000, 90, 4_000),
    }
    repeats = [(limits.repeat_nudge_at, limits.repeat_stop_at) for limits in PRESETS.values()]
    assert repeats == [(3, 4), (3, None), (3, 4)]
    circles = [(limits.ping_pong_nudge_at, limits.ping_pong_stop_at) for limits in PRESETS.values()]
    assert circles == [(4, 5), (None, None), (4, 5)]
    no_news = [(limits.no_news_nudge_at, limits.no_news_stop_at) for limits in PRESETS.values()]
    assert no_news == [(3, 4), (None, None), (3, 4)]
    assert [limits.error_streak for limits in PRESETS.values()] == [3, None, 2]
    assert [limits.max_cost for limits in PRESETS.values()] == [None, None, Decimal("0.25")]
    assert all(limits.replay_writes and limits.wrap_up for limits in PRESETS.values())


def test_without_guards_a_cap_of_40_steps_remains() -> None:
    assert UNGUARDED.max_steps == 40
    assert [type(guard) for guard in guards_for(UNGUARDED, 16_384)] == [
        MaxSteps,
        ToolCap,
        UnusableReply,
        ContextWindow,
        Backstop,
    ]


@pytest.mark.parametrize(
    "wrong", [{"max_steps": 0}, {"max_steps": -1}, {"max_tokens": 0}, {"max_seconds": 0}, {"max_stepz": 1}]
)
def test_impossible_limits_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="max_"):
        Limits(**wrong)
