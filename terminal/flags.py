"""The flags of a run, shared by the commands that start one, and the settings they come to."""

import functools
import inspect
import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, TypeVar

import typer
from pydantic import ValidationError

from agent.limits import PRESETS, UNGUARDED, Limits
from agent.models import ModelOptions
from assistant.settings import DEMO_CUSTOMER, Settings

T = TypeVar("T")
OFF = math.inf
USUAL, OPTIONS = Settings(), ModelOptions()
"""What a limit's flag becomes when it says ``none``."""


class Preset(StrEnum):
    DEFAULT = "default"
    FIRST_POST = "first-post"
    GUARDED = "guarded"


def _limit(text: str | float) -> float:
    if text == "none":
        return OFF
    with suppress(ValueError):
        if math.isfinite(number := float(text)):
            return number
    raise typer.BadParameter(f'"{text}" is not a number; give a number, or none to switch the limit off')


Limit = Annotated[float | None, typer.Option(parser=_limit, metavar="N|none", show_default=False)]
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
        "max_seconds": max_seconds,
        "max_result_chars": max_result_chars,
    }
    base = PRESETS[preset.value.replace("-", " ")] if guards else UNGUARDED
    changed = {name: None if value == OFF else value for name, value in given.items() if value is not None}
    try:
        limits = Limits(**(base.model_dump() | changed | {"wrap_up": wrap_up and base.wrap_up}))
    except ValidationError as error:
        first = error.errors()[0]
        flag = "--" + str(first["loc"][0]).replace("_", "-")
        raise typer.BadParameter(f"{flag}: {first['msg'][0].lower()}{first['msg'][1:]}") from None
    options = ModelOptions(num_ctx=num_ctx, think=think, seed=seed, temperature=temperature)
    return RunFlags(model, database, session, customer, Settings(limits, options, max_results))


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
