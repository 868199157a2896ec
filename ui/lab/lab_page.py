"""The lab: misbehaving models let loose on copies of the shop, with guards on and off, side by side."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from agent.text import counted
from agent.trace.stop_reasons import STOPS
from assistant.bookshop import Bookshop
from assistant.settings import LAB_OWNER
from assistant.stopping import label_of
from lab.guarding import Guards, Row, compare, results
from lab.misbehaving import MISBEHAVERS, misbehavers
from ui.guard_table import draw_guards
from ui.kept import kept
from ui.lab.experiments import Start, draw_buttons, draw_progress
from ui.lab.stale_experiment import draw_stale_experiment
from ui.opened import OPENED
from ui.panels.timeline import draw_trace
from ui.safe import safe_label, safe_markdown

SHOWN_STEPS, MOST_HEIGHT = 12, 500
"""A run of more steps scrolls, in so many pixels."""
MODES: dict[str, tuple[Guards, ...]] = {"both": ("off", "on"), "on": ("on",), "off": ("off",)}
WHAT = {each.name: each.what for each in MISBEHAVERS}
HEADS = {
    "model": "Model",
    "guards": "Guards",
    "model_calls": "Model calls",
    "tool_calls": "Tool calls",
    "input_tokens": "Input tokens",
    "cost_usd": "Cost",
    "effects": "Effects",
    "stop_reason": "Outcome",
    "guard": "Guard",
    "nudges": "Nudges",
    "answer": "What the user reads",
}
"""The columns of the table, by those of the results."""
COLUMNS: Mapping[str, Any] = {
    "Model": st.column_config.TextColumn(pinned=True),
    "Cost": st.column_config.NumberColumn(format="$%.4f", help="At a made-up price of $2.50 and $10 a million."),
    "Input tokens": st.column_config.NumberColumn(
        format="localized", help="Estimates: scripts have no tokenizer."
    ),
    "Effects": st.column_config.NumberColumn(help="Writes that reached the cart."),
}


def draw_lab(shop: Bookshop) -> None:
    """Draw every experiment of the lab, one below the other."""
    st.title("Lab")
    st.caption(
        "Each of these models misbehaves in one way, and always the same: prepared replies, not language models. "
        "They go through the same loop, tools and database as any other, on fresh copies of the shop."
    )
    draw_guards_experiment(shop)
    draw_stale_experiment(shop)


def draw_guards_experiment(shop: Bookshop) -> None:
    """Draw the choice of models and modes, the experiment under way, and what came of the last one."""
    st.header("Guards on and off")
    running = OPENED.experiments.running
    _draw_choice(shop, running=running)
    draw_progress(OPENED.experiments, "run", _draw_rows, running=running)
    if (experiment := OPENED.experiments.snapshot()) and experiment.rows:
        _draw_closely(shop, experiment.rows)


def _draw_choice(shop: Bookshop, *, running: bool) -> None:
    chosen = st.multiselect(
        "Models",
        list(WHAT),
        format_func=lambda name: f"{name}: {WHAT[name]}",
        key="lab_models",
        placeholder="All of them",
        persist_state="session",
    )
    with st.expander("What each of them does", key="lab-what"):
        st.markdown("\n".join(f"- **{name}** {what}" for name, what in WHAT.items()))
    mode = st.segmented_control(
        "Guards", list(MODES), default="both", key="lab_mode", required=True, persist_state="session"
    )
    models, modes = misbehavers(tuple(chosen)), MODES[mode or "both"]
    most = len(models) * len(modes)
    label = f"Run the experiment: {counted(most, 'run')}"
    start = Start(label, "lab_start", lambda: compare(shop, models, modes), most)
    draw_buttons(OPENED.experiments, [start], "lab_stop", running=running)
    st.caption(
        "Without guards a run has a cap of 40 steps, as frameworks have it; with guards, the preset guarded."
    )


def _draw_rows(rows: Sequence[Row]) -> None:
    def work_out() -> Any:
        found = results(rows)
        guard = [label_of(row.guard) if row.guard else "none" for row in rows]
        answer = found["answer"].str.split().str.join(" ")
        return found.assign(guard=guard, answer=answer)[[*HEADS]].rename(columns=HEADS)

    table = kept("lab-rows", rows, work_out)
    st.dataframe(table, hide_index=True, column_config=dict(COLUMNS), height="content")
    st.caption("Input tokens are estimates: scripts have no tokenizer. Costs are at a made-up price.")


def _draw_closely(shop: Bookshop, rows: Sequence[Row]) -> None:
    """Draw the runs of one model beside each other, with their steps and guards."""
    names = list(dict.fromkeys(row.model for row in rows))
    name = st.selectbox(
        "Look closely at", names, format_func=lambda name: f"{name}: {WHAT[name]}", key="lab_close"
    )
    picked = [row for row in rows if row.model == name]
    for place, row in zip(st.columns(len(picked), gap="large"), picked, strict=True):
        with place, st.container(border=True):
            st.subheader(f"Guards {row.guards}")
            st.caption(" · ".join(_facts(row)))
            st.markdown("**What the user reads**")
            st.markdown(safe_markdown(row.answer))
            events = shop.archive.listing.run_events(LAB_OWNER, row.run_id)
            st.caption(f"Run {safe_label(row.run_id)}, also by: bookshop runs show {safe_label(row.run_id)}")
            with st.container(height=MOST_HEIGHT if row.model_calls > SHOWN_STEPS else "content", border=False):
                draw_trace(events, row.run_id)
            draw_guards(shop, events, row.run_id)


def _facts(row: Row) -> list[str]:
    facts = [counted(row.model_calls, "model call"), counted(row.tool_calls, "tool call")]
    facts += [counted(row.effects, "effect"), counted(row.nudges, "nudge")]
    return [*facts, "done" if row.stop_reason == "done" else f"stopped: {STOPS[row.stop_reason].because}"]
