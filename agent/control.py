"""The events of control: what guards decided, and what people were asked and said."""

from typing import Any, Literal

from agent.shapes import Event, StopReason, ToolCall

MomentName = Literal["before_model", "before_tool", "after_tool", "before_answer"]


class GuardDecision(Event):
    """A guard acted: the value against its threshold, the reason in words, and what it looked at.

    To ``correct`` is to put a sentence of the program before an answer that states what is true no more.
    ``moment`` is when it was asked, with the seconds gone by then, the estimated input tokens of the request that
    was about to be sent, and the call that was about to run or had run.
    """

    kind: Literal["guard_decision"] = "guard_decision"
    guard: str
    action: Literal["nudge", "replay", "block", "correct", "stop"]
    value: float
    threshold: float
    reason: str
    stop_reason: StopReason | None = None
    moment: MomentName | None = None
    elapsed_ms: float | None = None
    estimated_input_tokens: int | None = None
    call_id: str | None = None


class ApprovalRequested(Event):
    """A call waits for a person, and the run with it; ``reason`` says why somebody has to look at it.

    ``elapsed_ms`` is what the run had taken by then: the time a person takes does not count.
    """

    kind: Literal["approval_requested"] = "approval_requested"
    call: ToolCall
    reason: str
    elapsed_ms: float


class ApprovalAnswered(Event):
    """What the person said: yes, no, or yes with other ``arguments``; ``by`` is the channel it came through."""

    kind: Literal["approval_answered"] = "approval_answered"
    call_id: str
    approved: bool
    arguments: dict[str, Any] | None = None
    by: str
