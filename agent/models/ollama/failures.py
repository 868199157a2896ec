"""What can go wrong between us and Ollama, and what each of it means to people."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from agent.models.ollama.refusals import (
    BadAddress,
    BrokeOff,
    OnlyLoaded,
    ProxyRefused,
    Refused,
    Silent,
    TooLong,
    Trouble,
    Unreachable,
    Unreadable,
)
from agent.trace import ModelFault

FAILURES = (Trouble, TimeoutError, ValueError, KeyError, AttributeError, TypeError, RecursionError)
"""All that is raised when a server misbehaves; the last five come from answers of a wrong shape."""

Sign = Callable[[Exception], bool]
"""What an exception has to be for a symptom to fit."""


def raised(*kinds: type[Exception]) -> Sign:
    """The sign that one of these was raised."""
    return lambda error: isinstance(error, kinds)


def says(pattern: str) -> Sign:
    """The sign that the server's own words match a pattern; a page is not its own."""
    words = re.compile(pattern, re.IGNORECASE)
    return lambda error: isinstance(error, Refused) and not error.is_page and bool(words.search(error.words))


def status(*codes: int, empty: bool = False) -> Sign:
    """The sign that the server answered with one of these; ``empty``: and with nothing else."""
    return lambda error: (
        isinstance(error, Refused) and error.status in codes and not (empty and error.words.strip())
    )


def shows_a_page(error: Exception) -> bool:
    """The sign that something answered which speaks to browsers, or which only leads elsewhere."""
    if not isinstance(error, Refused) or error.status is None:
        return False
    return error.is_page or error.status in range(300, 400)


def never_began(error: Exception) -> bool:
    """The sign that nothing came within the time for the first byte."""
    return isinstance(error, Silent) and not error.begun


@dataclass(frozen=True)
class Symptom:
    """A sign of trouble, the stop reason it leads to, one line for people, and whether to ask again.

    Filled into the line: ``{model}``, ``{status}`` ("(status 502)"), ``{reported}`` (": the server's words", where
    people can read them), ``{numbers}`` (of a prompt too long), ``{seconds}``.
    """

    sign: Sign
    stop_reason: Literal["model_unavailable", "model_error", "max_seconds", "context_window"]
    line: str
    retry: Literal["never", "changed", "later"] = "never"


refuses_thinking = says("not support(ed)? thinking|full thinking support|think value .* not supported")

PROXY = "A proxy answered in Ollama's place{status}. Name Ollama's address in NO_PROXY, or unset HTTP_PROXY"

