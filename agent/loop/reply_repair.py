"""Reading replies: what models and servers do to them, one repair each, in this order.

Beside each repair stand the wire cases (tests/agent/wire_cases.jsonl) that need it.
"""

import re
from collections import deque
from collections.abc import Mapping
from typing import Any

from agent.loop.leaked_calls import Found, find_calls, whole_json
from agent.models.markup import ECHO, LONE_END, TEMPLATE, THINKING, THOUGHT, pattern
from agent.tools import BadArguments, Tool
from agent.trace import ModelReply, ToolCall, Unusable

Tools = Mapping[str, Tool]

_THOUGHT_MARKS = pattern(THOUGHT.pattern, LONE_END.pattern)
_LONGEST_ECHO = 100
_INVISIBLE = re.compile(r"[\s\u200b-\u200f\u2060\ufeff]*")
_ENVELOPES = ("arguments", "parameters")
_NAMES = ("name", "function", "tool")


def read_reply(reply: ModelReply, tools: Tools) -> ModelReply:
    """Make of a reply what it means; what was done to it stands in ``repairs``, what is left in ``unusable``."""
    for repair in REPAIRS:
        reply = repair(reply, tools)
    return reply


def split_thinking(reply: ModelReply, tools: Tools) -> ModelReply:  # noqa: ARG001
    """Move thinking out of the answer: blocks, those that never end too, and all before a lone end tag.

    think-tags-in-content-old-server, thinking-never-closes; the thinking-only model with thinking switched off.
    """
    thoughts = [_THOUGHT_MARKS.sub("", reply.thinking)]
    thoughts += [found[found.lastindex or 0] for found in THINKING.finditer(reply.text)]
    text = THINKING.sub("", reply.text)
    for end in deque(LONE_END.finditer(text), maxlen=1):
        thoughts.append(text[: end.start()])
        text = text[end.end() :]
    thinking = "\n".join(thought.strip() for thought in thoughts if thought.strip()) or thoughts[0]
    if text == reply.text:
        return reply if thinking == reply.thinking else reply.model_copy(update={"thinking": thinking})
    return _repaired(reply, "thinking was mixed into the answer", thinking=thinking, text=text.strip())


def drop_marks(reply: ModelReply, tools: Tools) -> ModelReply:  # noqa: ARG001
    """Drop marks of the chat template that the model echoed, and text nobody can see. no-think-marker-echo"""
    echo = ECHO.search(reply.text, max(len(reply.text) - _LONGEST_ECHO, 0))
    text = TEMPLATE.sub("", reply.text[: echo.start()] if echo else reply.text)
    if _INVISIBLE.fullmatch(text):
        return reply.model_copy(update={"text": ""})
    return reply if text == reply.text else _repaired(reply, "control marks were dropped", text=text.strip())


def tidy_names(reply: ModelReply, tools: Tools) -> ModelReply:  # noqa: ARG001
    """Take white space off the names of the tools that are called."""
    calls = [call.model_copy(update={"name": call.name.strip()}) for call in reply.tool_calls]
    return reply if calls == reply.tool_calls else reply.model_copy(update={"tool_calls": calls})


def unwrap_arguments(reply: ModelReply, tools: Tools) -> ModelReply:
    """Take arguments out of an envelope they were wrapped in once more. wrapped-args"""
    for position, call in enumerate(reply.tool_calls):
        inner = _unwrapped(call.name, call.arguments, tools)
        if inner is not None:
            calls = list(reply.tool_calls)
            calls[position] = call.model_copy(update={"arguments": inner})
            reply = _repaired(reply, f"the arguments of {call.name} were wrapped twice", tool_calls=calls)
    return reply


def recover_calls(reply: ModelReply, tools: Tools) -> ModelReply:
    """Take a call that came as text for a call, where that is safe; never show its markup.

    Safe is a text that is nothing but calls, and explicit markup beside prose for tools that only read. Nothing
    is run out of thinking. leak-bare-json, leak-fenced-json, leak-xml-mixed-with-prose, leak-inside-thinking,
    brace-in-string
    """
    if reply.error or reply.incomplete:
        return reply
    found = find_calls(reply.text)
    if reply.tool_calls:
        return reply.model_copy(update={"text": found.prose}) if found.marked else reply
    calls, problem = _safe_calls(found, tools)
    if calls:
        names = ", ".join(call.name for call in calls)
        return _repaired(reply, f"a call written as text was taken: {names}", tool_calls=calls, text=found.prose)
    if _is_data_of_a_call(reply.text, tools):
        found = found._replace(prose="", marked=True)
    if not found.marked:
        return reply
    warnings = [*reply.warnings, problem] if problem else reply.warnings
    return reply.model_copy(update={"text": found.prose, "unusable": "call_as_text", "warnings": warnings})


def judge(reply: ModelReply, tools: Tools) -> ModelReply:  # noqa: ARG001
    """Say why a whole reply is neither an answer nor a call.

    empty-with-tools-and-think, empty-unknown-call-discarded, thinking-eats-budget, call-cut-silently
    """
    usable = reply.tool_calls or reply.text.strip() or reply.unusable or reply.error or reply.incomplete
    return reply if usable else reply.model_copy(update={"unusable": _why_unusable(reply)})


REPAIRS = (split_thinking, drop_marks, tidy_names, unwrap_arguments, recover_calls, judge)


def _why_unusable(reply: ModelReply) -> Unusable:
    if reply.done_reason == "length":
        return "cut_by_length"
    if find_calls(reply.thinking).marked:
        return "call_in_thinking"
    return "only_thinking" if reply.thinking.strip() else "empty"


def _unwrapped(name: str, arguments: Mapping[str, Any], tools: Tools) -> dict[str, Any] | None:
    inner = next((arguments[key] for key in _ENVELOPES if key in arguments), None)
    if name not in tools or not isinstance(inner, dict) or set(arguments) - {*_ENVELOPES, *_NAMES}:
        return None
    named = {arguments[key] for key in _NAMES if key in arguments}
    return inner if named <= {name} and not _problem(name, inner, tools) else None


def _is_data_of_a_call(text: str, tools: Tools) -> bool:
    """Whether a text is nothing but JSON that names a tool, or holds a tool's arguments alone."""
    data = whole_json(text)
    if not isinstance(data, dict) or not data:
        return False
    words = {*data, *(value for value in data.values() if isinstance(value, str))}
    arguments = [{parameter.name for parameter in tool.parameters} for tool in tools.values()]
    return bool(words & set(tools)) or any(set(data) <= names for names in arguments)


def _safe_calls(found: Found, tools: Tools) -> tuple[list[ToolCall], str]:
    """The calls that may run, or none and what is wrong."""
    calls = []
    for call in found.calls:
        arguments = _unwrapped(call.name, call.arguments, tools) or call.arguments
        problem = _problem(call.name, arguments, tools)
        if problem:
            return [], problem
        if found.prose and tools[call.name].side_effecting:
            return [], f"{call.name} changes something, so it is not run out of a text."
        calls.append(call.model_copy(update={"arguments": arguments}))
    return calls, ""


def _problem(name: str, arguments: Mapping[str, Any], tools: Tools) -> str:
    tool = tools.get(name)
    if tool is None:
        return f'There is no tool "{" ".join(name.split())[:60]}".'
    try:
        tool.check(arguments)
    except BadArguments as error:
        return str(error)
    return ""


def _repaired(reply: ModelReply, words: str, **changes: Any) -> ModelReply:
    return reply.model_copy(update={**changes, "repairs": [*reply.repairs, words]})
