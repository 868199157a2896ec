"""What can go wrong between us and Ollama, and what each of it means to people."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import httpx
from ollama import ResponseError

from agent.models.ollama_network import BadAddress
from agent.shapes import ModelFault


class BrokeOff(Exception):
    """The stream ended without its last line."""


FAILURES = (
    ResponseError,
    BrokeOff,
    ConnectionError,
    TimeoutError,
    httpx.HTTPError,
    httpx.InvalidURL,
    ValueError,
    KeyError,
    AttributeError,
    TypeError,
    RecursionError,
)
"""All that is raised when a server misbehaves; the last five come from answers of a wrong shape."""


@dataclass(frozen=True)
class Symptom:
    """A sign of trouble, the stop reason it leads to, and one line for people; ``{model}`` is filled in."""

    sign: Callable[[Exception], bool]
    stop_reason: Literal["model_unavailable", "model_error", "max_seconds"]
    line: str


def raised(*kinds: type[Exception]) -> Callable[[Exception], bool]:
    """The sign that the client raised one of these."""
    return lambda error: isinstance(error, kinds)


def says(pattern: str) -> Callable[[Exception], bool]:
    """The sign that the server's own words match a pattern."""
    words = re.compile(pattern, re.IGNORECASE)
    return lambda error: isinstance(error, ResponseError) and bool(words.search(str(error.error)))


refuses_thinking = says("does not support thinking")

SYMPTOMS = (
    Symptom(raised(TimeoutError), "max_seconds", "the time was up before the model had answered"),
    Symptom(
        raised(httpx.ConnectError, httpx.ConnectTimeout, ConnectionError),
        "model_unavailable",
        "Ollama is not running. Start it with: ollama serve",
    ),
    Symptom(
        raised(BadAddress, httpx.InvalidURL, httpx.UnsupportedProtocol),
        "model_unavailable",
        "OLLAMA_HOST is not an address. Unset it, or set it like: export OLLAMA_HOST=localhost",
    ),
    Symptom(
        says("model .*not found"),
        "model_unavailable",
        "The model {model} is not pulled. Get it with: ollama pull {model}",
    ),
    Symptom(
        says("does not support (tools|chat)"),
        "model_unavailable",
        "The model {model} cannot call tools. Choose one that can, such as qwen3:4b",
    ),
    Symptom(
        refuses_thinking,
        "model_unavailable",
        "The model {model} cannot think apart. Switch thinking off, or choose another model",
    ),
    Symptom(
        raised(BrokeOff, httpx.TransportError), "model_error", "Ollama broke off before the answer was complete"
    ),
    Symptom(
        raised(ValueError, KeyError, AttributeError, TypeError, RecursionError),
        "model_error",
        "Ollama sent something that is no answer of a model",
    ),
)
"""The first sign that fits counts."""

_NOT_FOR_PEOPLE = re.compile(
    r"[<>{}\[\]\n\\]|\w/\w|\.\w+:\d|\d+\.\d+\.\d+|:\d{3,}|\b[a-z][\w-]*\.[a-z]{2,}|localhost|^\s*$"
)
"""Pages, JSON, several lines, paths, addresses and host names; and nothing at all."""


def fault_of(error: Exception, model: str) -> ModelFault:
    """Say in one readable line what a failure means; never markup, JSON or the name of a host."""
    for symptom in SYMPTOMS:
        if symptom.sign(error):
            return ModelFault(stop_reason=symptom.stop_reason, message=symptom.line.format(model=model))
    return ModelFault(stop_reason="model_error", message=_in_its_own_words(error))


def _in_its_own_words(error: Exception) -> str:
    words = str(error.error if isinstance(error, ResponseError) else error)
    if not _NOT_FOR_PEOPLE.search(words):
        return f"Ollama reports: {words.strip()[:200]}"
    status = error.status_code if isinstance(error, ResponseError) else -1
    return f"Ollama failed with status {status}" if status > 0 else "Ollama failed while it was answering"
