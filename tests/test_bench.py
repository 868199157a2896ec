"""The bench measures what it says: our loop takes all the steps of its jobs, and no guard cuts one short."""

import pytest

from assistant.bookshop import Bookshop
from bench.loop_speed import JOBS, Job, OurLoop, played
from bench.report_table import Figure, results, table
from tests.ollama_server import OllamaServer


@pytest.mark.parametrize("guarded", [True, False])
@pytest.mark.parametrize("job", JOBS, ids=lambda job: f"{job.steps} steps")
def test_a_job_takes_all_its_steps(bookshop: Bookshop, job: Job, guarded: bool) -> None:
    with OllamaServer(played) as server:
        OurLoop(bookshop, server.url, guarded=guarded)(job)
        assert len(server.requests) == job.steps


def test_a_target_is_of_the_ratio_or_of_ours_and_no_target_is_neither_met_nor_missed() -> None:
    found = results(
        [
            Figure("loop", "ms", 3.0, 2.0, 1.6),
            Figure("tick", "ms", 12.0, 100.0, 10.0, of="ours"),
            Figure("statements", "", 4.5),
        ]
    )
    assert found["ratio"].isna().tolist() == [False, False, True]
    assert [str(met) for met in found["met"]] == ["True", "False", "<NA>"]
    assert [line.split() for line in table(found).splitlines()] == [
        ["what", "unit", "ours", "baseline", "ratio", "target", "met"],
        ["loop", "ms", "3", "2", "1.5", "≤", "1.6x", "yes"],
        ["tick", "ms", "12", "100", "0.12", "≤", "10", "ms", "no"],
        ["statements", "4.5", "–", "–", "–", "–"],
    ]
