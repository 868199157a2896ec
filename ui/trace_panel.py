"""The steps of a run: what the model was asked, what it said, which calls it made and what came back."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import streamlit as st

from agent.trace import AnyEvent, GuardDecision, ModelReply, ModelRequest, ToolFinished
from ui.safe import plain, safe_label, safe_markdown

SHOWN_CHARS = 4_000


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
            case "tool_finished" | "guard_decision" if steps:
                steps[-1].after.append(event)
    return steps


def draw_trace(events: Sequence[AnyEvent], key: str, doing: str = "") -> None:
    """Draw a timeline with a step that opens for each model call; ``doing`` says what goes on, if anything."""
    steps = steps_of(events)
    if not steps and not doing:
        st.caption("Each step of the loop appears here: the model's calls, the tools' results, tokens and times.")
        return
    for number, step in enumerate(steps):
        waiting = step.reply is None and bool(doing)
        icon = "spinner" if waiting else _icon(step)
        with st.expander(
            step_label(step, doing if waiting else ""), type="step", icon=icon, key=f"{key}-{number}"
        ):
            _draw_step(step, f"{key}-{number}")


def step_label(step: Step, doing: str = "") -> str:
    """One line for a step: its calls or its answer, tokens and seconds."""
    reply = step.reply
    if reply is None:
        return f"{step.name} · {safe_label(doing or 'no reply')}"
    called = ", ".join(safe_label(call.name) for call in reply.tool_calls)
    what = "failed" if reply.error else called or ("answer" if reply.text.strip() else "empty reply")
    parts = [step.name, what, _tokens(reply)]
    if reply.timings_ms.total is not None:
        parts.append(f"{reply.timings_ms.total / 1000:.1f} s")
    return " · ".join([*parts, *_troubles(step)])


def _troubles(step: Step) -> list[str]:
    """What went wrong in a step, in words: its icon alone says nothing to who cannot see it."""
    failed = sum(event.kind == "tool_finished" and not event.ok for event in step.after)
    decided = [event.action for event in step.after if event.kind == "guard_decision"]
    words = ["a guard stopped the run"] if "stop" in decided else ["a guard acted"] if decided else []
    return words + (["a call failed"] if failed and not decided else [])


def _icon(step: Step) -> str:
    if step.reply is None or step.reply.error:
        return ":material/error:"
    stopped = any(event.kind == "guard_decision" for event in step.after)
    failed = any(event.kind == "tool_finished" and not event.ok for event in step.after)
    return ":material/block:" if stopped else ":material/warning:" if failed else ":material/check:"


def _draw_step(step: Step, key: str) -> None:
    for event in step.before:
        _draw_aside(event)
    request, reply = step.request, step.reply
    st.caption(
        f"Sent about {request.estimated_input_tokens:,} tokens: {request.resent_tokens:,} again, "
        f"{request.new_tokens:,} new."
    )
    if reply is None:
        return
    st.caption(_reply_facts(reply))
    if reply.thinking:
        with st.expander("Thinking", type="compact", key=f"{key}-thinking"):
            st.text(plain(reply.thinking, SHOWN_CHARS))
    if reply.text.strip():
        st.markdown(safe_markdown(reply.text, SHOWN_CHARS))
    if reply.error:
        st.error(safe_markdown(reply.error.message))
    for text in (*reply.repairs, *reply.warnings):
        st.caption(f"Note: {safe_label(text, 300)}")
    for event in step.after:
        _draw_result(event)


def _draw_result(event: AnyEvent) -> None:
    match event.kind:
        case "tool_finished":
            st.code(call_text(event), language="python", wrap_lines=True)
            st.code(plain(event.result, SHOWN_CHARS), language=None, wrap_lines=True)
            st.caption(" · ".join(_result_facts(event)))
        case "guard_decision":
            _draw_guard(event)


def _draw_guard(event: GuardDecision) -> None:
    what = {"stop": "stopped the run", "nudge": "did not let it run", "replay": "replayed", "block": "blocked it"}
    figures = f"{event.value:,g} against {event.threshold:,g}"
    st.warning(
        f"Guard {safe_label(event.guard)} {what[event.action]}: {safe_label(event.reason, 300)} ({figures})"
    )


def _draw_aside(event: AnyEvent) -> None:
    match event.kind:
        case "note":
            st.caption(f"The program told the model: {safe_label(event.text, 400)}")
        case "shop_changed":
            st.info(
                f"The shop changed: {event.resource} is now {safe_label(event.value)} (by {safe_label(event.by)})"
            )


def call_text(event: ToolFinished) -> str:
    """A call as it is written, with the arguments as repaired."""
    arguments = ", ".join(f"{name}={value!r}" for name, value in event.call.arguments.items())
    return plain(f"{event.call.name}({arguments})", SHOWN_CHARS)


def _result_facts(event: ToolFinished) -> list[str]:
    facts = [f"{event.duration_ms:,.1f} ms" if event.ran else "not run"]
    if not event.ok:
        facts.append("failed" if event.ran else "refused")
    if event.chars_cut:
        facts.append(f"{event.chars_cut:,} characters cut")
    facts += [f"read {fact.resource} v{fact.version}" for fact in event.reads]
    facts += [f"{change.resource} v{change.version_before} → v{change.version}" for change in event.changes]
    return facts


def _reply_facts(reply: ModelReply) -> str:
    facts = [
        f"The model counted {_tokens(reply)}." if not reply.usage.estimated else f"Estimated: {_tokens(reply)}."
    ]
    times = reply.timings_ms
    named = [("load", times.load), ("prompt", times.prompt), ("first token", times.first_token)]
    named += [("writing", times.generation), ("in all", times.total)]
    known = [f"{name} {value / 1000:.2f} s" for name, value in named if value is not None]
    return " ".join([*facts, ", ".join(known)])


def _tokens(reply: ModelReply) -> str:
    usage = reply.usage
    mark = "~" if usage.estimated else ""
    sent, written = (
        "unknown" if count is None else f"{mark}{count:,}" for count in (usage.input_tokens, usage.output_tokens)
    )
    return f"{sent} in + {written} out"
