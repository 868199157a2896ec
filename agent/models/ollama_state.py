"""Whether an Ollama server is there, and which models it has."""

import asyncio
from dataclasses import dataclass

from agent.models.ollama_faults import FAILURES
from agent.models.ollama_network import BadAddress, Line, switchboard


@dataclass(frozen=True)
class PulledModel:
    """A model a server has: its name with tag, the digest of its weights, its size in bytes."""

    name: str
    digest: str | None
    size: int | None


@dataclass(frozen=True)
class ServerState:
    """What a server said of itself; one that did not answer in time is not reachable."""

    reachable: bool = False
    version: str | None = None
    models: tuple[PulledModel, ...] = ()

    def find(self, name: str) -> PulledModel | None:
        """The model of a name; the tag ``latest`` may be left out."""
        return next((model for model in self.models if _full(model.name) == _full(name)), None)


def find_server(host: str | None = None, timeout: float = 1.0) -> ServerState:
    """Ask a server, OLLAMA_HOST's by default, which models it has; answers within ``timeout`` seconds."""
    try:
        with switchboard().line(host) as line:
            return line.run(_look(line, timeout))
    except BadAddress:
        return ServerState()


def has_model(state: ServerState, name: str) -> bool:
    """Whether the server is there and has the model."""
    return state.find(name) is not None


async def _look(line: Line, timeout: float) -> ServerState:
    try:
        async with asyncio.timeout(timeout):
            client = line.client
            # The ollama package has no call for the version.
            version = (await client._client.get("/api/version")).json()["version"]
            listed = (await client.list()).models
    except (*FAILURES, KeyError):
        return ServerState()
    return ServerState(
        reachable=True,
        version=str(version),
        models=tuple(PulledModel(model.model, model.digest, model.size) for model in listed if model.model),
    )


def _full(name: str) -> str:
    return name if ":" in name else f"{name}:latest"
