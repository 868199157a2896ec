"""The table of dialects: each is hidden while it comes, then split off, read, dropped or asked for again."""

from typing import Annotated, Any

import pytest

from agent.loop.reply_repair import read_reply
from agent.models import Delta
from agent.models.curtain import Curtain
from agent.models.markup import DIALECTS, Dialect
from agent.tools import Arg, Tool, ToolOutcome
from agent.trace import ModelReply

LONG = 100_000


def look(what: Annotated[str, Arg("What.", 1, 99)]) -> ToolOutcome:
    """Look for something."""
    return ToolOutcome(result=what)


def read(text: str) -> ModelReply:
    return read_reply(ModelReply(model="m", text=text), {"look": Tool.of(look)})


def drawn(text: str, size: int, *, doubts: bool) -> dict[str, str]:
    """What is drawn of a text that comes in pieces of this size, by kind."""
    curtain = Curtain(doubts=doubts)
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    deltas = [delta for piece in pieces for delta in curtain.show(Delta("text_delta", piece))] + curtain.end()
    return {
        kind: "".join(delta.text for delta in deltas if delta.kind == kind)
        for kind in ("thinking_delta", "text_delta")
    }


def samples(kind: str) -> list[Any]:
    return [pytest.param(dialect, id=dialect.sample) for dialect in DIALECTS if dialect.kind == kind]


@pytest.mark.parametrize("dialect", [*samples("thinking"), *samples("call"), *samples("template")])
@pytest.mark.parametrize("doubts", [False, True])
def test_nothing_but_an_answer_is_drawn_however_the_reply_is_cut(dialect: Dialect, doubts: bool) -> None:
    for size in range(1, len(dialect.sample) + 1):
        seen = drawn(dialect.sample, size, doubts=doubts)
        assert seen["text_delta"] in ("", "Dune.") if dialect.kind != "call" else seen["text_delta"] == ""
        assert seen["thinking_delta"] in ("", "hm")


@pytest.mark.parametrize("dialect", samples("thinking"))
def test_thinking_is_split_off_the_answer(dialect: Dialect) -> None:
    reply = read(dialect.sample)
    assert (reply.thinking, reply.text) == ("hm", "Dune.")


@pytest.mark.parametrize("dialect", samples("call"))
def test_a_call_is_read_or_asked_for_again_and_never_shown(dialect: Dialect) -> None:
    reply = read(dialect.sample)
    asked = [(call.name, call.arguments) for call in reply.tool_calls]
    assert asked == ([("look", {"what": "dune"})] if dialect.body else [])
    assert reply.unusable == (None if dialect.body else "call_as_text")
    assert reply.text == ""


@pytest.mark.parametrize("dialect", samples("template"))
def test_marks_of_a_template_are_dropped(dialect: Dialect) -> None:
    reply = read(dialect.sample)
    assert (reply.text, reply.repairs) == ("Dune.", ["control marks were dropped"])


UNITS = [
    *("<", "[", "{", "```", "~~~", " ", "\n", " /think", "{ ", '"\\', '{"name":', '{"name":[', "{}", "```json\n{"),
    *(f"<{tag}" for tag in ("think", "think>", "/think>", "thought><think>", "|", "function=a>", "parameter=a>")),
    *(
        "a</think>",
        "[think]",
        "<tool_call><function=a>",
        "<tool_call>{",
        '{"name": "look", "arguments": {}} ',
        "Action:",
    ),
]
BEFORE = ["", "x ", '{"name": "x"', "{"]


@pytest.mark.parametrize("unit", UNITS)
def test_a_long_row_of_marks_is_read_and_drawn_without_breaking(unit: str) -> None:
    for before in BEFORE:
        text = before + unit * (LONG // len(unit)) + "x"
        assert read(text)
        drawn(text, LONG, doubts=False)


@pytest.mark.parametrize("depth", [900, 3_000, 100_000])
@pytest.mark.parametrize(
    "text", ['{{"tool_calls": {}}}', "{{'tool_calls': {}}}", '{{"name": "look", "arguments": "{}"}}']
)
def test_data_nested_however_deep_is_no_call_and_breaks_nothing(text: str, depth: int) -> None:
    assert read(text.format("[" * depth + "]" * depth)).tool_calls == []
