"""The one shop of this server process, and what is known of the Ollama server."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from agent.cancel import Cancel
from agent.models.ollama_loaded import warm_up
from agent.models.ollama_pull import PullProgress, pull
from agent.models.ollama_state import ModelCard, ServerState, describe, find_server
from assistant.bookshop import Bookshop, open_bookshop
from ui.lab.experiments import Experiments
from ui.pulls import Pulls, WarmUps

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
                threading.Thread(target=self._look, args=(looking,), name="look at ollama", daemon=True).start()
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
    """Opens the shop once a process, and looks for Ollama now and then; safe for all threads.

    It lives in an imported module, since every visitor can clear Streamlit's own caches for everybody.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shop: Bookshop | None = None
        self._forget()

    def _forget(self) -> None:
        self._server = Looked(find_server, ServerState())
        self._cards: dict[str, Looked[ModelCard | None]] = {}
        self.experiments, self.stale_experiments = Experiments(), Experiments()
        self.pulls = Pulls(self._pull)
        self.warm_ups = WarmUps(lambda name, options: warm_up(name, None, options))

    def shop(self) -> Bookshop:
        """The shop; raises ShopUnavailable in words if it cannot be opened, and tries again the next time."""
        with self._lock:
            if self._shop is None:
                self._shop = open_bookshop()
            return self._shop

    def server(self, *, afresh: bool = False) -> ServerState:
        """What Ollama said, at most some seconds ago; a server that hangs holds up the first look alone."""
        with self._lock:
            server = self._server
        patience = FIRST_LOOK_SECONDS if afresh or server.at is None else BRIEFLY
        return server.get(patience, afresh=afresh)

    def card(self, name: str) -> ModelCard | None:
        """What the server tells of a model it has; None while that is not known."""
        with self._lock:
            card = self._cards.setdefault(name, Looked(lambda: describe(name), None))
        return card.get(BRIEFLY)

    def _pull(self, name: str, cancel: Cancel) -> Iterator[PullProgress]:
        """Pull a model; before that counts as done, the page's view of the server has it."""
        yield from pull(name, None, cancel)
        with self._lock:
            self._cards.pop(name, None)
        self.server(afresh=True)

    def close(self) -> None:
        """Let go of the shop and of all that goes on; the next call opens it anew."""
        with self._lock:
            if self._shop is not None:
                self._shop.close()
            for name in self.pulls.running():
                self.pulls.cancel(name)
            self.experiments.stop()
            self.stale_experiments.stop()
            self._shop = None
            self._forget()


OPENED = Opened()
