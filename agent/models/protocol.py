"""What the loop asks of a language model, and the words that both sides use."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NotRequired, Protocol, TypedDict

from agent.trace import ModelInfo, ModelOptions, ModelReply


class MessageCall(TypedDict):
    """A tool call as an assistant's message holds it; ``id`` is ours."""

    id: str
    name: str
    arguments: dict[str, Any]


class Message(TypedDict):
    """One chat message: an assistant's may hold thinking and calls, a tool's says which call it answers."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    thinking: NotRequired[str]
    tool_calls: NotRequired[list[MessageCall]]
    tool_name: NotRequired[str]
    tool_call_id: NotRequired[str]


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
