"""Money in exact decimals, and the caps of single tools."""

from decimal import Decimal
from typing import Any

import pytest

from agent.guards.budgets import MaxCost
from agent.guards.limits import Limits
from agent.loop.agent import Agent
from agent.models.scripted import Line, ScriptedModel, call, say
from agent.trace import Prices, Usage
from agent.views.conversation import Conversation
from agent.views.result import AgentResult
from assistant.bookshop import Bookshop
from assistant.settings import Settings
from tests.agent.playing import Shelf, calls, of
from tests.agent.test_guards import REQUEST, STARTED, before_model, replied, tally

TENTHS = Prices(input_per_million=Decimal(100_000), output_per_million=Decimal(200_000))
"""A dime for a token read, two for a token written."""


def priced(prices: Prices | None, *events: Any) -> Any:
    run = tally()
    for event in (STARTED.model_copy(update={"prices": prices}), *events):
        run.add(event)
    return run


@pytest.mark.parametrize(
    ("limit", "stops"), [("0.6", False), ("0.59", True), ("0.5999999999999999999", True), ("0.60000001", False)]
)
def test_a_tenth_and_two_tenths_are_three_tenths(limit: str, stops: bool) -> None:
    run = priced(TENTHS, REQUEST, replied(1, 1))  # 0.1 + 0.2
    assert run.cost == Decimal("0.3")
    found = MaxCost(Decimal(limit))(before_model(3), run)
    assert found
    assert (found.action, found.stop_reason) == (("stop", "max_cost") if stops else ("pass", None))


def test_without_a_price_the_guard_is_silent_and_the_cost_unknown() -> None:
    run = priced(None, REQUEST, replied(10**9, 10**9))
    assert MaxCost(Decimal("0.01"))(before_model(10**9), run) is None
    assert run.cost is None
    assert spent(None, max_cost=Decimal("0.01")).cost is None


def spent(prices: Prices | None, **limits: Any) -> AgentResult:
    kept = Limits(**({"max_steps": None, "max_tokens": None, "wrap_up": False} | limits))
    lines = [
        Line(calls=(("look", {"what": str(n)}),), usage=Usage(input_tokens=1_000, output_tokens=100))
        for n in range(30)
    ]
    agent = Agent(ScriptedModel("t", lines), Shelf().tools(), "x", kept, prices=prices)
    return agent.run(Conversation(), "Hello")


def test_the_cost_limit_ends_three_runs_at_the_same_step_and_is_never_passed() -> None:
    prices = Prices(input_per_million=Decimal("2.50"), output_per_million=Decimal(10))  # $0.0035 a step
    ends = [spent(prices, max_cost=Decimal("0.02")) for _ in range(3)]
    assert [(end.stop_reason, end.steps, end.cost) for end in ends] == [("max_cost", 5, Decimal("0.0175"))] * 3
    (stop,) = of(ends[0].trace, "guard_decision")
    assert (stop.guard, stop.threshold) == ("max_cost", 0.02)
    assert stop.value > 0.02
    assert "the limit is $0.02" in ends[0].answer


def test_tokens_nobody_counted_are_estimated_in_the_cost() -> None:
    line = Line(calls=(("look", {}),), usage=Usage())
    agent = Agent(ScriptedModel("t", [line, say("x", usage=Usage())]), Shelf().tools(), "x", prices=TENTHS)
    result = agent.run(Conversation(), "Hello")
    assert result.usage.input_tokens is None
    assert result.cost
    assert result.cost > 0


def test_the_price_a_model_tells_is_taken_unless_another_is_set() -> None:
    own = Prices(input_per_million=Decimal(1), output_per_million=Decimal(1))
    line = say("Hi.", usage=Usage(input_tokens=10, output_tokens=10))
    for given, cost in ((None, Decimal("0.00002")), (TENTHS, Decimal(3))):
        agent = Agent(ScriptedModel("t", [line], own), Shelf().tools(), "x", prices=given)
        assert agent.run(Conversation(), "Hello").cost == cost


# Caps of single tools


def shopping(bookshop: Bookshop, *lines: Line, caps: dict[str, int]) -> AgentResult:
    conversation = Conversation()
    settings = Settings(limits=Limits(max_steps=None, max_tokens=None, wrap_up=False), tool_caps=caps)
    return bookshop.agent(ScriptedModel("t", lines), 1, conversation, settings).run(conversation, "Hello")


def checks(count: int) -> list[Line]:
    return [call("check_stock", book_id=number) for number in range(1, count + 1)]


@pytest.mark.parametrize("cap", [0, 1, 3])
def test_a_tool_may_run_as_often_as_its_own_cap_says(bookshop: Bookshop, cap: int) -> None:
    result = shopping(bookshop, *checks(9), caps={"check_stock": cap})
    ran = [event.call.name for event in of(result.trace, "tool_finished") if event.ran]
    assert (result.stop_reason, ran) == ("max_tool_calls", ["check_stock"] * cap)
    (stop,) = of(result.trace, "guard_decision")
    assert (stop.guard, stop.action, stop.value, stop.threshold) == ("tool_cap", "stop", cap, cap)
    assert f"check_stock may be called {cap} time" in result.answer


def test_the_cap_of_one_tool_is_none_for_another_and_bad_calls_are_free(bookshop: Bookshop) -> None:
    lines = [call("check_stock"), *checks(2), call("search_books", query="orchard"), say("There.")]
    assert shopping(bookshop, *lines, caps={"check_stock": 2}).stop_reason == "done"
    assert shopping(bookshop, *lines, caps={"check_stock": 2, "search_books": 0}).stop_reason == "max_tool_calls"


def test_a_cap_holds_inside_a_batch_and_the_rest_has_its_results(bookshop: Bookshop) -> None:
    batch = calls(*[("check_stock", {"book_id": number}) for number in range(1, 5)])
    result = shopping(bookshop, batch, caps={"check_stock": 2})
    assert [event.not_run for event in of(result.trace, "tool_finished")] == [None, None, "run_ended", "run_ended"]
