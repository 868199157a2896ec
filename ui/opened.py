"""The one shop of this server process, and what is known of the servers of models."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from agent.cancel import Cancel
from agent.models.engine import ModelCard, PullFailed, ServerState
from agent.trace import ModelOptions
from assistant.bookshop import Bookshop, open_bookshop
from assistant.choose_model import ENGINES, engine_of
from assistant.settings import PREFERRED_MODEL
from ui.chores import Chore, Chores, Tell
from ui.lab.experiments import Experiments

T = TypeVar("T")

LOOK_AGAIN_SECONDS = 15.0
FIRST_LOOK_SECONDS = 1.5
"""How long a page waits to see for the first time whether there is a server."""
BRIEFLY = 0.3
"""Seconds; a page waits no longer for anything else, and shows what was known before."""


@dataclass
class Looked(Generic[T]):
    """An answer of the server, some seconds old at most, looked for in a thread of its own."""

    look: Callable[[], T]
    answer: T
    at: float | None = None
    looking: threading.Event | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, patience: float, *, afresh: bool = False) -> T:
        """The latest answer; who finds it too old starts a look, and waits ``patience`` seconds for it."""
        if afresh and (under_way := self.looking):
            under_way.wait(patience)  # it began before what is to be seen now
        with self.lock:
            old = self.at is None or time.monotonic() - self.at > LOOK_AGAIN_SECONDS
            looking = self.looking
            if looking is None and (old or afresh):
                looking = self.looking = threading.Event()
                threading.Thread(target=self._look, args=(looking,), name="look at a server", daemon=True).start()
            elif self.at is not None and not afresh:
                return self.answer  # if it is old, somebody looks already
        if looking:
            looking.wait(patience)
        with self.lock:
            return self.answer

    def _look(self, looking: threading.Event) -> None:
        try:
            answer = self.look()
            with self.lock:
                self.answer = answer
        finally:
            with self.lock:
                self.at, self.looking = time.monotonic(), None
            looking.set()


class Opened:
    """Opens the shop once a process, and looks at the servers of models now and then; safe for all threads.

    Models go by the names they are chosen by. It lives in an imported module, since every visitor can clear
    Streamlit's own caches for everybody.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shop: Bookshop | None = None
        self._forget()

    def _forget(self) -> None:
        self._servers = {engine: Looked(engine.find_server, ServerState()) for engine in ENGINES.values()}
        self._cards: dict[str, Looked[ModelCard | None]] = {}
        self._chores = Chores()
        self.experiments, self.stale_experiments = Experiments(), Experiments()

    def shop(self) -> Bookshop:
        """The shop; raises ShopUnavailable in words if it cannot be opened, and tries again the next time."""
        with self._lock:
            if self._shop is None:
                self._shop = open_bookshop()
            return self._shop

    def server(self, model: str = PREFERRED_MODEL, *, afresh: bool = False) -> ServerState:
        """What a model's server said, at most some seconds ago; one that hangs holds up the first look alone."""
        with self._lock:
            server = self._servers[engine_of(model)[0]]
        patience = FIRST_LOOK_SECONDS if afresh or server.at is None else BRIEFLY
        return server.get(patience, afresh=afresh)

    def look_again(self) -> None:
        """See at once whether there is a server, where none was seen."""
        self.server(afresh=True)

    def card(self, model: str) -> ModelCard | None:
        """What the server tells of a model it has; None while that is not known."""
        engine, name = engine_of(model)
        with self._lock:
            card = self._cards.setdefault(model, Looked(lambda: engine.describe(name), None))
        return card.get(BRIEFLY)

    def start_pull(self, model: str) -> None:
        """Have a model fetched, unless it is being fetched already."""
        self._chores.start(("pull", model), lambda tell, cancel: self._pull(model, tell, cancel))

    def pull(self, model: str) -> Chore | None:
        """The last fetching of a model as it stands."""
        return self._chores.snapshot(("pull", model))

    def cancel_pull(self, model: str) -> None:
        """End the fetching of a model at once; what has come is kept by the server."""
        self._chores.cancel(("pull", model))

    def start_warm_up(self, model: str, options: ModelOptions) -> None:
        """Have a model loaded with the options of the runs, unless it is being loaded with them already."""
        self._chores.start(("load", model, options.num_ctx), lambda *_: _load(model, options))

    def warm_up(self, model: str, num_ctx: int) -> Chore | None:
        """The last loading of a model with a context of so many tokens as it stands."""
        return self._chores.snapshot(("load", model, num_ctx))

    def _pull(self, model: str, tell: Tell, cancel: Cancel) -> str:
        """Fetch a model; before that counts as done, the page's view of the server has it."""
        engine, name = engine_of(model)
        try:
            for progress in engine.pull(name, cancel):
                tell(progress)
        except PullFailed as failure:
            return str(failure)
        with self._lock:
            self._cards.pop(model, None)
        self.server(model, afresh=True)
        return ""

    def close(self) -> None:
        """Let go of the shop and of all that goes on; the next call opens it anew."""
        with self._lock:
            if self._shop is not None:
                self._shop.close()
            self._chores.cancel_all()
            self.experiments.stop()
            self.stale_experiments.stop()
            self._shop = None
            self._forget()


def _load(model: str, options: ModelOptions) -> str:
    engine, name = engine_of(model)
    fault = engine.warm_up(name, options)
    return fault.message if fault else ""


OPENED = Opened()
