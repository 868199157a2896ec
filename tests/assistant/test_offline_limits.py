"""The offline stand-in under limits, failures, stale facts and junk: it stays honest and never breaks."""

import shutil
import threading
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import store
from agent.guards.limits import Limits
from agent.loop.tool_call import Approval
from agent.trace import Fact, ModelOptions, ModelReply
from agent.views.answers import wrap_up_request
from assistant.bookshop import Bookshop
from assistant.cures import Cure, snapshot
from assistant.faults import Fault
from assistant.offline import OfflineModel
from assistant.offline.notes import LONGEST_REQUEST
from lab.stale import WORDINGS
from tests.assistant.conftest import LIGHTHOUSE, ROOMY, Visit

WORDS = [*LIGHTHOUSE.split(), '"', "and", "2", "$9"]
TOTAL = "What is my cart total now?"


@pytest.mark.parametrize("question", [*WORDINGS, "What's in my basket?"])
def test_the_total_comes_from_the_last_result_in_the_history(visit: Visit, question: str) -> None:
    visit.ask(LIGHTHOUSE)
    store.set_quantity(visit.shop.engine, 1, 7, 2, by="website")
    assert visit.ask(question).answer == "Your cart total is $16.50."
    assert visit.calls == []


def test_the_cart_is_read_again_in_each_turn_where_the_tool_is_given(visit: Visit) -> None:
    visit.ask(LIGHTHOUSE, freshness=Cure.INSTRUCT)
    for copies, total in ((2, "$33.00: 2 × The Quiet Orchard."), (0, "$0.00.")):
        store.set_quantity(visit.shop.engine, 1, 7, copies, by="website")
        assert visit.ask(TOTAL, freshness=Cure.INSTRUCT).answer == f"Your cart total is {total}"
        assert visit.calls == [("view_cart",)]


@pytest.mark.parametrize("total", ["$33.00", "$0.00"])
def test_a_snapshot_after_the_question_overtakes_the_history(visit: Visit, total: str) -> None:
    visit.ask(LIGHTHOUSE)
    told = snapshot(
        [
            Fact(resource="stock:7", version=8, value="3 copies"),
            Fact(resource="cart", version=9, value=f"total {total}"),
        ]
    )
    asked = [
        *visit.conversation.history.messages(),
        {"role": "user", "content": TOTAL},
        {"role": "user", "content": told},
    ]
    assert reply_to(asked).text == f"Your cart total is {total}."
    again = [*asked, {"role": "assistant", "content": "Your cart total is $16.50."}]
    sent_back = {"role": "user", "content": "Your answer states what is true no more. Answer again."}
    assert reply_to([*again, sent_back]).text == f"Your cart total is {total}."


CUT_SHORT = [
    (1, ["I found The Last Lighthouse", "have not added anything"]),
    (2, ["The Last Lighthouse is out of stock", "have not added anything", "limit of 2 steps"]),
    (3, ["The Quiet Orchard is in stock (15 copies)", "have not added anything"]),
    (4, ["I added The Quiet Orchard", "$16.50"]),
]


@pytest.mark.parametrize(("steps", "words"), CUT_SHORT)
def test_the_wrap_up_tells_what_was_done_and_what_was_not(visit: Visit, steps: int, words: list[str]) -> None:
    result = visit.ask(LIGHTHOUSE, Limits(max_steps=steps))
    assert (result.stop_reason, result.answer_by) == ("max_steps", "model")
    assert all(part in result.answer for part in words), result.answer


@pytest.mark.parametrize("steps", [1, 2, 3, 4])
def test_continue_goes_on_where_the_limit_struck_and_adds_once(visit: Visit, steps: int) -> None:
    visit.ask(LIGHTHOUSE, Limits(max_steps=steps))
    assert "I added The Quiet Orchard" in visit.ask("Continue.").answer
    assert len(visit.calls) == 4 - steps
    assert visit.cart == {7: 1}


def test_continue_without_tools_tells_what_is_known(visit: Visit) -> None:
    visit.ask(LIGHTHOUSE, Limits(max_steps=2))
    history = visit.conversation.history.messages()
    reply = reply_to([*history, {"role": "user", "content": "Continue, but answer now, without tools."}])
    assert "The Last Lighthouse is out of stock" in reply.text
    assert "have not added" in reply.text


