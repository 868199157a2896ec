"""Fetching a model that a server does not have yet."""

import asyncio
import re
from collections.abc import Iterator
from contextlib import aclosing, nullcontext
from dataclasses import dataclass
from typing import Any

from agent.cancel import Cancel
from agent.models.ollama_chat import post
from agent.models.ollama_errors import BrokeOff, Refused
from agent.models.ollama_faults import FAILURES, fault_of
from agent.models.ollama_network import BadAddress, Line, switchboard
from agent.models.ollama_reading import Reading

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


class PullFailed(Exception):
    """The model is not there: one readable line says why and what to do."""


@dataclass(frozen=True)
class PullProgress:
    """How far one layer of a model has come: ``fraction`` 0 to 1, never falling, None where it is unknown.

    ``layer`` is the beginning of its digest, empty for what is done to the model as a whole.
    """

    layer: str
    fraction: float | None
    status: str


def pull(name: str, host: str | None = None, cancel: Cancel | None = None) -> Iterator[PullProgress]:
    """Have a server, OLLAMA_HOST's by default, fetch a model; ends when all is there, else raises PullFailed.

    ``cancel``, requested from any thread, ends it at once, and so does leaving the iteration.
    """
    work = _Pull(name)
    with cancel.ending(work.reading.close) if cancel else nullcontext():
        try:
            with switchboard().line(host) as line:
                yield from work.reading.run(line, work.read(line), work.fresh)
        except BadAddress as failure:
            work.failure = failure
    if work.failure or not work.succeeded:
        raise PullFailed(_words(work.failure, name))


class _Pull:
    """One pull: what has come of it, and how it ended."""

    def __init__(self, name: str) -> None:
        self.reading: Reading[PullProgress] = Reading()
        self.failure: Exception | None = None
        self.succeeded = False
        self._name = name
        self._fractions: dict[str, float] = {}
        self._fresh: list[PullProgress] = []

    async def read(self, line: Line) -> None:
        try:
            async with asyncio.timeout(SILENCE) as limit:
                async with aclosing(post(line.client, "/api/pull", {"model": self._name})) as parts:
                    async for part in parts:
                        limit.reschedule(line.loop.time() + SILENCE)
                        self._take(part)
            if not self.succeeded:
                raise BrokeOff
        except FAILURES as failure:
            self.failure = None if self.succeeded else failure

    def fresh(self) -> list[PullProgress]:
        """What is new, the latest of each layer."""
        latest = {(progress.layer, progress.status): progress for progress in self._fresh}
        self._fresh.clear()
        return list(latest.values())

    def _take(self, part: dict[str, Any]) -> None:
        status, digest = str(part.get("status") or ""), str(part.get("digest") or "")
        self.succeeded = self.succeeded or status == "success"
        layer = digest.rpartition(":")[2][:12]
        self._fresh.append(PullProgress(layer, self._fraction(layer, part) if layer else None, status[:200]))
        self.reading.ring()

    def _fraction(self, layer: str, part: dict[str, Any]) -> float | None:
        """How much of a layer has come; servers count back when they fetch a piece again."""
        total, completed = _bytes(part.get("total")), _bytes(part.get("completed") or 0)
        if total and completed is not None:
            self._fractions[layer] = max(self._fractions.get(layer, 0.0), min(completed / total, 1.0))
        return self._fractions.get(layer)


def _bytes(value: Any) -> float | None:
    """A size as the server tells it, where it can be one."""
    return float(value) if type(value) in (int, float) and 0 <= value < 2**53 else None


def _words(failure: Exception | None, name: str) -> str:
    if failure is None:
        return f"The pull was stopped. {RESUMES}"
    said = failure.words if isinstance(failure, Refused) else ""
    for pattern, line in _WORDS:
        if re.search(pattern, said, re.IGNORECASE):
            return line.format(name=name)
    return f"{fault_of(failure, name).message}. {RESUMES}"
