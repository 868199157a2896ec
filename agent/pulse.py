"""The sign of life of the runs this process works on: one thread for all of them, while there are any."""

import threading
from collections.abc import Callable, Collection
from contextlib import suppress

BEAT_SECONDS = 2.0


class Pulse:
    """Calls ``renew`` with the runs that are held, every few seconds.

    The thread outlives the last run by a beat, so that runs in quick succession do not start one each.
    """

    def __init__(self, renew: Callable[[Collection[str]], object]) -> None:
        self._renew = renew
        self._lock = threading.Lock()
        self._held: set[str] = set()
        self._beating = False

    def hold(self, run_id: str) -> None:
        """Keep a run alive from now on."""
        with self._lock:
            self._held.add(run_id)
            if not self._beating:
                self._beating = True
                threading.Thread(target=self._beat, name="pulse", daemon=True).start()

    def drop(self, run_id: str) -> None:
        """Keep it alive no longer."""
        with self._lock:
            self._held.discard(run_id)

    def _beat(self) -> None:
        pause = threading.Event()
        while not pause.wait(BEAT_SECONDS):
            with self._lock:
                held = set(self._held)
                self._beating = bool(held)
            if not held:
                return
            # A database that fails now gets the next sign; several in a row fit into a lease.
            with suppress(Exception):
                self._renew(held)
