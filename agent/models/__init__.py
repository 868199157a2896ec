"""What the loop asks of a language model, and the models that answer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from agent.trace import ModelInfo, ModelOptions, ModelReply

Message = dict[str, Any]
"""One chat message in Ollama's shape: role, content, and thinking, tool_calls or tool_name where they apply."""

DeltaKind = Literal["text_delta", "thinking_delta", "phase"]


@dataclass(frozen=True)
class Delta:
    """A piece of an answer or of thinking as it comes, or what a model that is silent does: never stored."""

    kind: DeltaKind
    text: str


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


__all__ = ["ChatModel", "Delta", "DeltaKind", "Message", "ModelOptions", "ModelStream"]
