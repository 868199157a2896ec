"""Tools: typed functions, their schemas, and what they return."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from agent.tools.arguments import Parameter, check_arguments
from agent.trace import Change, Fact, Shape


class ToolError(Exception):
    """A failure the model may read: one line, at most 300 characters, that lets it choose its next move."""


class ToolRefusal(ToolError):
    """The tool works and says no: there is no such thing, or it may not be done. Nothing is broken."""


class ToolOutcome(Shape):
    """What a call came to: the text the model reads, whether it worked, what it read or changed.

    ``refused``: not ok, but the tool works and says no.
    ``found`` names the things the text tells of (``book:7``), so that the same news in other words is no news.
    """

    result: str
    ok: bool = True
    refused: bool = False
    doubtful: bool = False
    reads: list[Fact] = []
    found: list[str] = []
    changes: list[Change] = []


@dataclass(frozen=True)
class Arg:
    """Describes an argument in a tool's signature: ``Annotated[int, Arg("How many.", 1, 20)]``.

    For a number the bounds are those of its value, for a text those of its length.
    """

    description: str
    minimum: int | None = None
    maximum: int | None = None


@dataclass(frozen=True)
class Tool:
    """A function the model can call; its docstring is the manual the model reads.

    The function takes keyword arguments and, if it is side-effecting, ``key`` first: its idempotency key.
    It returns a ToolOutcome, or raises ToolError. ``max_calls`` caps how often it may run in a run; ``approval``
    looks at checked arguments and says why a person has to allow the call, or nothing where nobody has to.
    """

    name: str
    description: str
    parameters: tuple[Parameter, ...]
    function: Callable[..., ToolOutcome]
    side_effecting: bool = False
    max_calls: int | None = None
    approval: Callable[[Mapping[str, Any]], str] | None = None

    @classmethod
    def of(cls, function: Callable[..., ToolOutcome], *, side_effecting: bool = False) -> "Tool":
        """Make a tool of a function: name, docstring and ``Annotated`` arguments become its schema."""
        hints = get_type_hints(function, include_extras=True)
        signature = inspect.signature(function).parameters.values()
        return cls(
            name=function.__name__,
            description=inspect.cleandoc(function.__doc__ or ""),
            parameters=tuple(_parameter(item, hints[item.name]) for item in signature if item.name != "key"),
            function=function,
            side_effecting=side_effecting,
        )

    def schema(self) -> dict[str, Any]:
        """The tool in the shape chat APIs take; flat, since the Ollama client drops anything nested."""
        properties = {parameter.name: parameter.schema() for parameter in self.parameters}
        required = [parameter.name for parameter in self.parameters if parameter.required]
        shape = {"type": "object", "properties": properties, "required": required}
        return {
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": shape},
        }

    def check(self, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """Validate and repair arguments; see ``check_arguments``."""
        return check_arguments(self.name, self.parameters, arguments)

    def run(self, arguments: Mapping[str, Any], key: str) -> ToolOutcome:
        """Call the function with checked arguments."""
        return self.function(key, **arguments) if self.side_effecting else self.function(**arguments)


def _parameter(item: inspect.Parameter, hint: Any) -> Parameter:
    kind, arg = (get_args(hint) if get_origin(hint) is Annotated else (hint, Arg("")))[:2]
    choices: tuple[str, ...] = get_args(kind) if get_origin(kind) is Literal else ()
    required = item.default is inspect.Parameter.empty
    return Parameter(
        name=item.name,
        kind=str if choices else kind,
        description=arg.description,
        required=required,
        default=None if required else item.default,
        minimum=arg.minimum,
        maximum=arg.maximum,
        choices=choices,
    )
