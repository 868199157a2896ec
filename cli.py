"""The same shop from a terminal."""

import sys
from contextlib import closing, suppress
from typing import Annotated

import typer

import store
from agent.conversation import Conversation
from agent.lease import lease
from agent.loop import Agent
from agent.result import AgentResult
from assistant.bookshop import Bookshop
from assistant.doctor import diagnose
from assistant.models import choose
from assistant.report import exit_status, result_json
from assistant.settings import checked_message
from lab.scripts import scripted_models
from terminal.flags import AsJson, Database, RunFlags, takes_run_flags
from terminal.printing import draw_findings, event_line
from terminal.run_commands import runs
from terminal.shell import BY, err, out, print_json, run_program, shop_at
from terminal.shop_commands import cart, db, order, stock

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False)
app.add_typer(cart, name="cart")
app.add_typer(stock, name="stock")
app.add_typer(order, name="order")
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
        conversation, agent = _prepare(shop, flags, quiet=as_json)
        result = _run(shop, agent, conversation, text, quiet=as_json)
        if as_json:
            tools = shop.toolbox(flags.customer, BY, flags.settings)
            print_json(result_json(result, conversation, tools, store.view_cart(shop.engine, flags.customer)))
        else:
            out().print(result.answer, markup=False)
        return exit_status(result.stop_reason)


@app.command()
@takes_run_flags
def chat(flags: RunFlags) -> int:
    """Talk with the assistant; an empty line ends it."""
    with shop_at(flags.database) as shop:
        conversation, agent = _prepare(shop, flags, quiet=False)
        err().print(f"An empty line ends the chat. Continue it later with: --session {conversation.handle}")
        while text := _read_line():
            out().print(_run(shop, agent, conversation, text, quiet=False).answer, markup=False)
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
        stream.reconfigure(errors="backslashreplace")  # a title in another script is no reason to fail
    sys.exit(run_program(app, sys.argv[1:]))


def _prepare(shop: Bookshop, flags: RunFlags, *, quiet: bool) -> tuple[Conversation, Agent]:
    choice = choose(flags.model, scripts=scripted_models())
    store.view_cart(shop.engine, flags.customer)  # an unknown customer is told so before anything is begun
    conversation = shop.conversation(flags.customer, flags.session)
    if not quiet:
        err().print("\n  ".join([choice.why, *choice.commands]), style="dim", markup=False)
    return conversation, shop.agent(choice.model, flags.customer, conversation, flags.settings)


def _run(shop: Bookshop, agent: Agent, conversation: Conversation, text: str, *, quiet: bool) -> AgentResult:
    """Run one turn in this thread; Ctrl-C ends the turn, not its record."""
    console = err()
    with (
        lease(shop.archive, conversation) as run_id,
        suppress(KeyboardInterrupt),
        closing(agent.stream(conversation, text, run_id=run_id)) as items,  # closing it ends the run
    ):
        for item in items:
            if not quiet and (line := event_line(item)):
                console.print(line, style="dim", markup=False)
    return AgentResult.of(conversation)


def _read_line() -> str:
    try:
        return input("> ").strip()
    except EOFError:
        return ""
