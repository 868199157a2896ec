"""One turn from the terminal, driven to its end: steps to stderr, and a person asked where a call needs it."""

import json
import sys
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import replace
from typing import Any

import store
from agent.archive import HeldTurn, resume_turn, start_turn
from agent.loop.agent import Agent
from agent.loop.tool_call import Approval
from agent.text import arguments_text
from agent.tools import BadArguments, NoTools, Tool
from agent.trace import ApprovalRequested
from agent.views.conversation import Conversation
from agent.views.result import AgentResult
from assistant.bookshop import Bookshop
from assistant.choose_model import choose
from assistant.report import result_json
from assistant.settings import ANSWER_NOW, CONTINUE
from assistant.stopping import stop_card
from lab.scripts import scripted_models
from terminal.flags import RunFlags
from terminal.printing import draw_stop_card, event_line
from terminal.shell import BY, err, out, print_json


class NothingStopped(store.NotFound):
    """there is no stopped run to go on from"""


class Desk:
    """What a command that runs turns works with: the shop, a conversation, and what the flags ask for.

    ``quiet`` prints no steps and asks nobody.
    """

    def __init__(self, shop: Bookshop, flags: RunFlags, conversation: Conversation, *, quiet: bool) -> None:
        choice = choose(flags.model, scripts=scripted_models())
        self.shop, self.flags, self.conversation, self.quiet = shop, flags, conversation, quiet
        self._model = choice.model
        self._say("\n  ".join([choice.why, *choice.commands]))

    def ask(self, text: str) -> AgentResult:
        """Run one turn; Ctrl-C ends the turn, not its record."""
        return self._turn(self._agent(), text, None)

    def go_on(self, *, tools: bool) -> AgentResult:
        """Go on from the conversation's latest run; without tools it answers now. NothingStopped if it is done."""
        run = self.conversation.run
        if not run.finished or not run.run_id or self._last_reason() == "done":
            raise NothingStopped
        agent = self._agent()
        if tools:
            return self._turn(agent, CONTINUE, run.run_id)
        return self._turn(replace(agent, toolbox=NoTools(agent.toolbox)), ANSWER_NOW, run.run_id)

    def show(self, result: AgentResult, *, as_json: bool) -> None:
        """Print what came of a turn; why it stopped goes to stderr."""
        if as_json:
            tools = self.shop.toolbox(self.flags.customer, BY, self.flags.settings)
            cart = store.view_cart(self.shop.engine, self.flags.customer)
            print_json(result_json(result, self.conversation, tools, cart))
            return
        out().print(result.answer, markup=False)
        if card := stop_card(self.shop, result.trace):
            draw_stop_card(err(), card, self.conversation.handle)

    def _agent(self) -> Agent:
        """A new agent for each turn, so that what is planned for a run happens in every one."""
        return self.shop.agent(self._model, self.flags.customer, self.conversation, self.flags.settings)

    def _turn(self, agent: Agent, text: str, continues: str | None) -> AgentResult:
        if self.conversation.run.waiting:  # since before this command: it goes on under its own settings
            self._answer_waiting(self.shop.agent_of(self._model, self.flags.customer, self.conversation))
        self._drive(start_turn(self.shop.archive, agent, self.conversation, text, continues=continues))
        self._answer_waiting(agent)
        while self.conversation.run.waiting:  # there is nobody to ask
            self._drive(resume_turn(self.shop.archive, agent, self.conversation, None))
        return AgentResult.of(self.conversation)

    def _answer_waiting(self, agent: Agent) -> None:
        """Ask the person at the terminal, if there is one, for what the conversation waits for."""
        while (request := self.conversation.run.waiting) and not self.quiet and sys.stdin.isatty():
            tool = next(tool for tool in agent.toolbox.tools if tool.name == request.call.name)
            approval = ask_person(request, tool)
            self._drive(resume_turn(self.shop.archive, agent, self.conversation, approval))

    def _drive(self, turn: HeldTurn) -> None:
        with suppress(KeyboardInterrupt), closing(turn):  # closing it ends the run
            for item in turn:
                if line := event_line(item):
                    self._say(line)

    def _say(self, line: str) -> None:
        if not self.quiet:
            err().print(line, style="dim", markup=False)

    def _last_reason(self) -> str:
        end = self.conversation.events[-1]
        return end.stop_reason if end.kind == "run_finished" else ""


def known_desk(shop: Bookshop, flags: RunFlags, *, quiet: bool) -> Desk:
    """The desk of a conversation that has begun already; raises NotFound if there is none of that name."""
    conversation = shop.archive.find(str(flags.customer), flags.session)
    if conversation is None:
        raise store.NotFound("name a conversation of this customer with --session")
    return Desk(shop, flags, conversation, quiet=quiet)


def new_desk(shop: Bookshop, flags: RunFlags, *, quiet: bool) -> Desk:
    """The desk of the conversation the flags name, or of a new one."""
    store.view_cart(shop.engine, flags.customer)  # an unknown customer is told so before anything is begun
    return Desk(shop, flags, shop.conversation(flags.customer, flags.session), quiet=quiet)


def ask_person(request: ApprovalRequested, tool: Tool) -> Approval | None:
    """Yes, no, or yes with other arguments (``quantity=1``); None at the end of the input."""
    call, console = request.call, err()
    console.print(f"{call.name}({arguments_text(call.arguments)}) waits for you: {request.reason}", markup=False)
    while True:
        try:
            console.print("Allow it? yes, no, or other arguments such as quantity=1: ", end="")
            said = input().strip()
        except (EOFError, KeyboardInterrupt):
            return None
        if said.lower() in ("y", "yes"):
            return Approval(approved=True, by=BY)
        if said.lower() in ("n", "no"):
            return Approval(approved=False, by=BY)
        try:
            return Approval(approved=True, by=BY, arguments=other_arguments(said, call.arguments, tool))
        except BadArguments as error:
            console.print(str(error), markup=False)


def other_arguments(said: str, arguments: Mapping[str, Any], tool: Tool) -> dict[str, Any]:
    """The arguments of a call, those replaced that were typed as ``name=value``; raises BadArguments in words."""
    changed = dict(arguments)
    for part in said.split() or [said]:  # nothing typed is no yes
        name, mark, value = part.partition("=")
        if not mark:
            raise BadArguments('Type "yes", "no", or arguments as name=value.')
        changed[name] = _value(value)
    checked, _ = tool.check(changed)
    return checked


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
