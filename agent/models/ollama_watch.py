"""Watching over a request that is silent: for how long it may be, and what the server is at meanwhile."""

import asyncio
from collections.abc import Callable
from typing import Literal

from agent.models.ollama_errors import Silent
from agent.models.ollama_faults import FAILURES
from agent.models.ollama_loaded import is_loaded
from agent.models.ollama_network import Line

Phase = Literal["connecting", "loading the model", "reading the prompt", "thinking", "answering"]
"""What a request waits for, as far as it can be known."""

FIRST_LOOK, LOOK_EVERY = 0.25, 2.0
"""Seconds until the server is first asked whether it has loaded the model, and until it is asked again."""


class Watch:
    """Watches one request from within its loop; ``phase`` can be read from any thread.

    One timer looks now and then at when something came last: setting a timer anew for each line would be dearer.
    """

    def __init__(
        self,
        line: Line,
        model: str,
        first_byte_seconds: float,
        stall_seconds: float,
        changed: Callable[[], None],
    ) -> None:
        self.phase: Phase = "connecting"
        self.silent: Silent | None = None
        """Set once the patience has ended, just before the time limit of the request is."""
        self._line, self._model = line, model
        self._first_byte_seconds, self._stall_seconds = first_byte_seconds, stall_seconds
        self._changed = changed
        self._begun = False
        self._looking: asyncio.Task[None] | None = None

    def start(self, limit: asyncio.Timeout) -> None:
        """Begin to wait for the first byte; ``limit`` is ended early where nothing comes."""
        self._limit, self._heard_at = limit, self._line.loop.time()
        self._look_timer = self._line.loop.call_later(FIRST_LOOK, self._look)
        self._stall_timer = self._line.loop.call_later(self._first_byte_seconds, self._check)

    def heard(self, phase: Phase | None) -> None:
        """Something came; ``phase`` where it tells what the model is at."""
        self._heard_at = self._line.loop.time()
        self.phase = phase or self.phase
        if not self._begun:
            self._begun = True
            self._stop_looking()
            self._stall_timer.cancel()
            self._stall_timer = self._line.loop.call_later(self._stall_seconds, self._check)

    async def stop(self) -> None:
        """End the watch, and what it may be asking the server."""
        self._stop_looking()
        self._stall_timer.cancel()
        if self._looking:
            await asyncio.wait({self._looking})

    def _check(self) -> None:
        loop = self._line.loop
        patience = self._stall_seconds if self._begun else self._first_byte_seconds
        left = self._heard_at + patience - loop.time()
        if left > 0:
            self._stall_timer = loop.call_later(left, self._check)
            return
        if self._limit.expired():
            return
        self.silent = Silent(patience, begun=self._begun)
        self._limit.reschedule(loop.time())

    def _look(self) -> None:
        self._looking = self._line.loop.create_task(self._tell_phase())
        self._look_timer = self._line.loop.call_later(LOOK_EVERY, self._look)

    def _stop_looking(self) -> None:
        self._look_timer.cancel()
        if self._looking:
            self._looking.cancel()

    async def _tell_phase(self) -> None:
        try:
            async with asyncio.timeout(LOOK_EVERY / 2):
                loaded = await is_loaded(self._line.client, self._model)
        except FAILURES:
            return  # a server that is too busy, or too old, to tell
        if not self._begun:
            self.phase = "reading the prompt" if loaded else "loading the model"
            self._changed()
