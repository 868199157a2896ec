"""One tool call: checked, put to the guards, run, and answered with a result the model reads."""

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agent.arguments import BadArguments
from agent.cancel import Cancelled
from agent.fingerprint import fingerprint
from agent.moments import AfterTool, BeforeTool
from agent.shapes import ToolCall
from agent.text import clean
from agent.tools import Tool, ToolError, ToolOutcome
from agent.trace import ToolFinished, ToolStarted
from agent.turn import Turn, Yields

MAX_ERROR_CHARS = 300
PROMPT_CUT = "Not run: the server had cut the prompt, so this may not be what was asked for."


@dataclass(frozen=True)
class Prepared:
    """A call with its arguments repaired, or with the ``problem`` in words why it cannot run."""

    call: ToolCall
    raw_arguments: Mapping[str, Any]
    fingerprint: str
    repairs: tuple[str, ...] = ()
    problem: str = ""

    @property
    def record(self) -> dict[str, Any]:
        """What each event of the call tells of it."""
        return {"call": self.call, "raw_arguments": self.raw_arguments, "fingerprint": self.fingerprint}


def act(turn: Turn, call: ToolCall) -> Yields[None]:
    """Answer one call: run it, unless it cannot run or a guard objects."""
    prepared = prepare(call, turn.tools)
    tool = turn.tools.get(prepared.call.name)
    writes = tool is not None and tool.side_effecting
    moment = BeforeTool(turn.elapsed, prepared.call, prepared.fingerprint, writes)
    objection = yield from turn.consult(moment)
    if writes and turn.run.last_reply and turn.run.last_reply.prompt_cut:
        finished = leave(turn, prepared, PROMPT_CUT)
    elif objection:
        replayed = objection.action == "replay"
        finished = leave(turn, prepared, objection.result or objection.reason, ok=replayed)
    elif prepared.problem:
        finished = leave(turn, prepared, prepared.problem)
    else:
        finished = yield from _run(turn, prepared)
    yield finished
    turn.heed_cancel()
    yield from turn.consult(AfterTool(turn.elapsed, finished))


def prepare(call: ToolCall, tools: Mapping[str, Tool]) -> Prepared:
    """Find the tool of a call, and check and repair its arguments."""
    raw = dict(call.arguments)
    tool = tools.get(call.name.strip())
    if tool is None:
        known, name = ", ".join(tools) or "none", " ".join(call.name.split())[:60]
        problem = f'There is no tool "{name}". The tools are: {known}.'
        return Prepared(call, raw, fingerprint(call.name, raw), problem=problem)
    try:
        arguments, repairs = tool.check(raw)
    except BadArguments as error:
        return Prepared(call, raw, fingerprint(call.name, raw), problem=str(error)[:MAX_ERROR_CHARS])
    repaired = ToolCall(id=call.id, name=tool.name, arguments=arguments)
    return Prepared(repaired, raw, fingerprint(tool.name, arguments), tuple(repairs))


def leave(turn: Turn, prepared: Prepared, result: str, *, ok: bool = False) -> ToolFinished:
    """Record the result of a call that is not run."""
    return turn.write(
        ToolFinished,
        **prepared.record,
        ran=False,
        ok=ok,
        result=result,
    )


def leave_open_calls(turn: Turn, why: str) -> Yields[None]:
    """Answer every call the end of the run left open, so that each has a result."""
    for call in list(turn.run.open_calls.values()):
        yield leave(turn, prepare(call, turn.tools), f"Not run: {why}.")


def truncate(text: str, limit: int | None) -> tuple[str, int]:
    """Cut a text to ``limit`` characters and say so in it; returns the text and the count of characters cut."""
    if limit is None or len(text) <= limit:
        return text, 0
    cut = len(text) - limit
    return f"{text[:limit]}\n[{cut:,} characters cut]", cut


def _run(turn: Turn, prepared: Prepared) -> Yields[ToolFinished]:
    # The key tells this call from the same one made again, in this message or in any other.
    times = turn.run.runs_of[prepared.fingerprint] + 1
    message = hashlib.sha256(turn.run.message_id.encode()).hexdigest()[:24]
    key = f"{message}:{prepared.fingerprint}:{times}"
    yield turn.write(ToolStarted, **prepared.record, repairs=list(prepared.repairs), key=key)
    if turn.tools[prepared.call.name].side_effecting:
        turn.conversation.commit()  # a crash in the middle of it must find what was about to be done
    started = time.perf_counter()
    outcome = _outcome(turn, prepared.call, key)
    result, cut = truncate(clean(outcome.result), turn.limits.max_result_chars)
    return turn.write(
        ToolFinished,
        **prepared.record,
        key=key,
        ran=True,
        ok=outcome.ok,
        doubtful=outcome.doubtful,
        result=result,
        chars_cut=cut,
        duration_ms=round((time.perf_counter() - started) * 1000, 3),
        reads=outcome.reads,
        changes=outcome.changes,
    )


def _outcome(turn: Turn, call: ToolCall, key: str) -> ToolOutcome:
    """Run the tool; whatever it raises becomes a result the model reads.

    A call that did not come to its end is asked for its outcome first, so that no effect is ever denied.
    """
    left = turn.deadline - time.monotonic() if turn.deadline else None
    seconds = min((limit for limit in (left, turn.limits.tool_seconds) if limit is not None), default=None)
    try:
        outcome = turn.runner.run(lambda: turn.toolbox.call(call, key), seconds, turn.cancel)
        return ToolOutcome.model_validate(outcome)
    except ToolError as error:
        return ToolOutcome(result=str(error)[:MAX_ERROR_CHARS], ok=False)
    except Cancelled:
        words = f"{call.name} was stopped by the user before it answered."
    except TimeoutError:
        words = f"{call.name} timed out and may still take effect. Check before you repeat it, or go another way."
    except Exception:  # noqa: BLE001  # the one place where a bug of a tool becomes a result; its text may leak
        words = f"{call.name} failed for a reason of its own. Try once more, or go another way."
    doubtful = turn.tools[call.name].side_effecting
    return turn.toolbox.outcome(key) or ToolOutcome(result=words, ok=False, doubtful=doubtful)
