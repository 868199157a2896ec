"""Tool calls that a model wrote as text: found, read tolerantly, and cut out of what people see."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from json_repair import repair_json

# Every spelling seen in the wild has its line. A tag that is never closed counts at the end of the text only.
_MARKUP = re.compile(
    r"<tool_call>(?P<a>.*?)(?:</tool_call>|\Z)"
    r"|<function_call>(?P<b>.*?)(?:</function_call>|\Z)"
    r"|<\|tool_call\|?>(?P<c>.*?)(?:<\|?/?tool_call\|>|\Z)"
    r"|(?P<d><function=[\w.-]+>.*?(?:</function>|\Z))"
    r"|\[TOOL_CALLS\]\s*(?P<e>.*)"
    # These are known for calls, but too rare to be read: they are asked for again.
    r"|<invoke\b.*?(?:</invoke>|\Z)|<｜tool.*|\A(?:Thought:.*?\n)?Action:.*",
    re.DOTALL | re.IGNORECASE,
)
_FUNCTION = re.compile(r"<function=(?P<name>[\w.-]+)>(?P<body>.*?)</function>", re.DOTALL | re.IGNORECASE)
_PARAMETER = re.compile(r"<parameter=(?P<name>[\w.-]+)>\s*(?P<value>.*?)\s*</parameter>", re.DOTALL)
_LONE_TAG = re.compile(r"</?(?:tool_call|function_call|function)>|<function=[^>]*>?", re.IGNORECASE)
_FENCE = re.compile(r"\A(?:```|~~~)[\w-]*\s*(?P<body>.*?)\s*(?:```|~~~)?\Z", re.DOTALL)
_FENCED = re.compile(r"(?:```|~~~)[\w-]*\s*(?P<body>\{.*?\})\s*(?:```|~~~)", re.DOTALL)
_CALL_BEGINS = re.compile(
    r"""[\[{]\s*\{?\s*["']?(?:name|tool|tool_name|tool_calls|function|function_call|type|action)["']?\s*:"""
)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_NAMES = ("name", "tool", "tool_name", "function", "action")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "tool_input", "action_input")


class Leak(NamedTuple):
    """A call as it was written: the tool's name and its arguments, not checked yet."""

    name: str
    arguments: dict[str, Any]


class Found(NamedTuple):
    """What a text holds: calls, the prose around them, and whether there was any markup of a call at all."""

    calls: list[Leak]
    prose: str
    marked: bool

    @property
    def whole(self) -> bool:
        """Whether the text is nothing but calls."""
        return bool(self.calls) and not self.prose


def find_calls(text: str) -> Found:
    """Find the calls in a text: the whole of it as JSON, explicit markup anywhere, or JSON inside prose."""
    text = text.strip()
    bare = _unfenced(text)
    if _CALL_BEGINS.match(bare):
        calls = list(_complete(bare))
        if calls or not _is_whole(bare):  # a call, or one that was cut off
            return Found(calls, "", marked=True)
    marks = list(_MARKUP.finditer(bare))
    calls = [leak for mark in marks for leak in _calls_marked(next(filter(None, mark.groups()), ""))]
    prose = _LONE_TAG.sub("", _MARKUP.sub("", bare)).strip()
    if marks or prose != bare:
        return Found(calls, prose, marked=True)
    without = _without_json_calls(text)
    return Found([], without, marked=without != text)


def _unfenced(text: str) -> str:
    while found := _FENCE.match(text):
        text = found["body"]
    return text


def _calls_marked(body: str) -> Iterator[Leak]:
    body = _unfenced(body.strip())
    functions = list(_FUNCTION.finditer(body))
    for found in functions:
        tagged = {part["name"]: part["value"] for part in _PARAMETER.finditer(found["body"])}
        arguments = tagged or _read(found["body"].strip()) or {}
        if isinstance(arguments, dict):
            yield Leak(found["name"], arguments)
    if not functions:
        yield from _complete(body)


def _complete(text: str) -> Iterator[Leak]:
    """The calls of a JSON text that has its end; one that was cut off holds none."""
    if _is_whole(text):
        yield from _calls_in(_in_a_row(text) or _read(text))


def _is_whole(text: str) -> bool:
    """Whether every bracket has its end: a call that was cut off is never completed by guessing."""
    bare = _STRING.sub("", text)
    return text[-1:] in ("}", "]") and bare.count("{") == bare.count("}") and bare.count("[") == bare.count("]")


def _in_a_row(text: str) -> list[Any]:
    """The JSON values of a text that holds nothing but such, one after the other; nothing where it holds more."""
    decoder, values = json.JSONDecoder(), []
    while text:
        try:
            value, end = decoder.raw_decode(text)
        except (ValueError, RecursionError):
            return []
        values.append(value)
        text = text[end:].lstrip(" ,;\n\r\t")
    return values


def whole_json(text: str) -> Any:
    """The value of a text that is nothing but JSON, bare or fenced; None for any other."""
    values = _in_a_row(_unfenced(text.strip()))
    return values[0] if len(values) == 1 else None


def _read(text: str) -> Any:
    """Read JSON with comments, trailing commas and the like; nothing where it is none at all."""
    return repair_json(text, return_objects=True) if text[:1] in ("{", "[") else None


def _calls_in(value: Any) -> Iterator[Leak]:
    match value:
        case list():
            for item in value:
                yield from _calls_in(item)
        case {"tool_calls": list() as items}:
            yield from _calls_in(items)
        case {"function_call": dict() as inner} | {"function": dict() as inner}:
            yield from _calls_in(inner)
        case dict():
            name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), None)
            arguments: Any = next((value[key] for key in _ARGUMENTS if key in value), None)
            if isinstance(arguments, str):
                arguments = _read(arguments.strip())
            if name and isinstance(arguments, dict):
                yield Leak(name, arguments)


def _without_json_calls(text: str) -> str:
    """Cut JSON that is a call out of prose, fenced or not."""
    text = _FENCED.sub(lambda found: "" if list(_complete(found["body"])) else found[0], text)
    decoder, start = json.JSONDecoder(), 0
    while found := _CALL_BEGINS.search(text, start):
        start = found.end()
        try:
            value, length = decoder.raw_decode(text[found.start() :])
        except (ValueError, RecursionError):
            continue
        if list(_calls_in(value)):
            text, start = text[: found.start()] + text[found.start() + length :], found.start()
    return text.strip()
