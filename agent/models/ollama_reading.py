"""Reading from a server in the thread that iterates, to be broken off from any other."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Any, Generic, TypeVar

from agent.models.ollama_network import Line

T = TypeVar("T")


class Reading(Generic[T]):
    """One piece of reading on a line: runs the line's loop until something has come, hands it on, and so forth."""

    def __init__(self) -> None:
        self.closed = False
        self._bell: asyncio.Future[None] | None = None
        self._running: tuple[Line, asyncio.Task[None]] | None = None

    def run(self, line: Line, work: Coroutine[Any, Any, None], fresh: Callable[[], Iterable[T]]) -> Iterator[T]:
        """Iterate what ``fresh`` gives whenever ``ring`` was called, until the work is done or broken off.

        Leaving the iteration breaks the work off. What the work raises is raised here.
        """
        task = line.loop.create_task(work)
        task.add_done_callback(lambda _: self.ring())
        self._running = line, task
        if self.closed:  # by someone who could not see yet what to cancel
            task.cancel()
        try:
            while not task.done():
                self._bell = line.loop.create_future()
                line.loop.run_until_complete(self._bell)
                yield from fresh()
            if not task.cancelled():
                task.result()
        finally:
            self._running = None
            if not task.done():
                task.cancel()
                line.run(asyncio.wait({task}))

    def ring(self) -> None:
        """Say, in the line's loop, that something has come."""
        if self._bell and not self._bell.done():
            self._bell.set_result(None)

    def close(self) -> None:
        """Break off, from any thread, at any moment."""
        self.closed = True
        if running := self._running:
            line, task = running
            line.loop.call_soon_threadsafe(task.cancel)
