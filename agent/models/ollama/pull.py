"""Fetching a model that a server does not have yet."""

import math
import re
import time
from collections.abc import Iterator
from typing import Any

from agent.cancel import Cancel
from agent.models.engine import PullFailed, PullProgress
from agent.models.ollama.failures import FAILURES, fault_of
from agent.models.ollama.network import connections
from agent.models.ollama.refusals import BrokeOff, Refused
from agent.models.ollama.wire import stream

SILENCE = 300.0
"""Seconds without a sign of life after which a pull has failed; checking a large layer takes a minute."""

RESUMES = "What has come is kept: pull again to go on from there"

_WORDS = (
    ("newer version of ollama", "The model needs a newer Ollama. Update it, then pull again"),
    ("file does not exist|manifest.*not found", "The registry has no model {name}"),
    ("no space left", "The disk is full. Free some space, then pull again"),
    ("max retries exceeded|EOF|timeout|connection|no such host|dial tcp", f"The download broke off. {RESUMES}"),
)
"""What a server says of a failed pull, and what that means to people; the first that fits counts."""


def pull(name: str, host: str | None, cancel: Cancel) -> Iterator[PullProgress]:
    """Have a server, OLLAMA_HOST's where that is None, fetch a model; raises PullFailed unless all is there.

    ``cancel``, requested from any thread, ends it at once, and so does leaving the iteration. Progress that comes
    together is one for each layer.
    """
    news = _News()
    failure: Exception = BrokeOff()
    try:
        with connections().to(host, cancel, math.inf) as connection:
            until = time.monotonic() + SILENCE
            for part in stream(connection, "/api/pull", {"model": name, "stream": True}, until):
                if part is None:
                    yield from news.fresh()
                    connection.wait(until)
                else:
                    until = time.monotonic() + SILENCE
                    news.take(part)
    except FAILURES as error:
        failure = error
    yield from news.fresh()
    if not news.succeeded:
        raise PullFailed(f"The pull was stopped. {RESUMES}" if cancel.wanted else _words(failure, name))


class _News:
    """What a server has told of one pull, and of that what nobody has heard yet."""

    def __init__(self) -> None:
        self.succeeded = False
        self._fractions: dict[str, float] = {}
        self._fresh: dict[tuple[str, str], PullProgress] = {}

    def take(self, part: dict[str, Any]) -> None:
        status, digest = str(part.get("status") or ""), str(part.get("digest") or "")
        self.succeeded = self.succeeded or status == "success"
        layer = digest.rpartition(":")[2][:12]
        fraction = self._fraction(layer, part) if layer else None
        self._fresh[layer, status] = PullProgress(layer, fraction, status[:200])

    def fresh(self) -> Iterator[PullProgress]:
        """What is new, the latest of each layer."""
        fresh, self._fresh = self._fresh, {}
        yield from fresh.values()

    def _fraction(self, layer: str, part: dict[str, Any]) -> float | None:
        """How much of a layer has come; servers count back when they fetch a piece again."""
        total, completed = _bytes(part.get("total")), _bytes(part.get("completed") or 0)
        if total and completed is not None:
            self._fractions[layer] = max(self._fractions.get(layer, 0.0), min(completed / total, 1.0))
        return self._fractions.get(layer)


def _bytes(value: Any) -> float | None:
    """A size as the server tells it, where it can be one."""
    return float(value) if type(value) in (int, float) and 0 <= value < 2**53 else None


def _words(failure: Exception, name: str) -> str:
    said = failure.words if isinstance(failure, Refused) else ""
    for pattern, line in _WORDS:
        if re.search(pattern, said, re.IGNORECASE):
            return line.format(name=name)
    return f"{fault_of(failure, name).message}. {RESUMES}"
