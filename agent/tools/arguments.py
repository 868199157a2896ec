"""Checks the arguments of a call, and repairs what can only have meant one thing."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

WHOLE_NUMBER = re.compile(r"\s*[+-]?[0-9]{1,30}(\.0+)?\s*")
SHOWN_CHARS = 40


class BadArguments(ValueError):
    """The arguments do not fit the tool; the message is one line that says what is right."""


@dataclass(frozen=True)
class Parameter:
    """One flat argument of a tool: a whole number within bounds, a text up to a length, or a list of texts."""

    name: str
    kind: type[int] | type[str] | type[list[str]]
    description: str = ""
    required: bool = True
    default: int | str | None = None
    minimum: int | None = None
    maximum: int | None = None
    choices: tuple[str, ...] = ()

    @property
    def rule(self) -> str:
        """What a right value is, in words."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        if self.kind not in (int, str):
            return "a list of texts"
        if self.kind is str:
            return f"a text of {self.minimum or 0} to {self.maximum} characters" if self.maximum else "a text"
        match self.minimum, self.maximum:
            case None, None:
                return "a whole number"
            case low, None:
                return f"a whole number, {low} or more"
            case None, high:
                return f"a whole number, at most {high}"
            case low, high:
                return f"a whole number from {low} to {high}"

    def schema(self) -> dict[str, Any]:
        """The JSON schema; limits and default are in the description too, since clients drop the rest."""
        hint = f"{self.rule[0].upper()}{self.rule[1:]}."
        default = "" if self.required else f" Default {self.default}."
        schema: dict[str, Any] = {
            "type": "integer" if self.kind is int else "string" if self.kind is str else "array",
            "description": f"{self.description} {hint}{default}".strip(),
        }
        if schema["type"] == "array":
            schema["items"] = {"type": "string"}
        bounds = ("minimum", "maximum") if self.kind is int else ("minLength", "maxLength")
        limits = zip(bounds, (self.minimum, self.maximum), strict=True)
        schema |= {name: limit for name, limit in limits if limit is not None}
        if self.choices:
            schema["enum"] = list(self.choices)
        if not self.required:
            schema["default"] = self.default
        return schema


def check_arguments(
    tool: str, parameters: Sequence[Parameter], given: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Return the arguments with repairs and defaults filled in, and the repairs made, in words.

    Raises BadArguments with one line that names the tool, what is wrong, and what is right.
    """
    known = {parameter.name for parameter in parameters}
    for name, value in given.items():
        if name not in known and value is not None:  # an argument that says nothing does no harm
            takes = ", ".join(parameter.name for parameter in parameters) or "no arguments"
            raise BadArguments(f"{tool} has no argument {_shown(name)}; it takes: {takes}.")
    arguments: dict[str, Any] = {}
    repairs: list[str] = []
    for parameter in parameters:
        value, repair = _check_one(tool, parameter, given.get(parameter.name))
        arguments[parameter.name] = value
        repairs += [repair] if repair else []
    return arguments, repairs


def _check_one(tool: str, parameter: Parameter, given: Any) -> tuple[Any, str | None]:
    absent = given is None or (given == "" and not parameter.required)
    if absent and parameter.required:
        raise BadArguments(f"{tool} needs {parameter.name}: {parameter.rule}.")
    if absent:
        return parameter.default, f'{parameter.name}: "" → left out' if given == "" else None
    value = _READERS[parameter.kind](given)
    if value is None or not _within(parameter, value):
        raise BadArguments(f"{tool}: {parameter.name} must be {parameter.rule}, not {_shown(given)}.")
    changed = type(value) is not type(given) or value != given
    return value, f"{parameter.name}: {_shown(given)} → {_shown(value)}" if changed else None


def _read_number(given: Any) -> int | None:
    match given:
        case bool():
            return None
        case int():
            return given
        case float() if given.is_integer():
            return int(given)
        case str() if WHOLE_NUMBER.fullmatch(given):
            return int(given.strip().partition(".")[0])
        case _:
            return None


def _read_text(given: Any) -> str | None:
    match given:
        case bool():
            return None
        case str():
            return given
        case int() | float():
            return str(int(given)) if isinstance(given, int) or given.is_integer() else str(given)
        case _:
            return None


def _read_list(given: Any) -> list[str] | None:
    with suppress(ValueError, RecursionError):
        items = json.loads(given) if isinstance(given, str) else given
        if isinstance(items, list) and all(isinstance(item, str) for item in items):
            return items
    return None


_READERS: dict[Any, Callable[[Any], Any]] = {int: _read_number, str: _read_text, list[str]: _read_list}


def _within(parameter: Parameter, value: int | str | list[str]) -> bool:
    if parameter.choices and value not in parameter.choices:
        return False
    size = value if isinstance(value, int) else len(value)
    low, high = parameter.minimum, parameter.maximum
    return (low is None or size >= low) and (high is None or size <= high)


def _shown(value: Any) -> str:
    text = " ".join((f'"{value}"' if isinstance(value, str) else repr(value)).split())
    return text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…"
