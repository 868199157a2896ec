"""What was sent is known from the events alone: every request of every run can be rebuilt."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Engine

import store
from agent.archive import Archive, run_turn
from agent.loop.agent import Agent
from agent.loop.tool_call import Approval
from agent.models.ollama import OllamaModel
from agent.models.scripted import Line, ScriptedModel, call, say
from agent.tools import NoTools
from agent.trace import AnyEvent, ModelFault, ModelReply
from agent.views.conversation import Conversation
from agent.views.sent import OlderRecord, requests_sent
from assistant.bookshop import Bookshop
from assistant.cures import Cure
from assistant.settings import Settings
from tests.agent.playing import Shelf, agent_for, of, play
from tests.agent.test_approval import DONE, PUT, careful, paused
from tests.agent.wire import assert_rebuilt, failed
from tests.ollama_server import OllamaServer, reply

BROKEN = ModelReply(model="t", error=ModelFault(stop_reason="model_error", message="it broke", retry="changed"))
CUT = ModelReply(model="t", thinking="hm", done_reason="length")


def assert_known(events: Sequence[AnyEvent], *models: ScriptedModel) -> None:
    """All that the models were asked, rebuilt from the events."""
    asked = [
        (*request, options)
        for model in models
        for request, options in zip(model.requests, model.options, strict=True)
    ]
    sent = list(requests_sent(events))
    assert [(one.messages, one.tools, one.options) for one in sent] == asked


def test_a_failure_a_pause_and_its_answer_go_on_with_the_seeds_as_sent() -> None:
    agent, conversation, _ = paused(BROKEN, PUT, DONE)
    later = replace(agent, model=ScriptedModel("later", [DONE]))
    list(later.resume(conversation, Approval(approved=True, by="test")))
    assert [event.options.seed for event in of(conversation.events, "model_request")] == [42, 43, 43]
    assert_known(conversation.events, agent.model, later.model)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "lines",
    [
        [say("Yes.")],
        [call("look"), call("put", what="x"), say("Done.")],
        [Line(thinking="I look.", calls=(("look", {}), ("nothing", {}))), say("Done.")],
        [BROKEN, say("Yes.")],
        [CUT, CUT, say("Yes.")],
        [say(""), say("Yes.")],
        [call("look")],
    ],
    ids=["answer", "calls", "thinking", "failure", "cut", "empty", "repeated until it is stopped and wraps up"],
)
def test_every_request_of_a_run_can_be_rebuilt(lines: list[Any]) -> None:
    played = play(*lines)
    assert_known(played.events, played.model)


def test_an_answer_that_was_cut_off_has_double_the_room_ever_after() -> None:
    played = play(CUT, call("look"), say("Yes."))
    assert [sent.options.num_predict for sent in requests_sent(played.events)] == [4_096, 8_192, 8_192]


def test_turns_that_go_on_without_tools_can_be_rebuilt() -> None:
    conversation = Conversation()
    one = play(call("look"), conversation=conversation, max_steps=1)
    agent = agent_for(two := ScriptedModel("two", [say("That is all.")]))
    agent = replace(agent, toolbox=NoTools(agent.toolbox))
    agent.run(conversation, "Answer now.", continues=conversation.run.run_id)
    assert two.requests[0][1] == []
    assert_known(conversation.events, one.model, two)


@pytest.mark.parametrize("cure", Cure)
def test_what_every_cure_adds_can_be_rebuilt_also_after_loading(
    bookshop: Bookshop, engine: Engine, archive: Archive, cure: Cure
) -> None:
    conversation, models = archive.start("1"), []
    for text in ("Add it.", "What is my total?"):
        models.append(ScriptedModel("t", [call("add_to_cart", book_id=7), say("$16.50")]))
        agent = bookshop.agent(models[-1], 1, conversation, Settings(freshness=cure))
        run_turn(archive, agent, conversation, text)
        store.set_quantity(engine, 1, 7, 5, by="website")
    again = archive.find("1", conversation.handle)
    assert again
    assert_known(again.events, *models)


def test_what_an_older_record_does_not_tell_is_not_made_up() -> None:
    played = play(say("Yes."))
    older = [
        event.model_copy(update={"options": None}) if event.kind == "model_request" else event
        for event in played.events
    ]
    with pytest.raises(OlderRecord, match="before requests kept their options"):
        list(requests_sent(older))


def test_over_the_wire_a_failure_a_pause_and_its_answer_are_rebuilt_byte_for_byte() -> None:
    put = ("put", {"what": "pen", "count": 2})
    wire = [failed(500, "error parsing tool call"), reply(thinking="I put them.", calls=[put]), reply("There.")]
    conversation = Conversation()
    with OllamaServer(wire) as server:
        model = OllamaModel("qwen3:4b", server.url, digest="known")
        agent = Agent(model, careful(Shelf()), "Be brief.")
        list(agent.stream(conversation, "Hello"))
        list(agent.resume(conversation, Approval(approved=True, by="test")))
        assert [body["options"]["seed"] for body in server.requests] == [42, 43, 43]
        assert len(server.received) == 3
        assert_rebuilt(conversation, server)


def test_an_agent_runs_inside_a_running_event_loop_as_in_a_notebook() -> None:
    async def cell(server: OllamaServer) -> str:
        model = OllamaModel("qwen3:4b", server.url)
        return Agent(model, Shelf().tools(), "Be brief.").run(Conversation(), "Hello").answer

    with OllamaServer([reply("Good day.")]) as server:
        assert asyncio.run(cell(server)) == "Good day."
