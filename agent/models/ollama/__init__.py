"""Models on an Ollama server. Nothing outside this room knows Ollama."""

import os
import time
from collections.abc import Iterator

from agent.cancel import Cancel
from agent.models.engine import Loaded, ModelCard, PullProgress, ServerState
from agent.models.ollama.failures import FAILURES, fault_of
from agent.models.ollama.model import OllamaModel
from agent.models.ollama.network import Connection, connections
from agent.models.ollama.pull import pull
from agent.models.ollama.server import asked, card_of, entry_of, models_of, show
from agent.models.ollama.wire import CHAT, ask, body_to_load, stream
from agent.trace import ModelFault, ModelOptions

__all__ = ["OllamaEngine", "OllamaModel"]

DEFAULT_ADDRESS = "http://127.0.0.1:11434"


class OllamaEngine:
    """An Ollama server: the one at ``host``, or that OLLAMA_HOST names at the time."""

    label = "Ollama"
    start_command = "ollama serve"

    def __init__(self, host: str | None = None) -> None:
        self._host = host

    @property
    def address(self) -> str:
        address = (self._host or os.environ.get("OLLAMA_HOST", "")).strip() or DEFAULT_ADDRESS
        scheme, mark, rest = address.rpartition("://")
        return f"{scheme}{mark}{rest.rpartition('@')[2]}"

    def pull_command(self, name: str) -> str:
        return f"ollama pull {name}"

    def model(self, name: str) -> OllamaModel:
        return OllamaModel(name, self._host)

    def find_server(self, timeout: float = 1.0) -> ServerState:
        def look(connection: Connection, until: float) -> ServerState:
            version = ask(connection, "/api/version", until)["version"]
            return ServerState(reachable=True, version=str(version), models=models_of(connection, until))

        return asked(self._host, timeout, look) or ServerState()

    def describe(self, name: str, timeout: float = 2.0) -> ModelCard:
        def look(connection: Connection, until: float) -> ModelCard:
            pulled = ServerState(models=models_of(connection, until)).find(name)
            return card_of(name, pulled, show(connection, until, name))

        return asked(self._host, timeout, look) or ModelCard(name)

    def loaded(self, name: str, timeout: float = 1.0) -> Loaded | None:
        entry = asked(self._host, timeout, lambda connection, until: entry_of(connection, until, name))
        if entry is None:
            return None
        size, on_gpu, context = (entry.get(key) for key in ("size", "size_vram", "context_length"))
        share = min(on_gpu / size, 1.0) if isinstance(size, int) and isinstance(on_gpu, int) and size > 0 else None
        return Loaded(context if isinstance(context, int) else None, share)

    def warm_up(self, name: str, options: ModelOptions, seconds: float = 300.0) -> ModelFault | None:
        until = time.monotonic() + seconds
        try:
            with connections().to(self._host, Cancel(), until) as connection:
                for part in stream(connection, CHAT, body_to_load(name, options), until):
                    if part is None:
                        connection.wait(until)
        except FAILURES as failure:
            return fault_of(failure, name)
        return None

    def pull(self, name: str, cancel: Cancel | None = None) -> Iterator[PullProgress]:
        return pull(name, self._host, cancel or Cancel())
