"""The lab: misbehaving models let loose on copies of the shop, with guards on and off, side by side."""

from collections.abc import Sequence

import streamlit as st

from agent.text import counted
from agent.trace.stop_reasons import STOPS
from assistant.bookshop import Bookshop
from assistant.settings import LAB_OWNER
from assistant.stopping import label_of
from lab.guarding import Guards, Row, compare
from lab.misbehaving import MISBEHAVERS, misbehavers
from ui.experiments import Experiment
from ui.guards import draw_guards
from ui.lab_panel import draw_outcome, draw_rows
from ui.opened import OPENED
from ui.safe import safe_label
from ui.stale_lab import draw_stale_experiment
from ui.trace_panel import draw_trace

TICK_SECONDS = 0.5
SHOWN_STEPS, MOST_HEIGHT = 12, 500
"""A run of more steps scrolls, in so many pixels."""
MODES: dict[str, tuple[Guards, ...]] = {"both": ("off", "on"), "on": ("on",), "off": ("off",)}
WHAT = {each.name: each.what for each in MISBEHAVERS}


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
    experiment = OPENED.experiments.snapshot()
    running = experiment is not None and experiment.running
    _draw_choice(shop, running=running)

    @st.fragment(run_every=TICK_SECONDS if running else None)
    def tick() -> None:
        now = OPENED.experiments.snapshot()
        if now is None:
            return
        if running and not now.running:
            st.rerun()
        _draw_progress(now)
        if now.rows:
            draw_rows([_figures(row) for row in now.rows])

    tick()
    if experiment and experiment.rows:
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

    def start() -> None:
        if not OPENED.experiments.start(lambda: compare(shop, models, modes), len(models) * len(modes)):
            st.session_state.notice = "Another experiment goes on; this one can start when it is over."

    with st.container(horizontal=True):
        runs = counted(len(models) * len(modes), "run")
        st.button(f"Run the experiment: {runs}", on_click=start, key="lab_start", disabled=running)
        if running:
            st.button("Stop", on_click=OPENED.experiments.stop, key="lab_stop", icon=":material/stop_circle:")
    st.caption(
        "Without guards a run has a cap of 40 steps, as frameworks have it; with guards, the preset guarded."
    )


def _draw_progress(now: Experiment) -> None:
    done = len(now.rows)
    if now.running:
        doing = "Stopping after this run" if now.stopping else "Running"
        st.progress(
            done / now.wanted if now.wanted else 0.0, text=f"{doing}: {done} of {now.wanted} runs are done."
        )
    elif now.error:
        st.error(now.error)
    elif done < now.wanted:
        st.caption(f"Stopped after {done} of {counted(now.wanted, 'run')}.")


def _draw_closely(shop: Bookshop, rows: Sequence[Row]) -> None:
    """Draw the runs of one model beside each other, with their steps and guards."""
    names = list(dict.fromkeys(row.model for row in rows))
    name = st.selectbox(
        "Look closely at", names, format_func=lambda name: f"{name}: {WHAT[name]}", key="lab_close"
    )
    picked = [row for row in rows if row.model == name]
    for place, row in zip(st.columns(len(picked), gap="large"), picked, strict=True):
        with place, st.container(border=True):
            draw_outcome(f"Guards {row.guards}", _facts(row), row.answer)
            events = shop.archive.listing.run_events(LAB_OWNER, row.run_id)
            st.caption(f"Run {safe_label(row.run_id)}, also by: bookshop runs show {safe_label(row.run_id)}")
            with st.container(height=MOST_HEIGHT if row.model_calls > SHOWN_STEPS else "content", border=False):
                draw_trace(events, row.run_id)
            draw_guards(shop, events, row.run_id)


def _facts(row: Row) -> list[str]:
    facts = [counted(row.model_calls, "model call"), counted(row.tool_calls, "tool call")]
    facts += [counted(row.effects, "effect"), counted(row.nudges, "nudge")]
    return [*facts, "done" if row.stop_reason == "done" else f"stopped: {STOPS[row.stop_reason].because}"]


def _figures(row: Row) -> dict[str, object]:
    """A row as a line of the table."""
    return {
        "Model": row.model,
        "Guards": row.guards,
        "Model calls": row.model_calls,
        "Tool calls": row.tool_calls,
        "Input tokens": row.input_tokens,
        "Cost": None if row.cost_usd is None else float(row.cost_usd),
        "Effects": row.effects,
        "Outcome": row.stop_reason,
        "Guard": label_of(row.guard) if row.guard else "none",
        "Nudges": row.nudges,
        "What the user reads": " ".join(row.answer.split()),
    }
