"""The flags of a run, shared by the commands that start one, and the settings they come to."""

import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Annotated, Any, TypeVar

import typer
from pydantic import ValidationError

from agent.guards.limits import LIMIT_DIALS, PRESETS, UNGUARDED, Limits
from agent.trace import ModelOptions, Prices
from assistant.cures import Cure
from assistant.faults import Fault
from assistant.meanwhile import Plan
from assistant.settings import DEMO_CUSTOMER, OPTION_DIALS, SETTING_DIALS, TOOL_NAMES, Settings

T = TypeVar("T")
USUAL, OPTIONS = Settings(), ModelOptions()
OFF = math.inf
"""What a limit's flag becomes when it says ``none``."""
MOST_DOLLARS = 1_000_000_000


def read_limit(text: str | float) -> float:
    """A number, or ``OFF`` for "none"."""
    if text == "none":
        return OFF
    with suppress(ValueError):
        if math.isfinite(number := float(text)):
            return number
    raise typer.BadParameter(f'"{text}" is not a number; give a number, or none to switch the limit off')


def read_prices(text: str) -> Prices:
    """Dollars per million tokens, as "2.50/10"."""
    read, _, written = text.partition("/")
    try:
        return Prices.model_validate({"input_per_million": read, "output_per_million": written})
    except ValidationError:
        words = f'"{text}" is no pair of prices; give dollars per million tokens, input/output, such as 2.50/10'
        raise typer.BadParameter(words) from None


def read_dollars(text: str) -> Decimal:
    """An amount of dollars, as "16.50"."""
    with suppress(InvalidOperation):
        if 0 <= (amount := Decimal(text.removeprefix("$"))) <= MOST_DOLLARS:
            return amount
    raise typer.BadParameter(f'"{text}" is no amount of dollars, such as 50 or 16.50')


def read_by_tool(pairs: Sequence[str], read: Callable[[str], T]) -> dict[str, T]:
    """Read TOOL=VALUE pairs; raises typer.BadParameter for an unknown tool, or what ``read`` cannot read."""
    found = {}
    for pair in pairs:
        tool, mark, value = pair.partition("=")
        if tool not in TOOL_NAMES or not mark:
            raise typer.BadParameter(f'"{pair}" is not TOOL=VALUE with a tool of {", ".join(TOOL_NAMES)}')
        try:
            found[tool] = read(value)
        except ValueError:
            raise typer.BadParameter(f'"{value}" cannot be switched on for {tool}; see --help') from None
    return found


def read_cap(text: str) -> int:
    """How often a tool may be called; raises ValueError."""
    if (cap := int(text)) < 0:
        raise ValueError(text)
    return cap


class Preset(StrEnum):
    DEFAULT = "default"
    FIRST_POST = "first-post"
    GUARDED = "guarded"


