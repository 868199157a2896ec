"""The steps of a run as a timeline: what the model was asked, what it said, its calls and what came of them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import streamlit as st

from agent.text import arguments_text
from agent.trace import AnyEvent, ApprovalAnswered, GuardDecision, ModelReply, ShopChanged, ToolFinished
from agent.views.steps import Step, steps_of
from ui.panels.timings import CACHE_LOST, parts_line, spoken, step_parts
from ui.safe import plain, safe_label, safe_markdown

SHOWN_CHARS = 4_000
UNUSABLE = {
    "empty": "The reply was empty: neither an answer nor a call.",
    "cut_by_length": "The reply reached the limit of its length before it was an answer or a call.",
    "only_thinking": "The model only thought, and gave neither an answer nor a call.",
    "call_as_text": "The model wrote a call as text. It was not run.",
    "call_in_thinking": "The model wrote a call inside its thinking. It was not run.",
}
"""Why a whole reply could not be used, in words."""
NOTES = {
    "snapshot": "The program told the model how things stand",
    "corrective": "The program asked the model again",
    "nudge": "A guard gave the model a hint",
    "wrap_up": "The program asked for a last word, without tools",
}
"""Why the program added something to what the model reads."""
NOT_RUN = {
    "guard": "not run: a guard answered it",
    "unknown_tool": "not run: there is no such tool",
    "bad_arguments": "not run: the arguments do not fit",
    "prompt_cut": "not run: the server had cut the prompt",
    "declined": "not run: a person said no",
    "run_ended": "not run: the run was over",
}
"""Why a call was not run, in words."""
ACTIONS = {
    "stop": "stopped the run",
    "nudge": "gave a hint",
    "replay": "replayed",
    "block": "blocked it",
    "correct": "corrected the answer",
}
"""What a guard did, in words."""
PROMPT_CUT = "The server cut the prompt: the model did not see all of it, so nothing it asked for was run."
MOST_PENDING = 6


def draw_trace(events: Sequence[AnyEvent], key: str, doing: str = "") -> None:
    """Draw a timeline with a step that opens for each model call; ``doing`` says what goes on, if anything."""
    steps = steps_of(events)
    if not steps and not doing:
        st.caption("Each step of the loop appears here: the model's calls, the tools' results, tokens and times.")
        return
    for number, step in enumerate(steps):
        waiting = step.reply is None and bool(doing)
        label = step_label(step, doing if waiting else "")
        icon = "spinner" if waiting else step_icon(step)
        with st.expander(label, type="step", icon=icon, key=f"{key}-{number}", on_change="rerun") as box:
            st.caption("  \n".join(_step_facts(step)))  # an empty step could not be opened
            if box.open:  # else a tick of a live page would take twice as long
                _draw_step(step, f"{key}-{number}")


def draw_pending(changes: Sequence[ShopChanged]) -> None:
    """Draw the changes of the shop that the model does not know of yet, the oldest first, with who made each."""
    if not changes:
        return
    lines = [_changed(change) for change in changes[-MOST_PENDING:]]
    if len(changes) > MOST_PENDING:
        lines.insert(0, f"{len(changes) - MOST_PENDING} earlier ones")
    words = "  \n".join(["Pending: the shop has changed, and the model does not know it yet.", *lines])
    st.info(words, icon=":material/pending:")


def step_label(step: Step, doing: str = "") -> str:
    """One line for a step: its calls or its answer, tokens and seconds."""
    reply, name = step.reply, "Wrap-up" if step.request.wrap_up else f"Step {step.request.step}"
    if reply is None:
        return f"{name} · {safe_label(doing or 'no reply')}"
    called = ", ".join(safe_label(call.name) for call in reply.tool_calls)
    what = "failed" if reply.error else called or _answer_text(reply)
    parts = [name, what, tokens_text(reply)]
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


def _draw_step(step: Step, key: str) -> None:
    for event in step.before:
        _draw_aside(event)
    if step.reply:
        _draw_said(step.reply, key)
    for event in step.after:
        _draw_result(event)


def _step_facts(step: Step) -> Iterator[str]:
    request = step.request
    again, new = f"{request.resent_tokens:,} again", f"{request.new_tokens:,} new"
    yield f"Sent about {request.estimated_input_tokens:,} tokens: {again}, {new}."
    if step.reply:
        yield _reply_facts(step.reply)
        if times := parts_line(step_parts(step)):
            yield f"Time: {times}"
        if not request.prefix_kept:
            yield f":material/cached: {CACHE_LOST}"


def _draw_said(reply: ModelReply, key: str) -> None:
    """Draw what the model thought and said, and what was wrong with it."""
    if reply.thinking:
        with st.expander("Thinking", type="compact", key=f"{key}-thinking"):
            st.text(plain(reply.thinking, SHOWN_CHARS))
    if reply.text.strip():
        st.markdown(safe_markdown(reply.text, SHOWN_CHARS))
    if reply.error:
        st.error(safe_markdown(reply.error.message))
    if reply.unusable:
        st.warning(UNUSABLE[reply.unusable])
    if reply.prompt_cut:
        st.warning(PROMPT_CUT)
    for text in reply.warnings:
        st.warning(safe_label(text, 300))
    for text in reply.repairs:
        st.caption(f"Repaired: {safe_label(text, 300)}")


def _draw_result(event: AnyEvent) -> None:
    match event.kind:
        case "tool_finished":
            st.code(call_text(event.call.name, event.call.arguments), language="python", wrap_lines=True)
            st.code(plain(event.result, SHOWN_CHARS), language=None, wrap_lines=True)
            st.caption(" · ".join(_result_facts(event)))
        case "guard_decision":
            _draw_guard(event)
        case "approval_requested":
            st.code(call_text(event.call.name, event.call.arguments), language="python", wrap_lines=True)
            st.info(f"This call waited for a person: {safe_label(event.reason, 300)}")
        case "approval_answered":
            st.info(answer_text(event))


def _draw_guard(event: GuardDecision) -> None:
    figures = f"{event.value:,.10g} against {event.threshold:,.10g}"
    st.warning(
        f"Guard {safe_label(event.guard)} {ACTIONS[event.action]}: {safe_label(event.reason, 300)} ({figures})"
    )


def _draw_aside(event: AnyEvent) -> None:
    match event.kind:
        case "note":
            st.caption(f"{NOTES[event.purpose]}: {safe_label(event.text, 400)}")
        case "shop_changed":
            st.info(f"The shop changed: {_changed(event)}")


def _changed(event: ShopChanged) -> str:
    versions = f"{safe_label(event.resource)} v{event.version_before} → v{event.version_after}"
    at = f", {event.changed_at[11:19]} UTC" if event.changed_at else ""
    return f"{versions}: {safe_label(event.value)} (by {safe_label(event.by)}{at})"


def answer_text(event: ApprovalAnswered) -> str:
    """What a person said of a call, and through which channel; safe to show as Markdown."""
    by = f"({safe_label(event.by)})"
    if not event.approved:
        return f"A person said no {by}."
    if event.arguments is None:
        return f"A person said yes {by}."
    return f"A person said yes, with other arguments {by}: {safe_label(arguments_text(event.arguments), 300)}"


def call_text(name: str, arguments: Mapping[str, Any]) -> str:
    """A call as it is written, with the arguments as repaired."""
    return plain(f"{name}({arguments_text(arguments)})", SHOWN_CHARS)


def _result_facts(event: ToolFinished) -> list[str]:
    if event.ran:
        facts = [f"{event.duration_ms:,.1f} ms"]
        if not event.ok:
            facts.append("refused: the tool works and says no" if event.refused else "failed")
    else:
        facts = [NOT_RUN[event.not_run] if event.not_run else "not run"]
    if event.doubtful:
        facts.append("cut off; whether it took effect was not known yet")
    if event.chars_cut:
        facts.append(f"{event.chars_cut:,} characters cut")
    facts += [f"read {fact.resource} v{fact.version}" for fact in event.reads]
    facts += [f"{change.resource} v{change.version_before} → v{change.version}" for change in event.changes]
    return facts


def _reply_facts(reply: ModelReply) -> str:
    usage = reply.usage
    counted = (
        f"Estimated: {tokens_text(reply)}." if usage.estimated else f"The model counted {tokens_text(reply)}."
    )
    return counted if usage.cached_tokens is None else f"{counted} {usage.cached_tokens:,} in were cached."
