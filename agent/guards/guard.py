"""What a guard is: the four moments at which it is asked, and what it may decide.

A guard looks at the moment and at the run's tally, and keeps no state of its own. To add a policy, write one class
or function of this shape and put its line into the list of ``agent.guards``, or give it to an agent.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

from agent.tools import Tool
from agent.trace import ModelReply, MomentName, Overtaken, StopReason, ToolCall, ToolFinished
from agent.views.run import Tally
from agent.views.tokens import Estimate


@dataclass(frozen=True)
class BeforeModel:
    """A request is about to be sent."""

    name: ClassVar[MomentName] = "before_model"
    elapsed: float
    estimate: Estimate


@dataclass(frozen=True)
class BeforeTool:
    """A call that can run is about to: its arguments are repaired."""

    name: ClassVar[MomentName] = "before_tool"
    elapsed: float
    call: ToolCall
    fingerprint: str
    tool: Tool


@dataclass(frozen=True)
class AfterTool:
    """A call has its result."""

    name: ClassVar[MomentName] = "after_tool"
    elapsed: float
    finished: ToolFinished


@dataclass(frozen=True)
class BeforeAnswer:
    """The model made no call that can run: its text is about to become the answer.

    ``overtaken`` is what the conversation has read and what is true no more.
    """

    name: ClassVar[MomentName] = "before_answer"
    elapsed: float
    reply: ModelReply
    tools: tuple[str, ...]
    overtaken: tuple[Overtaken, ...] = ()


Moment = BeforeModel | BeforeTool | AfterTool | BeforeAnswer


@dataclass(frozen=True)
class Decision:
    """What a guard found, with the value it looked at; ``reason`` is read by the model and by people.

    pass: all is well; nudge: the model reads the reason, and the call is not run, or the answer not taken; replay:
    not run, the model reads ``result``; stop: the run ends with ``stop_reason``.
    """

    guard: str
    action: Literal["pass", "nudge", "replay", "stop"]
    value: float
    threshold: float
    reason: str = ""
    stop_reason: StopReason | None = None
    result: str | None = None


def stop(reason: StopReason, value: float, threshold: float, why: str) -> Decision:
    """End the run by the guard that is called after the reason it gives."""
    return Decision(reason, "stop", value, threshold, why, stop_reason=reason)


class Stop(Exception):
    """The run ends early, for a reason of the closed list; ``why`` completes "I stopped: ..."."""

    def __init__(self, reason: StopReason, why: str) -> None:
        super().__init__(why)
        self.reason = reason
        self.why = why


class Paused(Exception):
    """The run waits for a person; whoever drives it has nothing to do until there is an answer."""


Guard = Callable[[Moment, Tally], Decision | None]
"""A policy: None where the moment is none of its own, else what it found."""


class Ends(NamedTuple):
    """How a guard can end a run: for what reason, when, and the ``most`` it lets a run take, all for people."""

    reason: StopReason
    when: str
    most: str = ""


def name_of(guard: Guard) -> str:
    """What a guard is called in the record."""
    name = getattr(guard, "name", None) or getattr(guard, "__name__", None)
    return str(name or type(guard).__name__)


def ends_of(guard: Guard) -> Ends | None:
    """How a guard can end a run, where it says so."""
    ends: Ends | None = getattr(guard, "ends", None)
    return ends
