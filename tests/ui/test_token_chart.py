"""The tokens of each step as a chart and in words."""

from collections.abc import Sequence

import pytest

from agent.trace import AnyEvent
from tests.agent.test_frames import reply, request
from ui.panels.token_chart import AGAIN, NEW, WRITTEN, token_chart


def test_each_step_has_three_parts_that_add_up(lighthouse: Sequence[AnyEvent]) -> None:
    chart = token_chart(lighthouse, None)
    assert chart
    drawn = chart.rows.to_pylist()
    assert [row["step"] for row in drawn] == ["1", "2", "3", "4", "5"]
    running = 0
    for row in drawn:
        running += row[AGAIN] + row[NEW] + row[WRITTEN]
        assert row["total"] == running


def test_the_wrap_up_has_a_bar_of_its_name_and_what_is_unknown_has_none() -> None:
    chart = token_chart([request(1, 10, 0), reply(1, 10, None), request(0, 20, 10, wrap_up=True)], None)
    assert chart
    assert [(row["step"], row[WRITTEN]) for row in chart.rows.to_pylist()] == [("1", 0), ("wrap-up", 0)]


def test_nothing_asked_is_nothing_drawn() -> None:
    assert token_chart([], None) is None


def test_the_parts_of_a_step_are_stacked_in_a_bar() -> None:
    chart = token_chart([request(1, 100, 0), reply(1, 100, 10)], None)
    assert chart
    assert chart.bars["mark"]["type"] == "bar"
    assert chart.bars["transform"][0] == {"fold": [AGAIN, NEW, WRITTEN], "as": ["part", "tokens"]}
    assert chart.bars["encoding"]["x"]["type"] == "ordinal"
    assert chart.bars["encoding"]["color"]["scale"]["domain"] == [AGAIN, NEW, WRITTEN]


@pytest.mark.parametrize("limit", [None, 1, 5_000])
def test_the_limit_is_a_line_on_the_scale_of_the_running_total(limit: int | None) -> None:
    chart = token_chart([request(1, 100, 0), reply(1, 100, 10)], limit)
    assert chart
    line, *limits = chart.totals["layer"]
    assert line["encoding"]["y"]["scale"]["domain"][1] > max(110, limit or 0)
    rules = [layer["encoding"]["y"] for layer in limits if layer["mark"]["type"] == "rule"]
    assert [(rule["datum"], rule["scale"]) for rule in rules] == (
        [(limit, line["encoding"]["y"]["scale"])] if limit else []
    )


def test_a_chart_of_nothing_has_a_scale() -> None:
    chart = token_chart([request(1, 0, 0)], None)
    assert chart
    assert chart.totals["layer"][0]["encoding"]["y"]["scale"]["domain"] == [0, 1]


@pytest.mark.parametrize(
    ("events", "limit", "words"),
    [
        (
            [request(1, 900, 0), reply(1, 1_000, 50)],
            None,
            "1,050 tokens in 1 model call; 0 of them were sent before and sent again.",
        ),
        (
            [request(1, 1_000, 0), reply(1, 1_000, 50), request(2, 1_200, 1_000)],
            20_000,
            "About 2,250 of 20,000 tokens in 2 model calls; 1,000 of them were sent before and sent again.",
        ),
    ],
)
def test_the_chart_is_told_in_words(events: list[AnyEvent], limit: int | None, words: str) -> None:
    chart = token_chart(events, limit)
    assert chart
    assert chart.words == words
