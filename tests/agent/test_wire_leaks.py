"""Recordings of calls that arrive as text or inside thinking, or that the server could not read."""

import json
from typing import Any

import pytest

from assistant.bookshop import Bookshop
from tests.agent.playing import ASK, CALL, END, OPEN
from tests.agent.wire import ANSWER, Played, called, contents, failed, play, said
from tests.ollama_server import Step, chunk, end

DONE = said("Here you are.")
SEARCH = '{"name": "search_books", "arguments": {"query": "dune"}}'
ADD = '{"name": "add_to_cart", "arguments": {"book_id": 7, "quantity": 1}}'
FENCED = "```json\n{}\n```"
RECOVERED = [*OPEN, *CALL, *ASK, *END]


def recovered(shop: Bookshop, *parts: str) -> Played:
    """Play a text that is a call, and check that it ran once and nobody saw it."""
    played = play([said(*parts), DONE], shop)
    assert played.kinds == RECOVERED, (played.kinds, played.answer)
    assert (played.stop, played.answer, played.drawn.strip()) == ("done", "Here you are.", "Here you are.")
    assert played.repairs
    assert len(played.replies[0].tool_calls) == 1
    assert contents(played.sent(1), "assistant") == [""]
    return played


def refused(shop: Bookshop, *parts: str | dict[str, Any]) -> Played:
    """Play a reply whose call must not run: nothing happens, nobody sees it, and the model is asked once more."""
    played = play([said(*parts), DONE], shop)
    assert (played.ran, played.cart) == ([], {})
    assert (played.stop, played.answer, len(played.corrections)) == ("done", "Here you are.", 1)
    assert len(played.requests) == 2
    begun = str(parts[0])[:1]
    assert "{" not in played.drawn or begun.isalpha()  # what data stands after prose shows only when all is there
    assert "<" not in played.drawn
    return played


@pytest.mark.parametrize("case", ["leak-fenced-json", "brace-in-string"])
def test_a_read_that_is_the_whole_text_runs_and_is_recorded_as_a_repair(bookshop: Bookshop, case: str) -> None:
    played = play(case, bookshop)
    query = {"leak-fenced-json": "dune", "brace-in-string": "}A"}[case]
    assert played.kinds == RECOVERED
    assert played.ran == [("search_books", {"query": query, "max_results": 5})]
    assert played.repairs
    assert (played.answer, played.drawn.strip()) == (ANSWER, ANSWER)


def test_a_write_that_is_the_whole_text_runs_once_and_is_never_shown(bookshop: Bookshop) -> None:
    played = play("leak-bare-json", bookshop)
    assert (played.kinds, played.cart) == (RECOVERED, {7: 1})
    assert played.repairs
    assert (played.answer, played.drawn.strip()) == (ANSWER, ANSWER)
    sent = played.sent(1)[2]
    assert sent["content"] == ""
    assert sent["tool_calls"][0]["function"]["arguments"]["book_id"] == 7


def test_a_call_inside_thinking_is_not_run_but_asked_for_again(bookshop: Bookshop) -> None:
    played = play("leak-inside-thinking", bookshop)
    assert (played.ran, played.replies[0].unusable) == ([], "call_in_thinking")
    assert (played.answer, len(played.corrections), played.result.steps) == (ANSWER, 1, 2)
    assert "tool_call" not in played.drawn


def test_a_tagged_read_beside_prose_runs_and_the_prose_is_a_note(bookshop: Bookshop) -> None:
    played = play("leak-xml-mixed-with-prose", bookshop)
    assert played.kinds == RECOVERED
    assert played.ran == [("search_books", {"query": "dune", "max_results": 5})]
    assert played.replies[0].text.strip() == "Let me check the shelf."
    assert played.repairs
    assert "<" not in played.drawn
    assert "{" not in played.drawn
    assert contents(played.sent(1), "assistant") == [""]


def test_a_tagged_write_beside_prose_is_asked_for_again(bookshop: Bookshop) -> None:
    played = refused(bookshop, "I add it now.\n", f"<tool_call>\n{ADD}\n</tool_call>")
    assert played.replies[0].unusable == "call_as_text"


