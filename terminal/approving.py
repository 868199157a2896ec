"""Asks the person at the terminal whether a call may run."""

import json
from collections.abc import Mapping
from typing import Any

from agent.loop.tool_call import Approval
from agent.text import arguments_text
from agent.tools import BadArguments, Tool
from agent.trace import ApprovalRequested
from terminal.shell import BY, err


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
