"""The bench measures what it says: our loop takes all the steps of its jobs, and no guard cuts one short."""

import pytest

from assistant.bookshop import Bookshop
from lab.bench_candidates import JOBS, Job, OurLoop
from lab.bench_loop import played
from tests.ollama_server import OllamaServer


@pytest.mark.parametrize("guarded", [True, False])
@pytest.mark.parametrize("job", JOBS, ids=lambda job: f"{job.steps} steps")
def test_a_job_takes_all_its_steps(bookshop: Bookshop, job: Job, guarded: bool) -> None:
    with OllamaServer(played) as server:
        OurLoop(bookshop, server.url, guarded=guarded)(job)
        assert len(server.requests) == job.steps
