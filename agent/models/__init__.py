"""What the loop asks of a language model, and the models that answer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from agent.history import Message
from agent.shapes import ModelInfo
from agent.trace import ModelReply

DeltaKind = Literal["text_delta", "thinking_delta", "phase"]


@dataclass(frozen=True)
class Delta:
    """A piece of an answer or of thinking as it comes, or what a model that is silent does: never stored."""

    kind: DeltaKind
    text: str


@dataclass(frozen=True)
class ModelOptions:
    """How a model is asked: the same for every request of a run, as a change makes the server load it anew."""

    num_ctx: int = 16_384
    num_predict: int = 4_096
    temperature: float = 0.0
    seed: int = 42
    think: bool = True
    keep_alive: str = "10m"


class ModelStream(Protocol):
    """One reply as it comes: deltas, then exactly one ModelReply; a failure is a reply with ``error`` set."""

    def __iter__(self) -> Iterator[Delta | ModelReply]: ...

    def close(self) -> None:
        """Break off, from any thread, at any moment; the iteration then ends with an incomplete reply."""


class ChatModel(Protocol):
    """A model that reads a chat and answers with text or tool calls."""

    @property
    def info(self) -> ModelInfo:
        """Name, digest and label."""

    def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[dict[str, Any]],
        options: ModelOptions,
        deadline: float | None,
    ) -> ModelStream:
        """Ask for one reply; ``deadline`` is on the monotonic clock. No request is sent before iteration."""
