"""The toolbox the loop takes its tools from, and a call made ready to run by it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agent.tools.arguments import BadArguments
from agent.tools.fingerprint import fingerprint
from agent.tools.tool import Tool, ToolError, ToolOutcome
from agent.trace import ShopChanged, ToolCall

MAX_ERROR_CHARS = 300
"""Characters of an error that a model reads."""


class Toolbox(Protocol):
    """Where the loop takes its tools from; it knows no tool by name."""

    @property
    def tools(self) -> Sequence[Tool]:
        """The tools, in the order the model is told of them."""

    def call(self, call: ToolCall, key: str) -> ToolOutcome:
        """Run a call with checked arguments; raises ToolError for what the model may read."""

    def outcome(self, key: str) -> ToolOutcome | None:
        """What a side-effecting call came to, if it took effect: asked after a crash or a time-out."""

    def changes(self, known: Mapping[str, int]) -> Sequence[ShopChanged]:
        """What happened to these resources after the versions given, through any channel, oldest first."""


class FunctionTools:
    """A toolbox of plain functions, for agents without a shop."""

    def __init__(self, *tools: Tool) -> None:
        self.tools: Sequence[Tool] = tools
        self._by_name = {tool.name: tool for tool in tools}

    def call(self, call: ToolCall, key: str) -> ToolOutcome:
        return self._by_name[call.name].run(call.arguments, key)

    def outcome(self, key: str) -> ToolOutcome | None:  # noqa: ARG002  # plain functions keep no record
        return None

    def changes(self, known: Mapping[str, int]) -> Sequence[ShopChanged]:  # noqa: ARG002
        return ()


@dataclass(frozen=True)
class NoTools:
    """A toolbox whose tools are put away: nothing can be called, but what happened can still be asked."""

    toolbox: Toolbox
    tools: Sequence[Tool] = ()

    def call(self, call: ToolCall, key: str) -> ToolOutcome:  # noqa: ARG002  # the loop calls no tool it is not told of
        raise ToolError(f"{call.name} is not available now.")

    def outcome(self, key: str) -> ToolOutcome | None:
        return self.toolbox.outcome(key)

    def changes(self, known: Mapping[str, int]) -> Sequence[ShopChanged]:
        return self.toolbox.changes(known)


def tool_list(schemas: Sequence[Mapping[str, Any]]) -> str:
    """The tools as compact JSON, for the instructions of a model whose server prints the schemas garbled."""
    lines = []
    for schema in schemas:
        function = schema["function"]
        arguments = {name: value["type"] for name, value in function["parameters"]["properties"].items()}
        required = function["parameters"]["required"]
        lines.append(json.dumps({"name": function["name"], "arguments": arguments, "required": required}))
    return "\n\nYour tools and their arguments:\n" + "\n".join(lines)


@dataclass(frozen=True)
class Prepared:
    """A call with its tool and its arguments repaired, or with the ``problem`` in words why it cannot run."""

    call: ToolCall
    raw_arguments: dict[str, Any]
    fingerprint: str
    tool: Tool | None = None
    repairs: tuple[str, ...] = ()
    problem: str = ""


def prepare(call: ToolCall, tools: Mapping[str, Tool]) -> Prepared:
    """Find the tool of a call, and check and repair its arguments."""
    raw = dict(call.arguments)
    tool = tools.get(call.name.strip())
    if tool is None:
        known, name = ", ".join(tools) or "none", " ".join(call.name.split())[:60]
        problem = f'There is no tool "{name}". The tools are: {known}.'
        return Prepared(call, raw, fingerprint(call.name, raw), problem=problem)
    try:
        arguments, repairs = tool.check(raw)
    except BadArguments as error:
        return Prepared(call, raw, fingerprint(call.name, raw), tool, problem=str(error)[:MAX_ERROR_CHARS])
    repaired = ToolCall(id=call.id, name=tool.name, arguments=arguments)
    return Prepared(repaired, raw, fingerprint(tool.name, arguments), tool, tuple(repairs))
