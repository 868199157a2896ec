"""Tool calls that a model wrote as text: found, read tolerantly, and cut out of what people see."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from json_repair import repair_json

from agent.models.markup import CALLS, FENCES, of_kind, pattern
from agent.trace import ToolCall

_CALL_DIALECTS = of_kind("call")
_TAGS = "|".join(dialect.begins[1:] for dialect in _CALL_DIALECTS if re.match("<[a-z]", dialect.begins))
_LONE_TAG = pattern(rf"</?(?:{_TAGS})(?:=[^>]*>?|>)")
# What is never closed goes to the end, and is left alone: that keeps the time linear in the text.
_FUNCTION = pattern(r"<function=(?P<name>[\w.-]+)>(?P<body>.*?)(?P<end></function>|\Z)")
_PARAMETER = pattern(r"<parameter=(?P<name>[\w.-]+)>(?P<value>.*?)(?P<end></parameter>|\Z)")
_MARK = f"(?:{'|'.join(FENCES)})"
_FENCE = re.compile(rf"{_MARK}[\w-]*\s*")
_FENCED = pattern(rf"{_MARK}[\w-]*\s*(?P<body>\{{.*?)(?:(?<=\}})\s*{_MARK}|\Z)")
_NAMES = ("name", "tool", "tool_name", "function", "action")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "tool_input", "action_input")
_KEYS = "|".join((*_NAMES, "tool_calls", "function_call", "type"))
_CALL_BEGINS = re.compile(rf"""[\[{{]\s*+(?:\{{\s*+)?["']?(?:{_KEYS})["']?\s*:""")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+(?P<end>"?)', re.DOTALL)
_BETWEEN = tuple(" ,;\n\r\t")
_DECODER = json.JSONDecoder()
_MOST_FENCES, _MOST_VALUES, _LONGEST_REPAIRED = 3, 30, 20_000
"""Fences taken off a text, values of a prose read that are no calls, and characters of JSON repaired, at most."""


class Found(NamedTuple):
    """What a text holds: calls, not checked yet, the prose around them, and whether there was any markup."""

    calls: list[ToolCall]
    prose: str
    marked: bool


def find_calls(text: str) -> Found:
    """Find the calls in a text: the whole of it as JSON, explicit markup anywhere, or JSON inside prose."""
    text = text.strip()
    bare = _unfenced(text)
    if _CALL_BEGINS.match(bare):
        calls = list(_complete(bare))
        if calls or not _is_whole(bare):  # a call, or one that was cut off
            return Found(calls, "", marked=True)
    marks = list(CALLS.finditer(bare))
    calls = [call for mark in marks for call in _calls_marked(mark)]
    prose = _LONE_TAG.sub("", CALLS.sub("", bare)).strip()
    if marks or prose != bare:
        return Found(calls, prose, marked=True)
    without = _without_json_calls(text)
    return Found([], without, marked=without != text)


def whole_json(text: str) -> Any:
    """The value of a text that is nothing but JSON, bare or fenced; None for any other."""
    values = _in_a_row(_unfenced(text.strip()))
    return values[0] if len(values) == 1 else None


def _unfenced(text: str) -> str:
    for _ in range(_MOST_FENCES):
        if opened := _FENCE.match(text):
            text = text[opened.end() :]
            for fence in FENCES:
                text = text.removesuffix(fence).rstrip()
    return text


def _calls_marked(mark: re.Match[str]) -> Iterator[ToolCall]:
    """The calls in a stretch of a text, as its dialect writes them; none where that is not read."""
    group = mark.lastindex or 1
    match _CALL_DIALECTS[group - 1].body:
        case "function":
            yield from _functions(mark[0])
        case "json":
            body = _unfenced(mark[group].strip())
            yield from list(_functions(body)) or _complete(body)


def _functions(text: str) -> Iterator[ToolCall]:
    for found in _FUNCTION.finditer(text):
        parts = (part for part in _PARAMETER.finditer(found["body"]) if part["end"])
        tagged = {part["name"]: part["value"].strip() for part in parts}
        arguments = tagged or _read(found["body"].strip()) or {}
        if found["end"] and isinstance(arguments, dict):
            yield ToolCall(id="", name=found["name"], arguments=arguments)


def _complete(text: str) -> Iterator[ToolCall]:
    """The calls of a JSON text that has its end; one that was cut off holds none."""
    if _is_whole(text):
        yield from _calls_in(_in_a_row(text) or _read(text))


def _is_whole(text: str) -> bool:
    """Whether every bracket has its end: a call that was cut off is never completed by guessing."""
    bare = _STRING.sub(lambda found: "" if found["end"] else found[0], text)
    return text[-1:] in ("}", "]") and bare.count("{") == bare.count("}") and bare.count("[") == bare.count("]")


def _in_a_row(text: str) -> list[Any]:
    """The JSON values of a text that holds nothing but such, one after the other; nothing where it holds more."""
    values, at = [], 0
    while at < len(text):
        value, end = _decoded(text, at)
        if end == at:
            return []
        values.append(value)
        at = end
        while text[at : at + 1] in _BETWEEN:
            at += 1
    return values


def _decoded(text: str, at: int) -> tuple[Any, int]:
    """The JSON value that begins here and where it ends: here, where there is none."""
    try:
        return _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None, at


def _read(text: str) -> Any:
    """Read JSON with comments, trailing commas and the like; nothing where it is none, too deep or too long."""
    try:
        readable = text[:1] in ("{", "[") and len(text) <= _LONGEST_REPAIRED
        return repair_json(text, return_objects=True) if readable else None
    except (ValueError, RecursionError):
        return None


def _calls_in(value: Any) -> Iterator[ToolCall]:
    waiting = [value]
    while waiting:
        match waiting.pop():
            case list() as items:
                waiting += reversed(items)
            case {"tool_calls": list() as items}:
                waiting += reversed(items)
            case {"function_call": dict() as inner} | {"function": dict() as inner}:
                waiting.append(inner)
            case dict() as call:
                name = next((call[key] for key in _NAMES if isinstance(call.get(key), str)), None)
                arguments: Any = next((call[key] for key in _ARGUMENTS if key in call), None)
                if isinstance(arguments, str):
                    arguments = _read(arguments.strip())
                if name and isinstance(arguments, dict):
                    yield ToolCall(id="", name=name, arguments=arguments)


def _without_json_calls(text: str) -> str:
    """Cut JSON that is a call out of prose, fenced or not."""
    text = _FENCED.sub(lambda found: "" if list(_complete(found["body"])) else found[0], text)
    kept, cut_at, at, others = [], 0, 0, 0
    while others < _MOST_VALUES and (found := _CALL_BEGINS.search(text, at)):
        value, end = _decoded(text, found.start())
        if list(_calls_in(value)):
            kept.append(text[cut_at : found.start()])
            at = cut_at = end
        else:
            at, others = found.end(), others + 1
    return "".join((*kept, text[cut_at:])).strip()
