"""Plays recordings of what Ollama servers do to the agent in the real shop, and checks what always counts."""

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

import store
from agent.cancel import Cancel
from agent.guards.limits import Limits
from agent.loop.agent import Agent
from agent.models.ollama import OllamaModel
from agent.models.ollama.wire import body_of, encoded
from agent.tools import Arg, FunctionTools, Tool, ToolOutcome
from agent.trace import ModelOptions, StopReason
from agent.views.conversation import Conversation
from agent.views.result import AgentResult
from agent.views.sent import requests_sent
from assistant.bookshop import Bookshop
from assistant.settings import DEMO_CUSTOMER, Settings
from tests.agent.playing import kinds, of
from tests.ollama_server import MODEL, OllamaServer, Step, Wire, chunk, end

T = TypeVar("T")

_LINES = Path(__file__).with_name("wire_cases.jsonl").read_text(encoding="utf-8").rstrip("\n").split("\n")
CASES: dict[str, dict[str, Any]] = {case["id"]: case for case in map(json.loads, _LINES)}
"""The recordings, by their ids: each has its kind, its symptom and its wire."""
QUESTION = "Is there anything about lighthouses?"
ANSWER = "The cheapest edition of Dune is 9.99."
"""What the recordings end with where the point of the case lies before."""
UNFIT = re.compile(
    r"<[a-z/!|]|\|>|[{}]|\"name\"|\[TOOL_CALLS|127\.0\.0\.1|localhost|https?:|Traceback|/(no_)?think\b",
    re.IGNORECASE,
)
"""What no person may read in a chat: markup, JSON, hosts, control marks."""
FAST = 0.1


@dataclass
class Played:
    """A run over the wire: what it came to, what streamed by, what the server was sent, what is in the cart."""

    result: AgentResult
    conversation: Conversation
    deltas: list[Any]
    requests: list[dict[str, Any]]
    disconnects: list[float]
    cart: dict[int, int] = field(default_factory=dict)

    @property
    def kinds(self) -> list[str]:
        return kinds(self.result.trace)

    @property
    def stop(self) -> str:
        return self.result.stop_reason

    @property
    def answer(self) -> str:
        return self.result.answer

    @property
    def replies(self) -> list[Any]:
        return self.of("model_reply")

    @property
    def results(self) -> list[str]:
        return [event.result for event in self.of("tool_finished")]

    @property
    def ran(self) -> list[tuple[str, dict[str, Any]]]:
        """The calls that ran, as repaired."""
        return [(event.call.name, event.call.arguments) for event in self.of("tool_finished") if event.ran]

    @property
    def corrections(self) -> list[str]:
        return [event.text for event in self.of("note") if event.purpose == "corrective"]

    @property
    def warnings(self) -> list[str]:
        return [words for reply in self.replies for words in reply.warnings]

    @property
    def repairs(self) -> list[str]:
        return [words for reply in self.replies for words in reply.repairs]

    @property
    def drawn(self) -> str:
        """The text that was drawn while it streamed."""
        return "".join(delta.text for delta in self.deltas if delta.kind == "text_delta")

    @property
    def record(self) -> str:
        """All events, as they are kept."""
        return "\n".join(event.model_dump_json() for event in self.result.trace)

    def of(self, kind: str) -> list[Any]:
        return of(self.result.trace, kind)

    def sent(self, number: int) -> list[dict[str, Any]]:
        """The messages of a request."""
        return self.requests[number]["messages"]

    def options(self, name: str) -> list[Any]:
        """One option, in every request."""
        return [request["options"].get(name) for request in self.requests]


def wire_of(case_id: str) -> list[Step]:
    """The recorded wire, its pauses shortened so that a test takes no second."""
    return [
        step | {name: step[name] * FAST for name in ("delay_s", "line_delay_s") if name in step}
        for step in CASES[case_id]["wire"]
    ]


def play(
    wire: str | Wire,
    shop: Bookshop | None = None,
    *,
    tools: FunctionTools | None = None,
    text: str = QUESTION,
    options: ModelOptions | None = None,
    conversation: Conversation | None = None,
    cancel: Cancel | None = None,
    watch: Callable[[Any, OllamaServer], None] = lambda item, server: None,
    server: dict[str, Any] | None = None,
    patience: float = 100.0,
    until: Callable[[OllamaServer], Any] = lambda server: True,
    **limits: Any,
) -> Played:
    """Run one turn against a recording, by its id, or a wire; in the shop, or with other tools.

    ``patience``: seconds the model may be silent; ``until``: what the server is to have seen before it goes.
    """
    steps = wire_of(wire) if isinstance(wire, str) else wire
    kept, options = Limits(**{"max_seconds": 20.0} | limits), options or ModelOptions()
    conversation = conversation or Conversation()
    with OllamaServer(steps, **server or {}) as ollama:
        model = OllamaModel(MODEL, ollama.url, first_byte_seconds=patience, stall_seconds=patience)
        if shop and not tools:
            agent = shop.agent(model, DEMO_CUSTOMER, conversation, Settings(limits=kept, options=options))
        else:
            agent = Agent(model, tools or shelf(), "Be brief.", kept, options)
        deltas, before = [], len(conversation.events)
        for item in agent.stream(conversation, text, cancel=cancel):
            deltas += [item] if item.kind.endswith("_delta") else []
            watch(item, ollama)
        assert ollama.wait_until(until)
        played = Played(AgentResult.of(conversation), conversation, deltas, ollama.requests, ollama.disconnects)
        assert_rebuilt(conversation, ollama)
    if shop:
        view = store.view_cart(shop.engine, DEMO_CUSTOMER)
        played.cart = {line.book_id: line.quantity for line in view.lines}
    assert kinds(conversation.events[before:]).count("run_finished") == 1
    assert_sound(played)
    return played


