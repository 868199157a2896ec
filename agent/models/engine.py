"""Engines: places that hold models, such as a server on this computer, and what a program may ask of one."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from agent.cancel import Cancel
from agent.models.protocol import ChatModel
from agent.trace import ModelFault, ModelOptions


def same_model(one: str, other: str) -> bool:
    """Whether two names mean the same model: the tag ``latest`` may be left out."""
    return one == other or f"{one}:latest" == other or one == f"{other}:latest"


@dataclass(frozen=True)
class PulledModel:
    """A model that a server has: its full name, the digest of its weights, its size in bytes."""

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
        return next((model for model in self.models if same_model(model.name, name)), None)


@dataclass(frozen=True)
class ModelCard:
    """What a server tells of one model; None is unknown, as with old servers, and all is where it has none of it.

    ``size`` is in bytes, ``context_length`` in tokens, the model's own. ``garbles_tools``: the server prints tool
    schemas for it in a way that models misread. ``thinking_only``: it thinks even when asked not to.
    """

    name: str
    digest: str | None = None
    size: int | None = None
    can_call_tools: bool | None = None
    can_think: bool | None = None
    context_length: int | None = None
    garbles_tools: bool = False
    thinking_only: bool = False


@dataclass(frozen=True)
class Loaded:
    """A model in memory: the context it was loaded with, in tokens, and how much of it lies on the GPU, 0 to 1."""

    context_length: int | None
    on_gpu: float | None


@dataclass(frozen=True)
class PullProgress:
    """How far one layer of a model has come: ``fraction`` 0 to 1, never falling, None where it is unknown.

    ``layer`` is the beginning of its digest, empty for what is done to the model as a whole.
    """

    layer: str
    fraction: float | None
    status: str


class PullFailed(Exception):
    """The model is not there: one readable line says why and what to do."""


class Engine(Protocol):
    """A place with models. Times are in seconds; what is not told in time is unknown, never an error."""

    @property
    def label(self) -> str:
        """What people call it."""

    @property
    def address(self) -> str:
        """Where its server is looked for, without a password that the address may hold."""

    @property
    def start_command(self) -> str:
        """The command that starts its server."""

    def pull_command(self, name: str) -> str:
        """The command that fetches a model."""

    def model(self, name: str) -> ChatModel:
        """The model of a name, taken at its word: whether the server has it shows when it is asked."""

    def find_server(self, timeout: float = 1.0) -> ServerState:
        """Ask the server which models it has."""

    def describe(self, name: str, timeout: float = 2.0) -> ModelCard:
        """Ask the server about one of its models."""

    def loaded(self, name: str, timeout: float = 1.0) -> Loaded | None:
        """How the server has loaded a model; None where it has not, or does not tell."""

    def warm_up(self, name: str, options: ModelOptions, seconds: float = 300.0) -> ModelFault | None:
        """Load a model with the options it will be asked with; returns what went wrong."""

    def pull(self, name: str, cancel: Cancel | None = None) -> Iterator[PullProgress]:
        """Have the server fetch a model; ends when all is there, else raises PullFailed.

        ``cancel``, requested from any thread, ends it at once, and so does leaving the iteration.
        """