SYMPTOMS = (
    # hang-hours, timeout-aborts-load: a request that was given up makes the server begin anew, so never again
    Symptom(
        never_began,
        "model_error",
        "Ollama gave no answer within {seconds} s. It may still be loading {model}: warm the model up, or "
        "choose a smaller one",
    ),
    Symptom(raised(Silent), "model_error", "Ollama fell silent in mid-answer: nothing came for {seconds} s"),
    # refused-while-streaming
    Symptom(
        raised(Unreachable),
        "model_unavailable",
        "Ollama is not running. Start it with: ollama serve",
    ),
    Symptom(raised(TimeoutError), "max_seconds", "the time was up before the model had answered"),
    Symptom(
        raised(BadAddress),
        "model_unavailable",
        "OLLAMA_HOST is not an address. Unset it, or set it to the name of a computer and a port",
    ),
    # html-error-from-proxy, empty-502-from-proxy
    Symptom(shows_a_page, "model_unavailable", PROXY),
    Symptom(status(407), "model_unavailable", PROXY),
    Symptom(status(502, 503, 504, empty=True), "model_unavailable", PROXY),
    Symptom(raised(ProxyRefused), "model_unavailable", PROXY),
    Symptom(
        says("page not found|method not allowed"),
        "model_unavailable",
        "What answers there is not Ollama, or a very old one{status}. Check OLLAMA_HOST",
    ),
    Symptom(
        says("model .*not found"),
        "model_unavailable",
        "The model {model} is not pulled. Get it with: ollama pull {model}",
    ),
    # no-tool-support-400
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
    # oom-500
    Symptom(
        says(
            "more (system|GPU) memory|out[ -]of[ -]memory|cudamalloc|(unable|failed) to allocate|"
            "terminated: .*killed"
        ),
        "model_unavailable",
        "The model {model} does not fit into memory. Set a smaller --num-ctx, choose a smaller model, or "
        "free memory",
    ),
    Symptom(
        says("timed out waiting for"),
        "model_unavailable",
        "Ollama could not load the model {model} in time. Try again when the computer is less busy, or choose a "
        "smaller model",
    ),
    # a prompt too long, or one the server cut: user-question-dropped-500
    Symptom(
        says("exceed.{0,30}context|longer than the context|prompt (is )?too long"),
        "context_window",
        "The conversation is too long for the model{numbers}. Start a new one, or set a larger --num-ctx",
    ),
    Symptom(
        says("no user (query|message) found"),
        "context_window",
        "The conversation is too long for the model{numbers}: your question was cut away. Start a new one, or set "
        "a larger --num-ctx",
    ),
    # keep-alive-string-400, args-string-in-history: the same again would be refused again
    Symptom(status(400), "model_error", "Ollama could not read the request{reported}"),
    # parse-500-nonstream, parse-error-midstream, call-cut-by-limit
    Symptom(
        says(
            "parsing tool call|failed to parse|invalid character|unexpected end of JSON|invalid tool call|"
            "token repeat limit"
        ),
        "model_error",
        "The model wrote a tool call that Ollama could not read",
        "changed",
    ),
    Symptom(raised(Unreadable), "model_error", "The model made a tool call that nobody can read", "changed"),
    # runner-crash-500, error-line-midstream
    Symptom(
        says("unexpectedly stopped|while running the model|process has terminated|no longer running|: EOF$"),
        "model_error",
        "The model crashed while Ollama ran it. Free memory, or set a smaller --num-ctx",
        "later",
    ),
    Symptom(
        says("server busy|too many requests|maximum pending requests"),
        "model_unavailable",
        "Ollama is busy with other requests",
        "later",
    ),
    Symptom(status(429), "model_unavailable", "Ollama is busy with other requests", "later"),
    Symptom(status(503), "model_unavailable", "Ollama is not ready{reported}", "later"),
    Symptom(
        status(401), "model_unavailable", "Ollama wants you to sign in to use {model}. Do so with: ollama signin"
    ),
    Symptom(status(403), "model_unavailable", "Ollama refuses to be used from here{status}. Check OLLAMA_HOST"),
    Symptom(raised(Refused), "model_error", "Ollama failed{status}{reported}"),
    # no-user-message
    Symptom(raised(OnlyLoaded), "model_error", "Ollama found no message to answer and only loaded the model"),
    Symptom(raised(TooLong), "model_error", "Ollama sent more than an answer can have"),
    # no-done-line
    Symptom(
        raised(BrokeOff),
        "model_error",
        "Ollama broke off before the answer was complete",
        "later",
    ),
    Symptom(raised(Exception), "model_error", "Ollama sent something that is no answer of a model"),
)
"""The first sign that fits counts; names of cases stand beside what they need."""


def fault_of(error: Exception, model: str, *, begun: bool = False, num_ctx: int | None = None) -> ModelFault:
    """Say in one readable line what a failure means; never markup, JSON or the name of a host.

    ``begun``: part of an answer had come, so that a pause is no cure. ``num_ctx``: the context asked for, tokens.
    """
    symptom = next(symptom for symptom in SYMPTOMS if symptom.sign(error))
    line = symptom.line.format(
        model=model,
        seconds=f"{error.seconds:g}" if isinstance(error, Silent) else "",
        **_told(error, num_ctx) if isinstance(error, Refused) else {"status": ""},
    )
    retry = "never" if begun and symptom.retry == "later" else symptom.retry
    return ModelFault(stop_reason=symptom.stop_reason, message=line, retry=retry)


def _told(error: Refused, num_ctx: int | None) -> dict[str, str]:
    """What a server told, as parts of a sentence."""
    asked, room = error.prompt_tokens, error.context_tokens or num_ctx
    numbers = f" ({asked:,} tokens, and it reads {room:,} at once)" if asked and room else ""
    return {
        "status": f" (status {error.status})" if error.status else " while it was answering",
        "reported": f": {error.readable}" if error.readable else "",
        "numbers": numbers or (f" (it reads {room:,} tokens at once)" if room else ""),
    }
