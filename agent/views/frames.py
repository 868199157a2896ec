"""The trace as pandas DataFrames: a row for each model call, tool call, guard decision or run of some events.

``COLUMNS`` documents every column and gives it its type. All types are nullable: what is not known is missing,
never 0. pandas is imported when a frame is made, so that whoever makes none does not wait for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from agent.trace import AnyEvent, ModelReply, RunFinished, RunStarted, ToolCall, ToolFinished
from agent.views.run import Tally
from agent.views.steps import Step, steps_of

if TYPE_CHECKING:
    from pandas import DataFrame

Columns = Mapping[str, tuple[str, str]]
"""The columns of a frame in order, each with its type and what it says."""

_RUN = {
    "run_id": ("string", "the run; missing where the events do not begin with a run"),
    "turn": ("Int64", "the turn of the conversation, from 1"),
}
_STEP = _RUN | {"step": ("Int64", "the step, from 1; 0 outside a step and in the wrap-up")}

COLUMNS: Mapping[str, Columns] = {
    "steps": _STEP
    | {
        "wrap_up": ("boolean", "whether this is the last model call, without tools, after a limit"),
        "calls": ("string", "the tools the reply calls, with commas; empty for none, missing without a reply"),
        "input": ("Int64", "tokens of the request, resent and new"),
        "resent": ("Int64", "input tokens that had been sent before"),
        "new": ("Int64", "input tokens that had not"),
        "output": ("Int64", "tokens the model wrote"),
        "running": ("Int64", "tokens of the run up to this step, input and known output"),
        "estimated": ("boolean", "whether we counted, and not the model"),
        "load_s": ("Float64", "seconds the server took to load the model"),
        "prompt_s": ("Float64", "seconds it took to read the prompt"),
        "generation_s": ("Float64", "seconds it took to write"),
        "thinking_s": ("Float64", "seconds of that, by our clock, until it answered or called"),
        "first_token_s": ("Float64", "seconds until the first token, by our clock"),
        "total_s": ("Float64", "seconds of the whole model call, by our clock"),
        "tools_s": ("Float64", "seconds of the calls that ran"),
        "cost": ("Float64", "dollars; missing where the model has no price or the output is unknown"),
        "stop": ("string", "the stop reason of the run, on its last model call"),
    },
    "calls": _STEP
    | {
        "call_id": ("string", "our id of the call"),
        "tool": ("string", "the tool"),
        "arguments": ("string", "the arguments as JSON, repaired where the call has its result"),
        "ran": ("boolean", "whether the tool was run; missing without a result, as are the columns below"),
        "ok": ("boolean", "whether it ran and succeeded"),
        "refused": ("boolean", "whether the tool works and said no"),
        "not_run": ("string", "why it was not run"),
        "result_chars": ("Int64", "characters of the result as the model reads it"),
        "chars_cut": ("Int64", "characters cut off it"),
        "ms": ("Float64", "milliseconds it ran"),
    },
    "decisions": _STEP
    | {
        "guard": ("string", "the guard that acted"),
        "action": ("string", "nudge, replay, block, correct or stop"),
        "value": ("Float64", "the value it looked at"),
        "threshold": ("Float64", "what it was measured against"),
        "moment": ("string", "when the guard was asked: before_model, before_tool, after_tool, before_answer"),
        "seconds": ("Float64", "seconds the run had taken by then"),
        "call_id": ("string", "the call that was about to run or had run"),
        "stop": ("string", "the stop reason, where it stopped the run"),
        "reason": ("string", "why, in words"),
    },
    "runs": _RUN
    | {
        "model": ("string", "the model"),
        "request": ("string", "what the user said"),
        "stop_reason": ("string", "why it ended; missing while it has not, as are answer_by and seconds"),
        "answer_by": ("string", "who wrote the answer: model or program"),
        "steps": ("Int64", "model calls but the wrap-up"),
        "model_calls": ("Int64", "model calls"),
        "tool_calls": ("Int64", "calls that ran"),
        "input": ("Int64", "input tokens, as far as the model counted them"),
        "output": ("Int64", "output tokens, as far as the model counted them"),
        "cost": ("Float64", "dollars; tokens nobody counted are estimated in it"),
        "seconds": ("Float64", "seconds it took, without those a person took to answer"),
        "started": ("datetime64[us, UTC]", "when it began"),
    },
}
"""The columns of each frame."""


def steps(events: Iterable[AnyEvent]) -> DataFrame:
    """The model calls, as ``COLUMNS["steps"]`` documents them; tokens are the model's count, else our estimate."""
    return frame(COLUMNS["steps"], (row for run in _by_run(events) for row in _step_rows(run)))


def calls(events: Iterable[AnyEvent]) -> DataFrame:
    """The tool calls in the order they were asked for, as ``COLUMNS["calls"]`` documents them."""
    return frame(COLUMNS["calls"], (row for run in _by_run(events) for row in _call_rows(run)))


def decisions(events: Iterable[AnyEvent]) -> DataFrame:
    """What guards did, as ``COLUMNS["decisions"]`` documents it."""
    return frame(COLUMNS["decisions"], (row for run in _by_run(events) for row in _decision_rows(run)))


