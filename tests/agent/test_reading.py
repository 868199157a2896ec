"""Reading replies: each repair by hand; the wire cases play them over a socket."""

from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.loop.leaked_calls import find_calls
from agent.loop.reply_repair import read_reply
from agent.tools import Arg, Tool, ToolOutcome
from agent.trace import ModelReply, ToolCall


def look(
    what: Annotated[str, Arg("What.", 1, 99)], count: Annotated[int, Arg("How many.", 1, 9)] = 3
) -> ToolOutcome:
    """Look for something."""
    return ToolOutcome(result=f"{what} {count}")


def buy(key: str, what: Annotated[str, Arg("What.", 1, 99)]) -> ToolOutcome:
    """Buy something."""
    return ToolOutcome(result=f"bought {what} {key}")


TOOLS = {"look": Tool.of(look), "buy": Tool.of(buy, side_effecting=True)}
CALL = '{"name": "look", "arguments": {"what": "dune"}}'


def read(text: str = "", **more: Any) -> ModelReply:
    return read_reply(ModelReply(model="m", text=text, **more), TOOLS)


@pytest.mark.parametrize(
    ("text", "thinking", "answer"),
    [
        ("<think>hm</think>Yes.", "hm", "Yes."),
        ("  <think>\nhm\n</think>\n\nYes.", "hm", "Yes."),
        ("hm, well</think>\n\nYes.", "hm, well", "Yes."),
        ("<think>hm for ever", "hm for ever", ""),
        ("one</think>two</think>Yes.", "one</think>two", "Yes."),
        ("<thinking>hm</thinking>Yes.", "hm", "Yes."),
        ("A plain answer.", "", "A plain answer."),
    ],
)
def test_thinking_is_split_off_the_answer(text: str, thinking: str, answer: str) -> None:
    reply = read(text)
    assert (reply.thinking, reply.text) == (thinking, answer)
    assert bool(reply.repairs) == bool(thinking)


@pytest.mark.parametrize(
    "mark", [" /no_think", "\n/think", "<|im_end|>", "</s>", "<|endoftext|>", " /no_think /think"]
)
def test_echoed_marks_are_dropped(mark: str) -> None:
    reply = read("Yes." + mark)
    assert reply.text == "Yes."
    assert reply.repairs


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"```json\n{CALL}\n```",
        f"```\n{CALL}\n```",
        f"```tool_call\n{CALL}\n```",
        f"<tool_call>\n{CALL}\n</tool_call>",
        f"<function_call>{CALL}</function_call>",
        '<function=look>{"what": "dune"}</function>',
        "<function=look>\n<parameter=what>\ndune\n</parameter>\n</function>",
        f"[TOOL_CALLS] [{CALL}]",
        f"[{CALL}]",
        '{"name": "look", "parameters": {"what": "dune"}}',
        '{"tool": "look", "args": {"what": "dune"}}',
        '{"type": "function", "function": {"name": "look", "arguments": {"what": "dune"}}}',
        '{"function": {"name": "look", "arguments": "{\\"what\\": \\"dune\\"}"}}',
        '{"tool_calls": [{"name": "look", "arguments": {"what": "dune"}}]}',
        '{"name": "look", // a comment\n "arguments": {"what": "dune",},}',
        "{'name': 'look', 'arguments': {'what': 'dune'}}",
    ],
)
def test_a_text_that_is_nothing_but_a_call_is_taken_for_one(text: str) -> None:
    reply = read(text)
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [("look", {"what": "dune"})]
    assert reply.text == ""
    assert "look" in reply.repairs[0]


def test_a_brace_inside_a_text_survives() -> None:
    assert read('{"name": "look", "arguments": {"what": "}A"}}').tool_calls[0].arguments == {"what": "}A"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"name": "look", "arguments": {"q": "dune"}}', '"q"; it takes: what, count'),
        ('{"name": "delete", "arguments": {}}', 'no tool "delete"'),
        ('Sure! <tool_call>{"name": "buy", "arguments": {"what": "x"}}</tool_call>', "buy changes something"),
        ("<tool_call>not json</tool_call>", ""),
        ('{"name": "buy", "arguments": {"what": "x"}', ""),
        ('<tool_call>{"name": "buy", "arguments": {"what": "x"}</tool_call>', ""),
        ('<tool_call>{"name": "look", "arguments": {"wh', ""),
    ],
)
def test_a_call_that_is_not_safe_is_asked_for_again_and_its_markup_never_shown(text: str, problem: str) -> None:
    reply = read(text)
    assert reply.tool_calls == []
    assert reply.unusable == "call_as_text"
    assert not any(mark in reply.text for mark in ("<tool_call", "{", "}"))
    assert problem in " ".join(reply.warnings)


def test_a_read_in_explicit_markup_beside_prose_is_run_and_the_prose_kept_as_a_note() -> None:
    reply = read(f"Let me look. <tool_call>{CALL}</tool_call>")
    assert [call.name for call in reply.tool_calls] == ["look"]
    assert reply.text == "Let me look."


@pytest.mark.parametrize(
    "text",
    [
        "You could call look(what='dune') yourself.",
        'The JSON {"title": "Dune", "price": 9} is what you asked for.',
        '{"title": "Dune", "price": 9}',
        "Use `search`: it takes a name and arguments.",
        '{"name": "Dune", "price": 9}',
    ],
)
def test_an_answer_that_only_speaks_of_calls_stays_an_answer(text: str) -> None:
    reply = read(text)
    assert (reply.tool_calls, reply.text, reply.unusable) == ([], text, None)


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ({"text": " \n"}, "empty"),
        ({"thinking": "hm"}, "only_thinking"),
        ({"thinking": f"I call <tool_call>{CALL}</tool_call>"}, "call_in_thinking"),
        ({"thinking": "hm", "done_reason": "length"}, "cut_by_length"),
        ({"text": "Yes.", "done_reason": "length"}, None),
    ],
)
def test_a_reply_without_answer_and_call_says_why(reply: dict[str, Any], why: str | None) -> None:
    read_back = read(**reply)
    assert read_back.unusable == why
    assert read_back.tool_calls == []


@pytest.mark.parametrize(
    "arguments",
    [
        {"name": "look", "arguments": {"what": "dune"}},
        {"arguments": {"what": "dune"}},
        {"function": "look", "parameters": {"what": "dune"}},
    ],
)
def test_arguments_in_an_envelope_are_unwrapped(arguments: dict[str, Any]) -> None:
    reply = read(tool_calls=[ToolCall(id="", name="look", arguments=arguments)])
    assert reply.tool_calls[0].arguments == {"what": "dune"}
    assert "twice" in reply.repairs[0]


@pytest.mark.parametrize(
    "arguments",
    [{"name": "buy", "arguments": {"what": "dune"}}, {"arguments": {"q": 1}}, {"arguments": {}, "x": 1}],
)
def test_an_envelope_that_does_not_fit_is_left_alone(arguments: dict[str, Any]) -> None:
    reply = read(tool_calls=[ToolCall(id="", name="look", arguments=arguments)])
    assert reply.tool_calls[0].arguments == arguments


@given(st.text(alphabet="<>{}[]\"':,/ toolcalfunin_=namergus\n`", max_size=120))
def test_no_text_breaks_the_reading_and_no_write_runs_out_of_prose(text: str) -> None:
    reply = read(text)
    assert all(call.name == "look" for call in reply.tool_calls) or not find_calls(text).prose