PricesFlag = Annotated[
    Prices | None,
    typer.Option(
        parser=read_prices, metavar="IN/OUT", help="Dollars per million tokens: 2.50/10.", show_default=False
    ),
]
MaxCalls = Annotated[list[str], typer.Option(metavar="TOOL=N", help="Most calls of one tool; may be repeated.")]
ApproveAbove = Annotated[
    Decimal | None,
    typer.Option(
        parser=read_dollars, metavar="DOLLARS", help=SETTING_DIALS["approve_above"].text, show_default=False
    ),
]
Faults = Annotated[list[str], typer.Option(metavar="TOOL=KIND", help=f"Break a tool: {', '.join(Fault)}.")]
SearchSize = Annotated[int, typer.Option(min=1, max=50, help=SETTING_DIALS["search_size"].text)]
MeanwhileFlag = Annotated[
    Plan | None,
    typer.Option(
        parser=Plan.read,
        metavar="STEP:CHANGE",
        help='What the website does before a step: "3:cart 7 2".',
        show_default=False,
    ),
]
Database = Annotated[
    str | None, typer.Option("--db", metavar="URL", help="The shop's database.", show_default=False)
]
Customer = Annotated[int, typer.Option("--customer", min=1, help="Whose cart and orders.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


@dataclass(frozen=True)
class RunFlags:
    """What the flags of a run said."""

    model: str | None
    database: str | None
    session: str
    customer: int
    settings: Settings


def run_flags(
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="qwen3:4b, any other Ollama tag, or offline.", show_default=False),
    ] = None,
    database: Database = None,
    session: Annotated[str, typer.Option(metavar="ID|NAME", help="Continue or begin this conversation.")] = "",
    customer: Customer = DEMO_CUSTOMER,
    preset: Annotated[Preset, typer.Option(help="A named set of limits; other flags go on top.")] = Preset.DEFAULT,
    prices: PricesFlag = None,
    max_calls: MaxCalls = [],  # noqa: B006
    approve_above: ApproveAbove = None,
    fault: Faults = [],  # noqa: B006
    freshness: Annotated[Cure, typer.Option(help="What is done about stale facts.")] = Cure.HISTORY,
    meanwhile: MeanwhileFlag = None,
    max_results: SearchSize = USUAL.search_size,
    guards: Annotated[bool, typer.Option("--guards/--no-guards", help="Without: only a cap of 40 steps.")] = True,
    num_ctx: Annotated[int, typer.Option(min=512, help=OPTION_DIALS["num_ctx"].text)] = OPTIONS.num_ctx,
    think: Annotated[bool, typer.Option("--think/--no-think", help=OPTION_DIALS["think"].text)] = True,
    seed: Annotated[int, typer.Option(help="Seed of the model's dice.")] = OPTIONS.seed,
    temperature: Annotated[float, typer.Option(min=0.0, max=2.0)] = OPTIONS.temperature,
    **limits: float | None,
) -> RunFlags:
    """Turn flags into settings; raises typer.BadParameter for a limit that is out of bounds.

    ``limits`` are those that were given; one that was not is as the preset has it.
    """
    base = PRESETS[preset.value.replace("-", " ")] if guards else UNGUARDED
    options = ModelOptions(num_ctx=num_ctx, think=think, seed=seed, temperature=temperature)
    settings = Settings(
        limits=_limits(base, limits),
        options=options,
        search_size=max_results,
        prices=prices,
        tool_caps=read_by_tool(max_calls, read_cap),
        approve_above=approve_above,
        faults=read_by_tool(fault, Fault),
        freshness=freshness,
        meanwhile=meanwhile,
    )
    return RunFlags(model, database, session, customer, settings)


def _limits(base: Limits, given: Mapping[str, float | None]) -> Limits:
    changed = {name: None if value == OFF else value for name, value in given.items() if value is not None}
    try:
        return Limits(**(base.model_dump() | changed))
    except ValidationError as error:
        first = error.errors()[0]
        flag = "--" + str(first["loc"][0]).replace("_", "-")
        raise typer.BadParameter(f"{flag}: {first['msg'][0].lower()}{first['msg'][1:]}") from None


def _limit_flags() -> list[inspect.Parameter]:
    """A flag for each limit a person may set: a number or ``none``, or a switch."""
    flags = []
    for name, dial in LIMIT_DIALS.items():
        told: dict[str, Any] = {"help": dial.text, "show_default": False, "rich_help_panel": "Limits"}
        kind: Any = Annotated[bool | None, typer.Option(**told)]
        if dial.values:
            kind = Annotated[float | None, typer.Option(parser=read_limit, metavar="N|none", **told)]
        flags.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind))
    return flags


def takes_run_flags(command: Callable[..., T]) -> Callable[..., T]:
    """Give a command all the flags of ``run_flags`` in place of its parameter ``flags``."""
    own = [item for item in inspect.signature(command).parameters.values() if item.name != "flags"]
    declared = inspect.signature(run_flags).parameters.values()
    shared = [item for item in declared if item.kind != inspect.Parameter.VAR_KEYWORD] + _limit_flags()
    names = {item.name for item in shared}

    @functools.wraps(command)
    def with_flags(**values: Any) -> T:
        flags = run_flags(**{name: values.pop(name) for name in names})
        return command(**values, flags=flags)

    required = [item for item in own if item.default is inspect.Parameter.empty]
    optional = [item for item in own if item.default is not inspect.Parameter.empty]
    parameters = [item.replace(kind=inspect.Parameter.KEYWORD_ONLY) for item in (*required, *shared, *optional)]
    with_flags.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_flags.__annotations__ = {item.name: item.annotation for item in parameters}
    return with_flags
