"""The steps of a run, grouped from its events, and the line that names each."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.trace import AnyEvent, ModelReply, ModelRequest
from ui.safe import safe_label
from ui.timings import spoken


@dataclass
class Step:
    """The events of one model call and of what followed from it."""

    name: str
    request: ModelRequest
    reply: ModelReply | None = None
    before: list[AnyEvent] = field(default_factory=list)
    after: list[AnyEvent] = field(default_factory=list)


def steps_of(events: Sequence[AnyEvent]) -> list[Step]:
    """Group the events of a run by model call; what comes before a call (notes, news of the shop) goes with it."""
    steps: list[Step] = []
    waiting: list[AnyEvent] = []
    for event in events:
        match event.kind:
            case "model_request":
                name = "Wrap-up" if event.wrap_up else f"Step {event.step}"
                steps.append(Step(name, event, before=waiting))
                waiting = []
            case "model_reply" if steps:
                steps[-1].reply = event
            case "note" | "shop_changed":
                waiting.append(event)
            case "tool_finished" | "guard_decision" | "approval_requested" | "approval_answered" if steps:
                steps[-1].after.append(event)
    return steps


def step_label(step: Step, doing: str = "") -> str:
    """One line for a step: its calls or its answer, tokens and seconds."""
    reply = step.reply
    if reply is None:
        return f"{step.name} · {safe_label(doing or 'no reply')}"
    called = ", ".join(safe_label(call.name) for call in reply.tool_calls)
    what = "failed" if reply.error else called or _answer_text(reply)
    parts = [step.name, what, tokens_text(reply)]
    if reply.timings_ms.total is not None:
        parts.append(spoken(reply.timings_ms.total))
    return " · ".join([*parts, *_troubles(step)])


def _answer_text(reply: ModelReply) -> str:
    if reply.unusable and reply.unusable != "empty":
        return reply.unusable.replace("_", " ")
    return "answer" if reply.text.strip() else "empty reply"


def _troubles(step: Step) -> list[str]:
    """What went wrong in a step, in words: its icon alone says nothing to who cannot see it."""
    failed = sum(event.kind == "tool_finished" and not event.ok for event in step.after)
    decided = [event.action for event in step.after if event.kind == "guard_decision"]
    words = ["a guard stopped the run"] if "stop" in decided else ["a guard acted"] if decided else []
    asked = [event.kind for event in step.after if event.kind in ("approval_requested", "approval_answered")]
    words += ["waits for a person"] if asked[-1:] == ["approval_requested"] else []
    words += ["the prompt was cut"] if step.reply and step.reply.prompt_cut else []
    return words + (["a call failed"] if failed and not decided else [])


def step_icon(step: Step) -> str:
    """The icon of a step: whether it failed, was stopped, is doubtful, or went well."""
    if step.reply is None or step.reply.error:
        return ":material/error:"
    stopped = any(event.kind == "guard_decision" for event in step.after)
    failed = any(event.kind == "tool_finished" and not event.ok for event in step.after)
    doubtful = failed or step.reply.unusable or step.reply.prompt_cut
    return ":material/block:" if stopped else ":material/warning:" if doubtful else ":material/check:"


def tokens_text(reply: ModelReply) -> str:
    """The tokens of a reply, as counted or estimated; unknown ones are called so."""
    usage = reply.usage
    mark = "~" if usage.estimated else ""
    sent, written = (
        "unknown" if count is None else f"{mark}{count:,}" for count in (usage.input_tokens, usage.output_tokens)
    )
    return f"{sent} in + {written} out"
