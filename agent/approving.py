"""Calls that a person has to allow: asked outside the model, while the run waits and nobody works on it."""

from dataclasses import dataclass
from typing import Any

from agent.control import ApprovalRequested
from agent.moments import Paused
from agent.shapes import ToolCall
from agent.tools import Tool
from agent.turn import Turn, Yields

DECLINED = (
    "Not run: the customer did not allow this call. Do not make it again. Say what was not done, or do what they "
    "asked for in another way."
)


@dataclass(frozen=True)
class Approval:
    """What a person says of a call that waits: yes, no, or yes with other ``arguments``; ``by`` is the channel."""

    approved: bool
    by: str
    arguments: dict[str, Any] | None = None


def ask_a_person(turn: Turn, tool: Tool, call: ToolCall) -> Yields[None]:
    """Where the tool's policy wants a person to look at a call: record the request, keep all, and raise Paused."""
    reason = tool.approval(call.arguments) if tool.approval else ""
    if reason:
        elapsed = round(turn.elapsed * 1000, 1)
        yield turn.write(ApprovalRequested, call=call, reason=reason, elapsed_ms=elapsed)
        turn.conversation.commit()
        raise Paused
