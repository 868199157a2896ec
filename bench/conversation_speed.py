"""What many long conversations cost: listing them, and opening one, beside reading the same rows bare."""

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, text

from agent.archive import run_turn
from agent.models.scripted import Asked, Line, ScriptedModel, call, say
from agent.views.conversation import Conversation
from assistant.bookshop import Bookshop, open_bookshop
from assistant.settings import Settings
from bench.report_table import Figure

CONVERSATIONS, TURNS, ROUNDS = 50, 40, 9
OWNER = "1"
_COPIES = {
    "agent_conversations": ":copy, owner, NULL, format, created",
    "agent_events": ":copy, position, body",
    "agent_runs": ":copy || run_id, :copy, first, last, started, worker, heartbeat, stop_reason",
}
"""The rows of a copy of a conversation, by table."""


def measure() -> dict[str, dict[str, float]]:
    """Milliseconds of processor time for listing all and opening one, ours and bare, medians."""
    with tempfile.TemporaryDirectory() as folder:
        shop = open_bookshop(f"sqlite:///{Path(folder) / 'bench.db'}")
        handle = _fill(shop)
        jobs: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
            f"list {CONVERSATIONS}": (
                lambda: shop.archive.listing.conversations(OWNER),
                lambda: _read(shop.engine, "SELECT handle, created FROM agent_conversations"),
            ),
            f"open one of {TURNS} turns": (
                lambda: shop.archive.find(OWNER, handle),
                lambda: _read(shop.engine, f"SELECT body FROM agent_events WHERE handle = '{handle}'"),  # noqa: S608
            ),
        }
        found = {name: {"ours": [], "bare": []} for name in jobs}  # type: dict[str, dict[str, list[float]]]
        for _ in range(ROUNDS):
            for name, (ours, bare) in jobs.items():
                found[name]["ours"].append(_spent(ours))
                found[name]["bare"].append(_spent(bare))
        shop.close()
    return {name: {who: statistics.median(times) for who, times in both.items()} for name, both in found.items()}


def _fill(shop: Bookshop) -> str:
    """Hold one conversation of forty turns, and copy it."""
    conversation = shop.archive.start(OWNER)
    for number in range(TURNS):
        _turn(shop, conversation, number)
    with shop.engine.begin() as db:
        for copy in range(1, CONVERSATIONS):
            names = {"copy": f"copy-{copy}", "handle": conversation.handle}
            for table, columns in _COPIES.items():
                rows = f"SELECT {columns} FROM {table} WHERE handle = :handle"  # noqa: S608  # names of our own
                db.execute(text(f"INSERT INTO {table} {rows}"), names)
    return conversation.handle


def _turn(shop: Bookshop, conversation: Conversation, number: int) -> None:
    """One turn of three steps: a search, a stock check, an answer."""

    def play(asked: Asked) -> Line:
        lines = (
            call("search_books", query="orchard"),
            call("check_stock", book_id=7),
            say("There are 15 copies."),
        )
        return lines[asked.number - 1]

    agent = shop.agent(ScriptedModel("bench", play), 1, conversation, Settings())
    run_turn(shop.archive, agent, conversation, f"Question {number}: how many copies of The Quiet Orchard?")


def _read(engine: Engine, statement: str) -> list[Any]:
    with engine.connect() as db:
        return list(db.execute(text(statement)))


def _spent(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return 1000 * (time.process_time() - began)


def figures() -> Iterator[Figure]:
    """Many long conversations beside a bare read of the same rows; processor milliseconds."""
    for what, found in measure().items():
        name = f"conversations, {what}: against a bare read"
        yield Figure(name, "ms", found["ours"], found["bare"], 100.0, of="ours")
