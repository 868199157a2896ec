"""The conversation: what was said, how each answer came about, and the answer that is coming."""

from collections.abc import Sequence

import streamlit as st

from agent.archive import Snapshot
from agent.text import counted
from agent.trace import AnyEvent, RunFinished
from agent.trace.stop_reasons import STOPS
from ui.caveats import Caveats, faded
from ui.safe import safe_markdown


def draw_history(events: Sequence[AnyEvent], caveats: Caveats, *, skip_run: str = "") -> None:
    """Draw every message and answer with its caveats; ``skip_run`` leaves out the run that is still drawn live."""
    run_id, model = "", ""
    for event in events:
        match event.kind:
            case "run_started":
                run_id, model = event.run_id, event.model.label
            case "user_message" if run_id != skip_run:
                draw_question(event.text)
            case "run_finished" if run_id != skip_run:
                with st.chat_message("assistant"):
                    draw_answer(event, model, caveats.faded(run_id))
                    caveats.draw(run_id)


def draw_question(text: str) -> None:
    """Draw what the user said."""
    with st.chat_message("user"):
        st.markdown(safe_markdown(text))


def draw_answer(end: RunFinished, model: str, overtaken: Sequence[tuple[int, int]] = ()) -> None:
    """Draw an answer, and under it what it took; a run that was stopped never looks like one that was done.

    It fades at the places where it states what is ``overtaken``.
    """
    if end.stop_reason != "done":
        st.warning(f"Not finished: {STOPS[end.stop_reason].because} ({end.stop_reason}).", icon="⚠️")
    st.markdown(faded(end.answer, overtaken))
    st.caption(" · ".join(_facts(end, model)))


def draw_coming(snapshot: Snapshot) -> None:
    """Draw a question and the answer that is coming: the words so far, and what goes on."""
    draw_question(snapshot.question)
    with st.chat_message("assistant"):
        if snapshot.text.strip():
            st.markdown(safe_markdown(snapshot.text))
        doing = "stopping" if snapshot.stopping else snapshot.doing
        st.markdown(f":shimmer[{doing[0].upper()}{safe_markdown(doing[1:])} …] {snapshot.seconds:.0f} s")


def draw_elsewhere() -> None:
    """Say that another process answers, or has died in the middle of it, which shows after some seconds."""
    with st.chat_message("assistant"):
        st.markdown(":shimmer[Another program is answering, or broke off; this shows by itself …]")


def _facts(end: RunFinished, model: str) -> list[str]:
    usage = end.usage
    facts = [counted(end.steps, "step"), counted(end.tool_calls, "tool call")]
    if usage.input_tokens is not None and usage.output_tokens is not None:
        mark = "about " if usage.estimated else "" if end.usage_complete else "at least "
        facts.append(f"{mark}{usage.input_tokens + usage.output_tokens:,} tokens")
    else:
        facts.append("tokens unknown")
    if end.cost is not None:
        guess = "about " if usage.estimated or not end.usage_complete else ""
        facts.append(f"{guess}\\${end.cost:.4f}")
    if end.seconds is not None:
        facts.append(f"{end.seconds:.1f} s")
    by = "written by the program" if end.answer_by == "program" else safe_markdown(model)
    return [*facts, by]