FAULTS = [
    ("check_stock", Fault.TIMEOUT, [2, 2, 7, 7], {7: 1}, "I added The Quiet Orchard"),
    ("check_stock", Fault.ONCE, [2, 2, 7, 7], {7: 1}, "I added The Quiet Orchard"),
    ("check_stock", Fault.FAILING, [2, 2], {}, "I could not add The Last Lighthouse"),
    ("search_books", Fault.TIMEOUT, [2, 7, 7], {7: 1}, "I added The Quiet Orchard"),
    ("search_books", Fault.FAILING, [], {}, "The shop could not answer"),
    ("search_books", Fault.EMPTY, [], {}, "The shop could not answer"),
    ("add_to_cart", Fault.TIMEOUT, [2, 7, 7], {}, "may still have taken effect"),
    ("add_to_cart", Fault.FAILING, [2, 7, 7], {}, "may still have taken effect"),
    ("add_to_cart", Fault.EMPTY, [2, 7, 7], {7: 1}, "may still have taken effect"),
    ("add_to_cart", Fault.WRONG_TYPE, [2, 7, 7], {7: 1}, "I added The Quiet Orchard"),
]


@pytest.mark.parametrize(("tool", "fault", "books", "cart", "words"), FAULTS)
def test_a_failed_read_is_retried_once_and_an_add_that_may_have_taken_effect_never(
    visit: Visit, tool: str, fault: Fault, books: list[int], cart: dict[int, int], words: str
) -> None:
    answer = visit.ask(LIGHTHOUSE, faults={tool: fault}).answer
    assert [call[1] for call in visit.calls if call[0] != "search_books"] == books
    assert words in answer
    assert not any(name in answer for name in NAMES)
    assert visit.cart == cart


def test_what_a_person_did_not_allow_is_said_and_not_tried_again(visit: Visit) -> None:
    visit.approve = lambda request: Approval(False, "test")
    for text in (LIGHTHOUSE, "Continue."):
        answer = visit.ask(text, approve_above=Decimal(0)).answer
        assert "You did not allow me to add The Quiet Orchard" in answer
        assert visit.cart == {}
    assert visit.calls == []


def test_a_guard_is_heeded_and_the_call_not_made_again(visit: Visit) -> None:
    limits = ROOMY.model_copy(update={"repeat_nudge_at": 2, "repeat_stop_at": 3})
    result = visit.ask("is book 7 in stock?", limits, faults={"check_stock": Fault.TIMEOUT})
    assert result.stop_reason == "done"
    assert [each.ran for each in visit.finished] == [True, False]
    assert "the warehouse service timed out" in result.answer


def test_an_add_that_another_model_made_counts_when_the_stand_in_continues() -> None:
    result = '{"added": "The Quiet Orchard", "quantity": 1, "cart_total": "16.50"}'
    history = [
        {"role": "user", "content": "add book 7"},
        {"role": "assistant", "content": "", "tool_calls": [written("1", "add_to_cart", book_id="7")]},
        {"role": "tool", "content": result, "tool_call_id": "1"},
        {"role": "assistant", "content": "I stopped."},
        {"role": "user", "content": "Continue."},
    ]
    assert [call.name for call in reply_to(history, TOOLS).tool_calls] == ["check_stock"]
    history += [
        {"role": "assistant", "content": "", "tool_calls": [written("2", "check_stock", book_id=7)]},
        {
            "role": "tool",
            "content": '{"id": 7, "title": "The Quiet Orchard", "in_stock": 14}',
            "tool_call_id": "2",
        },
    ]
    assert "I added The Quiet Orchard" in reply_to(history, TOOLS).text


def test_what_a_missing_tool_cannot_do_is_said() -> None:
    tools = [tool for tool in TOOLS if tool["function"]["name"] == "view_cart"]
    assert "no tool for it" in reply_to([{"role": "user", "content": LIGHTHOUSE}], tools).text


def test_a_result_that_was_cut_is_read_as_far_as_it_goes(visit: Visit) -> None:
    answer = visit.ask("anything by Mira Holt", ROOMY.model_copy(update={"max_result_chars": 230})).answer
    assert "Walking the Tideline" in answer


def test_a_long_request_in_a_long_conversation_is_read_in_no_time() -> None:
    turn = [{"role": "user", "content": LIGHTHOUSE}, {"role": "assistant", "content": "- a (book 7)\n" * 100}]
    began = time.process_time()
    for text in ("add by (book 7 ", "is a ", "Add X if it ", "A the ", "how many ", "yes, please ", "under 1 "):
        for length in (LONGEST_REQUEST, 10_000):
            reply_to([*(turn * 30), {"role": "user", "content": (text * 1_000)[:length]}], TOOLS)
    assert time.process_time() - began < 5


