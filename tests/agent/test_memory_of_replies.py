"""However much a server sends, a run keeps little of it and ends in words."""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.agent.wire import assert_readable, said
from tests.ollama_server import OllamaServer, Step, chunk

MOST_MEGABYTES = 100
RUN = """
import json, sys
from agent.views.conversation import Conversation
from agent.guards import guards_for
from agent.guards.limits import Limits
from agent.loop.agent import Agent
from agent.models.ollama import OllamaModel
from agent.tools import FunctionTools

def peak():
    # Not ru_maxrss: that of a new process begins with what the one had that started it.
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024

kept = Limits(max_seconds=45, wrap_up=False)
agent = Agent(OllamaModel("qwen3:4b", sys.argv[1]), FunctionTools(), "Be brief.", kept)
first = agent.run(Conversation(), "Hello")
idle = peak()
told = agent.run(Conversation(), "Tell me everything")
seen = {"first": first.answer, "idle": idle, "grown": peak() - idle}
print(json.dumps(seen | {"stop": told.stop_reason, "answer": told.answer}))
"""
TINY = '{"message":{"role":"assistant","content":"a"},"done":false}'
FLOODS: dict[str, Step] = {
    "one line of 50 MB": {"lines": ['{"message":{"content":"' + "x" * 50_000_000 + '"}}']},
    "one line of 50 MB without its end": {"lines": ["x" * 50_000_000], "no_newline": True},
    "a million tiny chunks": {"lines": [TINY] * 1_000_000},
    "an error of 50 MB": {"status": 500, "body": "x" * 50_000_000},
    "an error line of 50 MB": {"lines": [chunk(content="Once"), '{"error":"' + "x" * 50_000_000 + '"}']},
}


def run_against(flood: Step) -> dict[str, Any]:
    """A small reply, then the flood, in a process of its own; what that came to."""
    with OllamaServer([said("Small."), flood]) as server:
        ended = subprocess.run(
            [sys.executable, "-c", RUN, server.url], capture_output=True, text=True, timeout=90, check=False
        )
    assert ended.returncode == 0, ended.stderr
    told: dict[str, Any] = json.loads(ended.stdout)
    return told


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
def test_a_flood_grows_the_process_by_little_and_ends_in_words(flood: Step) -> None:
    told = run_against(flood)
    assert told["first"] == "Small."
    assert 0 < told["idle"] < 200
    assert told["grown"] < MOST_MEGABYTES
    assert told["stop"] == "model_error"
    assert_readable(told["answer"])
    assert len(told["answer"]) < 500
