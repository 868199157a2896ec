"""Whether an Ollama server is there, which models it has, and what they can do."""

import asyncio
import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from ollama import AsyncClient

from agent.models.ollama_chat import ask_for, get
from agent.models.ollama_errors import Refused
from agent.models.ollama_faults import FAILURES
from agent.models.ollama_names import same_model
from agent.models.ollama_network import switchboard

T = TypeVar("T")

GO_TEMPLATE = re.compile(r"\{\{-?\s*[^}]*\.(Messages|Prompt|Tools)\b")
TOOLS_IN_GO = re.compile(r"\.Tools\b|\"tool\"")
ALWAYS_THINKS = re.compile(r"assistant\s+<think>(?!\s*</think>)")
"""A template that opens a think block for the answer, whatever was asked for."""


@dataclass(frozen=True)
class PulledModel:
    """A model a server has: its name with tag, the digest of its weights, its size in bytes."""

    name: str
    digest: str | None
    size: int | None


@dataclass(frozen=True)
class ServerState:
    """What a server said of itself; one that did not answer in time is not reachable."""

    reachable: bool = False
    version: str | None = None
    models: tuple[PulledModel, ...] = ()

    def find(self, name: str) -> PulledModel | None:
        """The model of a name; the tag ``latest`` may be left out."""
        return next((model for model in self.models if same_model(model.name, name)), None)


@dataclass(frozen=True)
class ModelCard:
    """What a server tells of one model; None is unknown, as with old servers, and all is where it has none of it.

    ``size`` is in bytes, ``context_length`` in tokens, the model's own. ``garbles_tools``: the server prints tool
    schemas for it in a way that models misread. ``thinking_only``: it thinks even when asked not to.
    """

    name: str
    digest: str | None = None
    size: int | None = None
    can_call_tools: bool | None = None
    can_think: bool | None = None
    context_length: int | None = None
    garbles_tools: bool = False
    thinking_only: bool = False


def find_server(host: str | None = None, timeout: float = 1.0) -> ServerState:
    """Ask a server, OLLAMA_HOST's by default, which models it has; answers within ``timeout`` seconds."""
    return asked(host, timeout, _look) or ServerState()


def has_model(state: ServerState, name: str) -> bool:
    """Whether the server is there and has the model."""
    return state.find(name) is not None


def describe(name: str, host: str | None = None, timeout: float = 2.0) -> ModelCard:
    """Ask a server, OLLAMA_HOST's by default, about one of its models; answers within ``timeout`` seconds."""

    async def look(client: AsyncClient) -> ModelCard:
        listed, shown = await asyncio.gather(_models(client), _show(client, name))
        return _card(name, ServerState(models=listed).find(name), shown)

    return asked(host, timeout, look) or ModelCard(name)


def asked(host: str | None, timeout: float, question: Callable[[AsyncClient], Coroutine[Any, Any, T]]) -> T | None:
    """Ask a server, OLLAMA_HOST's by default, anything; None where it gives no answer in ``timeout`` seconds."""
    try:
        with switchboard().line(host) as line:
            return line.run(asyncio.wait_for(question(line.client), timeout))
    except FAILURES:
        return None


async def _look(client: AsyncClient) -> ServerState:
    version = (await get(client, "/api/version"))["version"]
    return ServerState(reachable=True, version=str(version), models=await _models(client))


async def _models(client: AsyncClient) -> tuple[PulledModel, ...]:
    listed = (await get(client, "/api/tags")).get("models") or []
    pulled = [
        (model.get("model") or model.get("name"), model.get("digest"), model.get("size")) for model in listed
    ]
    return tuple(
        PulledModel(name, digest if isinstance(digest, str) else None, size if isinstance(size, int) else None)
        for name, digest, size in pulled
        if isinstance(name, str)
    )


async def _show(client: AsyncClient, name: str) -> dict[str, Any]:
    try:
        return await ask_for(client, "/api/show", {"model": name})
    except Refused:
        return {}  # no such model, or a server too old to tell: the digest may still be known


def _card(name: str, pulled: PulledModel | None, shown: dict[str, Any]) -> ModelCard:
    abilities = shown.get("capabilities")
    can = (lambda ability: ability in abilities) if isinstance(abilities, list) else (lambda _: None)
    template = shown.get("template") or ""
    in_go = bool(GO_TEMPLATE.search(template))
    facts = shown.get("model_info") or {}
    lengths = [value for key, value in facts.items() if key.endswith(".context_length")]
    return ModelCard(
        name=name,
        digest=pulled.digest if pulled else None,
        size=pulled.size if pulled else None,
        can_call_tools=can("tools"),
        can_think=can("thinking"),
        context_length=next((length for length in lengths if isinstance(length, int)), None),
        garbles_tools=in_go and bool(TOOLS_IN_GO.search(template)),
        thinking_only=in_go and "/no_think" not in template and bool(ALWAYS_THINKS.search(template)),
    )
