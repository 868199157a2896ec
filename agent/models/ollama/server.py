"""What an Ollama server tells of its models.

``host`` is read like OLLAMA_HOST, which counts where it is None. A server that does not answer in time is known
for nothing.
"""

import re
import time
from collections.abc import Callable
from typing import Any, TypeVar

from agent.cancel import Cancel
from agent.models.engine import ModelCard, PulledModel, ServerState, same_model
from agent.models.ollama.failures import FAILURES
from agent.models.ollama.network import Connection, connections
from agent.models.ollama.refusals import Refused
from agent.models.ollama.wire import ask

T = TypeVar("T")

STAYS_TRUE_SECONDS = 3.0
"""How long the list of a server's models is believed where a run needs to know no more than the digest of one."""

GO_TEMPLATE = re.compile(r"\{\{-?\s*[^}]*\.(Messages|Prompt|Tools)\b")
TOOLS_IN_GO = re.compile(r"\.Tools\b|\"tool\"")
ALWAYS_THINKS = re.compile(r"assistant\s+<think>(?!\s*</think>)")
"""A template that opens a think block for the answer, whatever was asked for."""


def card_for_run(name: str, host: str | None, timeout: float) -> ModelCard:
    """What is known of a model: the server is asked for its digest every few seconds, for the rest once a digest.

    What it told is kept with the connection, so another server that takes its place is asked anew.
    """

    def look(connection: Connection, until: float) -> ModelCard:
        at, models = connection.notes.get("models", (-STAYS_TRUE_SECONDS, ()))
        pulled = ServerState(models=models).find(name)
        if pulled is None or time.monotonic() - at > STAYS_TRUE_SECONDS:
            pulled = ServerState(models=models_of(connection, until)).find(name)
        digest = pulled.digest if pulled else None
        known = connection.notes.get(f"card of {name}")
        if known is None or digest is None or known.digest != digest:
            known = card_of(name, pulled, show(connection, until, name))
            connection.notes[f"card of {name}"] = known
        return known

    return asked(host, timeout, look) or ModelCard(name)


def holds(name: str, host: str | None, timeout: float, cancel: Cancel) -> bool | None:
    """Whether a server holds a model in memory; None where it does not tell."""
    return asked(host, timeout, lambda connection, until: entry_of(connection, until, name) is not None, cancel)


def asked(
    host: str | None, timeout: float, question: Callable[[Connection, float], T], cancel: Cancel | None = None
) -> T | None:
    """Ask a server anything; None where it gives no answer in time."""
    until = time.monotonic() + timeout
    try:
        with connections().to(host, cancel or Cancel(), until) as connection:
            return question(connection, until)
    except FAILURES:
        return None


def models_of(connection: Connection, until: float) -> tuple[PulledModel, ...]:
    """The models that a server has; raises what ``ask`` raises."""
    listed = ask(connection, "/api/tags", until).get("models") or []
    told = [(model.get("model") or model.get("name"), model.get("digest"), model.get("size")) for model in listed]
    models = tuple(
        PulledModel(name, digest if isinstance(digest, str) else None, size if isinstance(size, int) else None)
        for name, digest, size in told
        if isinstance(name, str)
    )
    connection.notes["models"] = time.monotonic(), models
    return models


def show(connection: Connection, until: float, name: str) -> dict[str, Any]:
    """What a server says of one model."""
    try:
        return ask(connection, "/api/show", until, {"model": name})
    except Refused:
        return {}  # no such model, or a server too old to tell: the digest may still be known


def entry_of(connection: Connection, until: float, name: str) -> dict[str, Any] | None:
    """What a server says of a model that it holds in memory; None where it holds it not."""
    held = ask(connection, "/api/ps", until).get("models") or []
    return next((entry for entry in held if same_model(entry.get("name") or entry.get("model") or "", name)), None)


def card_of(name: str, pulled: PulledModel | None, shown: dict[str, Any]) -> ModelCard:
    """What is known of a model, from its place in the list and from what the server says of it."""
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
