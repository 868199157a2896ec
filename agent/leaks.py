"""Tool calls that a model wrote as text: found, read tolerantly, and cut out of what people see."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from json_repair import repair_json

# Every spelling seen in the wild has its line; `body` is JSON, `name` where the tag holds it.
_MARKUP = re.compile(
    r"<tool_call>(?P<a>.*?)</tool_call>"
    r"|<function_call>(?P<b>.*?)</function_call>"
    r"|<\|tool_call\|?>(?P<c>.*?)<\|?/?tool_call\|>"
    r"|<function=(?P<name>[\w.-]+)>(?P<d>.*?)</function>"
    r"|\[TOOL_CALLS\]\s*(?P<e>[\[{].*[\]}])",
    re.DOTALL | re.IGNORECASE,
)
_OPEN_MARKUP = re.compile(
    r"<(?:\|?tool_call|function_call|function=)[^>]*>?.*$|</?(?:tool_call|function_call|function)>|\[TOOL_CALLS\].*$",
    re.DOTALL | re.IGNORECASE,
)
_PARAMETER = re.compile(
    r"<parameter=(?P<name>[\w.-]+)>\s*(?P<value>.*?)\s*</parameter>", re.DOTALL | re.IGNORECASE
)
_FENCE = re.compile(r"^```[\w-]*\s*\n(?P<body>.*?)\n?\s*```$", re.DOTALL)
_LOOKS_LIKE_CALL = re.compile(
    r"""^\s*[\[{].*["']?(?:name|function|tool|tool_calls|function_call)["']?\s*:""", re.DOTALL
)
_NAMES = ("name", "tool", "tool_name", "function")
_ARGUMENTS = ("arguments", "parameters", "args", "input")


class Leak(NamedTuple):
    """A call as it was written: the tool's name and its arguments, not checked yet."""

    name: str
    arguments: dict[str, Any]


class Found(NamedTuple):
    """What a text holds: the calls, the prose around them, and whether there was any markup of a call."""

    calls: list[Leak]
    prose: str
    marked: bool

    @property
    def whole(self) -> bool:
        """Whether the text is nothing but calls."""
        return bool(self.calls) and not self.prose


def find_calls(text: str) -> Found:
    """Find the calls in a text: the whole of it as JSON, bare or fenced, or explicit markup anywhere."""
    text = text.strip()
    fenced = _FENCE.match(text)
    body = fenced["body"].strip() if fenced else text
    if _LOOKS_LIKE_CALL.match(body) and body[-1] in "]}":
        calls = list(_calls_in(_loose_json(body)))
        if calls:
            return Found(calls, "", marked=True)
    marks = list(_MARKUP.finditer(text))
    calls = [leak for mark in marks for leak in _marked_calls(mark)]
    prose = _OPEN_MARKUP.sub("", _MARKUP.sub("", text)).strip()
    return Found(calls, prose, marked=prose != text)


def _marked_calls(mark: re.Match[str]) -> Iterator[Leak]:
    body = next(mark[group] for group in "abcde" if mark[group] is not None).strip()
    if mark["name"] is None:
        yield from _calls_in(_loose_json(body))
        return
    arguments = _loose_json(body) if body.startswith("{") else {}
    tagged = {found["name"]: found["value"] for found in _PARAMETER.finditer(body)}
    if isinstance(arguments, dict):
        yield Leak(mark["name"], tagged or arguments)


def _loose_json(text: str) -> Any:
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
            arguments: Any = next((value[key] for key in _ARGUMENTS if key in value), {})
            if isinstance(arguments, str):
                arguments = _loose_json(arguments.strip())
            if name and isinstance(arguments, dict):
                yield Leak(name, arguments)
