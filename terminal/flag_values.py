"""Reads the values of flags; what cannot be read is a typer.BadParameter in words."""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from typing import TypeVar

import typer
from pydantic import ValidationError

from agent.trace import Prices
from assistant.settings import TOOL_NAMES

T = TypeVar("T")
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
