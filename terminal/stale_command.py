"""The experiment on stale facts from a terminal: every cure on the same conversations and changes."""

from collections.abc import Callable, Sequence

from rich.console import Console
from rich.table import Table

from agent.models import ChatModel
from assistant.freshness import Cure
from assistant.models import choose
from lab.intervals import wilson
from lab.scripts import scripted_models
from lab.stale import Trial, plan, try_cures
from lab.stale_models import model_for
from lab.stale_rows import CureRow, example_json, examples_of, rows_of
from terminal.printing import short
from terminal.shell import err, out, print_json, shop_at


def run_stale(model: str | None, rounds: int, database: str | None, *, as_json: bool) -> None:
    """Try the cures and print what came of it; by default on the lab's scripts."""
    subject = _chosen(model) if model else model_for
    trials: list[Trial] = []
    most = len(plan(rounds)) * len(Cure)
    with shop_at(database) as shop, err().status("Opening the lab ...") as status:
        for trial in try_cures(shop, subject, rounds):
            trials.append(trial)
            status.update(f"{len(trials):,} of {most:,} trials: {trial.change}, {trial.cure}: {trial.outcome}")
    rows = rows_of(trials)
    if as_json:
        examples = [example_json(trial) for trial in examples_of(trials)]
        print_json({"rows": [row.json() for row in rows], "examples": examples})
    else:
        draw_rates(out(), rows)
        draw_examples(out(), examples_of(trials))


def draw_rates(console: Console, rows: Sequence[CureRow]) -> None:
    """Print a row for each cure, with and without a change; what is added is per trial, over history."""
    for changed, title in ((True, "The cart had changed"), (False, "Nothing had changed")):
        heads = ("Cure", "Trials", "Fresh", "Stale, 95 %", "Hedged", "+calls", "+tokens", "+cache lost")
        table = Table(*heads, title=title, title_justify="left", box=None, pad_edge=False)
        for row in (row for row in rows if row.changed is changed):
            low, high = wilson(row.count("stale"), len(row.trials))
            stale = f"{row.count('stale')} ({low:.0%}-{high:.0%})"
            counts = (str(len(row.trials)), str(row.count("fresh")), stale, str(row.count("hedged")))
            lost = f"{row.added_lost:+.2f}"
            table.add_row(str(row.cure), *counts, f"{row.added_calls:+.2f}", f"{row.added_tokens:+.0f}", lost)
        console.print(table)
        console.print()
    for row in rows:
        if row.cure is Cure.VERIFY and row.changed:
            handled = row.json()
            console.print(
                f"verify left {handled['untouched']} answers untouched, had {handled['regenerated']} written anew "
                f"and corrected {handled['corrected']}.\n"
            )


def draw_examples(console: Console, trials: Sequence[Trial]) -> None:
    """Print one answer of each cure to each change."""
    for change in dict.fromkeys(trial.change for trial in trials):
        same = [trial for trial in trials if trial.change == change]
        console.print(f"{change}: {same[0].question}", style="bold", markup=False)
        for trial in same:
            console.print(f"  {trial.cure:9} {trial.outcome:7} {short(trial.answer, 90)}", markup=False)


def _chosen(name: str) -> Callable[[int], ChatModel]:
    return lambda _number: choose(name, scripts=scripted_models()).model