def test_the_answer_comes_word_by_word_and_closing_ends_it_at_once() -> None:
    stream = OfflineModel(pause=3600).stream([{"role": "user", "content": "hello"}], [], ModelOptions(), None)
    threading.Timer(0.05, stream.close).start()
    last = list(stream)[-1]
    assert isinstance(last, ModelReply)
    assert last.incomplete

    *deltas, reply = OfflineModel().stream([{"role": "user", "content": "hello"}], [], ModelOptions(), None)
    assert isinstance(reply, ModelReply)
    assert "".join(delta.text for delta in deltas if delta.kind == "text_delta") == reply.text
    assert len(deltas) > 10


def test_a_deadline_ends_the_answer_with_a_fault() -> None:
    *_, reply = OfflineModel().stream(
        [{"role": "user", "content": "hello"}], [], ModelOptions(), time.monotonic() - 1
    )
    assert isinstance(reply, ModelReply)
    assert reply.error
    assert reply.error.stop_reason == "max_seconds"


NAMES = ("search_books", "check_stock", "get_order_status", "add_to_cart", "view_cart")
REQUESTS = (
    LIGHTHOUSE,
    "add it",
    "continue",
    "the second one",
    "yes",
    "where is O-1001",
    "total?",
    "add A and B",
    "",
)
RESULTS = (
    '{"books": [{"id": 2, "title": "The Last Lighthouse", "author": "Mira Holt", "price": "18.90"}, {"id": 7}]}',
    '{"books": [{"id": "x"}, 3, null, {"id": 7, "title": 5}, {"id": true, "title": "A"}]}',
    '{"id": 2, "title": "The Last Lighthouse", "in_stock": 0}',
    '{"added": "A", "quantity": "many", "cart_total": "NaN"}',
    '{"lines": 3, "total": [1]}',
    '{"books": [{"id": 2, "title": "The La\n[1,234 characters cut]',
    "GUARD: not run.",
    "Not run: the limit.",
    "check_stock timed out",
    "[]",
    "",
)
junk = st.one_of(st.none(), st.integers(), st.text(max_size=30), st.lists(st.integers(), max_size=2))
texts = st.one_of(st.sampled_from([*REQUESTS, *RESULTS, wrap_up_request("x")]), st.text(max_size=40), junk)
arguments = st.dictionaries(st.sampled_from(["query", "book_id", "quantity", "order_id"]), junk, max_size=2)
calls = st.one_of(
    junk,
    st.lists(
        st.one_of(
            junk,
            st.fixed_dictionaries(
                {
                    "id": st.one_of(st.sampled_from(["1", "2"]), junk),
                    "name": st.one_of(st.sampled_from(NAMES), junk),
                    "arguments": st.one_of(arguments, junk),
                }
            ),
        ),
        max_size=2,
    ),
)
messages = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["system", "user", "user", "assistant", "tool", "odd"]), "content": texts},
        optional={
            "tool_calls": calls,
            "tool_name": st.sampled_from(NAMES),
            "tool_call_id": st.sampled_from(["1", "2"]),
        },
    ),
    max_size=8,
)


@settings(max_examples=400, deadline=None)
@given(history=messages, given_tools=st.sets(st.sampled_from(NAMES)))
def test_no_history_makes_it_raise_or_call_what_it_was_not_given(
    history: list[dict[str, Any]], given_tools: set[str]
) -> None:
    tools = [tool for tool in TOOLS if tool["function"]["name"] in given_tools]
    reply = reply_to(history, tools)
    assert len(reply.tool_calls) <= 1
    assert {call.name for call in reply.tool_calls} <= given_tools
    assert bool(reply.text) != bool(reply.tool_calls)


@pytest.fixture(scope="module")
def one_shop(seed_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bookshop]:
    path = shutil.copy(seed_file, tmp_path_factory.mktemp("strange") / "shop.db")
    opened = Bookshop(store.open_shop(f"sqlite:///{path}"))
    yield opened
    opened.close()


@settings(max_examples=100, deadline=None)
@given(request_=st.one_of(st.text(max_size=80), st.lists(st.sampled_from(WORDS))))
def test_no_request_is_too_strange(one_shop: Bookshop, request_: str | list[str]) -> None:
    result = Visit(one_shop).ask(request_ if isinstance(request_, str) else " ".join(request_))
    assert result.answer
    assert result.stop_reason in ("done", "max_steps", "repeated_call")


def written(id_: str, name: str, **arguments: Any) -> dict[str, Any]:
    """A call as a message holds it."""
    return {"id": id_, "name": name, "arguments": arguments}


def reply_to(history: list[dict[str, Any]], tools: list[dict[str, Any]] | None = None) -> ModelReply:
    """The one reply to a history."""
    *_, reply = OfflineModel().stream(history, tools or [], ModelOptions(), None)
    assert isinstance(reply, ModelReply)
    return reply


TOOLS = [{"function": {"name": name}} for name in NAMES]
