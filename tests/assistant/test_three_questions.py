"""The three questions, answered from limits and measured runs."""

from decimal import Decimal
from typing import Any

import pytest

from agent.guards.limits import PRESETS, UNGUARDED, Limits
from agent.text import nth
from agent.trace import ModelOptions, Prices, RunFinished, Usage
from assistant.faults import LEAK, Fault
from assistant.settings import Settings
from assistant.three_questions import answers
from assistant.worst_case import Averages, averages, worst_case

PRICES = Prices(input_per_million=Decimal(2), output_per_million=Decimal(10))
WIDE = ModelOptions(num_ctx=2_000_000)
MEASURED = Averages(runs=3, first=1_000, calls=5, growth=500, output=100, seconds=2.0, estimated=False)
"""The first request has 1,000 tokens and each 500 more; every reply has 100 and takes two seconds."""


def ended(calls: int, sent: int | None, written: int | None = 100, seconds: float | None = 1.0) -> RunFinished:
    return RunFinished(
        step=calls,
        stop_reason="done",
        answer="Fine.",
        answer_by="model",
        steps=calls,
        model_calls=calls,
        tool_calls=calls - 1,
        usage=Usage(input_tokens=sent, output_tokens=written),
        usage_complete=True,
        seconds=seconds,
    )


def under(**limits: Any) -> Settings:
    off = UNGUARDED.model_dump() | {"max_steps": None, "wrap_up": False}
    return Settings(limits=Limits(**(off | limits)), options=WIDE, prices=PRICES)


def said(settings: Settings, *runs: RunFinished) -> list[str]:
    return ["\n".join(answer.lines) for answer in answers(settings, runs)]


@pytest.mark.parametrize("calls", [1, 2, 5, 12])
def test_input_grows_with_the_square_of_the_steps(calls: int) -> None:
    requests = [1_000 + 500 * number for number in range(calls)]
    assert MEASURED.sent(calls) == sum(requests)


def test_growth_is_what_runs_sent_beyond_their_first_request_again_and_again() -> None:
    alone = averages([ended(1, 800)])
    both = averages([ended(1, 800), ended(5, 5 * 800 + 300 * 10)])
    assert alone
    assert both
    assert (alone.first, alone.growth) == (800, None)
    assert (both.first, both.growth, both.calls) == (800, 300, 3)
    assert both.sent(5) == 5 * 800 + 300 * 10


def test_runs_whose_tokens_nobody_counted_measure_nothing() -> None:
    assert averages([]) is None
    assert averages([ended(3, None)]) is None


@pytest.mark.parametrize(
    ("limits", "calls", "end"),
    [
        ({"max_steps": 4}, 4, "steps"),
        ({"max_steps": 4, "wrap_up": True}, 5, "steps"),
        ({"max_input_tokens": 4_500}, 3, "input tokens"),
        ({"max_input_tokens": 4_499}, 2, "input tokens"),
        ({"max_tokens": 4_700}, 3, "tokens"),
        ({"max_tokens": 4_699}, 2, "tokens"),
        ({"max_cost": Decimal("0.011")}, 3, "cost"),
        ({"max_cost": Decimal("0.0109")}, 2, "cost"),
        ({"max_seconds": 6.0}, 3, "seconds"),
        ({"max_seconds": 6.0, "wrap_up": True}, 3, "seconds"),
    ],
)
def test_the_longest_run_ends_at_the_first_limit_it_meets(limits: dict[str, Any], calls: int, end: str) -> None:
    worst = worst_case(under(**limits), MEASURED)
    assert worst
    assert (worst.calls, worst.end) == (calls, end)
    assert worst.input_tokens == MEASURED.sent(calls)
    assert worst.output_tokens == calls * 100
    assert worst.seconds == calls * 2.0


def test_a_full_context_bounds_a_run_without_limits() -> None:
    settings = Settings(
        limits=under().limits, options=ModelOptions(num_ctx=2_300)
    )  # an answer needs its room, too
    worst = worst_case(settings, MEASURED)
    assert worst
    assert (worst.calls, worst.end) == (3, "context")


def test_nothing_that_bounds_a_run_is_said() -> None:
    flat = Averages(runs=1, first=1_000, calls=1, growth=None, output=100, seconds=2.0, estimated=False)
    assert worst_case(under(), flat) is None
    assert "Nothing bounds it" in said(under(), ended(1, 500))[1]


def test_a_cost_limit_without_a_price_bounds_nothing_and_is_no_end() -> None:
    settings = Settings(limits=under(max_cost=Decimal(1)).limits, options=WIDE)
    flat = Averages(runs=1, first=1_000, calls=1, growth=None, output=100, seconds=2.0, estimated=False)
    assert worst_case(settings, flat) is None
    assert "$" not in said(settings)[0]


def test_unknown_stays_unknown_but_the_limits_still_bound_it() -> None:
    cost = said(Settings())[1]
    assert "No runs measured yet" in cost
    assert "7 model calls, 600 seconds, 20,000 tokens and one reply, 20 tool calls" in cost


def test_money_is_told_for_a_job_a_day_and_a_month() -> None:
    cost = said(under(max_steps=1), ended(1, 1_000))[1]
    assert "About $0.0030; 1,000 jobs a day cost $3.00, or $90.00 a month of 30 days." in cost
    assert "Estimate" in cost
    assert "how requests grow is not known" in cost


def test_a_model_without_a_price_is_not_called_free() -> None:
    assert "not known for any other" in said(Settings(), ended(1, 1_000))[1]


def test_every_end_that_is_set_is_named() -> None:
    settings = Settings(
        limits=PRESETS["guarded"], prices=PRICES, tool_caps={"check_stock": 2}, approve_above=Decimal(20)
    )
    stops = said(settings)[0]
    for words in (
        "after 12 steps",
        "before tool call 21",
        "60,000 input tokens",
        "$0.25",
        "90 seconds",
        "check_stock after 2 calls",
        "the same call for the 4th time",
        "the 5th call of a circle",
        "the 4th result in a row without news",
        "the 2nd failed call in a row",
        "your yes before the cart passes $20.00",
    ):
        assert words in stops


def test_no_guards_are_no_stuck_shapes() -> None:
    assert "No stuck shape ends it." in said(under())[0]


def test_a_failed_call_returns_one_line_and_never_an_inside() -> None:
    failed = said(Settings(faults={"check_stock": Fault.FAILING}))[2]
    assert "300 characters" in failed
    assert "The 3rd failure in a row ends the run; of calls that could not even run, the 4th." in failed
    assert "not run from the 3rd time on" in failed
    assert "check_stock has the fault failing" in failed
    assert LEAK not in failed


@pytest.mark.parametrize(
    ("number", "text"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (22, "22nd")]
)
def test_places_in_a_row_are_written_out(number: int, text: str) -> None:
    assert nth(number) == text