def runs(events: Iterable[AnyEvent]) -> DataFrame:
    """The runs, as ``COLUMNS["runs"]`` documents them; one that has not ended has its sums so far."""
    return frame(COLUMNS["runs"], map(_run_row, _by_run(events)))


FRAMES = {"steps": steps, "calls": calls, "decisions": decisions, "runs": runs}
"""What makes each frame, by its name."""


def frame(columns: Columns, rows: Iterable[Mapping[str, Any]]) -> DataFrame:
    """A DataFrame of these columns in their types; every row has a value for each of them, None if unknown."""
    from pandas import DataFrame, array

    listed = list(rows)
    return DataFrame(
        {name: array([row[name] for row in listed], dtype=dtype) for name, (dtype, _) in columns.items()}
    )


@dataclass(frozen=True)
class _Run:
    """The events of one run, or of a piece of one, with its first and its last event where they are there."""

    events: list[AnyEvent]
    begun: RunStarted | None = None
    end: RunFinished | None = None

    @property
    def named(self) -> dict[str, Any]:
        begun = self.begun
        return {"run_id": begun.run_id, "turn": begun.turn} if begun else {"run_id": None, "turn": None}


def _by_run(events: Iterable[AnyEvent]) -> Iterator[_Run]:
    run = _Run([])
    for event in events:
        match event.kind:
            case "run_started":
                if run.events:
                    yield run
                run = _Run([], begun=event)
            case "run_finished":
                run = replace(run, end=event)
        run.events.append(event)
    if run.events:
        yield run


def _step_rows(run: _Run) -> Iterator[dict[str, Any]]:
    prices = run.begun.prices if run.begun else None
    grouped, running = steps_of(run.events), 0
    for step in grouped:
        running += step.input + (step.output or 0)
        yield run.named | {
            "step": step.request.step,
            "wrap_up": step.request.wrap_up,
            "calls": ", ".join(call.name for call in step.reply.tool_calls) if step.reply else None,
            "input": step.input,
            "resent": step.resent,
            "new": step.input - step.resent,
            "output": step.output,
            "running": running,
            "estimated": step.estimated,
            **_seconds(step, step.reply),
            "cost": float(prices.cost(step.input, step.output)) if prices and step.output is not None else None,
            "stop": run.end.stop_reason if run.end and step is grouped[-1] else None,
        }


def _seconds(step: Step, reply: ModelReply | None) -> dict[str, float | None]:
    told = reply.timings_ms.model_dump() if reply else {}
    parts = told | {"thinking": reply.thinking_ms if reply else None, "tools": step.tools_ms}
    names = ("load", "prompt", "generation", "thinking", "first_token", "total", "tools")
    return {f"{name}_s": None if parts.get(name) is None else parts[name] / 1000 for name in names}


def _call_rows(run: _Run) -> Iterator[dict[str, Any]]:
    asked: dict[str, tuple[int, ToolCall, ToolFinished | None]] = {}
    for event in run.events:
        match event.kind:
            case "model_reply":
                asked |= {call.id: (event.step, call, None) for call in event.tool_calls}
            case "tool_finished":
                asked[event.call.id] = (event.step, event.call, event)
    for step, call, end in asked.values():
        yield run.named | {
            "step": step,
            "call_id": call.id,
            "tool": call.name,
            "arguments": json.dumps(call.arguments, ensure_ascii=False),
            "ran": end.ran if end else None,
            "ok": end.ok if end else None,
            "refused": end.refused if end else None,
            "not_run": end.not_run if end else None,
            "result_chars": len(end.result) if end else None,
            "chars_cut": end.chars_cut if end else None,
            "ms": end.duration_ms if end and end.ran else None,
        }


def _decision_rows(run: _Run) -> Iterator[dict[str, Any]]:
    for event in run.events:
        if event.kind == "guard_decision":
            yield run.named | {
                "step": event.step,
                "guard": event.guard,
                "action": event.action,
                "value": event.value,
                "threshold": event.threshold,
                "moment": event.moment,
                "seconds": None if event.elapsed_ms is None else event.elapsed_ms / 1000,
                "call_id": event.call_id,
                "stop": event.stop_reason,
                "reason": event.reason,
            }


def _run_row(run: _Run) -> dict[str, Any]:
    tally = Tally()
    for event in run.events:
        tally.add(event)
    begun, end = run.begun, run.end
    return run.named | {
        "model": begun.model.name if begun else None,
        "request": next((event.text for event in run.events if event.kind == "user_message"), None),
        "stop_reason": end.stop_reason if end else None,
        "answer_by": end.answer_by if end else None,
        "steps": tally.steps,
        "model_calls": tally.model_calls,
        "tool_calls": tally.tool_calls,
        "input": tally.usage.input_tokens,
        "output": tally.usage.output_tokens,
        "cost": None if tally.cost is None else float(tally.cost),
        "seconds": end.seconds if end else None,
        "started": begun.at if begun else None,
    }