WHOLE = {
    "bare": SEARCH,
    "under parameters": '{"name": "search_books", "parameters": {"query": "dune"}}',
    "fence without a language": FENCED.replace("json", "").replace("{}", SEARCH),
    "fence called tool_call": FENCED.replace("json", "tool_call").replace("{}", SEARCH),
    "fence with tildes": f"~~~json\n{SEARCH}\n~~~",
    "fence on one line": f"```json {SEARCH} ```",
    "fence without its end": f"```json\n{SEARCH}",
    "line comment": '{"name": "search_books", // look first\n "arguments": {"query": "dune"}}',
    "block comment": '{"name": "search_books", /* look */ "arguments": {"query": "dune"}}',
    "trailing commas": '{"name": "search_books", "arguments": {"query": "dune",},}',
    "single quotes": "{'name': 'search_books', 'arguments': {'query': 'dune'}}",
    "list of one": f"[{SEARCH}]",
    "as chat APIs have it": '{"tool_calls": [{"type": "function", "function": ' + SEARCH + "}]}",
    "wrapped in function": '{"type": "function", "function": ' + SEARCH + "}",
    "nested once more": json.dumps({"name": "search_books", "arguments": json.loads(SEARCH)}),
    "arguments as a string": json.dumps({"name": "search_books", "arguments": '{"query": "dune"}'}),
    "tool_call": f"<tool_call>\n{SEARCH}\n</tool_call>",
    "tool_call without its end": f"<tool_call>\n{SEARCH}",
    "tool_call around a fence": f"<tool_call>\n```json\n{SEARCH}\n```\n</tool_call>",
    "fence around a tool_call": f"```xml\n<tool_call>\n{SEARCH}\n</tool_call>\n```",
    "function_call": f"<function_call>{SEARCH}</function_call>",
    "function with JSON": '<function=search_books>{"query": "dune"}</function>',
    "function with parameters": "<function=search_books>\n<parameter=query>\ndune\n</parameter>\n</function>",
    "function in tool_call": "<tool_call>\n<function=search_books>\n<parameter=query>\ndune\n</parameter>\n"
    "</function>\n</tool_call>",
    "mistral": f"[TOOL_CALLS][{SEARCH}]",
    "mark after it": SEARCH + "<|im_end|>",
    "think block before it": f"<think>I look.</think>\n{SEARCH}",
    "blank lines around it": f"\n\n{SEARCH}\n\n",
}


@pytest.mark.parametrize("text", WHOLE.values(), ids=WHOLE)
def test_a_call_is_read_in_whatever_spelling_where_it_is_the_whole_text(bookshop: Bookshop, text: str) -> None:
    played = recovered(bookshop, text)
    assert played.ran == [("search_books", {"query": "dune", "max_results": 5})]


@pytest.mark.parametrize("name", ["bare", "line comment", "tool_call", "function with JSON", "mistral"])
def test_a_call_that_comes_letter_by_letter_is_never_flashed(bookshop: Bookshop, name: str) -> None:
    recovered(bookshop, *WHOLE[name])


@pytest.mark.parametrize("text", [ADD, FENCED.replace("{}", ADD), f"<tool_call>{ADD}</tool_call>"])
def test_a_write_that_is_the_whole_text_runs(bookshop: Bookshop, text: str) -> None:
    assert recovered(bookshop, text).cart == {7: 1}


def test_two_reads_as_the_whole_text_both_run(bookshop: Bookshop) -> None:
    second = SEARCH.replace("dune", "emma")
    played = play([said(f"<tool_call>{SEARCH}</tool_call>\n<tool_call>{second}</tool_call>"), DONE], bookshop)
    assert [arguments["query"] for _, arguments in played.ran] == ["dune", "emma"]
    assert len(contents(played.sent(1), "tool")) == 2


@pytest.mark.parametrize("between", ["\n", "", ",\n", "\n\n"])
def test_of_two_bare_calls_in_a_row_none_is_lost(bookshop: Bookshop, between: str) -> None:
    played = play([said(SEARCH + between + SEARCH.replace("dune", "emma")), DONE], bookshop)
    queries = [arguments["query"] for _, arguments in played.ran]
    assert queries == ["dune", "emma"] or (queries == [] and len(played.corrections) == 1)


def test_two_identical_writes_as_text_happen_once(bookshop: Bookshop) -> None:
    twice = f"<tool_call>{ADD}</tool_call>\n<tool_call>{ADD}</tool_call>"
    assert play([said(twice), DONE], bookshop).cart in ({7: 1}, {})


