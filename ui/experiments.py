"""The experiment of the lab under way in this process: one at a time, in a worker thread, seen by every visitor.

A plain object, safe for all threads, as ``agent.archive.runs.Runs`` is; the worker knows nothing of pages.
"""

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

BROKE = "Something of ours broke; the rows that are here are whole."

Rows = Callable[[], Iterator[Any]]
"""Works out what an experiment shows, one row at a time."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Experiment:
    """An experiment as it stands: the rows so far of ``wanted``, and what went wrong, if anything."""

    wanted: int
    rows: tuple[Any, ...] = ()
    running: bool = True
    stopping: bool = False
    error: str = ""


class Experiments:
    """Starts, shows and stops the one experiment; the last one is remembered."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: Experiment | None = None
        self._over = threading.Event()
        self._over.set()

    def start(self, rows: Rows, wanted: int) -> bool:
        """Work out the rows in a worker thread; False if an experiment goes on already."""
        with self._lock:
            if self._last and self._last.running:
                return False
            self._last = Experiment(wanted)
            self._over.clear()
        threading.Thread(target=self._work, args=(rows,), name="experiment", daemon=True).start()
        return True

    def snapshot(self) -> Experiment | None:
        """The last experiment as it stands."""
        with self._lock:
            return self._last

    def stop(self) -> None:
        """End the experiment after the run it is at."""
        self._show(stopping=True)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until no experiment goes on; returns False after ``seconds``."""
        return self._over.wait(seconds)

    def _work(self, rows: Rows) -> None:
        error = BROKE
        try:
            for row in rows():
                last = self._show(row=row)
                if last.stopping:
                    break
            error = ""
        except Exception:
            log.exception("the experiment broke")
        finally:
            self._show(running=False, error=error)
            self._over.set()

    def _show(self, *, row: Any = None, **changes: object) -> Experiment:
        with self._lock:
            last = self._last or Experiment(0, running=False)
            rows: Sequence[Any] = (*last.rows, row) if row else last.rows
            self._last = replace(last, rows=tuple(rows), **changes)  # type: ignore[arg-type]
            return self._last
