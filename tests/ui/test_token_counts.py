"""The tokens of each step, as rows, as a chart and in words."""

from collections.abc import Sequence
from itertools import pairwise

import pytest

from agent.trace import AnyEvent, ModelReply, ModelRequest, Usage
from ui.token_chart import AGAIN, NEW, WRITTEN, bars, in_words, part_rows, total_rows, totals
from ui.token_counts import StepTokens, step_tokens


def request(step: int, estimated: int, again: int, *, wrap_up: bool = False) -> ModelRequest:
    return ModelRequest(
        step=step,
        new_messages=[],
        digest="",
        estimated_input_tokens=estimated,
        resent_tokens=again,
        new_tokens=estimated - again,
        wrap_up=wrap_up,
        elapsed_ms=0.0,
    )


def reply(step: int, sent: int | None, written: int | None, *, estimated: bool = False) -> ModelReply:
    usage = Usage(input_tokens=sent, output_tokens=written, estimated=estimated)
    return ModelReply(step=step, model="qwen3:4b", text="Fine.", usage=usage)


def test_a_run_has_a_bar_for_each_model_call(lighthouse: Sequence[AnyEvent]) -> None:
    steps = step_tokens(lighthouse)
    assert [step.name for step in steps] == ["1", "2", "3", "4", "5"]
    assert steps[0].again == 0
    assert all(later.again > earlier.again for earlier, later in pairwise(steps))


def test_what_the_model_counted_goes_before_what_was_estimated() -> None:
    (step,) = step_tokens([request(1, 100, 40), reply(1, 130, 20)])
    assert step == StepTokens("1", again=40, new=90, written=20, estimated=False)
    assert step.total == 150


def test_a_reply_without_a_count_leaves_the_estimate_and_says_so() -> None:
    (step,) = step_tokens([request(1, 100, 40), reply(1, None, None)])
    assert step == StepTokens("1", again=40, new=60, written=None, estimated=True)
    assert step.total == 100


def test_a_request_without_a_reply_yet_is_drawn_as_estimated() -> None:
    (step,) = step_tokens([request(1, 100, 0)])
    assert step == StepTokens("1", again=0, new=100, written=None, estimated=True)


def test_a_count_smaller_than_what_was_sent_again_makes_no_negative_bar() -> None:
    (step,) = step_tokens([request(2, 100, 80), reply(2, 50, 5)])
    assert (step.again, step.new) == (50, 0)


def test_the_wrap_up_has_a_bar_of_its_name() -> None:
    steps = step_tokens([request(1, 10, 0), reply(1, 10, 1), request(0, 20, 10, wrap_up=True), reply(0, 20, 2)])
    assert [step.name for step in steps] == ["1", "wrap-up"]


def test_nothing_asked_is_nothing_counted() -> None:
    assert step_tokens([]) == []


def test_each_step_has_three_parts_that_add_up(lighthouse: Sequence[AnyEvent]) -> None:
    steps = step_tokens(lighthouse)
    drawn = part_rows(steps).to_pylist()
    assert [row["part"] for row in drawn] == [AGAIN, NEW, WRITTEN] * 5
    for step in steps:
        assert sum(row["tokens"] for row in drawn if row["step"] == step.name) == step.total
    assert total_rows(steps).to_pylist()[-1]["total"] == sum(step.total for step in steps)


def test_the_parts_of_a_step_are_stacked_in_a_bar() -> None:
    chart = bars(step_tokens([request(1, 100, 0), reply(1, 100, 10)]))
    assert chart["mark"]["type"] == "bar"
    assert chart["encoding"]["x"]["type"] == "ordinal"
    assert chart["encoding"]["color"]["scale"]["domain"] == [AGAIN, NEW, WRITTEN]


@pytest.mark.parametrize("limit", [None, 1, 5_000])
def test_the_limit_is_a_line_on_the_scale_of_the_running_total(limit: int | None) -> None:
    line, *limits = totals(step_tokens([request(1, 100, 0), reply(1, 100, 10)]), limit)["layer"]
    assert line["encoding"]["y"]["scale"]["domain"][1] > max(110, limit or 0)
    rules = [layer["encoding"]["y"] for layer in limits if layer["mark"]["type"] == "rule"]
    assert [(rule["datum"], rule["scale"]) for rule in rules] == (
        [(limit, line["encoding"]["y"]["scale"])] if limit else []
    )


def test_a_chart_of_nothing_has_a_scale() -> None:
    chart = totals([StepTokens("1", 0, 0, None, False)], None)
    assert chart["layer"][0]["encoding"]["y"]["scale"]["domain"] == [0, 1]


@pytest.mark.parametrize(
    ("steps", "limit", "words"),
    [
        (
            [StepTokens("1", 0, 1_000, 50, False)],
            None,
            "1,050 tokens in 1 model call; 0 of them were sent before and sent again.",
        ),
        (
            [StepTokens("1", 0, 1_000, 50, False), StepTokens("2", 1_000, 200, None, True)],
            20_000,
            "About 2,250 of 20,000 tokens in 2 model calls; 1,000 of them were sent before and sent again.",
        ),
    ],
)
def test_the_chart_is_told_in_words(steps: list[StepTokens], limit: int | None, words: str) -> None:
    assert in_words(steps, limit) == words
