"""What this process asks of the Ollama server beside the runs: models being pulled, models being loaded.

Plain objects, safe for all threads, as ``agent.archive.runs.Runs`` is; the workers know nothing of pages.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from agent.cancel import Cancel
from agent.models import ModelOptions
from agent.models.ollama_pull import PullFailed, PullProgress
from agent.trace import ModelFault

BROKE = "Something of ours broke."

Puller = Callable[[str, Cancel], Iterator[PullProgress]]
Loader = Callable[[str, ModelOptions], ModelFault | None]

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Pull:
    """A pull as it stands: the part of each layer that is here (0 to 1), and how it ended, if it did.

    ``error`` says so in one line unless the model is there, also of a pull that was cancelled.
    """

    layers: dict[str, float] = field(default_factory=dict)
    status: str = "starting"
    running: bool = True
    cancelled: bool = False
    error: str = ""


class Pulls:
    """Starts, shows and cancels pulls, one a model; the last one of each model is remembered."""

    def __init__(self, pull: Puller) -> None:
        self._pull = pull
        self._lock = threading.Lock()
        self._pulls: dict[str, tuple[Pull, Cancel]] = {}

    def start(self, name: str) -> None:
        """Pull a model in a worker thread; one that is being pulled already goes on."""
        with self._lock:
            known = self._pulls.get(name)
            if known and known[0].running:
                return
            cancel = Cancel()
            self._pulls[name] = Pull(), cancel
        threading.Thread(target=self._work, args=(name, cancel), name=f"pull {name}", daemon=True).start()

    def snapshot(self, name: str) -> Pull | None:
        """The last pull of a model as it stands."""
        with self._lock:
            known = self._pulls.get(name)
        return known[0] if known else None

    def running(self) -> list[str]:
        """The models that are being pulled."""
        with self._lock:
            return [name for name, (pull, _) in self._pulls.items() if pull.running]

    def cancel(self, name: str) -> None:
        """End the pull of a model at once; what has come is kept by the server."""
        with self._lock:
            known = self._pulls.get(name)
        if known:
            known[1].request()

    def _work(self, name: str, cancel: Cancel) -> None:
        error = BROKE
        try:
            for progress in self._pull(name, cancel):
                self._take(name, progress)
            error = ""
        except PullFailed as failure:
            error = str(failure)
        except Exception:
            log.exception("the pull of %s broke", name)
        finally:
            cancelled = bool(error) and cancel.wanted
            self._show(name, running=False, cancelled=cancelled, error=error)

    def _take(self, name: str, progress: PullProgress) -> None:
        """Show what has come of a layer; a server that fetches a part again never makes a bar fall."""
        with self._lock:
            layers = dict(self._pulls[name][0].layers)
        if progress.layer and progress.fraction is not None:
            part = min(max(progress.fraction, layers.get(progress.layer, 0.0), 0.0), 1.0)
            layers[progress.layer] = part
        self._show(name, layers=layers, status=progress.status)

    def _show(self, name: str, **changes: object) -> None:
        with self._lock:
            pull, cancel = self._pulls[name]
            self._pulls[name] = replace(pull, **changes), cancel  # type: ignore[arg-type]


@dataclass(frozen=True)
class WarmUp:
    """The loading of a model as it stands: since when, how long it took, and why it failed, if it did."""

    began: float
    seconds: float | None = None
    error: str = ""

    @property
    def running(self) -> bool:
        return self.seconds is None


class WarmUps:
    """Loads models with the options of the runs, each in a worker thread; the last of each is remembered."""

    def __init__(self, load: Loader) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._warm_ups: dict[tuple[str, int], WarmUp] = {}

    def start(self, name: str, options: ModelOptions) -> None:
        """Load a model; one that is being loaded with these options already goes on."""
        with self._lock:
            known = self._warm_ups.get((name, options.num_ctx))
            if known and known.running:
                return
            self._warm_ups[name, options.num_ctx] = WarmUp(time.monotonic())
        threading.Thread(target=self._work, args=(name, options), name=f"load {name}", daemon=True).start()

    def snapshot(self, name: str, num_ctx: int) -> WarmUp | None:
        """The last loading of a model with a context of ``num_ctx`` tokens."""
        with self._lock:
            return self._warm_ups.get((name, num_ctx))

    def _work(self, name: str, options: ModelOptions) -> None:
        error = BROKE
        try:
            fault = self._load(name, options)
            error = fault.message if fault else ""
        except Exception:
            log.exception("loading %s broke", name)
        finally:
            with self._lock:
                began = self._warm_ups[name, options.num_ctx].began
                self._warm_ups[name, options.num_ctx] = WarmUp(began, time.monotonic() - began, error)
