"""Stopping a run from outside, and waiting for a tool without being held up by it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

T = TypeVar("T")


class Closable(Protocol):
    def close(self) -> None:
        """End it, from any thread, at any moment."""


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


def run_with_deadline(work: Callable[[], T], seconds: float | None, cancel: Cancel) -> T:
    """Run ``work`` in a thread of its own and return or raise what it does.

    Raises TimeoutError after ``seconds``, or Cancelled when that is asked for; the work itself cannot be
    ended and may still finish, so ask for its outcome before telling anyone that it did not happen.
    """
    over = threading.Event()
    results: list[T] = []
    errors: list[BaseException] = []

    def body() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001  # carried to the waiting thread, which raises it
            errors.append(error)
        over.set()

    threading.Thread(target=body, name="tool", daemon=True).start()
    with cancel.ending(over.set):
        over.wait(seconds)
    if results:
        return results[0]
    if errors:
        raise errors[0]
    raise Cancelled if cancel.wanted else TimeoutError
