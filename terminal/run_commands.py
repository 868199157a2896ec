"""Stored runs: listed, and shown event by event."""

from typing import Annotated

import typer

import store
from agent.trace import AnyEvent
from agent.trace.documents import dump_events
from assistant.report import run_json
from assistant.settings import DEMO_CUSTOMER, LAB_OWNER
from terminal.flags import AsJson, Customer, Database
from terminal.printing import draw_events, draw_runs
from terminal.shell import out, print_json, shop_at

runs = typer.Typer(help="Stored runs.", no_args_is_help=True)


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
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="As listed.")],
    customer: Customer = DEMO_CUSTOMER,
    database: Database = None,
) -> None:
    """Print a run with every event as one JSON document."""
    typer.echo(dump_events(_events(run_id, customer, database)))


@runs.command("show")
def runs_show(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="As listed.")],
    customer: Customer = DEMO_CUSTOMER,
    database: Database = None,
    as_json: AsJson = False,
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
