"""What this process has a model's server do beside the runs: fetch a model, load one.

Plain objects, safe for all threads, as ``agent.archive.runs.Runs`` is; the workers know nothing of pages.
"""

import logging
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace

from agent.cancel import Cancel
from agent.models.engine import PullProgress

BROKE = "Something of ours broke."

Tell = Callable[[PullProgress], None]
Work = Callable[[Tell, Cancel], str]
"""Does something and tells how far it has come; returns in one line why it is not done, "" where it is."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Chore:
    """A piece of work as it stands: when it began, what it took, the part of each layer that is here (0 to 1).

    Times are on the monotonic clock, in seconds. ``error`` says in one line how it ended, unless all is done, also
    where it was cancelled.
    """

    began: float = field(default_factory=time.monotonic)
    seconds: float | None = None
    layers: dict[str, float] = field(default_factory=dict)
    status: str = "starting"
    cancelled: bool = False
    error: str = ""

    @property
    def running(self) -> bool:
        return self.seconds is None


class Chores:
    """Starts, shows and cancels pieces of work, each under a key and in its own thread; keeps the last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._chores: dict[Hashable, tuple[Chore, Cancel]] = {}

    def start(self, key: Hashable, work: Work) -> None:
        """Start a piece of work; one that goes on under this key already goes on."""
        with self._lock:
            known = self._chores.get(key)
            if known and known[0].running:
                return
            cancel = Cancel()
            self._chores[key] = Chore(), cancel
        threading.Thread(target=self._work, args=(key, work, cancel), name=f"{key}", daemon=True).start()

    def snapshot(self, key: Hashable) -> Chore | None:
        """The last piece of work under a key as it stands."""
        with self._lock:
            known = self._chores.get(key)
        return known[0] if known else None

    def cancel(self, key: Hashable) -> None:
        """End a piece of work at once, as far as it can be ended."""
        with self._lock:
            known = self._chores.get(key)
        if known:
            known[1].request()

    def cancel_all(self) -> None:
        """End all that goes on."""
        with self._lock:
            under_way = [cancel for chore, cancel in self._chores.values() if chore.running]
        for cancel in under_way:
            cancel.request()

    def _work(self, key: Hashable, work: Work, cancel: Cancel) -> None:
        error = BROKE
        try:
            error = work(lambda progress: self._take(key, progress), cancel)
        except Exception:
            log.exception("%s broke", key)
        finally:
            chore = self._chores[key][0]
            taken = time.monotonic() - chore.began
            self._show(key, replace(chore, seconds=taken, cancelled=bool(error) and cancel.wanted, error=error))

    def _take(self, key: Hashable, progress: PullProgress) -> None:
        """Show how far it has come, in the one thread that changes this chore."""
        chore, layers = self._chores[key][0], {}
        if progress.layer and progress.fraction is not None:
            layers = {progress.layer: progress.fraction}
        self._show(key, replace(chore, layers=chore.layers | layers, status=progress.status))

    def _show(self, key: Hashable, chore: Chore) -> None:
        with self._lock:
            self._chores[key] = chore, self._chores[key][1]
