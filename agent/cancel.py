"""Stopping a run from outside, and waiting for a tool without being held up by it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, TypeVar, cast

T = TypeVar("T")


class Cancelled(Exception):
    """The run was stopped by a person."""


class Cancel:
    """A person's wish to stop a run: ``request()`` from any thread closes whatever the run waits for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wanted = False
        self._waits: list[Callable[[], None]] = []

    @property
    def wanted(self) -> bool:
        """Whether the run is to stop."""
        return self._wanted

    def request(self) -> None:
        """Ask the run to stop, at once in whatever it waits for."""
        with self._lock:
            self._wanted = True
            waits = list(self._waits)
        for end in waits:
            end()

    @contextmanager
    def ending(self, end: Callable[[], None]) -> Iterator[None]:
        """While inside, a request calls ``end``; a request made before calls it on entry."""
        with self._lock:
            self._waits.append(end)
            wanted = self._wanted
        if wanted:
            end()
        try:
            yield
        finally:
            with self._lock:
                self._waits.remove(end)


@dataclass
class Errand:
    """A piece of work for a Runner's thread, and what came of it."""

    work: Callable[[], Any]
    over: threading.Event = field(default_factory=threading.Event)
    results: list[Any] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)


class Runner:
    """Runs work in a thread of its own, so that whoever waits for it can stop waiting; ``close`` ends the thread.

    The thread is started with the first work and used again: starting one for each takes ten times as long.
    """

    def __init__(self) -> None:
        self._errands: SimpleQueue[Errand | None] | None = None

    def run(self, work: Callable[[], T], seconds: float | None, cancel: Cancel) -> T:
        """Return or raise what ``work`` does.

        Raises TimeoutError after ``seconds``, or Cancelled when that is asked for; the work itself cannot be
        ended and may still finish, so ask for its outcome before telling anyone that it did not happen.
        """
        if self._errands is None:
            self._errands = SimpleQueue()
            threading.Thread(target=_run_errands, args=(self._errands,), name="tools", daemon=True).start()
        errand = Errand(work)
        self._errands.put(errand)
        with cancel.ending(errand.over.set):
            errand.over.wait(seconds)
        if errand.results:
            return cast("T", errand.results[0])
        if errand.errors:
            raise errand.errors[0]
        self.close()  # that thread is held up; the next work gets another
        raise Cancelled if cancel.wanted else TimeoutError

    def close(self) -> None:
        """Let the thread end when it has nothing more to do."""
        if self._errands:
            self._errands.put(None)
        self._errands = None


def _run_errands(errands: "SimpleQueue[Errand | None]") -> None:
    while errand := errands.get():
        try:
            errand.results.append(errand.work())
        except BaseException as error:  # noqa: BLE001  # carried to the waiting thread, which raises it
            errand.errors.append(error)
        errand.over.set()
