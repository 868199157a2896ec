"""The lab from a terminal: what misbehaving models come to with guards on and off."""

from enum import StrEnum
from typing import Annotated, get_args

import typer
from rich.console import Console
from rich.table import Table

from lab.guarding import Guards, Row, compare
from lab.misbehaving import misbehavers
from terminal.flags import AsJson, Database
from terminal.printing import short
from terminal.shell import err, out, print_json, shop_at
from terminal.stale_command import run_stale

BOTH: tuple[Guards, ...] = get_args(Guards)


Names = Annotated[list[str], typer.Argument(metavar="[NAME]...", help="The models; all if none is named.")]


STALE = "stale"


class Mode(StrEnum):
    ON = "on"
    OFF = "off"
    BOTH = "both"


def lab(
    names: Annotated[
        list[str], typer.Argument(metavar="[NAME]...", help="The models; all if none is named.")
    ] = [],  # noqa: B006
    guards: Annotated[Mode, typer.Option(help="With guards, without, or side by side.")] = Mode.BOTH,
    model: Annotated[str | None, typer.Option(help='Of "lab stale", in place of its scripts.')] = None,
    rounds: Annotated[int, typer.Option(min=1, max=20, help='Of "lab stale": 100 trials a round and cure.')] = 2,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Let misbehaving models loose on copies of the shop, and see what stops them.

    Without guards a run has a cap of 40 steps, as frameworks have it; with guards it has the preset "guarded".
    Every run is kept: bookshop runs show RUN.

    "bookshop lab stale" tries every cure for stale facts on the same conversations and changes.
    """
    if names == [STALE]:
        run_stale(model, rounds, database, as_json=as_json)
        return
    try:
        models = misbehavers(tuple(names))
    except LookupError as error:
        raise typer.BadParameter(str(error.args[0])) from None
    modes = [mode for mode in BOTH if guards in (Mode.BOTH, mode)]
    rows, most = list[Row](), len(models) * len(modes)
    with shop_at(database) as shop, err().status("Opening the lab ...") as status:
        for row in compare(shop, models, modes):
            rows.append(row)
            status.update(f"{row.model}, guards {row.guards}: {row.stop_reason} ({len(rows)} of {most})")
    if as_json:
        print_json({"rows": [row.json() for row in rows]})
    else:
        draw_rows(out(), rows)


def draw_rows(console: Console, rows: list[Row]) -> None:
    """Print the figures as a table, the two modes of a model beside each other, and below what the user reads."""
    table = Table("Model", "Guards", "Calls", "Input", "Cost", "Effects", "End", box=None, pad_edge=False)
    for row in rows:
        tokens = "?" if row.input_tokens is None else f"~{row.input_tokens:,}"
        cost = "?" if row.cost_usd is None else f"${row.cost_usd:.4f}"
        calls = f"{row.model_calls}/{row.tool_calls}"
        table.add_row(row.model, row.guards, calls, tokens, cost, str(row.effects), row.stop_reason)
    console.print(table)
    console.print("\nCalls are of the model and of tools. Tokens are estimates: scripts have no tokenizer.\n")
    for row in rows:
        console.print(f"{row.model}, guards {row.guards} (run {row.run_id}): {short(row.answer)}", markup=False)
    console.print("\nSee a run step by step with: bookshop runs show RUN")
