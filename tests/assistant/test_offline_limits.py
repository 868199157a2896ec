"""The offline stand-in under limits, failures, stale facts and junk: it stays honest and never breaks."""

import threading
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.guards.limits import Limits
from agent.models import ModelOptions
from agent.tools import Tool
from agent.trace import ModelReply
from agent.views.answers import wrap_up_request
from assistant.offline import OfflineModel
from tests.assistant.conftest import LIGHTHOUSE, Shop

WORDS = [*LIGHTHOUSE.split(), '"', "and", "2", "$9"]
TOTALS = [
    "What is my cart total now?",
    "what's my total?",
    "How much is in my cart?",
    "What does my cart come to?",
    "how much do I owe",
    "And the total now?",
    "Tell me the sum of my basket.",
    "cart total?",
    "How much would I pay right now?",
    "what is the current total of my shopping cart, please?",
]


@pytest.mark.parametrize("question", TOTALS)
def test_the_total_comes_from_the_last_result_in_the_history(shop: Shop, question: str) -> None:
    shop.ask(LIGHTHOUSE)
    shop.cart[7] = 2
    assert shop.ask(question).answer == "Your cart total is $16.50."
    assert shop.calls == []


@pytest.mark.parametrize(
    ("instructions", "calls", "total"),
    [("Re-read with view_cart what can change.", ["view_cart"], "$33.00"), ("Be kind.", [], "$16.50")],
)
def test_the_cart_is_read_again_where_the_instructions_ask_for_it(
    shop: Shop, instructions: str, calls: list[str], total: str
) -> None:
    shop.with_cart, shop.instructions = True, instructions
    shop.ask(LIGHTHOUSE)
    shop.cart[7] = 2
    assert total in shop.ask("What is my cart total now?").answer
    assert [name for name, _ in shop.calls] == calls


SNAPSHOTS = [
    ("Fresh facts:\ncart total: $33.00", "$33.00"),
    ("[snapshot] Cart now: 2 × The Quiet Orchard at $16.50, total $33.00", "$33.00"),
    ("The cart total was $16.50, now $33.00.", "$33.00"),
    ("Changed since you looked.\n- cart: total $33.00 (v15)", "$33.00"),
    ("Cart now: empty", "$0.00"),
]


@pytest.mark.parametrize(("block", "total"), SNAPSHOTS)
def test_a_snapshot_after_the_question_overtakes_the_history(shop: Shop, block: str, total: str) -> None:
    shop.ask(LIGHTHOUSE)
    history = shop.conversation.history.messages()
    asked = [
        *history,
        {"role": "user", "content": "What is my cart total now?"},
        {"role": "user", "content": block},
    ]
    assert reply_to(asked).text == f"Your cart total is {total}."
    again = [*asked, {"role": "assistant", "content": "Your cart total is $16.50."}]
    correction = {"role": "user", "content": f"Your answer states an overtaken figure. {block}"}
    assert reply_to([*again, correction]).text == f"Your cart total is {total}."


CUT_SHORT = [
    (1, ["I found The Last Lighthouse", "have not added anything"]),
    (2, ["The Last Lighthouse is out of stock", "have not added anything", "limit of 2 steps"]),
    (3, ["The Quiet Orchard is in stock (15 copies)", "have not added anything"]),
    (4, ["I added The Quiet Orchard", "$16.50"]),
]


@pytest.mark.parametrize(("steps", "words"), CUT_SHORT)
def test_the_wrap_up_tells_what_was_done_and_what_was_not(shop: Shop, steps: int, words: list[str]) -> None:
    shop.limits = Limits(max_steps=steps)
    result = shop.ask(LIGHTHOUSE)
    assert (result.stop_reason, result.answer_by) == ("max_steps", "model")
    assert all(part in result.answer for part in words)


def test_continue_goes_on_where_the_limit_struck(shop: Shop) -> None:
    shop.limits = Limits(max_steps=2)
    shop.ask(LIGHTHOUSE)
    shop.limits = Limits(max_steps=6)
    assert "I added The Quiet Orchard" in shop.ask("Continue").answer
    assert [name for name, _ in shop.calls] == ["check_stock", "add_to_cart"]