def assert_rebuilt(conversation: Conversation, server: OllamaServer) -> None:
    """All that the server received can be rebuilt from the events alone, byte for byte and in order.

    What it never received, as when it was not there, was asked for all the same.
    """
    rebuilt = iter(
        [
            encoded(body_of(sent.model, sent.messages, sent.tools, sent.options))
            for sent in requests_sent(conversation.events)
        ]
    )
    assert all(received in rebuilt for received in list(server.received)), "in order"


def assert_sound(played: Played) -> None:
    """What counts for every run, whatever the server does."""
    assert played.stop in get_args(StopReason)
    assert played.stop not in ("internal_error", "interrupted")
    assert_readable(played.answer)
    for reply in played.replies:
        assert not reply.error or reply.incomplete or reply.error.message
    asked = Counter(
        call.id for reply in of(played.conversation.events, "model_reply") for call in reply.tool_calls
    )
    finished = Counter(event.call.id for event in of(played.conversation.events, "tool_finished"))
    assert asked == finished
    assert set(asked.values()) <= {1}
    assert len(played.corrections) <= 2
    for earlier, later in pairwise(played.requests):
        assert later["messages"][: len(earlier["messages"])] == earlier["messages"], "append-only"
        assert later["tools"] in (earlier["tools"], [])
    for request in played.requests:
        assert_fit_to_send(request, played.requests[0])


def assert_readable(words: str) -> None:
    assert words.strip()
    assert not UNFIT.search(words), words


def assert_fit_to_send(request: dict[str, Any], first: dict[str, Any]) -> None:
    """One request: the same settings as the first, calls without content and each with its result, in order."""
    changing = {"num_predict", "seed", "temperature"}
    settled = [
        {name: v for name, v in body["options"].items() if name not in changing} for body in (request, first)
    ]
    assert settled[0] == settled[1]
    assert settled[0]["num_ctx"] > 0
    assert request["options"]["num_predict"] > 0
    assert (request["truncate"], request["shift"], request["stream"]) == (False, False, True)
    assert (request["model"], request["keep_alive"]) == (first["model"], first["keep_alive"])
    messages = request["messages"]
    assert any(message["role"] == "user" and message["content"].strip() for message in messages)
    for place, message in enumerate(messages):
        called = message.get("tool_calls") or []
        if message["role"] == "assistant":
            assert bool(called) != bool((message.get("content") or "").strip())
            assert place + 1 < len(messages)
            assert messages[place + 1]["role"] != "assistant"
        assert all(isinstance(call["function"]["arguments"], dict) for call in called)
        answers = [later["tool_name"] for later in messages[place + 1 : place + 1 + len(called)]]
        assert [call["function"]["name"] for call in called] == answers


def shelf() -> FunctionTools:
    """Tools of other kinds than the shop's: identifiers of digits, choices, texts that may be left out."""

    def find(
        isbn: Annotated[str, Arg("Digits.", 1, 13)], author: Annotated[str, Arg("Name.")] = "anybody"
    ) -> ToolOutcome:
        """Find a book by its number."""
        return ToolOutcome(result=f"{isbn} by {author}")

    def browse(
        query: str, sort: Literal["title", "price", "newest"] = "title", genres: str = "all"
    ) -> ToolOutcome:
        """Look along the shelf."""
        return ToolOutcome(result=f"{query} by {sort} among {genres}")

    def count(number: Annotated[int, Arg("How many.", 1, 9)] = 1) -> ToolOutcome:
        """Count."""
        return ToolOutcome(result=f"counted {number}")

    return FunctionTools(*map(Tool.of, (find, browse, count)))


def said(*parts: str | dict[str, Any], usage: tuple[int, int] | None = (120, 20), **last: Any) -> Step:
    """A step of these pieces of content, or of messages as they are, and its end."""
    lines = [chunk(content=part) if isinstance(part, str) else chunk(**part) for part in parts]
    return {"lines": [*lines, end(usage, **last)]}


def called(name: str, arguments: Any, **more: Any) -> dict[str, Any]:
    """A message with one call."""
    return more | {
        "tool_calls": [{"id": "call_1", "function": {"index": 0, "name": name, "arguments": arguments}}]
    }


def failed(status: int, error: Any) -> Step:
    return {"status": status, "body": {"error": error}}


def stop_once(phase: str, cancel: Cancel) -> Callable[[Any, OllamaServer], None]:
    """Watches for the first item of a kind, then asks the run to stop from another thread."""
    asked: list[threading.Thread] = []

    def watch(item: Any, server: OllamaServer) -> None:
        if item.kind == phase and not asked:
            asked.append(threading.Thread(target=cancel.request))
            asked[0].start()

    return watch


def in_time(work: Callable[[], T], seconds: float = 20.0) -> T:
    """Do what must end long before the pause that it could wait for."""
    results: list[T] = []
    worker = threading.Thread(target=lambda: results.append(work()), daemon=True)
    worker.start()
    worker.join(seconds)
    assert results, "it waits"
    return results[0]


def contents(messages: Sequence[dict[str, Any]], role: str) -> list[str]:
    return [message.get("content") or "" for message in messages if message["role"] == role]
