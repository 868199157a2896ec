"""The calls of a reply as servers send them, read with some patience."""

import json
from typing import Any

from agent.trace import ToolCall


class BadCall(Exception):
    """A call that cannot be read: without a name, or with arguments that are no object."""


def read_call(call: Any) -> tuple[ToolCall, str | None]:
    """One call, and the repair that it needed; raises BadCall. Arguments that are absent are none."""
    function = call.get("function") if isinstance(call, dict) else None
    function = function if isinstance(function, dict) else {}
    name = function.get("name")
    if not isinstance(name, str) or not name.strip():
        raise BadCall("A call without a name was dropped")
    arguments = function.get("arguments")
    if isinstance(arguments, dict):
        return ToolCall(id="", name=name, arguments=arguments), None
    if arguments is None:
        return ToolCall(id="", name=name, arguments={}), None
    unpacked = _unpacked(arguments)
    if unpacked is None:
        raise BadCall(f"A call of {name[:80]} was dropped: its arguments are no object")
    return ToolCall(
        id="", name=name, arguments=unpacked
    ), f"{name}: arguments came as text and were read as an object"


def _unpacked(arguments: Any) -> dict[str, Any] | None:
    try:
        value = json.loads(arguments or "{}") if isinstance(arguments, str) else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
