"""What can come instead of an answer: errors of the server, unpacked, and errors of the way to it."""

import json
import re
from typing import Any

LAYERS = 6
"""How deep an error may be wrapped in strings and objects: llama-server's own comes as JSON in a string."""

_NUMBERS = re.compile(r"\((\d{1,12}) tokens\) exceeds the available context size \((\d{1,12}) tokens\)")
_NOT_FOR_PEOPLE = re.compile(
    r"[<>{}\[\]\\\x00-\x1f]|\w/\w|\.\w+:\d|\d+\.\d+\.\d+|:\d{3,}|\b[a-z][\w-]*\.[a-z]{2,}|localhost|^\s*$",
    re.IGNORECASE,
)
"""Pages, JSON, several lines, paths, addresses and host names; and nothing at all."""


class Trouble(Exception):
    """There is no answer, or no whole one."""


class BadAddress(Trouble):
    """OLLAMA_HOST is no address that a server can be reached at."""


class Unreachable(Trouble):
    """Nothing takes connections at the address."""


class ProxyRefused(Trouble):
    """A proxy of the environment cannot be used, or does not let us through."""


class Refused(Trouble):
    """The server answered with an error: before the answer, with a status, or in its middle, without one.

    ``words`` are its own, unpacked; ``prompt_tokens`` and ``context_tokens`` are those of a prompt too long, where
    it told them.
    """

    def __init__(self, body: Any, status: int | None = None) -> None:
        self.status = status
        self.words, told = _unpacked(body)
        super().__init__(self.words)
        in_words = _NUMBERS.search(self.words)
        asked, room = in_words.groups() if in_words else (told.get("n_prompt_tokens"), told.get("n_ctx"))
        self.prompt_tokens, self.context_tokens = _count(asked), _count(room)

    @property
    def is_page(self) -> bool:
        """Whether this is for a browser, so not from Ollama."""
        return self.words.lstrip("\ufeff \r\n\t").startswith("<")

    @property
    def for_the_record(self) -> str:
        """The server's words on one line, for those who look into the trace; nothing where it is a page."""
        return "" if self.is_page else " ".join(self.words.split())[:300]

    @property
    def readable(self) -> str | None:
        """The server's words where they are one line for people: no markup, JSON, path or host."""
        words = self.words.strip()
        return None if _NOT_FOR_PEOPLE.search(words) else words[:200]


class BrokeOff(Trouble):
    """The connection ended, or was ended, before the answer was whole."""


class TooLong(Trouble):
    """The server sent more than any answer can have."""


class OnlyLoaded(Trouble):
    """The server loaded the model, or unloaded it, instead of answering."""


class Unreadable(Trouble):
    """All that the model had to say were calls that nobody can read."""


class Silent(TimeoutError):
    """Nothing came for a time: ``seconds``, and whether something had come before."""

    def __init__(self, seconds: float, *, begun: bool) -> None:
        super().__init__(seconds)
        self.seconds, self.begun = seconds, begun


def _unpacked(body: Any) -> tuple[str, dict[str, Any]]:
    """The words at the heart of an error, and what else the objects around them told."""
    told: dict[str, Any] = {}
    for _ in range(LAYERS):
        if isinstance(body, dict):
            told |= body
            body = next((body[name] for name in ("error", "message", "detail") if body.get(name)), "")
            continue
        inner = _parsed(body)
        if not isinstance(inner, dict | str):
            break
        body = inner
    return body if isinstance(body, str) else str(body), told


def _parsed(body: Any) -> Any:
    try:
        return json.loads(body) if isinstance(body, str) else None
    except (ValueError, RecursionError):
        return None


def _count(value: Any) -> int | None:
    digits = str(value)
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 12 else None
