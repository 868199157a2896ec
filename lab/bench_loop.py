"""What our loop costs beside a bare loop on the Ollama client: same model server, same tools, same messages.

python -m lab.bench_loop
"""

import json
import multiprocessing
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from sqlalchemy import event

from assistant.bookshop import Bookshop, open_bookshop
from lab.bench_candidates import JOBS, LONG, SHORT, BareLoop, Job, OurLoop
from tests.ollama_server import Body, OllamaServer, Step, lighthouse, reply

ROUNDS, WARM_UPS = 16, 3

Candidate = Callable[[Job], str]


@dataclass(frozen=True)
class Cost:
    """Milliseconds of one job: all of it, the server's part, our processor time; and ours before each request."""

    wall: float
    server: float
    cpu: float
    shares: list[float]


class ServerProcess:
    """The scripted server in a process of its own; ``marks`` tells when it was asked and what that took it."""

    def __enter__(self) -> "ServerProcess":
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        self.url: str = self._pipe.recv()
        return self

    def __exit__(self, *failure: object) -> None:
        self._pipe.send(False)
        self._process.join()

    def marks(self) -> list[tuple[float, float]]:
        """Wall and processor seconds at each request since the last call, and now."""
        self._pipe.send(True)
        taken: list[tuple[float, float]] = self._pipe.recv()
        return taken


def played(body: Body) -> Step:
    """The reply that comes next in the job a request is about."""
    messages = body["messages"]
    if messages[1]["content"] == SHORT.text:
        return lighthouse(body)
    number = 1 + sum(message["role"] == "tool" for message in messages)
    if number == LONG.steps:
        return reply("That was all there is.")
    return reply(thinking="I look further.", calls=[("search_books", {"query": f"book {number}"})])


def _serve(pipe: Connection) -> None:
    marks: list[tuple[float, float]] = []

    def answer(body: Body) -> Step:
        marks.append((time.perf_counter(), time.process_time()))
        server.requests.clear()
        return played(body)

    with OllamaServer(answer) as server:
        pipe.send(server.url)
        while pipe.recv():
            taken, marks[:] = [*marks, (time.perf_counter(), time.process_time())], []
            pipe.send(taken)


def measure(rounds: int = ROUNDS) -> dict[int, dict[str, Any]]:
    """Let all candidates do all jobs, interleaved; for each number of steps the medians, in milliseconds a step.

    ``own`` is the wall time without the server's processor time. ``transactions`` and ``statements`` are counts
    of our loop, a step.
    """
    with tempfile.TemporaryDirectory() as folder, ServerProcess() as server:
        shop = open_bookshop(f"sqlite:///{Path(folder) / 'bench.db'}")
        candidates: dict[str, Candidate] = {
            "bare": BareLoop(server.url),
            "ours": OurLoop(shop, server.url),
            "unguarded": OurLoop(shop, server.url, guarded=False),
        }
        costs: dict[tuple[Job, str], list[Cost]] = {(job, who): [] for job in JOBS for who in candidates}
        for number in range(-WARM_UPS, rounds):
            visits = [visit for visit in costs for _ in range(1 if number < 0 else visit[0].weight)]
            for job, who in random.sample(visits, len(visits)):
                cost = _cost(server, candidates[who], job)
                costs[job, who] += [cost] if number >= 0 else []
        counts = {job: _counts(shop, candidates["ours"], job) for job in JOBS}
        shop.close()
    return {job.steps: {who: _medians(job, costs[job, who]) for who in candidates} | counts[job] for job in JOBS}


def _cost(server: ServerProcess, candidate: Candidate, job: Job) -> Cost:
    server_began = server.marks()[-1][1]
    began, cpu_began = time.perf_counter(), time.process_time()
    candidate(job)
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu_began
    *asked, end = server.marks()
    if len(asked) != job.steps:
        raise RuntimeError(f"a job of {job.steps} steps sent {len(asked)} requests")
    shares = [1000 * (then[0] - at[0] - (then[1] - at[1])) for at, then in pairwise(asked)]
    return Cost(1000 * wall, 1000 * (end[1] - server_began), 1000 * cpu, shares)


def _medians(job: Job, costs: list[Cost]) -> Mapping[str, float]:
    return {
        "wall": statistics.median(cost.wall for cost in costs) / job.steps,
        "own": statistics.median(cost.wall - cost.server for cost in costs) / job.steps,
        "cpu": statistics.median(cost.cpu for cost in costs) / job.steps,
        "first share": statistics.median(cost.shares[0] for cost in costs),
        "last share": statistics.median(cost.shares[-1] for cost in costs),
    }


def _counts(shop: Bookshop, candidate: Candidate, job: Job) -> dict[str, float]:
    """Transactions and statements a step; those that begin the conversation and end the run are among them."""
    commits: list[Any] = []
    statements: list[Any] = []
    event.listen(shop.engine, "commit", lambda *seen: commits.append(seen))
    event.listen(shop.engine, "before_cursor_execute", lambda *seen: statements.append(seen))
    candidate(job)
    return {"transactions": len(commits) / job.steps, "statements": len(statements) / job.steps}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(), indent=2) + "\n")
