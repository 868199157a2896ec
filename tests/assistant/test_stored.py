"""Conversations that an earlier version of this program stored open, show and go on."""

import json
import math
from pathlib import Path

import pytest
from sqlalchemy import Engine, insert

from agent.archive import resume_turn, run_turn
from agent.archive.tables import CONVERSATIONS, EVENTS, RUNS
from agent.loop.tool_call import Approval
from agent.models.scripted import ScriptedModel, say
from agent.views.conversation import Conversation
from agent.views.sent import OlderRecord, requests_sent
from assistant.bookshop import Bookshop
from assistant.offline import OfflineModel
from assistant.settings import Settings
from assistant.stopping import run_ledger, stop_card
from tests.agent.playing import kinds, of

STORED = json.loads(Path(__file__).with_name("stored_by_0_1.json").read_text(encoding="utf-8"))
"""The archive's rows of two conversations: one of three turns, stopped and continued; one that waits for a yes."""

WAITS = {"heartbeat": math.inf}
"""What JSON cannot say of a run that waits for a person."""


@pytest.fixture
def shop(engine: Engine, bookshop: Bookshop) -> Bookshop:
    with engine.begin() as db:
        for table in (CONVERSATIONS, EVENTS, RUNS):
            rows = STORED[table.name]
            unending = [
                row | {"heartbeat": row["heartbeat"] or math.inf} if table is RUNS else row for row in rows
            ]
            db.execute(insert(table), unending)
    return bookshop


def opened(shop: Bookshop, name: str) -> Conversation:
    conversation = shop.archive.find("1", name)
    assert conversation
    return conversation


def test_it_opens_with_all_its_events_and_is_listed(shop: Bookshop) -> None:
    conversation = opened(shop, "lighthouse")
    assert len(conversation.events) == sum(row["handle"] == conversation.handle for row in STORED["agent_events"])
    assert [end.stop_reason for end in of(conversation.events, "run_finished")] == ["max_steps", "done", "done"]
    assert conversation.knowledge.facts["cart"].fact.value == "total $33.00"
    listed = {one.name: (one.turns, one.live) for one in shop.archive.listing.conversations("1")}
    assert listed == {"lighthouse": (3, False), "waiting": (1, True)}


def test_its_settings_its_ledger_and_its_stop_card_are_read(shop: Bookshop) -> None:
    conversation = opened(shop, "lighthouse")
    first, second, third = of(conversation.events, "run_started")
    assert Settings.of(first).limits.max_steps == 2
    assert {str(fault) for fault in Settings.of(second).faults.values()} == {"timeout"}
    assert str(Settings.of(third).freshness) == "snapshot"
    stopped = conversation.run_events(first.run_id)
    card = stop_card(shop, stopped)
    assert card
    assert (card.stop_reason, card.decided and card.decided.guard) == ("max_steps", "max_steps")
    assert run_ledger(shop, stopped)


def test_it_goes_on_with_all_that_was_said(shop: Bookshop) -> None:
    conversation, model = opened(shop, "lighthouse"), ScriptedModel("t", [say("It is $33.00.")])
    before = list(conversation.history.messages())
    run_turn(shop.archive, shop.agent(model, 1, conversation, Settings()), conversation, "And now?")
    messages = model.requests[0][0]
    assert [one["role"] for one in messages] == [*(one["role"] for one in before), "user"]
    assert kinds(opened(shop, "lighthouse").events) == kinds(conversation.events)


def test_the_stand_in_answers_from_what_was_stored(shop: Bookshop) -> None:
    conversation = opened(shop, "lighthouse")
    agent = shop.agent(OfflineModel(), 1, conversation, Settings())
    assert "$33.00" in run_turn(shop.archive, agent, conversation, "What is my cart total now?").answer


def test_a_call_that_waited_can_be_answered_and_goes_on_with_its_seed(shop: Bookshop) -> None:
    conversation, model = opened(shop, "waiting"), ScriptedModel("t", [say("Added.")])
    agent = shop.agent_of(model, 1, conversation)
    for _ in resume_turn(shop.archive, agent, conversation, Approval(approved=True, by="test")):
        pass
    assert conversation.events[-1].kind == "run_finished"
    assert [options.seed for options in model.options] == [43]
    assert conversation.run.effects


def test_what_it_never_told_is_not_made_up(shop: Bookshop) -> None:
    with pytest.raises(OlderRecord):
        list(requests_sent(opened(shop, "lighthouse").events))
