"""Which models a server holds in memory, and having one loaded before it is needed."""

import asyncio
import time
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from ollama import AsyncClient

from agent.models import ModelOptions
from agent.models.ollama_chat import asking, chat, get
from agent.models.ollama_faults import FAILURES, fault_of
from agent.models.ollama_names import same_model
from agent.models.ollama_network import Line, switchboard
from agent.models.ollama_state import asked
from agent.trace import ModelFault


@dataclass(frozen=True)
class Loaded:
    """A model in memory: the context it was loaded with, in tokens, and how much of it lies on the GPU, 0 to 1."""

    context_length: int | None
    on_gpu: float | None


def loaded(name: str, host: str | None = None, timeout: float = 1.0) -> Loaded | None:
    """How a server, OLLAMA_HOST's by default, has loaded a model; None where it has not, or does not tell."""
    entry = asked(host, timeout, lambda client: _entry(client, name))
    if entry is None:
        return None
    size, on_gpu, context = (entry.get(key) for key in ("size", "size_vram", "context_length"))
    share = min(on_gpu / size, 1.0) if isinstance(size, int) and isinstance(on_gpu, int) and size > 0 else None
    return Loaded(context if isinstance(context, int) else None, share)


def warm_up(
    name: str, host: str | None = None, options: ModelOptions | None = None, seconds: float = 300.0
) -> ModelFault | None:
    """Load a model with the options it will be asked with; returns what went wrong. Takes up to ``seconds``."""
    try:
        with switchboard().line(host) as line:
            line.run(_load(line, asking(name, options or ModelOptions()), seconds))
    except FAILURES as failure:
        return fault_of(failure, name)
    return None


async def is_loaded(client: AsyncClient, name: str) -> bool:
    """Whether the server holds the model in memory; raises what ``get`` raises."""
    return await _entry(client, name) is not None


async def _entry(client: AsyncClient, name: str) -> dict[str, Any] | None:
    held = (await get(client, "/api/ps")).get("models") or []
    return next((entry for entry in held if same_model(entry.get("name") or entry.get("model") or "", name)), None)


async def _load(line: Line, request: dict[str, Any], seconds: float) -> None:
    async with asyncio.timeout_at(time.monotonic() + seconds):
        async with aclosing(chat(line.client, {**request, "messages": []})) as parts:
            async for _ in parts:
                pass
