"""Stored runs: listed, shown event by event, and exported."""

import sys
from typing import Annotated, Literal

import typer

import store
from agent.trace import AnyEvent
from agent.trace.documents import dump_events
from agent.views.frames import FRAMES
from assistant.report import run_json
from assistant.settings import DEMO_CUSTOMER, LAB_OWNER
from terminal.flags import AsJson, Customer, Database
from terminal.printing import draw_events, draw_runs
from terminal.shell import out, print_json, shop_at

runs = typer.Typer(help="Stored runs.", no_args_is_help=True)

Run = Annotated[str, typer.Argument(metavar="RUN", help="As listed.")]


@runs.command("list")
def runs_list(
    customer: Customer = DEMO_CUSTOMER,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many.")] = 20,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """List the latest runs, newest first."""
    with shop_at(database) as shop:
        found = shop.archive.listing.runs(str(customer), limit)
    if as_json:
        print_json({"runs": [run_json(run) for run in found]})
    else:
        draw_runs(out(), found)


@runs.command("export")
def runs_export(
    run_id: Run,
    form: Annotated[
        Literal["json", "csv", "parquet"], typer.Option("--format", help="The whole trace, or a table of it.")
    ] = "json",
    frame: Annotated[
        Literal["steps", "calls", "decisions", "runs"] | None,
        typer.Option(help="What a row of the table is; steps if nothing is said.", show_default=False),
    ] = None,
    customer: Customer = DEMO_CUSTOMER,
    database: Database = None,
) -> None:
    """Print a run: all its events as one JSON document, or a table of its steps, calls, decisions or sums."""
    if form == "json" and frame:
        raise typer.BadParameter("--frame goes with --format csv or parquet; json is the whole trace")
    if form == "parquet" and sys.stdout.isatty():
        raise typer.BadParameter("parquet is no text for a terminal; send it to a file: > run.parquet")
    events = _events(run_id, customer, database)
    if form == "json":
        typer.echo(dump_events(events))
        return
    table = FRAMES[frame or "steps"](events)
    if form == "csv":
        typer.echo(table.to_csv(index=False), nl=False)
    else:
        sys.stdout.buffer.write(table.to_parquet(index=False))


@runs.command("show")
def runs_show(
    run_id: Run, customer: Customer = DEMO_CUSTOMER, database: Database = None, as_json: AsJson = False
) -> None:
    """Show a run event by event."""
    events = _events(run_id, customer, database)
    if as_json:
        print_json({"run_id": run_id, "events": [event.model_dump(mode="json") for event in events]})
    else:
        draw_events(out(), events)


def _events(run_id: str, customer: int, database: str | None) -> list[AnyEvent]:
    """The events of a run of this customer, or of the lab; raises NotFound if there is none."""
    with shop_at(database) as shop:
        for owner in (str(customer), LAB_OWNER):
            if events := shop.archive.listing.run_events(owner, run_id):
                return events
    raise store.NotFound(f'there is no run "{run_id}"; list them with: bookshop runs list')
