"""The flags of a run, shared by the commands that start one, and the settings they come to."""

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, TypeVar

import typer
from pydantic import ValidationError

from agent.limits import PRESETS, UNGUARDED, Limits
from agent.models import ModelOptions
from agent.trace import Prices
from assistant.faults import Fault
from assistant.freshness import Cure
from assistant.meanwhile import Plan
from assistant.settings import DEMO_CUSTOMER, Settings
from terminal.flag_values import OFF, read_by_tool, read_cap, read_dollars, read_limit, read_prices

T = TypeVar("T")
USUAL, OPTIONS = Settings(), ModelOptions()


class Preset(StrEnum):
    DEFAULT = "default"
    FIRST_POST = "first-post"
    GUARDED = "guarded"


Limit = Annotated[float | None, typer.Option(parser=read_limit, metavar="N|none", show_default=False)]
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
        parser=read_dollars, metavar="DOLLARS", help="Ask before a cart gets dearer.", show_default=False
    ),
]
Faults = Annotated[list[str], typer.Option(metavar="TOOL=KIND", help=f"Break a tool: {', '.join(Fault)}.")]
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
    max_steps: Limit = None,
    max_tool_calls: Limit = None,
    max_tokens: Limit = None,
    max_input_tokens: Limit = None,
    max_seconds: Limit = None,
    max_result_chars: Limit = None,
    max_cost: Limit = None,
    prices: PricesFlag = None,
    max_calls: MaxCalls = [],  # noqa: B006
    approve_above: ApproveAbove = None,
    fault: Faults = [],  # noqa: B006
    freshness: Annotated[Cure, typer.Option(help="What is done about stale facts.")] = Cure.HISTORY,
    meanwhile: MeanwhileFlag = None,
    max_results: Annotated[int, typer.Option(min=1, max=50, help="Books a search returns.")] = USUAL.search_size,
    guards: Annotated[bool, typer.Option("--guards/--no-guards", help="Without: only a cap of 40 steps.")] = True,
    wrap_up: Annotated[bool, typer.Option("--wrap-up/--no-wrap-up", help="A last word after a limit.")] = True,
    num_ctx: Annotated[int, typer.Option(min=512, help="Context window to ask for, in tokens.")] = OPTIONS.num_ctx,
    think: Annotated[bool, typer.Option("--think/--no-think", help="Let the model think first.")] = OPTIONS.think,
    seed: Annotated[int, typer.Option(help="Seed of the model's dice.")] = OPTIONS.seed,
    temperature: Annotated[float, typer.Option(min=0.0, max=2.0)] = OPTIONS.temperature,
) -> RunFlags:
    """Turn flags into settings; raises typer.BadParameter for a limit that is out of bounds."""
    given = {
        "max_steps": max_steps,
        "max_tool_calls": max_tool_calls,
        "max_tokens": max_tokens,
        "max_input_tokens": max_input_tokens,
        "max_cost": max_cost,
        "max_seconds": max_seconds,
        "max_result_chars": max_result_chars,
    }
    base = PRESETS[preset.value.replace("-", " ")] if guards else UNGUARDED
    limits = _limits(base, given, wrap_up=wrap_up)
    options = ModelOptions(num_ctx=num_ctx, think=think, seed=seed, temperature=temperature)
    settings = Settings(
        limits=limits,
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


def _limits(base: Limits, given: Mapping[str, float | None], *, wrap_up: bool) -> Limits:
    changed = {name: None if value == OFF else value for name, value in given.items() if value is not None}
    try:
        return Limits(**(base.model_dump() | changed | {"wrap_up": wrap_up and base.wrap_up}))
    except ValidationError as error:
        first = error.errors()[0]
        flag = "--" + str(first["loc"][0]).replace("_", "-")
        raise typer.BadParameter(f"{flag}: {first['msg'][0].lower()}{first['msg'][1:]}") from None


def takes_run_flags(command: Callable[..., T]) -> Callable[..., T]:
    """Give a command all the flags of ``run_flags`` in place of its parameter ``flags``."""
    own = [item for item in inspect.signature(command).parameters.values() if item.name != "flags"]
    shared = list(inspect.signature(run_flags).parameters.values())
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