NOT_RUN = {
    "read in prose, as JSON": f"I would call this: {SEARCH}",
    "read in prose, fenced": f"Let me search:\n```json\n{SEARCH}\n```",
    "write in prose, fenced": f"I add it now.\n```json\n{ADD}\n```\nDone!",
    "write in prose, tagged": f"<tool_call>{ADD}</tool_call>\nIt is in your cart.",
    "write in prose, function": 'Now:\n<function=add_to_cart>{"book_id": 7}</function>',
    "write beside a read": f"Both: <tool_call>{SEARCH}</tool_call><tool_call>{ADD}</tool_call>",
    "unknown tool": '{"name": "create_order", "arguments": {"id": 1}}',
    "unknown tool, tagged": '<tool_call>{"name": "create_order", "arguments": {}}</tool_call>',
    "argument of another name": '{"name": "search_books", "arguments": {"q": "dune"}}',
    "argument missing": '{"name": "add_to_cart", "arguments": {"quantity": 1}}',
    "argument out of bounds": '{"name": "add_to_cart", "arguments": {"book_id": 7, "quantity": 99}}',
    "cut in the middle": '<tool_call>{"name": "add_to_cart", "arguments": {"book_id": 7, "quan',
    "cut, bare": '{"name": "add_to_cart", "arguments": {"book_id": 7, "quan',
    "end tag alone": "</tool_call>",
}


@pytest.mark.parametrize("text", NOT_RUN.values(), ids=NOT_RUN)
def test_what_is_not_safely_a_call_is_asked_for_again_and_never_shown(bookshop: Bookshop, text: str) -> None:
    refused(bookshop, text)


