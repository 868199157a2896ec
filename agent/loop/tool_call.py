"""One tool call: checked, put to the guards and perhaps to a person, run, and answered with a result."""

import hashlib
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from agent.cancel import Cancelled
from agent.guards.guard import AfterTool, BeforeTool, Paused
from agent.loop.turn import Turn, Yields
from agent.text import clean
from agent.tools import MAX_ERROR_CHARS, Prepared, Tool, ToolError, ToolOutcome, ToolRefusal, prepare
from agent.trace import ApprovalRequested, Note, NotRun, ToolCall, ToolFinished, ToolStarted

PROMPT_CUT = "Not run: the server had cut the prompt, so this may not be what was asked for."
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


def act_on(turn: Turn, calls: Iterable[ToolCall]) -> Yields[None]:
    """Answer the calls of one reply in their order; hints of the guards follow when all have their results."""
    for call in calls:
        finished = yield from _act(turn, call)
        yield finished
        turn.heed_cancel()
        yield from turn.consult(AfterTool(turn.elapsed, finished))
    for hint in turn.run.hints:
        yield turn.add(Note(step=turn.step, purpose="nudge", text=hint))


def leave_open_calls(turn: Turn, why: str) -> Yields[None]:
    """Answer every call the end of the run left open, so that each has a result."""
    for call in list(turn.run.open_calls.values()):
        yield _leave(turn, prepare(call, turn.tools), f"Not run: {why}.", "run_ended")


def truncate(text: str, limit: int | None) -> tuple[str, int]:
    """Cut a text to ``limit`` characters and say so in it; returns the text and the count of characters cut."""
    if limit is None or len(text) <= limit:
        return text, 0
    cut = len(text) - limit
    return f"{text[:limit]}\n[{cut:,} characters cut]", cut


def _act(turn: Turn, call: ToolCall) -> Yields[ToolFinished]:
    """Run one call, unless it cannot run, a guard objects or a person says no."""
    said = turn.run.approvals.get(call.id)
    if said and said.arguments is not None:
        call = call.model_copy(update={"arguments": said.arguments})
    prepared = prepare(call, turn.tools)
    tool = prepared.tool
    if tool is None or prepared.problem:
        return _leave(turn, prepared, prepared.problem, "bad_arguments" if tool else "unknown_tool")
    if tool.side_effecting and turn.run.last_reply and turn.run.last_reply.prompt_cut:
        return _leave(turn, prepared, PROMPT_CUT, "prompt_cut")
    if said is None:
        moment = BeforeTool(turn.elapsed, prepared.call, prepared.fingerprint, tool)
        objection = yield from turn.consult(moment)
        if objection:
            replayed = objection.action == "replay"
            return _leave(turn, prepared, objection.result or objection.reason, "guard", ok=replayed)
        yield from _ask_a_person(turn, tool, prepared.call)
    elif not said.approved:
        return _leave(turn, prepared, DECLINED, "declined")
    return (yield from _run(turn, prepared, tool))


def _ask_a_person(turn: Turn, tool: Tool, call: ToolCall) -> Yields[None]:
    """Where the tool's policy wants a person to look at a call: record the request, keep all, and raise Paused."""
    reason = tool.approval(call.arguments) if tool.approval else ""
    if reason:
        elapsed = round(turn.elapsed * 1000, 1)
        yield turn.add(ApprovalRequested(step=turn.step, call=call, reason=reason, elapsed_ms=elapsed))
        turn.conversation.commit()
        raise Paused


def _leave(turn: Turn, prepared: Prepared, result: str, why: NotRun, *, ok: bool = False) -> ToolFinished:
    """Record the result of a call that is not run."""
    return turn.add(
        ToolFinished(
            step=turn.step,
            call=prepared.call,
            raw_arguments=prepared.raw_arguments,
            fingerprint=prepared.fingerprint,
            ran=False,
            ok=ok,
            result=result,
            not_run=why,
        )
    )


def _run(turn: Turn, prepared: Prepared, tool: Tool) -> Yields[ToolFinished]:
    key = _key(turn, prepared)
    yield turn.add(
        ToolStarted(
            step=turn.step,
            call=prepared.call,
            raw_arguments=prepared.raw_arguments,
            repairs=list(prepared.repairs),
            fingerprint=prepared.fingerprint,
            key=key,
        )
    )
    if tool.side_effecting:
        turn.conversation.commit()  # a crash in the middle of it must find what was about to be done
    started = time.perf_counter()
    outcome = _outcome(turn, tool, prepared.call, key)
    result, cut = truncate(clean(outcome.result), turn.limits.max_result_chars)
    return turn.add(
        ToolFinished(
            step=turn.step,
            call=prepared.call,
            raw_arguments=prepared.raw_arguments,
            fingerprint=prepared.fingerprint,
            key=key,
            ran=True,
            ok=outcome.ok,
            side_effecting=tool.side_effecting,
            refused=outcome.refused,
            doubtful=outcome.doubtful,
            result=result,
            chars_cut=cut,
            duration_ms=round((time.perf_counter() - started) * 1000, 3),
            reads=outcome.reads,
            found=outcome.found,
            changes=outcome.changes,
        )
    )


def _key(turn: Turn, prepared: Prepared) -> str:
    """Tells this call from the same one made again, in this message or in any other."""
    times = turn.run.runs_of[prepared.fingerprint] + 1
    message = hashlib.sha256(turn.run.message_id.encode()).hexdigest()[:24]
    return f"{message}:{prepared.fingerprint}:{times}"


def _outcome(turn: Turn, tool: Tool, call: ToolCall, key: str) -> ToolOutcome:
    """Run the tool; whatever it raises becomes a result the model reads.

    A call that did not come to its end is asked for its outcome first, so that no effect is ever denied.
    """
    left = turn.deadline - time.monotonic() if turn.deadline else None
    seconds = min((limit for limit in (left, turn.limits.tool_seconds) if limit is not None), default=None)
    try:
        outcome = turn.runner.run(lambda: turn.toolbox.call(call, key), seconds, turn.cancel)
        return ToolOutcome.model_validate(outcome)
    except ToolError as error:
        refused = isinstance(error, ToolRefusal)
        return ToolOutcome(result=str(error)[:MAX_ERROR_CHARS], ok=False, refused=refused)
    except Cancelled:
        words = f"{call.name} was stopped by the user before it answered."
    except TimeoutError:
        words = f"{call.name} timed out and may still take effect. Check before you repeat it, or go another way."
    except Exception:  # noqa: BLE001  # the one place where a bug of a tool becomes a result; its text may leak
        words = f"{call.name} failed for a reason of its own. Try once more, or go another way."
    return turn.toolbox.outcome(key) or ToolOutcome(result=words, ok=False, doubtful=tool.side_effecting)
