"""One reply of Ollama, put together from its chunks; its calls are read with some patience."""

import json
import math
import time
from collections.abc import Sequence
from io import StringIO
from itertools import groupby
from operator import attrgetter
from typing import Any

from agent.models.curtain import Curtain
from agent.models.ollama.refusals import OnlyLoaded, TooLong, Unreadable
from agent.models.protocol import Delta, DeltaKind
from agent.trace import ModelFault, ModelReply, Timings, ToolCall, Usage

LONGEST_SAID = 2_000_000
"""Characters of text and thinking together."""
MOST_CALLS = 1_000

KINDS: tuple[tuple[DeltaKind, str], ...] = (("thinking_delta", "thinking"), ("text_delta", "content"))
DURATIONS = {"load": "load_duration", "prompt": "prompt_eval_duration", "generation": "eval_duration"}
"""Our names of the times a server tells, in nanoseconds, and its own."""


class Draft:
    """What has come of a reply so far; thinking, text and calls are taken from every chunk, the last included."""

    def __init__(self, curtain: Curtain) -> None:
        self._began = time.monotonic()
        self._curtain = curtain
        self._fresh: list[Delta] = []
        # Strings, not lists of pieces: a million pieces of one character would take a hundred times their size.
        self._said: dict[DeltaKind, StringIO] = {kind: StringIO() for kind, _ in KINDS}
        self._size, self._spoke = 0, False
        self._calls: list[ToolCall] = []
        self._repairs: list[str] = []
        self._dropped: list[str] = []
        self._end: dict[str, Any] | None = None
        self._first_token_at: float | None = None
        self._thought_until: float | None = None
        self._arrived_at = self._began
        self.latest: DeltaKind | None = None
        """What came last, thinking or text."""

    @property
    def done(self) -> bool:
        """Whether the server has said that this is all."""
        return self._end is not None

    @property
    def begun(self) -> bool:
        """Whether part of an answer has come: a call, or text that is not blank."""
        return self._spoke or bool(self._calls)

    def add(self, part: dict[str, Any]) -> None:
        """Take the next part; raises TooLong, and AttributeError or TypeError for one of a wrong shape."""
        message = part.get("message") or {}
        for kind, field in KINDS:
            if piece := message.get(field):
                if self._size + len(piece) > LONGEST_SAID:
                    raise TooLong
                self._size += self._said[kind].write(piece)  # which takes nothing but text
                self._fresh.append(Delta(kind, piece))
                self.latest = kind
                self._spoke = self._spoke or (kind == "text_delta" and not piece.isspace())
        for call in message.get("tool_calls") or ():
            self._take(call)
        if len(self._calls) + len(self._dropped) > MOST_CALLS:
            raise TooLong
        if part.get("done"):
            self._end = part
        self._arrived_at = time.monotonic()
        if self._first_token_at is None and (self._size or self._calls):
            self._first_token_at = self._arrived_at
        if self._thought_until is None and self.begun:
            self._thought_until = self._arrived_at

    def fresh(self) -> list[Delta]:
        """What is new and may be drawn since the last time, as few pieces as there can be."""
        groups = groupby(self._fresh, attrgetter("kind"))
        merged = [Delta(kind, "".join(delta.text for delta in group)) for kind, group in groups]
        self._fresh.clear()
        shown = [drawn for delta in merged for drawn in self._curtain.show(delta)]
        return shown + self._curtain.end() if self.done else shown

    def problem(self) -> Exception | None:
        """Why a reply that is done is none."""
        if not self._end or self.begun:
            return None
        if self._end.get("done_reason") in ("load", "unload") and not self._size:
            return OnlyLoaded()
        return Unreadable() if self._dropped else None

    def reply(self, model: str, fault: ModelFault | None, warnings: Sequence[str]) -> ModelReply:
        """Make the reply of what has come; calls of a reply without its end are dropped, with a warning."""
        calls, dropped = (self._calls, []) if self.done else ([], self._calls)
        warned = [*warnings, *self._dropped]
        if dropped:
            names = ", ".join(call.name for call in dropped)
            warned.append(f"The reply broke off, so its calls were not run: {names}")
        reason = self._end.get("done_reason") if self._end else None
        return ModelReply(
            model=model,
            text=self._said["text_delta"].getvalue(),
            thinking=self._said["thinking_delta"].getvalue(),
            tool_calls=calls,
            usage=self._usage(),
            timings_ms=self._timings(),
            thinking_ms=self._thinking_ms(),
            done_reason=reason if isinstance(reason, str) else None,
            error=fault,
            incomplete=not self.done,
            warnings=warned,
            repairs=self._repairs if calls else [],
        )

    def _take(self, call: Any) -> None:
        try:
            made, repair = _read_call(call)
        except _BadCall as bad:
            self._dropped.append(str(bad))
            return
        self._calls.append(made)
        if repair:
            self._repairs.append(repair)

    def _thinking_ms(self) -> float | None:
        if not self._said["thinking_delta"].tell() or self._first_token_at is None or self._thought_until is None:
            return None
        return round((self._thought_until - self._first_token_at) * 1000, 3)

    def _usage(self) -> Usage:
        end = self._end or {}
        return Usage(
            input_tokens=_count(end.get("prompt_eval_count")),
            output_tokens=_count(end.get("eval_count")),
            cached_tokens=_count(end.get("prompt_eval_cached_count")),
        )

    def _timings(self) -> Timings:
        end, first_token_at = self._end, self._first_token_at
        ended_at = self._arrived_at if end else time.monotonic()
        told = {name: _count((end or {}).get(key)) for name, key in DURATIONS.items()}
        return Timings(
            first_token=None if first_token_at is None else round((first_token_at - self._began) * 1000, 3),
            total=round((ended_at - self._began) * 1000, 3),
            **{name: None if ns is None else ns / 1e6 for name, ns in told.items()},
        )


def _count(value: Any) -> int | None:
    """A number of tokens or nanoseconds; what can be none is unknown, not 0."""
    if isinstance(value, float) and math.isfinite(value):
        value = int(value)
    return value if type(value) is int and 0 <= value < 2**53 else None


class _BadCall(Exception):
    """A call that cannot be read: without a name, or with arguments that are no object."""


def _read_call(call: Any) -> tuple[ToolCall, str | None]:
    """One call, and the repair that it needed; raises _BadCall. Arguments that are absent are none."""
    function = call.get("function") if isinstance(call, dict) else None
    function = function if isinstance(function, dict) else {}
    name = function.get("name")
    if not isinstance(name, str) or not name.strip():
        raise _BadCall("A call without a name was dropped")
    arguments = function.get("arguments")
    if isinstance(arguments, dict):
        return ToolCall(id="", name=name, arguments=arguments), None
    if arguments is None:
        return ToolCall(id="", name=name, arguments={}), None
    unpacked = _unpacked(arguments)
    if unpacked is None:
        raise _BadCall(f"A call of {name[:80]} was dropped: its arguments are no object")
    return ToolCall(
        id="", name=name, arguments=unpacked
    ), f"{name}: arguments came as text and were read as an object"


def _unpacked(arguments: Any) -> dict[str, Any] | None:
    try:
        value = json.loads(arguments or "{}") if isinstance(arguments, str) else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
