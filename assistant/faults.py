"""A switchboard of faults: tools that fail, hang or answer nonsense on purpose, to see what a run makes of it."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from agent.tools import Tool, Toolbox, ToolError, ToolOutcome
from agent.trace import ShopChanged, ToolCall

SLOW_SECONDS = 3.0
HUGE_CHARS = 8_000
LEAK = "could not connect to postgresql://shop:s3cret@db-int-7.corp:5432/books"
"""What a driver would say; no model and no user may ever read it."""


class Fault(StrEnum):
    """What goes wrong with a tool; the calls that are not named here work."""

    TIMEOUT = "timeout"
    """The first call times out."""
    FAILING = "failing"
    """Every call breaks."""
    ONCE = "once"
    """The first call breaks."""
    SLOW = "slow"
    """Every call takes some seconds."""
    EMPTY = "empty"
    """Every call answers nothing."""
    HUGE = "huge"
    """Every call answers 8,000 characters."""
    WRONG_TYPE = "wrong-type"
    """Every call answers a number."""


class FaultyTools:
    """A toolbox some of whose tools have a fault; a write with a fault behind it takes effect all the same.

    ``made`` counts the calls of each tool that a run made before it waited for a person.
    """

    def __init__(
        self, toolbox: Toolbox, faults: Mapping[str, Fault], made: Mapping[str, int] | None = None
    ) -> None:
        self._toolbox, self._faults = toolbox, faults
        self._calls = Counter(made or {})

    @property
    def tools(self) -> Sequence[Tool]:
        return self._toolbox.tools

    def call(self, call: ToolCall, key: str) -> ToolOutcome:
        self._calls[call.name] += 1
        fault = self._faults.get(call.name)
        first = self._calls[call.name] == 1
        match fault:
            case Fault.TIMEOUT if first:
                raise ToolError(f"{call.name}: the warehouse service timed out; try once more, or go another way")
            case Fault.ONCE if first:
                raise ConnectionError(LEAK)
            case Fault.FAILING:
                raise ConnectionError(LEAK)
            case Fault.SLOW:
                time.sleep(SLOW_SECONDS)
        outcome = self._toolbox.call(call, key)
        spoil = _SPOILS.get(fault) if fault else None
        return spoil(outcome) if spoil else outcome

    def outcome(self, key: str) -> ToolOutcome | None:
        return self._toolbox.outcome(key)

    def changes(self, known: Mapping[str, int]) -> Sequence[ShopChanged]:
        return self._toolbox.changes(known)


def _emptied(outcome: ToolOutcome) -> ToolOutcome:
    return outcome.model_copy(update={"result": "", "reads": [], "found": []})


def _padded(outcome: ToolOutcome) -> ToolOutcome:
    room = HUGE_CHARS - len(outcome.result)
    return outcome.model_copy(update={"result": outcome.result + (" lorem ipsum" * (room // 12 + 1))[:room]})


def _a_number(outcome: ToolOutcome) -> Any:
    return len(outcome.result)


_SPOILS: Mapping[Fault, Callable[[ToolOutcome], Any]] = {
    Fault.EMPTY: _emptied,
    Fault.HUGE: _padded,
    Fault.WRONG_TYPE: _a_number,
}
