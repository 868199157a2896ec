"""A process killed for real between the commit of an add and its event: the record tells the truth afterwards."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from sqlalchemy import update

import store
from agent.archive import lease
from agent.archive.lease import LAPSE_SECONDS
from agent.archive.tables import RUNS
from assistant.bookshop import Bookshop, open_bookshop
from tests.terminal.conftest import Command

ROOT = Path(__file__).parents[2]
DIES = """
import os, signal, sys
from agent.models.scripted import ScriptedModel, call, say
from assistant.bookshop import open_bookshop
from agent.archive.lease import lease
from assistant.settings import Settings
from dataclasses import replace

class Deadly:
    def __init__(self, toolbox): self.toolbox, self.tools = toolbox, toolbox.tools
    def outcome(self, key): return self.toolbox.outcome(key)
    def changes(self, known): return self.toolbox.changes(known)
    def call(self, call, key):
        if sys.argv[2] == "after":
            self.toolbox.call(call, key)
        os.kill(os.getpid(), signal.SIGKILL)

shop = open_bookshop(sys.argv[1])
conversation = shop.conversation(1, "talk")
model = ScriptedModel("dies", [call("add_to_cart", book_id=7), say("Added.")])
agent = shop.agent(model, 1, conversation, Settings())
agent = replace(agent, toolbox=Deadly(agent.toolbox))
with lease(shop.archive, conversation) as run_id:
    agent.run(conversation, "Add it.", run_id=run_id)
"""


def died(file: Path, when: str) -> None:
    """Run an add in a process that is killed before it, or after its commit, and let its lease lapse."""
    done = subprocess.run(
        [sys.executable, "-c", DIES, f"sqlite:///{file}", when], cwd=ROOT, timeout=60, env=os.environ, check=False
    )
    assert done.returncode == -signal.SIGKILL
    engine = store.open_shop(f"sqlite:///{file}")
    with engine.begin() as db:
        db.execute(update(RUNS).values(heartbeat=RUNS.c.heartbeat - LAPSE_SECONDS - 1))
    engine.dispose()


def events(shop: Bookshop) -> list[str]:
    conversation = shop.archive.find("1", "talk")
    assert conversation
    return [event.kind for event in conversation.events]


def test_an_add_that_was_committed_is_told_after_the_crash_and_not_repeated(file: Path, terminal: Command) -> None:
    died(file, "after")
    shop = open_bookshop(f"sqlite:///{file}")
    conversation = shop.archive.find("1", "talk")
    assert conversation
    finished, end = conversation.events[-2:]
    assert (finished.kind, finished.ran, finished.ok, end.stop_reason) == (  # type: ignore[union-attr]
        "tool_finished", True, True, "interrupted",
    )  # fmt: skip
    assert "Done: added 1 × The Quiet Orchard to the cart." in end.answer  # type: ignore[union-attr]
    shop.close()
    told = terminal("ask", "What is my cart total now?", "--model", "offline", "--session", "talk", "--json").json
    assert (told["stop_reason"], "$16.50" in told["answer"]) == ("done", True)
    assert told["cart"]["lines"][0]["quantity"] == 1


def test_an_add_that_never_happened_is_not_claimed(file: Path, terminal: Command) -> None:
    died(file, "before")
    shop = open_bookshop(f"sqlite:///{file}")
    conversation = shop.archive.find("1", "talk")
    assert conversation
    finished, end = conversation.events[-2:]
    assert (finished.kind, finished.ran, end.stop_reason) == ("tool_finished", False, "interrupted")  # type: ignore[union-attr]
    assert "Done:" not in end.answer  # type: ignore[union-attr]
    assert store.view_cart(shop.engine, 1).lines == ()
    shop.close()
    words = "Add The Quiet Orchard to my cart."
    again = terminal("ask", words, "--model", "offline", "--session", "talk", "--json")
    assert (again.json["stop_reason"], again.json["cart"]["total"]) == ("done", "16.50")


def test_a_question_asked_meanwhile_closes_nobody_elses_run(terminal: Command, shop: Bookshop) -> None:
    live = shop.conversation(1, "live")
    with lease(shop.archive, live):
        assert terminal("ask", "hello", "--model", "offline", "--json").json["stop_reason"] == "done"
        with shop.engine.connect() as db:
            reasons = db.execute(RUNS.select().where(RUNS.c.handle == live.handle)).all()
        assert [row.stop_reason for row in reasons] == [None]
