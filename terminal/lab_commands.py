"""The lab from a terminal: misbehaving models with guards on and off, and every cure for stale facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import typer
from rich.console import Console

from assistant.choose_model import choose
from assistant.cures import Cure
from lab.guarding import Guards, Row, compare, results
from lab.misbehaving import misbehavers
from lab.scripts import scripted_models
from lab.stale import Trial, plan, try_cures
from lab.stale_models import model_for
from lab.stale_rates import example_json, examples_of, handled, rates, rates_json, shown
from terminal.flags import AsJson, Database
from terminal.printing import draw_frame, short
from terminal.shell import err, out, print_json, shop_at

if TYPE_CHECKING:
    from pandas import DataFrame

STALE = "stale"

Form = Literal["table", "csv", "json"]


def lab(
    names: Annotated[
        list[str], typer.Argument(metavar="[NAME]...", help="The models; all if none is named.")
    ] = [],  # noqa: B006
    guards: Annotated[
        Literal["on", "off", "both"], typer.Option(help="With guards, without, or side by side.")
    ] = "both",
    model: Annotated[str | None, typer.Option(help='Of "lab stale", in place of its scripts.')] = None,
    rounds: Annotated[int, typer.Option(min=1, max=20, help='Of "lab stale": 100 trials a round and cure.')] = 2,
    form: Annotated[
        Form | None,
        typer.Option("--format", help="A table if nothing is said.", show_default=False),
    ] = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Let misbehaving models loose on copies of the shop, and see what stops them.

    Without guards a run has a cap of 40 steps, as frameworks have it; with guards it has the preset "guarded".
    Every run is kept: bookshop runs show RUN.

    "bookshop lab stale" tries every cure for stale facts on the same conversations and changes.
    """
    if as_json and form not in (None, "json"):
        raise typer.BadParameter(f"--json and --format {form} do not go together")
    form = "json" if as_json else form or "table"
    if names == [STALE]:
        _print_trials(_try_cures(model, rounds, database), form)
    else:
        _print_rows(_compare(names, guards, database), form)


def _compare(names: list[str], guards: str, database: str | None) -> list[Row]:
    try:
        models = misbehavers(tuple(names))
    except LookupError as error:
        raise typer.BadParameter(str(error.args[0])) from None
    modes = [mode for mode in get_args(Guards) if guards in ("both", mode)]
    rows, most = list[Row](), len(models) * len(modes)
    with shop_at(database) as shop, err().status("Opening the lab ...") as status:
        for row in compare(shop, models, modes):
            rows.append(row)
            status.update(f"{row.model}, guards {row.guards}: {row.stop_reason} ({len(rows)} of {most})")
    return rows


def _try_cures(model: str | None, rounds: int, database: str | None) -> list[Trial]:
    subject = (lambda _number: choose(model, scripts=scripted_models()).model) if model else model_for
    trials, most = list[Trial](), len(plan(rounds)) * len(Cure)
    with shop_at(database) as shop, err().status("Opening the lab ...") as status:
        for trial in try_cures(shop, subject, rounds):
            trials.append(trial)
            status.update(f"{len(trials):,} of {most:,} trials: {trial.change}, {trial.cure}: {trial.outcome}")
    return trials


def _print_rows(rows: Sequence[Row], form: Form) -> None:
    """Print the figures, and in words what the user reads; the two modes of a model stand beside each other."""
    if form == "json":
        print_json({"rows": [row.json() for row in rows]})
        return
    found = results(rows)
    if form == "csv":
        typer.echo(found.to_csv(index=False), nl=False)
        return
    console = out()
    draw_frame(console, _figures(found))
    console.print("\nCalls are of the model and of tools. Tokens are estimates: scripts have no tokenizer.\n")
    for row in rows:
        console.print(f"{row.model}, guards {row.guards} (run {row.run_id}): {short(row.answer)}", markup=False)
    console.print("\nSee a run step by step with: bookshop runs show RUN")


def _figures(found: DataFrame) -> DataFrame:
    calls = found["model_calls"].astype("string") + "/" + found["tool_calls"].astype("string")
    tokens = found["input_tokens"].map("~{:,}".format, na_action="ignore")
    cost = found["cost_usd"].map("${:.4f}".format, na_action="ignore")
    heads = {"model": "Model", "guards": "Guards", "calls": "Calls", "input": "Input"}
    heads |= {"cost": "Cost", "effects": "Effects", "stop_reason": "End"}
    return found.assign(calls=calls, input=tokens, cost=cost)[[*heads]].rename(columns=heads)


def _print_trials(trials: Sequence[Trial], form: Form) -> None:
    """Print the rates of every cure, and in words one answer of each to each change."""
    table, examples = rates(trials), examples_of(trials)
    if form == "json":
        print_json({"rows": [*rates_json(table)], "examples": [example_json(trial) for trial in examples]})
    elif form == "csv":
        typer.echo(table.to_csv(index=False), nl=False)
    else:
        console = out()
        for title, part in shown(table).items():
            draw_frame(console, part, title)
            console.print()
        console.print(f"{handled(table)}\n")
        _draw_examples(console, examples)


def _draw_examples(console: Console, trials: Sequence[Trial]) -> None:
    for change in dict.fromkeys(trial.change for trial in trials):
        same = [trial for trial in trials if trial.change == change]
        console.print(f"{change}: {same[0].question}", style="bold", markup=False)
        for trial in same:
            console.print(f"  {trial.cure:9} {trial.outcome:7} {short(trial.answer, 90)}", markup=False)
