"""What looks stuck and is not: these runs go through, under the default limits and the guarded ones."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine

import store
from agent.guards.limits import PRESETS
from agent.models.scripted import Line, ScriptedModel, call, say
from agent.trace import AnyEvent
from agent.views.conversation import Conversation
from assistant.bookshop import Bookshop
from assistant.faults import Fault
from assistant.settings import Settings
from tests.agent.playing import calls, of

DONE = say("There.")
CHECK, OTHER = call("check_stock", book_id=7), call("check_stock", book_id=2)
ADD = call("add_to_cart", book_id=7)


@pytest.fixture(params=["default", "guarded", "first post"])
def shopping(bookshop: Bookshop, request: pytest.FixtureRequest) -> Callable[..., list[AnyEvent]]:
    """Play lines in the shop under one preset, but for its steps and tokens; ``meanwhile`` runs after a call."""

    def play(*lines: Line, meanwhile: dict[str, Callable[[], Any]] | None = None, **more: Any) -> list[AnyEvent]:
        limits = PRESETS[request.param].model_copy(update={"max_steps": 20, "max_tokens": None})
        conversation = Conversation()
        agent = bookshop.agent(
            ScriptedModel("t", [*lines, DONE]), 1, conversation, Settings(limits=limits, **more)
        )
        for event in agent.stream(conversation, "Hello"):
            if event.kind == "tool_finished" and meanwhile and event.call.id in meanwhile:
                meanwhile[event.call.id]()
        return list(conversation.events)

    return play


def assert_left_alone(events: list[AnyEvent], ran: int) -> None:
    assert of(events, "guard_decision") == []
    assert events[-1].stop_reason == "done"  # type: ignore[union-attr]
    assert sum(event.ran for event in of(events, "tool_finished")) == ran


@pytest.mark.parametrize(
    "lines",
    [
        [call("search_books", query="novel", max_results=size) for size in (5, 10, 15, 20, 25, 30)],
        [
            call("search_books", query=word)
            for word in ("novel", "mystery", "science", "cooking", "poetry", "travel")
        ],
        [CHECK, ADD, CHECK],
        [CHECK, ADD, CHECK, call("add_to_cart", book_id=4), CHECK],
        [CHECK, OTHER, ADD, CHECK, OTHER],
        [call("check_stock", book_id=number) for number in range(1, 13)],
        [call("check_stock", book_id=number) for number in (2, 27, 29)],
        [ADD, call("add_to_cart", book_id=7, quantity=2), call("add_to_cart", book_id=4)],
        [
            call("search_books", query="The Last Lighthouse"),
            OTHER,
            call("search_books", query="The Quiet Orchard"),
            CHECK,
            ADD,
            call("search_books", query="Mira Holt"),
        ],
        [calls(("check_stock", {"book_id": 7}), ("check_stock", {"book_id": 2})), ADD, CHECK],
        [call("check_stock", book_id=10**6), CHECK, call("check_stock", book_id=10**7), OTHER],
        [call("buy_now", title="x"), call("search_books", query="orchard"), call("check_stock"), CHECK],
        [CHECK, call("search_books", query="orchard"), CHECK],
    ],
    ids=[
        *("paging", "six genres", "check after a write", "check after two writes", "two checks after a write"),
        *("twelve books", "three that are sold out", "three different adds", "two titles", "a batch and again"),
        *("unknown books between good ones", "mistakes between good calls", "one look back"),
    ],
)
def test_a_run_that_gets_somewhere_is_left_alone(
    shopping: Callable[..., list[AnyEvent]], lines: list[Line]
) -> None:
    events = shopping(*lines)
    assert_left_alone(events, sum(event.not_run is None for event in of(events, "tool_finished")))


@pytest.mark.parametrize("fault", [Fault.ONCE, Fault.TIMEOUT])
def test_a_retry_after_a_real_fault_runs(shopping: Callable[..., list[AnyEvent]], fault: Fault) -> None:
    events = shopping(CHECK, CHECK, ADD, CHECK, faults={"check_stock": fault})
    assert_left_alone(events, 4)
    assert [event.ok for event in of(events, "tool_finished")] == [False, True, True, True]


@pytest.mark.parametrize("fault", [Fault.ONCE, Fault.TIMEOUT])
def test_a_write_that_broke_is_made_on_the_second_try_and_once(
    shopping: Callable[..., list[AnyEvent]], engine: Engine, fault: Fault
) -> None:
    events = shopping(ADD, ADD, faults={"add_to_cart": fault})
    assert_left_alone(events, 2)
    assert store.view_cart(engine, 1).lines[0].quantity == 1


def test_a_shop_that_others_change_is_news_each_time(
    shopping: Callable[..., list[AnyEvent]], engine: Engine
) -> None:
    meanwhile = {
        f"call_1.{step}.1": lambda copies=step: store.set_stock(engine, 7, copies, by="warehouse")  # type: ignore[misc]
        for step in range(1, 6)
    }
    events = shopping(*[CHECK] * 6, meanwhile=meanwhile)
    assert_left_alone(events, 6)
    assert len(of(events, "shop_changed")) == 5


def test_a_write_whose_effect_is_gone_is_made_again(
    shopping: Callable[..., list[AnyEvent]], engine: Engine
) -> None:
    events = shopping(ADD, ADD, meanwhile={"call_1.1.1": lambda: store.clear_cart(engine, 1, by="page")})
    assert_left_alone(events, 2)
    assert [event.resource for event in of(events, "shop_changed")] == ["cart"]
    assert store.view_cart(engine, 1).lines[0].quantity == 1


def test_a_write_whose_effect_stands_is_not_made_again_when_something_else_changed(
    bookshop: Bookshop, engine: Engine
) -> None:
    conversation = Conversation()
    agent = bookshop.agent(ScriptedModel("t", [CHECK, ADD, ADD, DONE]), 1, conversation, Settings())
    for event in agent.stream(conversation, "Hello"):
        if event.kind == "tool_finished" and event.call.id == "call_1.2.1":
            store.set_stock(engine, 7, 9, by="warehouse")
    assert [event.resource for event in of(conversation.events, "shop_changed")] == ["stock:7"]
    assert [event.action for event in of(conversation.events, "guard_decision")] == ["replay"]
    assert store.view_cart(engine, 1).lines[0].quantity == 1


def test_one_more_in_a_later_message_is_one_more(bookshop: Bookshop, engine: Engine) -> None:
    conversation = Conversation()
    for copies in (1, 2, 3):
        agent = bookshop.agent(ScriptedModel("t", [ADD, ADD, DONE]), 1, conversation, Settings())
        assert agent.run(conversation, "One more.").stop_reason == "done"
        assert store.view_cart(engine, 1).lines[0].quantity == copies
