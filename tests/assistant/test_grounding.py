"""Figures that come from nowhere are marked; those a tool has shown are not."""

import pytest

from agent.guards.limits import Limits
from agent.loop.agent import Agent
from agent.models.scripted import Line, ScriptedModel, call, say
from agent.tools import FunctionTools, Tool, ToolOutcome
from agent.views.conversation import Conversation
from assistant.answer_check.evidence import Evidence, grounding_mark, ungrounded
from assistant.answer_check.figures import read_figures

RESULT = '{"id": 7, "title": "The Quiet Orchard", "price": "16.50", "in_stock": 15}'


@pytest.mark.parametrize(
    ("answer", "figures"),
    [
        ("It costs $16.50 and 15 copies are left.", []),
        ("It costs $9.99.", ["9.99"]),
        ("There are 3 copies left.", ["3"]),
        ("15 in stock, at 16.50.", []),
        ("It was printed in 1999, has 300 pages and 4 chapters.", []),
        ("A discount of 10.50% on $116.50", ["116.50"]),
        ("Hello!", []),
    ],
)
def test_figures_that_no_result_shows_are_found(answer: str, figures: list[str]) -> None:
    assert ungrounded(read_figures(answer), {"7", "16.50", "15"}) == figures


def mark_of(talk: Conversation) -> str:
    end = talk.events[-1]
    assert end.kind == "run_finished"
    return grounding_mark(Evidence(talk.events).read(end.answer), end)


def conversation(*lines: Line) -> Conversation:
    def look() -> ToolOutcome:
        """Look."""
        return ToolOutcome(result=RESULT)

    talk, limits = Conversation(), Limits()
    model = ScriptedModel("test", lines)
    agent = Agent(model, FunctionTools(Tool.of(look)), "", limits)
    agent.run(talk, "What does it cost?")
    if len(model.requests) < len(lines):
        agent.run(talk, "And again?")
    return talk


def test_an_answer_from_the_models_head_is_marked() -> None:
    assert "9.99" in mark_of(conversation(say("Dune costs $9.99.")))


def test_an_answer_from_a_result_of_an_earlier_turn_is_not() -> None:
    talk = conversation(call("look"), say("$16.50."), say("Still $16.50."))
    assert talk.run.turn == 2
    assert mark_of(talk) == ""


def test_a_turn_that_used_a_tool_is_left_to_the_reader() -> None:
    assert mark_of(conversation(call("look"), say("Two of them are $33.00."))) == ""
