"""An experiment of the lab: worked out in a thread, one at a time in this process, and drawn for every visitor."""

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from agent.text import counted

BROKE = "Something of ours broke; the rows that are here are whole."

Rows = Callable[[], Iterator[Any]]
"""Works out what an experiment shows, one row at a time."""

TICK_SECONDS = 0.5

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
    """Starts, shows and stops the one experiment of a kind; the last one is remembered.

    A plain object, safe for all threads, as ``agent.archive.runs.Runs`` is; the worker knows nothing of pages.
    """

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

    @property
    def running(self) -> bool:
        """Whether an experiment goes on."""
        last = self.snapshot()
        return last is not None and last.running

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


@dataclass(frozen=True)
class Start:
    """A button that starts an experiment: its label and key, what is worked out, and how many rows that makes."""

    label: str
    key: str
    rows: Rows
    wanted: int


def draw_buttons(experiments: Experiments, starts: Sequence[Start], stop_key: str, *, running: bool) -> None:
    """Draw the ways to start an experiment, and Stop while one goes on."""

    def begin(start: Start) -> None:
        if not experiments.start(start.rows, start.wanted):
            st.session_state.notice = "Another experiment goes on; this one can start when it is over."

    with st.container(horizontal=True):
        for start in starts:
            st.button(start.label, on_click=begin, args=(start,), key=start.key, disabled=running)
        if running:
            st.button("Stop", on_click=experiments.stop, key=stop_key, icon=":material/stop_circle:")


def draw_progress(
    experiments: Experiments, unit: str, draw_rows: Callable[[Sequence[Any]], None], *, running: bool
) -> None:
    """Draw how far the experiment has come, in "run" or "trial", and its rows, again and again while it goes on.

    ``running`` is what the page saw when it began to be drawn: when that is over, all of it is drawn anew.
    """

    @st.fragment(run_every=TICK_SECONDS if running else None)
    def tick() -> None:
        now = experiments.snapshot()
        if now is None:
            return
        if running and not now.running:
            st.rerun()
        done = f"{len(now.rows)} of {counted(now.wanted, unit)}"
        if now.running:
            doing = f"Stopping after this {unit}" if now.stopping else "Running"
            share = len(now.rows) / now.wanted if now.wanted else 0.0
            st.progress(share, text=f"{doing}: {done} are done.")
        elif now.error:
            st.error(now.error)
        elif len(now.rows) < now.wanted:
            st.caption(f"Stopped after {done}.")
        if now.rows:
            draw_rows(now.rows)

    tick()
