"""The steps of a run: what the model was asked, what it said, which calls it made and what came back."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from agent.trace import AnyEvent, ApprovalAnswered, GuardDecision, ModelReply, ToolFinished
from ui.safe import plain, safe_label, safe_markdown
from ui.steps import Step, step_icon, step_label, steps_of, tokens_text
from ui.timings import CACHE_LOST, parts_line, step_parts

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


def draw_trace(events: Sequence[AnyEvent], key: str, doing: str = "") -> None:
    """Draw a timeline with a step that opens for each model call; ``doing`` says what goes on, if anything."""
    steps = steps_of(events)
    if not steps and not doing:
        st.caption("Each step of the loop appears here: the model's calls, the tools' results, tokens and times.")
        return
    for number, step in enumerate(steps):
        waiting = step.reply is None and bool(doing)
        icon = "spinner" if waiting else step_icon(step)
        with st.expander(
            step_label(step, doing if waiting else ""), type="step", icon=icon, key=f"{key}-{number}"
        ):
            _draw_step(step, f"{key}-{number}")


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
    if times := parts_line(step_parts(request, reply, step.after)):
        st.caption(f"Time: {times}")
    if not request.prefix_kept:
        st.caption(f":material/cached: {CACHE_LOST}")
    _draw_said(reply, key)
    for event in step.after:
        _draw_result(event)


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
            versions = f"{safe_label(event.resource)} v{event.version_before} → v{event.version_after}"
            st.info(f"The shop changed: {versions}: {safe_label(event.value)} (by {safe_label(event.by)})")


def answer_text(event: ApprovalAnswered) -> str:
    """What a person said of a call, and through which channel; safe to show as Markdown."""
    by = f"({safe_label(event.by)})"
    if not event.approved:
        return f"A person said no {by}."
    if event.arguments is None:
        return f"A person said yes {by}."
    return f"A person said yes, with other arguments {by}: {safe_label(arguments_text(event.arguments), 300)}"


def arguments_text(arguments: Mapping[str, Any]) -> str:
    """Arguments as a call is written: ``book_id=7, quantity=1``."""
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items())


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
