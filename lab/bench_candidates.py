"""What the bench of the loop compares: two jobs, their tools, a bare loop on the Ollama client, and our loop."""

from dataclasses import dataclass
from typing import Annotated, Any

from ollama import Client

from agent.archive import run_turn
from agent.guards.limits import UNGUARDED, Limits
from agent.loop.agent import Agent
from agent.models import ModelOptions
from agent.models.ollama import OllamaModel
from agent.tools import Arg, FunctionTools, Tool, ToolOutcome
from assistant.bookshop import Bookshop

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
            text, thinking, calls = "", "", []
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
