"""The same shop from a terminal."""

import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from agent.trace.stop_reasons import STOPS
from assistant.doctor import diagnose
from assistant.settings import checked_message
from terminal.asking import NothingStopped, known_desk, new_desk
from terminal.flags import AsJson, Database, RunFlags, takes_run_flags
from terminal.lab_commands import lab
from terminal.printing import draw_findings
from terminal.shell import err, out, print_json, run_program, shop_at
from terminal.shop_commands import cart, db, order, price, stock
from terminal.stored_commands import runs, sessions

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False)
app.command()(lab)
app.add_typer(cart, name="cart")
app.add_typer(stock, name="stock")
app.add_typer(order, name="order")
app.add_typer(price, name="price")
app.add_typer(sessions, name="sessions")
app.add_typer(runs, name="runs")
app.add_typer(db, name="db")


@app.command()
@takes_run_flags
def ask(
    text: Annotated[str, typer.Argument(help="What you want.")], flags: RunFlags, as_json: AsJson = False
) -> int:
    """Run one turn and print the answer; the steps go to stderr."""
    text = checked_message(text)
    with shop_at(flags.database) as shop:
        desk = new_desk(shop, flags, quiet=as_json)
        result = desk.ask(text)
        desk.show(result, as_json=as_json)
    return STOPS[result.stop_reason].exit_status


@app.command("continue")
@takes_run_flags
def go_on(
    flags: RunFlags,
    tools: Annotated[bool, typer.Option("--tools/--no-tools", help="Without tools it answers now.")] = True,
    as_json: AsJson = False,
) -> int:
    """Go on from a run that was stopped, in the conversation of --session: a new allowance, nothing redone."""
    with shop_at(flags.database) as shop:
        desk = known_desk(shop, flags, quiet=as_json)
        result = desk.go_on(tools=tools)
        desk.show(result, as_json=as_json)
    return STOPS[result.stop_reason].exit_status


@app.command()
@takes_run_flags
def chat(flags: RunFlags) -> int:
    """Talk with the assistant; an empty line ends it, /continue and /answer go on from a run that was stopped."""
    with shop_at(flags.database) as shop:
        desk = new_desk(shop, flags, quiet=False)
        err().print(f"An empty line ends the chat. Continue it later with: --session {desk.conversation.handle}")
        while text := _read_line():
            going_on = {"/continue": True, "/answer": False}.get(text)
            try:
                result = desk.ask(text) if going_on is None else desk.go_on(tools=going_on)
            except NothingStopped as error:
                err().print(f"{error}".capitalize(), markup=False)
                continue
            desk.show(result, as_json=False)
    return 0


@app.command()
def doctor(database: Database = None, as_json: AsJson = False) -> None:
    """Say what is installed, reachable and pulled, and what to do about what is not."""
    findings = diagnose(database)
    if as_json:
        print_json({"findings": [vars(finding) for finding in findings]})
    else:
        draw_findings(out(), findings)


def main() -> None:
    """Run the command line; the console script ``bookshop``."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a title in another script is no reason to fail
    sys.exit(run_program(app, sys.argv[1:]))


def _read_line() -> str:
    try:
        return input("> ").strip()
    except EOFError:
        return ""
