"""The second experiment of the lab: the same conversation and change under every cure, once or many times."""

from collections.abc import Callable, Iterator, Sequence

import streamlit as st

from agent.models import ChatModel
from agent.text import counted
from assistant.bookshop import Bookshop
from assistant.freshness import Cure
from assistant.models import OFFLINE, choose
from lab.intervals import wilson
from lab.stale import CHANGES, WORDINGS, Trial, plan, side_by_side, try_cures
from lab.stale_models import model_for, remembers_model
from lab.stale_rows import CureRow, examples_of, rows_of
from ui.experiments import Experiment
from ui.opened import OPENED
from ui.safe import safe_markdown
from ui.stale_panel import draw_answers, draw_rates
from ui.timings import spoken

TICK_SECONDS = 0.5
SCRIPTS = "the lab's scripts"
ROUNDS = 1
MOST_MODELS = 50


def draw_stale_experiment(shop: Bookshop) -> None:
    """Draw the choice of a change and a question, the experiment under way, and what came of the last one."""
    st.header("Stale facts")
    st.caption(
        "The assistant says what the cart comes to; then the website changes the cart; then it is asked again. "
        "The same conversation and the same change under every cure, each on a fresh copy of the shop."
    )
    experiment = OPENED.stale_experiments.snapshot()
    running = experiment is not None and experiment.running
    _draw_choice(shop, running=running)

    @st.fragment(run_every=TICK_SECONDS if running else None)
    def tick() -> None:
        now = OPENED.stale_experiments.snapshot()
        if now is None:
            return
        if running and not now.running:
            st.rerun()
        _draw_progress(now)

    tick()
    if experiment and experiment.rows and not running:
        _draw_results(experiment.rows)


def _draw_choice(shop: Bookshop, *, running: bool) -> None:
    change = st.selectbox("What the website does", list(CHANGES), index=2, key="stale_change")
    question = st.selectbox("What is asked then", WORDINGS, key="stale_question")
    names = [SCRIPTS, OFFLINE, *(model.name for model in OPENED.server().models[:MOST_MODELS])]
    who = st.selectbox("Who answers", names, key="stale_model", help="Scripts, the stand-in, or a real model.")
    one: Callable[[], ChatModel] = remembers_model if who == SCRIPTS else lambda: choose(who).model
    many: Callable[[int], ChatModel] = model_for if who == SCRIPTS else lambda _: choose(who).model
    most = len(plan(ROUNDS)) * len(Cure)

    def start_one() -> None:
        _start(lambda: side_by_side(shop, one, change, question), len(Cure))

    def start_many() -> None:
        _start(lambda: try_cures(shop, many, ROUNDS), most)

    with st.container(horizontal=True):
        st.button("Try every cure", on_click=start_one, key="stale_one", disabled=running)
        st.button(f"Repeat it: {most} trials", on_click=start_many, key="stale_many", disabled=running)
        if running:
            st.button("Stop", on_click=OPENED.stale_experiments.stop, key="stale_stop")
    st.caption("Repeated over five kinds of change and ten wordings, with as many controls where nothing changes.")


def _start(trials: Callable[[], Iterator[Trial]], wanted: int) -> None:
    if not OPENED.stale_experiments.start(trials, wanted):
        st.session_state.notice = "Another experiment goes on; this one can start when it is over."


def _draw_progress(now: Experiment) -> None:
    done = len(now.rows)
    if now.running:
        st.progress(done / now.wanted, text=f"{done} of {counted(now.wanted, 'trial')} are done.")
    elif now.error:
        st.error(now.error)
    elif done < now.wanted:
        st.caption(f"Stopped after {done} of {counted(now.wanted, 'trial')}.")


def _draw_results(trials: Sequence[Trial]) -> None:
    sums = rows_of(trials)
    for changed, title in ((True, "The cart had changed"), (False, "Nothing had changed")):
        same = [row for row in sums if row.changed is changed and row.trials]
        if any(len(row.trials) > 1 for row in same):
            draw_rates(title, [_figures(row) for row in same])
    verified = next((row.json() for row in sums if row.cure is Cure.VERIFY and row.changed), None)
    if verified and verified["trials"]:
        handled = {name: verified[name] for name in ("untouched", "regenerated", "corrected")}
        st.caption(f"What verify did to its answers: {', '.join(f'{n} {name}' for name, n in handled.items())}.")
    examples = examples_of(trials)
    for change in dict.fromkeys(trial.change for trial in examples):
        same_change = [trial for trial in examples if trial.change == change]
        rows = [(str(each.cure), each.outcome, safe_markdown(each.answer), _cost(each)) for each in same_change]
        draw_answers(f"{change}: {same_change[0].question}", rows)


def _figures(row: CureRow) -> dict[str, object]:
    low, high = wilson(row.count("stale"), len(row.trials))
    return {
        "Cure": str(row.cure),
        "Trials": len(row.trials),
        "Fresh": row.count("fresh"),
        "Stale": row.count("stale"),
        "Stale, 95 %": f"{low:.0%} to {high:.0%}",
        "Hedged": row.count("hedged"),
        "Calls added": round(row.added_calls, 2),
        "Tokens added": round(row.added_tokens),
        "Cache lost, added": round(row.added_lost, 2),
    }


def _cost(trial: Trial) -> str:
    lost = " · the server's cache was lost" if trial.prefix_lost else ""
    return f"{counted(trial.calls, 'call')} · about {trial.tokens:,} tokens · {spoken(1000 * trial.seconds)}{lost}"
