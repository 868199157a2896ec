"""Stored runs and conversations: listed, shown, renamed, deleted, and exported."""

import sys
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, NoReturn

import typer
from rich.table import Table
from rich.text import Text

import store
from agent.archive import ConversationSummary
from agent.trace import AnyEvent
from agent.trace.documents import dump_events
from agent.views.frames import FRAMES
from assistant.bookshop import Bookshop
from assistant.report import run_json
from assistant.settings import DEMO_CUSTOMER, LAB_OWNER
from terminal.flags import AsJson, Customer, Database
from terminal.printing import draw_events, draw_runs, short
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


sessions = typer.Typer(help="Conversations.", no_args_is_help=True)

Session = Annotated[str, typer.Argument(metavar="SESSION", help="The id or the name of a conversation.")]


@sessions.command("list")
def sessions_list(customer: Customer = DEMO_CUSTOMER, database: Database = None, as_json: AsJson = False) -> None:
    """List a customer's conversations, the one used last first."""
    with shop_at(database) as shop:
        found = shop.archive.listing.conversations(str(customer))
    if as_json:
        print_json({"sessions": [_json(one) for one in found]})
        return
    if not found:
        out().print('No conversations yet. Begin one with: bookshop ask "..."')
        return
    table = Table("Session", "Used", "Turns", "What it is about", box=None, pad_edge=False)
    for one in found:
        used = f"{datetime.fromtimestamp(one.used, UTC).astimezone():%Y-%m-%d %H:%M:%S}"
        table.add_row(one.handle, used, str(one.turns), Text(short(one.title, 60)))
    out().print(table)


@sessions.command("rename")
def sessions_rename(
    session: Session,
    name: Annotated[str, typer.Argument(help="Its new name; empty takes the name away.")],
    customer: Customer = DEMO_CUSTOMER,
    database: Database = None,
) -> None:
    """Give a conversation a name."""
    with shop_at(database) as shop:
        shop.archive.rename(str(customer), _handle(shop, customer, session), name)
    out().print(f"It is called {name.strip()!r} now." if name.strip() else "It has no name now.", markup=False)


@sessions.command("delete")
def sessions_delete(
    session: Session,
    customer: Customer = DEMO_CUSTOMER,
    database: Database = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete a conversation with all its runs; what it did to the cart stays."""
    with shop_at(database) as shop:
        handle = _handle(shop, customer, session)
        if not yes:
            typer.confirm("This deletes the conversation and its runs for good. Go on?", abort=True)
        if not shop.archive.delete(str(customer), handle):
            raise store.BadInput("this conversation is answering; wait for it, or stop it")
    out().print("The conversation is deleted.")


@sessions.command("export")
def sessions_export(session: Session, customer: Customer = DEMO_CUSTOMER, database: Database = None) -> None:
    """Print a conversation with every event as one JSON document."""
    with shop_at(database) as shop:
        conversation = shop.archive.find(str(customer), session) or _no_such(session)
    typer.echo(dump_events(conversation.events))


def _handle(shop: Bookshop, customer: int, session: str) -> str:
    return shop.archive.handle(str(customer), session) or _no_such(session)


def _no_such(session: str) -> NoReturn:
    raise store.NotFound(f'there is no conversation "{short(session, 60)}"; see: bookshop sessions list')


def _json(one: ConversationSummary) -> dict[str, Any]:
    return {
        "session_id": one.handle,
        "name": one.name,
        "title": one.title,
        "turns": one.turns,
        "begun": datetime.fromtimestamp(one.begun, UTC).isoformat(timespec="seconds"),
        "used": datetime.fromtimestamp(one.used, UTC).isoformat(timespec="seconds"),
        "live": one.live,
    }
