"""The four moments at which guards are asked, and what they may decide."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from agent.meter import Estimate
from agent.shapes import StopReason, ToolCall
from agent.tally import Tally
from agent.trace import ModelReply, ToolFinished


@dataclass(frozen=True)
class BeforeModel:
    """A request is about to be sent."""

    elapsed: float
    estimate: Estimate


@dataclass(frozen=True)
class BeforeTool:
    """A call is about to run: repaired, or as the model wrote it if it cannot run."""

    elapsed: float
    call: ToolCall
    fingerprint: str
    side_effecting: bool


@dataclass(frozen=True)
class AfterTool:
    """A call has its result."""

    elapsed: float
    finished: ToolFinished


@dataclass(frozen=True)
class BeforeAnswer:
    """The model made no call that can run: its text is about to become the answer."""

    elapsed: float
    reply: ModelReply
    tools: tuple[str, ...]


Moment = BeforeModel | BeforeTool | AfterTool | BeforeAnswer


@dataclass(frozen=True)
class Decision:
    """What a guard decides, with the value it looked at; ``reason`` is read by the model and by people.

    nudge: the call is not run (or the answer not taken) and the model reads the reason; replay: not run, the
    model reads ``result``; block: this call only; stop: the run ends with ``stop_reason``.
    """

    guard: str
    action: Literal["nudge", "replay", "block", "stop"]
    value: float
    threshold: float
    reason: str
    stop_reason: StopReason | None = None
    result: str | None = None


class Stop(Exception):
    """The run ends early, for a reason of the closed list; ``why`` completes "I stopped: ..."."""

    def __init__(self, reason: StopReason, why: str) -> None:
        super().__init__(why)
        self.reason = reason
        self.why = why


Guard = Callable[[Moment, Tally], Decision | None]
