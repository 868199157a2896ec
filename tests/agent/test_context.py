"""The context window: what cannot fit is not sent, and a cut prompt is noticed."""

import pytest

from agent.guards.context import ContextWindow, room_for_answer, was_cut
from agent.guards.guard import BeforeModel
from agent.loop.agent import Agent
from agent.models.scripted import Line, ScriptedModel, say
from agent.trace import ModelOptions, ModelRequest, Usage
from agent.views.run import Tally
from agent.views.tokens import Estimate
from tests.agent.playing import Shelf, of, play


def request(estimated: int, new: int, role: str = "tool") -> ModelRequest:
    return ModelRequest(
        new_messages=[{"role": role, "content": ""}],
        digest="",
        estimated_input_tokens=estimated,
        resent_tokens=estimated - new,
        new_tokens=new,
        elapsed_ms=0,
    )


@pytest.mark.parametrize(
    ("estimated", "new", "count", "before", "cut"),
    [
        (8_000, 500, 8_050, 7_500, False),  # as expected
        (8_000, 500, None, 7_500, False),  # unknown
        (8_000, 500, 2_050, 7_500, True),  # half of the context, far below the estimate
        (8_000, 8_000, 2_050, None, True),
        (8_000, 500, 7_000, 7_500, True),  # fell although the prompt grew
        (8_000, 500, 480, 7_500, False),  # a server that counts only what is new
        (2_100, 300, 2_050, 1_800, False),  # near half, as estimated
    ],
)
def test_a_count_tells_whether_the_prompt_was_cut(
    estimated: int, new: int, count: int | None, before: int | None, cut: bool
) -> None:
    assert was_cut(request(estimated, new), count, before, 4_096) is cut


def test_a_count_may_fall_after_a_user_message_as_templates_drop_old_thoughts() -> None:
    assert not was_cut(request(8_000, 500, role="user"), 7_000, 7_500, 16_384)


@pytest.mark.parametrize(
    ("tokens", "calibrated", "stops"), [(4_000, True, True), (4_000, False, False), (3_840, True, False)]
)
def test_a_request_that_cannot_fit_is_not_sent_once_a_count_is_known(
    tokens: int, calibrated: bool, stops: bool
) -> None:
    decision = ContextWindow(4_096)(BeforeModel(0, Estimate(0, tokens, calibrated)), Tally())
    assert (decision is not None and decision.stop_reason == "context_window") is stops


@pytest.mark.parametrize(("estimated", "room"), [(100, 4_096), (14_384, 2_000), (16_300, 256), (20_000, 256)])
def test_an_answer_gets_the_room_the_prompt_leaves(estimated: int, room: int) -> None:
    assert room_for_answer(estimated, 16_384, 4_096) == room


def test_nothing_is_bought_on_a_cut_prompt_and_the_warning_is_seen() -> None:
    counted = [Usage(input_tokens=count, output_tokens=10) for count in (3_000, 3_500, 1_000)]
    lines = [
        Line(calls=(("look", {"what": "x"}),), usage=counted[0]),
        Line(calls=(("put", {"what": "x"}),), usage=counted[2]),
        say("Well.", usage=counted[1]),
    ]
    played = play(*lines)
    (_, bought) = played.of("tool_finished")
    assert (bought.call.name, bought.ran) == ("put", False)
    assert "cut the prompt" in bought.result
    warned = [warning for reply in of(played.conversation.events, "model_reply") for warning in reply.warnings]
    assert any("cut the prompt" in warning for warning in warned)


def test_an_agent_is_held_to_the_context_it_asks_for() -> None:
    agent = Agent(ScriptedModel("t", []), Shelf().tools(), "x", options=ModelOptions(num_ctx=4_096))
    assert ContextWindow(4_096) in agent.guards
