"""What our loop costs beside a bare loop on the Ollama client: same model server, same tools, same messages."""

import multiprocessing
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Annotated, Any

from sqlalchemy import event

from agent.archive import run_turn
from agent.guards.limits import UNGUARDED, Limits
from agent.loop.agent import Agent
from agent.models.ollama import OllamaModel
from agent.tools import Arg, FunctionTools, Tool, ToolOutcome
from agent.trace import ModelOptions
from assistant.bookshop import Bookshop, open_bookshop
from bench.report_table import Figure
from tests.ollama_server import Body, OllamaServer, Step, lighthouse, reply

ROUNDS, WARM_UPS = 16, 3
MODEL = "qwen3:4b"
INSTRUCTIONS = "You sell books. " * 40
RESULT = '{"id": 7, "title": "The Quiet Orchard", "author": "Mira Holt", "price": "16.50"}'
LONG_RESULT = (RESULT * 25)[:2_000]
FAR = {"max_steps": 1_000, "max_tool_calls": 10_000, "max_tokens": 10**9, "max_result_chars": None}
"""Limits that are looked at and never reached."""


@dataclass(frozen=True)
class Job:
    """A request that takes so many steps; ``weight`` is how often each candidate does it in a round."""

    text: str
    steps: int
    limits: Limits
    weight: int


SHORT = Job("Add The Last Lighthouse to my cart.", 5, Limits(), 6)
LONG = Job("Search them all.", 40, Limits(**FAR), 2)
JOBS = (SHORT, LONG)


def search_books(
    query: Annotated[str, Arg("Title, author or genre.", 1, 500)],
    max_results: Annotated[int, Arg("How many books to return.", 1, 50)] = 5,
) -> ToolOutcome:
    """Find books by title, author or genre."""
    return ToolOutcome(result=f"{query}: {LONG_RESULT}" if query.startswith("book ") else RESULT * max_results)


def check_stock(book_id: Annotated[int, Arg("The id of a book.", 1)]) -> ToolOutcome:
    """Tell how many copies of one book are in stock."""
    return ToolOutcome(result=f'{{"id": {book_id}, "in_stock": 3}}')


def add_to_cart(
    key: str,  # noqa: ARG001  # nothing is kept
    book_id: Annotated[int, Arg("The id of a book.", 1)],
    quantity: Annotated[int, Arg("How many copies to add.", 1, 20)] = 1,
) -> ToolOutcome:
    """Add copies of one book to the customer's cart."""
    return ToolOutcome(result=f'{{"added": {book_id}, "quantity": {quantity}, "cart_total": "16.50"}}')


TOOLS = (Tool.of(search_books), Tool.of(check_stock), Tool.of(add_to_cart, side_effecting=True))


class BareLoop:
    """The loop everybody writes: ask, run the calls, ask again. No record, no limits, no way to stop it."""

    def __init__(self, host: str) -> None:
        from ollama import Client  # builds a client of its own when it is imported

        self._client = Client(host, trust_env=False)
        self._tools = {tool.name: tool for tool in TOOLS}
        self._schemas = [tool.schema() for tool in TOOLS]
        options = ModelOptions().model_dump()
        self._asked = {name: options.pop(name) for name in ("think", "keep_alive")} | {"options": options}

    def __call__(self, job: Job) -> str:
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": INSTRUCTIONS},
            {"role": "user", "content": job.text},
        ]
        while True:
            text, thinking = "", ""
            calls: list[Any] = []
            for chunk in self._client.chat(MODEL, messages, tools=self._schemas, stream=True, **self._asked):
                text += chunk.message.content or ""
                thinking += chunk.message.thinking or ""
                calls += chunk.message.tool_calls or ()
            if not calls:
                return text
            made = [{"function": dict(call.function)} for call in calls]
            messages.append({"role": "assistant", "content": "", "thinking": thinking, "tool_calls": made})
            for call in calls:
                name, arguments = call.function.name, call.function.arguments
                result = self._tools[name].run(arguments, "").result
                messages.append({"role": "tool", "content": result, "tool_name": name})


class OurLoop:
    """Our loop as the terminal runs it: the trace kept in a database under a lease, guarded or not."""

    def __init__(self, shop: Bookshop, host: str, *, guarded: bool = True) -> None:
        self._shop, self._guarded = shop, guarded
        self._model = OllamaModel(MODEL, host)

    def __call__(self, job: Job) -> str:
        limits = job.limits if self._guarded else UNGUARDED.model_copy(update={"max_steps": None})
        agent = Agent(self._model, FunctionTools(*TOOLS), INSTRUCTIONS, limits)
        conversation = self._shop.archive.start("1")
        return run_turn(self._shop.archive, agent, conversation, job.text).answer


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


def figures() -> Iterator[Figure]:
    """Our loop beside a bare one; all but counts in milliseconds a step."""
    for (steps, found), target in zip(measure().items(), (1.7, 1.3), strict=True):
        bare, ours, unguarded = found["bare"], found["ours"], found["unguarded"]
        job = f"loop, {steps} steps"
        yield Figure(f"{job}: all but the server, against a bare loop", "ms", ours["own"], bare["own"], target)
        yield Figure(f"{job}: processor, against a bare loop", "ms", ours["cpu"], bare["cpu"], target)
        yield Figure(f"{job}: with the server, against a bare loop", "ms", ours["wall"], bare["wall"])
        yield Figure(f"{job}: guards on, against guards off", "ms", ours["cpu"], unguarded["cpu"], 1.1)
        yield Figure(f"{job}: transactions a step", "", found["transactions"])
        yield Figure(f"{job}: statements a step", "", found["statements"])
        for place in ("first", "last"):
            name = f"{job}: between the {place} two requests"
            yield Figure(name, "ms", ours[f"{place} share"], bare[f"{place} share"])
