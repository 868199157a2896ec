"""The second experiment of the lab: the same conversation and change under every cure, once or many times."""

from collections.abc import Callable, Sequence

import streamlit as st

from agent.models import ChatModel
from agent.text import counted
from assistant.bookshop import Bookshop
from assistant.choose_model import OFFLINE, choose
from assistant.cures import Cure
from lab.stale import CHANGES, WORDINGS, Outcome, Trial, plan, side_by_side, try_cures
from lab.stale_models import model_for, remembers_model
from lab.stale_rates import examples_of, handled, rates, shown
from ui.kept import kept
from ui.lab.experiments import Start, draw_buttons, draw_progress
from ui.opened import OPENED
from ui.panels.timings import spoken
from ui.safe import safe_label, safe_markdown

SCRIPTS = "the lab's scripts"
ROUNDS = 1
MOST_MODELS = 50
OUTCOMES: dict[Outcome, str] = {
    "fresh": ":material/check_circle: **{cure}**, fresh: {answer}",
    "stale": ":material/history: **{cure}**, stale: {answer}",
    "hedged": ":material/help: **{cure}**, hedged: {answer}",
    "none": ":material/block: **{cure}**, gave no total: {answer}",
}
"""How an answer is shown, by what it came out as."""


def draw_stale_experiment(shop: Bookshop) -> None:
    """Draw the choice of a change and a question, the experiment under way, and what came of the last one."""
    st.header("Stale facts")
    st.caption(
        "The assistant says what the cart comes to; then the website changes the cart; then it is asked again. "
        "The same conversation and the same change under every cure, each on a fresh copy of the shop."
    )
    running = OPENED.stale_experiments.running
    _draw_choice(shop, running=running)
    draw_progress(OPENED.stale_experiments, "trial", lambda _rows: None, running=running)
    experiment = OPENED.stale_experiments.snapshot()
    if experiment and experiment.rows and not running:
        _draw_rates(experiment.rows)
        _draw_examples(experiment.rows)


def _draw_choice(shop: Bookshop, *, running: bool) -> None:
    change = st.selectbox("What the website does", list(CHANGES), index=2, key="stale_change")
    question = st.selectbox("What is asked then", WORDINGS, key="stale_question")
    names = [SCRIPTS, OFFLINE, *(model.name for model in OPENED.server().models[:MOST_MODELS])]
    who = st.selectbox("Who answers", names, key="stale_model", help="Scripts, the stand-in, or a real model.")
    one: Callable[[], ChatModel] = remembers_model if who == SCRIPTS else lambda: choose(who).model
    many: Callable[[int], ChatModel] = model_for if who == SCRIPTS else lambda _: choose(who).model
    most = len(plan(ROUNDS)) * len(Cure)
    starts = [
        Start("Try every cure", "stale_one", lambda: side_by_side(shop, one, change, question), len(Cure)),
        Start(f"Repeat it: {most} trials", "stale_many", lambda: try_cures(shop, many, ROUNDS), most),
    ]
    draw_buttons(OPENED.stale_experiments, starts, "stale_stop", running=running)
    st.caption("Repeated over five kinds of change and ten wordings, with as many controls where nothing changes.")


def _draw_rates(trials: Sequence[Trial]) -> None:
    """Draw a table of the cures, with a change and without, once they were tried more than once."""
    table = kept("stale-rates", trials, lambda: rates(trials))
    for title, part in shown(table).items():
        if (part["Trials"] > 1).any():
            st.markdown(f"**{title}**")
            pinned = {"Cure": st.column_config.TextColumn(pinned=True)}
            st.dataframe(part, hide_index=True, height="content", column_config=pinned)
    if words := handled(table):
        st.caption(words)


def _draw_examples(trials: Sequence[Trial]) -> None:
    """Draw one answer of each cure to each change: its class, the answer, and what it took."""
    examples = examples_of(trials)
    for change in dict.fromkeys(trial.change for trial in examples):
        same = [trial for trial in examples if trial.change == change]
        with st.container(border=True):
            st.markdown(f"**{safe_label(f'{change}: {same[0].question}')}**")
            for trial in same:
                words = OUTCOMES[trial.outcome]
                st.markdown(words.format(cure=safe_label(trial.cure), answer=safe_markdown(trial.answer)))
                lost = " · the server's cache was lost" if trial.prefix_lost else ""
                took = f"about {trial.tokens:,} tokens · {spoken(1000 * trial.seconds)}"
                st.caption(safe_label(f"{counted(trial.calls, 'call')} · {took}{lost}"))
