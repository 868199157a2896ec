"""Values from outside made fit to be sent, stored and shown."""

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

DEEPEST = 30


def clean(text: str) -> str:
    """Replace lone surrogates, the traces of cut escapes, by question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def clean_json(value: Any, depth: int = 0) -> Any:
    """Make a value storable as JSON: texts cleaned, infinite numbers and too deep nesting put into words."""
    if depth > DEEPEST:
        return "(nested too deep)"
    match value:
        case str():
            return clean(value)
        case dict():
            return {clean(str(name)): clean_json(item, depth + 1) for name, item in value.items()}
        case list() | tuple():
            return [clean_json(item, depth + 1) for item in value]
        case float() if not math.isfinite(value):
            return str(value)
        case _:
            return value


def counted(number: float, what: str) -> str:
    """A number and what it counts: "1 step", "2 steps"."""
    return f"{written(number)} {what}" if number == 1 else f"{written(number)} {what}s"


def nth(number: int) -> str:
    """A place in a row: 1st, 2nd, 3rd, 4th, 11th."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def written(number: float) -> str:
    """A number as people write it: "20,000", "1,060,706", "0.5"."""
    return f"{number:,.15g}"


def arguments_text(arguments: Mapping[str, Any]) -> str:
    """Arguments as a call is written: ``book_id=7, quantity=1``."""
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items())


def leading_json(text: str) -> dict[str, Any]:
    """The JSON object that a text begins with, whatever stands below it; empty where it begins with none.

    Of a list of rows that was cut, the rows before the cut.
    """
    start = text.lstrip()
    if not start.startswith("{"):
        return {}
    for whole in (start, start[: start.rfind("}") + 1] + "]}", start[: start.rfind("[") + 1] + "]}"):
        with suppress(ValueError, RecursionError):
            data: dict[str, Any] = json.JSONDecoder().raw_decode(whole)[0]
            return data
    return {}
