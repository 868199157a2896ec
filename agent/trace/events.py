"""The one truth of a conversation: an append-only list of frozen, typed events.

Everything else (the messages the model gets, the page, sums, guards, exports) is read from these.
Match on ``event.kind``, never on the class: a reloaded module would break ``isinstance``.
"""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from agent.trace.stop_reasons import StopReason
from agent.trace.values import (
    Change,
    Fact,
    ModelFault,
    ModelInfo,
    ModelOptions,
    NotRun,
    Prices,
    Shape,
    Timings,
    ToolCall,
    Unusable,
    Usage,
)

MomentName = Literal["before_model", "before_tool", "after_tool", "before_answer"]


class Event(Shape):
    """Something that happened: ``step`` is 0 outside a step, ``at`` is UTC."""

    step: int = 0
    at: datetime = Field(default_factory=lambda: datetime.now(UTC))


class RunStarted(Event):
    """A turn begins; ``continues`` is the run it goes on from, ``prices`` what the model takes, if anything.

    ``stamps``: what tools tell is stamped with its version, and marked in place once it is overtaken.
    """

    kind: Literal["run_started"] = "run_started"
    run_id: str
    turn: int
    model: ModelInfo
    settings: dict[str, Any]
    instructions: str
    tools: list[dict[str, Any]]
    continues: str | None = None
    prices: Prices | None = None
    stamps: bool = False


class UserMessage(Event):
    kind: Literal["user_message"] = "user_message"
    text: str
    turn: int
    client_message_id: str


class Note(Event):
    """What the program adds to what the model reads; ``reads`` are the facts it tells."""

    kind: Literal["note"] = "note"
    purpose: Literal["snapshot", "corrective", "nudge", "wrap_up"]
    text: str
    reads: list[Fact] = []


class ModelRequest(Event):
    """Sent to the model: the messages that are new since the last request; ``digest`` covers them all.

    ``options`` are those it was sent with (None: of an older record, which does not tell), ``with_tools`` whether
    the tools went along. ``calibrated``: the estimate goes by a count of the model's own, not by characters alone.
    """

    kind: Literal["model_request"] = "model_request"
    new_messages: list[dict[str, Any]]
    digest: str
    options: ModelOptions | None = None
    with_tools: bool = True
    estimated_input_tokens: int
    resent_tokens: int
    new_tokens: int
    calibrated: bool = False
    wrap_up: bool = False
    elapsed_ms: float
    prefix_kept: bool = True


class ModelReply(Event):
    """What came back, also when the call failed (``error``) or broke off (``incomplete``).

    ``unusable`` says why a whole reply is neither an answer nor a call; ``prompt_cut`` that the server threw part
    of the prompt away, so that nothing the model asks for can be trusted. ``thinking_ms`` is our own measure of
    how long it thought before it answered or called; servers time only the whole. ``without_thinking``: the server
    refused to let it think apart, so it was asked the same once more without.
    """

    kind: Literal["model_reply"] = "model_reply"
    model: str
    text: str = ""
    thinking: str = ""
    tool_calls: list[ToolCall] = []
    usage: Usage = Usage()
    timings_ms: Timings = Timings()
    thinking_ms: float | None = None
    done_reason: str | None = None
    error: ModelFault | None = None
    incomplete: bool = False
    warnings: list[str] = []
    repairs: list[str] = []
    unusable: Unusable | None = None
    prompt_cut: bool = False
    allowed_output_tokens: int | None = None
    without_thinking: bool = False


class GuardDecision(Event):
    """A guard acted: the value against its threshold, the reason in words, and what it looked at.

    To ``correct`` is to put a sentence of the program before an answer that states what is true no more.
    ``moment`` is when it was asked, with the seconds gone by then, the estimated input tokens of the request that
    was about to be sent, and the call that was about to run or had run.
    """

    kind: Literal["guard_decision"] = "guard_decision"
    guard: str
    action: Literal["nudge", "replay", "correct", "stop"]
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


class ToolStarted(Event):
    """A call is about to run: ``call`` as repaired, ``raw_arguments`` as the model wrote them."""

    kind: Literal["tool_started"] = "tool_started"
    call: ToolCall
    raw_arguments: dict[str, Any]
    repairs: list[str] = []
    fingerprint: str
    key: str


class ToolFinished(Event):
    """The one answer to a call, also when it was not run; ``result`` is what the model reads.

    ``refused``: the tool works and said no. ``doubtful``: it was cut off, and whether it took effect was not known
    yet. ``not_run`` says why it did not run. ``found`` names the things the result tells of, whatever its wording.
    """

    kind: Literal["tool_finished"] = "tool_finished"
    call: ToolCall
    raw_arguments: dict[str, Any]
    ran: bool
    ok: bool
    result: str
    refused: bool = False
    side_effecting: bool = False
    doubtful: bool = False
    not_run: NotRun | None = None
    chars_cut: int = 0
    duration_ms: float = 0.0
    reads: list[Fact] = []
    found: list[str] = []
    changes: list[Change] = []
    fingerprint: str = ""
    key: str | None = None


class ShopChanged(Event):
    """Something this conversation has read was changed through another channel: by whom, and when (UTC, ISO 8601).

    ``value`` says what was changed, ``now`` what the resource is, as a fact would. Or it was changed by a call of
    its own that was cut off and took effect late: ``late_key`` is that call's key, ``effect`` says what it did.
    """

    kind: Literal["shop_changed"] = "shop_changed"
    resource: str
    version_before: int
    version_after: int
    by: str
    changed_at: str = ""
    value: str
    now: str = ""
    late_key: str | None = None
    effect: str = ""


class RunFinished(Event):
    """The end of a run, always exactly one; the sums are those of the run's events.

    ``cost`` in dollars is None where the model has no price; tokens nobody counted are estimated in it.
    """

    kind: Literal["run_finished"] = "run_finished"
    stop_reason: StopReason
    answer: str
    answer_by: Literal["model", "program"]
    steps: int
    model_calls: int
    tool_calls: int
    usage: Usage
    usage_complete: bool
    cost: Decimal | None = None
    seconds: float | None


AnyEvent = Annotated[
    RunStarted
    | UserMessage
    | Note
    | ModelRequest
    | ModelReply
    | GuardDecision
    | ApprovalRequested
    | ApprovalAnswered
    | ToolStarted
    | ToolFinished
    | ShopChanged
    | RunFinished,
    Field(discriminator="kind"),
]

EVENT: TypeAdapter[AnyEvent] = TypeAdapter(AnyEvent)