UNREADABLE = {
    "name as the key": '{"search_books": {"query": "dune"}}',
    "arguments beside the name": '{"name": "search_books", "query": "dune"}',
    "tool and tool_input": '{"tool": "search_books", "tool_input": {"query": "dune"}}',
    "action and action_input": '{"action": "search_books", "action_input": {"query": "dune"}}',
    "arguments alone": '{"query": "dune"}',
    "thought, action, input": 'Thought: I look.\nAction: search_books\nAction Input: {"query": "dune"}',
    "python tag": "<|python_tag|>" + SEARCH.replace("arguments", "parameters"),
    "pipes": f"<|tool_call|>{SEARCH}<|/tool_call|>",
    "invoke": '<invoke name="search_books"><parameter name="query">dune</parameter></invoke>',
    "functools": f"functools[{SEARCH}]",
    "tools": f"<tools>{SEARCH}</tools>",
    "toolcall": f"<toolcall>{SEARCH}</toolcall>",
    "TOOL_CALL": f"<TOOL_CALL>{SEARCH}</TOOL_CALL>",
    "name outside": '[TOOL_CALLS]search_books[ARGS]{"query": "dune"}',
    "other bars": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>search_books\n```json\n"
    '{"query": "dune"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
}


@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE)
def test_rarer_spellings_are_read_or_asked_for_again_but_never_the_answer(bookshop: Bookshop, text: str) -> None:
    played = play([said(text), DONE], bookshop)
    assert (played.stop, played.answer, len(played.requests)) == ("done", "Here you are.", 2)
    assert played.ran in ([], [("search_books", {"query": "dune", "max_results": 5})])
    assert bool(played.ran) != bool(played.corrections)


def test_a_result_the_model_made_up_is_not_shown(bookshop: Bookshop) -> None:
    played = play([said('<tool_response>{"books": []}</tool_response>Nothing there.'), DONE], bookshop)
    assert played.answer in ("Nothing there.", "Here you are.")


@pytest.mark.parametrize(
    "text",
    ["add_to_cart(book_id=7, quantity=1)", "```python\nadd_to_cart(7)\n```", "print(add_to_cart(book_id=7))"],
)
def test_python_is_not_run(bookshop: Bookshop, text: str) -> None:
    played = play([said(text), DONE], bookshop)
    assert (played.ran, played.cart) == ([], {})


@pytest.mark.parametrize(
    "thought",
    [f"<tool_call>{ADD}</tool_call>", ADD, f"I call add_to_cart.\n```json\n{ADD}\n```", f"<think>{ADD}</think>"],
)
def test_no_effect_comes_out_of_thinking(bookshop: Bookshop, thought: str) -> None:
    played = refused(bookshop, {"thinking": thought})
    assert played.replies[0].unusable in ("call_in_thinking", "only_thinking")
    refused(bookshop, f"<think>{thought}</think>")


def test_thinking_with_a_call_beside_an_answer_is_just_thinking(bookshop: Bookshop) -> None:
    played = play([said({"thinking": f"<tool_call>{ADD}</tool_call>"}, "Shall I add it?")], bookshop)
    assert (played.answer, played.cart, len(played.requests)) == ("Shall I add it?", {}, 1)


def test_the_error_for_a_wrong_argument_names_both_names(bookshop: Bookshop) -> None:
    played = play([said(NOT_RUN["argument of another name"]), DONE], bookshop)
    assert '"q"' in played.corrections[0]
    assert "query" in played.corrections[0]
    played = play([said(called("search_books", {"q": "dune"})), DONE], bookshop)
    assert (played.ran, '"q"' in played.results[0], "query" in played.results[0]) == ([], True, True)


def test_a_call_that_really_came_makes_markup_beside_it_a_mere_note(bookshop: Bookshop) -> None:
    played = play([said(f"<tool_call>{ADD}</tool_call>", called("check_stock", {"book_id": 7})), DONE], bookshop)
    assert played.ran == [("check_stock", {"book_id": 7})]
    assert played.cart == {}
    assert "<" not in played.drawn
    assert "<" not in played.replies[0].text


def test_a_call_as_text_of_a_reply_that_broke_off_is_not_run(bookshop: Bookshop) -> None:
    played = play([{"lines": [chunk(content=ADD)]}], bookshop)
    assert (played.stop, played.cart) == ("model_error", {})


def test_a_call_as_text_in_the_wrap_up_is_not_run_and_not_shown(bookshop: Bookshop) -> None:
    played = play([said(called("check_stock", {"book_id": 7})), said(ADD)], bookshop, max_steps=1)
    assert (played.stop, played.result.answer_by, played.cart) == ("max_steps", "program", {})


def test_prose_that_only_names_a_tool_is_an_answer(bookshop: Bookshop) -> None:
    told = "I can use add_to_cart for you if you like."
    played = play([said(told)], bookshop)
    assert (played.answer, len(played.requests)) == (told, 1)


def test_a_leak_again_and_again_ends_in_words(bookshop: Bookshop) -> None:
    played = play([said(f"Now: <tool_call>{ADD}</tool_call>")], bookshop)
    assert (played.stop, len(played.corrections), len(played.requests), played.cart) == ("empty_answer", 2, 3, {})


# calls the server itself could not read


@pytest.mark.parametrize("case", ["parse-500-nonstream", "call-cut-by-limit"])
def test_a_call_the_server_cannot_read_is_asked_for_once_more_differently(bookshop: Bookshop, case: str) -> None:
    played = play(case, bookshop)
    assert (played.stop, played.answer, played.result.steps) == ("done", ANSWER, 2)
    first, second = played.requests
    assert first != second
    assert played.ran == []


def test_an_error_line_about_a_call_keeps_the_thinking_in_the_trace_alone(bookshop: Bookshop) -> None:
    played = play("parse-error-midstream", bookshop)
    aborted = played.replies[0]
    assert (aborted.thinking, aborted.incomplete, aborted.error is not None) == ("I will search.", True, True)
    assert (played.stop, played.answer, len(played.requests)) == ("done", ANSWER, 2)
    assert contents(played.sent(1), "assistant") == []
    assert played.requests[0] != played.requests[1]


UNREAD = {
    "qwen": failed(500, "failed to parse JSON: invalid character '}' looking for beginning of value"),
    "empty tool parse": failed(500, "error parsing tool call: raw='', err=unexpected end of JSON input"),
    "native": failed(500, 'llama-server returned invalid tool call arguments for "add_to_cart": [1]'),
    "error line": {"lines": [chunk(content="I"), {"error": "failed to parse JSON: unexpected end of JSON input"}]},
    "looping": {"lines": [chunk(content="a"), {"error": "prediction aborted, token repeat limit reached"}]},
}


@pytest.mark.parametrize("step", UNREAD.values(), ids=UNREAD)
def test_bad_output_is_retried_once_then_said_in_words(bookshop: Bookshop, step: Step) -> None:
    assert play([step, DONE], bookshop).answer == "Here you are."
    played = play([step], bookshop)
    assert (played.stop, len(played.requests), played.cart) == ("model_error", 2, {})
    assert "raw=" not in played.answer


def test_a_retry_never_repeats_a_side_effect(bookshop: Bookshop) -> None:
    add = said(called("add_to_cart", {"book_id": 7, "quantity": 1}))
    played = play([add, UNREAD["qwen"], DONE], bookshop)
    assert (played.cart, played.answer) == ({7: 1}, "Here you are.")
    assert [name for name, _ in played.ran] == ["add_to_cart"]


def test_the_end_of_a_reply_is_read_after_text_that_is_a_call(bookshop: Bookshop) -> None:
    last = end() | {"message": {"role": "assistant", "content": "}}"}}
    played = play([{"lines": [chunk(content=ADD[:-2]), last]}, DONE], bookshop)
    assert played.cart == {7: 1}