FAULTS = [
    ({"check_stock": ["warehouse service timed out"]}, [2, 2, 7, 7], "I added The Quiet Orchard"),
    ({"check_stock": ["warehouse service timed out"] * 2}, [2, 2, 2, 7, 7], "I added The Quiet Orchard"),
    ({"check_stock": ["warehouse service timed out"] * 9}, [2, 2, 2, 7, 7, 7], "I added The Quiet Orchard"),
    ({"add_to_cart": ["the cart timed out and may still take effect"]}, [2, 7, 7], "may still have taken effect"),
    (
        {"add_to_cart": ["the shop is closed for the moment; nothing was changed"]},
        [2, 7, 7, 7],
        "I added The Quiet",
    ),
    ({"add_to_cart": ["book 7 is out of stock (0 copies)"]}, [2, 7, 7, 46], "out of stock after all"),
    ({"search_books": ["search timed out"]}, [2, 7, 7], "I added The Quiet Orchard"),
    ({"search_books": ["broken"]}, [], "have not added"),
]


@pytest.mark.parametrize(("faults", "books", "words"), FAULTS)
def test_a_failed_call_is_retried_once_or_gone_around(
    shop: Shop, faults: dict[str, list[str]], books: list[int], words: str
) -> None:
    shop.faults = {name: list(lines) for name, lines in faults.items()}
    answer = shop.ask(LIGHTHOUSE).answer
    assert [arguments["book_id"] for _, arguments in shop.calls if "book_id" in arguments] == books
    assert words in answer
    assert ("I added" in answer) == bool(shop.cart)


def test_a_guard_is_heeded_and_the_call_not_made_again(shop: Shop) -> None:
    shop.limits = Limits(max_steps=12, repeat_nudge_at=2, repeat_stop_at=3)
    shop.faults = {"check_stock": ["warehouse service timed out"]}
    result = shop.ask("is The Quiet Orchard in stock?")
    assert result.stop_reason == "done"
    assert [name for name, _ in shop.calls] == ["search_books", "check_stock"]
    assert "warehouse service timed out" in result.answer


@pytest.mark.parametrize(
    ("missing", "words"),
    [("add_to_cart", "no tool to put anything into a cart"), ("search_books", "no tool here to search")],
)
def test_what_a_missing_tool_cannot_do_is_said(shop: Shop, missing: str, words: str) -> None:
    shop.without = (missing,)
    assert words in shop.ask(LIGHTHOUSE).answer
    assert shop.cart == {}


def test_a_result_that_was_cut_is_read_as_far_as_it_goes(shop: Shop) -> None:
    shop.limits = Limits(max_result_chars=230)
    assert "The Last Lighthouse" in shop.ask("books by Mira Holt").answer


def test_the_answer_comes_word_by_word_and_closing_ends_it_at_once() -> None:
    stream = OfflineModel(pause=30).stream([{"role": "user", "content": "hello"}], [], ModelOptions(), None)
    timer = threading.Timer(0.05, stream.close)
    timer.start()
    started, items = time.monotonic(), list(stream)
    timer.join()
    assert time.monotonic() - started < 5
    assert isinstance(items[-1], ModelReply)
    assert items[-1].incomplete

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
                    "function": st.one_of(
                        junk,
                        st.fixed_dictionaries(
                            {"name": st.sampled_from(NAMES), "arguments": st.one_of(arguments, junk)}
                        ),
                    ),
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
    tools = [tool.schema() for tool in TOOLS if tool.name in given_tools]
    reply = reply_to(history, tools)
    assert len(reply.tool_calls) <= 1
    assert {call.name for call in reply.tool_calls} <= given_tools
    assert bool(reply.text) != bool(reply.tool_calls)


@settings(max_examples=100, deadline=None)
@given(request_=st.one_of(st.text(max_size=80), st.lists(st.sampled_from(WORDS))))
def test_no_request_is_too_strange(request_: str | list[str]) -> None:
    shop = Shop()
    result = shop.ask(request_ if isinstance(request_, str) else " ".join(request_))
    assert result.answer
    assert result.stop_reason in ("done", "max_steps", "repeated_call")


def reply_to(history: list[dict[str, Any]], tools: list[dict[str, Any]] | None = None) -> ModelReply:
    """The one reply to a history."""
    *_, reply = OfflineModel().stream(history, tools or [], ModelOptions(), None)
    assert isinstance(reply, ModelReply)
    return reply


TOOLS = tuple(Tool.of(getattr(Shop(), name), side_effecting=name == "add_to_cart") for name in NAMES)
