"""The one shop of this server process, and what is known of the Ollama server."""

import threading
import time

from agent.models.ollama_state import ServerState, find_server
from assistant.bookshop import Bookshop, open_bookshop

LOOK_AGAIN_SECONDS = 15.0


class Opened:
    """Opens the shop once a process, and looks for Ollama now and then; safe for all threads.

    It lives in an imported module, since every visitor can clear Streamlit's own caches for everybody.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shop: Bookshop | None = None
        self._server = ServerState()
        self._looked: float | None = None

    def shop(self) -> Bookshop:
        """The shop; raises ShopUnavailable in words if it cannot be opened, and tries again the next time."""
        with self._lock:
            if self._shop is None:
                self._shop = open_bookshop()
            return self._shop

    def server(self, *, afresh: bool = False) -> ServerState:
        """What Ollama said, at most some seconds ago; takes at most a second."""
        with self._lock:
            old = self._looked is None or time.monotonic() - self._looked > LOOK_AGAIN_SECONDS
            if afresh or old:
                self._server = find_server()
                self._looked = time.monotonic()
            return self._server

    def close(self) -> None:
        """Let go of the shop; the next call opens it anew."""
        with self._lock:
            if self._shop is not None:
                self._shop.close()
            self._shop, self._looked = None, None


OPENED = Opened()
