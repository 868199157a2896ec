"""Recordings of calls with arguments of the wrong shape, type or name, and of tools that are not there."""

from typing import Annotated, Any, Literal

import pytest

from agent.tools import Arg, FunctionTools, Tool, ToolOutcome
from assistant.bookshop import Bookshop
from tests.agent.playing import ASK, CALL, END, OPEN
from tests.agent.wire import ANSWER, Played, called, contents, play, said, shelf
from tests.ollama_server import chunk, end, reply

DONE = said("Here you are.")
NAMES = ("search_books", "check_stock", "get_order_status", "add_to_cart")
UNKNOWN = ["tool_finished"]


def make(name: str, arguments: Any, shop: Bookshop | None = None, tools: FunctionTools | None = None) -> Played:
    """Let the model make one call, then answer."""
    played = play([said(called(name, arguments)), DONE], shop, tools=tools)
    assert (played.stop, played.answer, len(played.requests)) == ("done", "Here you are.", 2)
    return played


def repairs(played: Played) -> list[str]:
    return [*played.repairs, *(words for event in played.of("tool_started") for words in event.repairs)]


def test_arguments_as_a_string_of_json_end_neither_in_a_traceback_nor_in_a_string_sent_back(
    bookshop: Bookshop,
) -> None:
    played = play("args-string-crashes-client", bookshop)
    assert (played.stop, played.answer) == ("done", ANSWER)
    assert played.ran == [("search_books", {"query": "dune", "max_results": 5})]
    assert repairs(played)
    assert played.sent(1)[2]["tool_calls"][0]["function"]["arguments"] == {"query": "dune"}


@pytest.mark.parametrize(
    "arguments", ["{", '["dune"]', "dune", "", '{"query": "dune"} and more', None, [], [1], 7, True]
)
def test_arguments_that_are_no_object_never_break_the_run(bookshop: Bookshop, arguments: Any) -> None:
    played = play([said(called("add_to_cart", arguments)), DONE], bookshop)
    assert played.stop in ("done", "model_error")
    assert played.cart == {}


@pytest.mark.parametrize(
    "odd",
    [
        {"tool_calls": [{"function": {"name": None, "arguments": {}}}]},
        {"tool_calls": [{"function": {"arguments": {"book_id": 7}}}]},
        {"tool_calls": [{"function": None}]},
        {"tool_calls": [None]},
        {"tool_calls": [{}]},
        {"tool_calls": "add_to_cart"},
        {"tool_calls": {"function": {"name": "add_to_cart", "arguments": {"book_id": 7}}}},
        {"content": None},
        {"content": ["Yes."]},
        {"thinking": 7},
        {"role": None, "content": 5},
    ],
    ids=repr,
)
def test_a_message_of_an_odd_shape_never_breaks_the_run(bookshop: Bookshop, odd: dict[str, Any]) -> None:
    lines = [{"message": odd, "done": False}, chunk(content="Yes."), end()]
    played = play([{"lines": lines}, DONE], bookshop)
    assert played.stop in ("done", "model_error")
    assert played.cart in ({}, {7: 1})


def test_a_refused_request_is_not_sent_again_and_its_words_are_in_the_trace(bookshop: Bookshop) -> None:
    played = play("args-string-in-history", bookshop)
    assert played.sent(1)[2]["tool_calls"][0]["function"]["arguments"] == {"query": "dune"}
    assert (played.stop, len(played.requests), len(played.ran)) == ("model_error", 2, 1)
    assert "cannot unmarshal string" in played.record
    assert "ToolCallFunctionArguments" not in played.answer


def test_arguments_wrapped_once_more_are_unwrapped(bookshop: Bookshop) -> None:
    played = play("wrapped-args", bookshop)
    assert played.kinds == [*OPEN, *CALL, *ASK, *END]
    assert played.ran == [("search_books", {"query": "dune", "max_results": 3})]
    assert repairs(played)
    assert played.answer == ANSWER


@pytest.mark.parametrize(
    "wrapped",
    [
        {"arguments": {"query": "dune"}},
        {"parameters": {"query": "dune"}},
        {"name": "search_books", "parameters": {"query": "dune"}},
        {"function": "search_books", "arguments": {"query": "dune"}},
        {"tool": "search_books", "arguments": {"query": "dune"}},
    ],
    ids=repr,
)
def test_other_envelopes_are_unwrapped_too(bookshop: Bookshop, wrapped: dict[str, Any]) -> None:
    played = make("search_books", wrapped, bookshop)
    assert played.ran == [("search_books", {"query": "dune", "max_results": 5})]
    assert repairs(played)


@pytest.mark.parametrize(
    "wrapped",
    [
        {"name": "check_stock", "arguments": {"book_id": 7}},
        {"name": "add_to_cart", "arguments": {"q": 7}},
        {"name": "add_to_cart", "arguments": "seven"},
        {"name": "add_to_cart", "arguments": {"name": "add_to_cart", "arguments": {"nothing": 7}}},
        {"arguments": {"book_id": 7}, "quantity": 3},
    ],
    ids=["another tool", "wrong name", "no object", "twice and wrong", "arguments outside too"],
)
def test_an_envelope_that_does_not_fit_is_an_error_that_names_the_parameters(
    bookshop: Bookshop, wrapped: dict[str, Any]
) -> None:
    played = make("add_to_cart", wrapped, bookshop)
    assert (played.ran, played.cart) == ([], {})
    assert "book_id" in played.results[0]
    assert "quantity" in played.results[0]


def test_an_argument_is_never_guessed_and_the_error_names_both_names(bookshop: Bookshop) -> None:
    for name, arguments, right in [
        ("search_books", {"q": "dune"}, "query"),
        ("search_books", {"query": "dune", "limit": 3}, "max_results"),
        ("add_to_cart", {"id": 7}, "book_id"),
        ("add_to_cart", {"book_id": 7, "count": 2}, "quantity"),
    ]:
        played = make(name, arguments, bookshop)
        wrong = next(given for given in arguments if given not in ("query", "book_id"))
        assert (played.ran, played.cart) == ([], {})
        assert wrong in played.results[0]
        assert right in played.results[0]


def test_optional_arguments_that_are_null_count_as_left_out(bookshop: Bookshop) -> None:
    played = play("optional-all-required", bookshop)
    assert played.ran == [("search_books", {"query": "dune", "max_results": 5})]
    assert (played.stop, played.answer) == ("done", ANSWER)


def test_null_for_a_required_argument_is_an_error_that_names_it(bookshop: Bookshop) -> None:
    played = make("search_books", {"query": None, "max_results": None}, bookshop)
    assert (played.ran, "query" in played.results[0]) == ([], True)


def test_a_default_fills_in_for_null_and_blank(bookshop: Bookshop) -> None:
    assert make("add_to_cart", {"book_id": 7, "quantity": None, "note": None}, bookshop).cart == {7: 1}


def test_a_value_that_is_none_of_the_choices_is_answered_with_the_choices() -> None:
    played = play("schema-enum-items-lost", tools=choosing())
    sort = played.requests[0]["tools"][0]["function"]["parameters"]["properties"]["sort"]
    assert sort["enum"] == ["title", "price", "newest"]
    assert all(choice in sort["description"] for choice in sort["enum"])
    (finished,) = played.of("tool_finished")
    assert (finished.ran, finished.ok) == (False, False)
    assert all(choice in finished.result for choice in sort["enum"])
    assert (played.stop, played.answer) == ("done", ANSWER)


def test_the_schemas_are_sent_whole(bookshop: Bookshop) -> None:
    played = play([DONE], bookshop)
    quantity = next(
        tool["function"]["parameters"]["properties"]["quantity"]
        for tool in played.requests[0]["tools"]
        if tool["function"]["name"] == "add_to_cart"
    )
    assert quantity["type"] == "integer"
    assert "20" in quantity["description"]
    assert "Default 1" in quantity["description"]


def choosing() -> FunctionTools:
    """The tool of the recordings that have a sort, genres and an author."""

    def search_books(
        query: str,
        sort: Literal["title", "price", "newest"] = "title",
        author: Annotated[str, Arg("Name.")] = "any",
    ) -> ToolOutcome:
        """Find books."""
        return ToolOutcome(result=f"{query}, {sort}, {author}")

    return FunctionTools(Tool.of(search_books))


def listing() -> FunctionTools:
    """The same tool with a list."""

    def search_books(query: str, genres: list[str], author: Annotated[str, Arg("Name.")] = "any") -> ToolOutcome:
        """Find books."""
        return ToolOutcome(result=f"{query}, {'+'.join(genres)}, {author}")

    return FunctionTools(Tool.of(search_books))


def test_an_identifier_of_digits_that_comes_as_a_number_becomes_its_text() -> None:
    def get_book(isbn: str) -> ToolOutcome:
        return ToolOutcome(result=isbn)

    played = play("digit-id-turned-number", tools=FunctionTools(Tool.of(get_book)))
    assert (played.ran, played.results) == ([("get_book", {"isbn": "9780441172719"})], ["9780441172719"])
    assert repairs(played)
    assert played.answer == ANSWER


@pytest.mark.parametrize(
    ("given", "read"),
    [(9780441172719.0, "9780441172719"), (7, "7"), ("0441172717", "0441172717"), ("007", "007"), (0, "0")],
)
def test_digits_are_neither_invented_nor_lost(given: Any, read: str) -> None:
    assert make("find", {"isbn": given}, tools=shelf()).ran[0][1]["isbn"] == read


def test_an_order_number_that_comes_as_a_number_is_found(bookshop: Bookshop) -> None:
    played = make("get_order_status", {"order_id": 1001}, bookshop)
    assert (len(played.ran), '"id": 1001' in played.results[0]) == (1, True)


def test_whole_numbers_that_come_as_floats_or_texts_are_read(bookshop: Bookshop) -> None:
    played = play("float-formatted-integer", bookshop)
    assert [arguments["max_results"] for _, arguments in played.ran] == [3, 5]
    assert all(type(arguments["max_results"]) is int for _, arguments in played.ran)
    assert (played.stop, played.answer) == ("done", ANSWER)


@pytest.mark.parametrize(
    "odd", [3.5, "3.5", "three", True, [3], {"n": 3}, "1e1", "0x3", -1, 0, 99, "", " ", 10**40]
)
def test_what_is_no_whole_number_in_bounds_is_an_error_the_model_reads(odd: Any) -> None:
    played = make("count", {"number": odd}, tools=shelf())
    if odd == "":
        assert played.results == ["counted 1"]
        return
    assert (played.ran, "from 1 to 9" in played.results[0]) == ([], True)


@pytest.mark.parametrize("near", [3, 3.0, "3", "3.0", " 3 ", "+3", "3.00"])
def test_what_can_only_have_meant_one_number_is_read(near: Any) -> None:
    assert make("count", {"number": near}, tools=shelf()).results == ["counted 3"]


def test_a_list_that_comes_as_a_string_and_an_empty_optional_are_repaired() -> None:
    played = play("list-as-string-and-empty-optional", tools=listing())
    assert played.ran == [("search_books", {"query": "dune", "genres": ["sf", "classic"], "author": "any"})]
    assert len(repairs(played)) == 2
    assert (played.stop, played.answer) == ("done", ANSWER)


def test_an_argument_the_shop_does_not_know_is_refused_with_the_right_ones(bookshop: Bookshop) -> None:
    played = play("list-as-string-and-empty-optional", bookshop)
    assert played.ran == []
    assert "genres" in played.results[0]
    assert "query" in played.results[0]


@pytest.mark.parametrize("odd", ["sf", '{"a": 1}', "[1, 2]", [1], {"sf": True}, "[sf", None])
def test_what_is_no_list_of_texts_is_an_error_the_model_reads(odd: Any) -> None:
    played = make("search_books", {"query": "dune", "genres": odd}, tools=listing())
    assert (played.ran, "genres" in played.results[0]) == ([], True)


def test_no_repair_is_hidden() -> None:
    for arguments in ({"number": "3"}, {"number": 3.0}, {"number": ""}):
        assert repairs(make("count", arguments, tools=shelf()))
    assert repairs(make("count", {"number": 3}, tools=shelf())) == []


# tools that are not there


def test_a_tool_that_is_not_there_is_a_result_with_the_names(bookshop: Bookshop) -> None:
    played = play("unknown-tool-crash", bookshop)
    assert played.kinds == [*OPEN, *ASK, *UNKNOWN, *ASK, *END]
    (finished,) = played.of("tool_finished")
    assert (finished.ran, finished.ok) == (False, False)
    assert all(name in finished.result for name in NAMES)
    assert (played.stop, played.answer) == ("done", ANSWER)


def test_a_module_before_the_name_is_no_other_tool_and_the_next_step_goes_well(bookshop: Bookshop) -> None:
    played = play("unknown-tool-dotted", bookshop)
    assert played.kinds == [*OPEN, *ASK, *UNKNOWN, *CALL, *ASK, *END]
    assert [event.ok for event in played.of("tool_finished")] == [False, True]
    assert all(name in played.results[0] for name in NAMES)


def test_half_a_name_again_and_again_stops_the_run_and_names_it(bookshop: Bookshop) -> None:
    played = play("prefix-dropped-three-times", bookshop)
    assert played.stop in ("error_streak", "repeated_call")
    assert played.result.steps <= 4
    assert played.ran == []
    assert "books" in played.of("guard_decision")[-1].reason
    assert all(name in played.results[0] for name in NAMES)


@pytest.mark.parametrize(
    "name",
    [
        "add_to_cart\n",
        "Add_To_Cart",
        "functions.add_to_cart",
        "add-to-cart",
        "__import__",
        "call",
        "tools",
        "_engine",
        "",
        " ",
        "add_to_cart()",
        "<b>add_to_cart</b>",
        "x" * 5000,
    ],
    ids=lambda name: name[:20] or "none",
)
def test_a_name_that_is_nearly_that_of_a_write_writes_nothing(bookshop: Bookshop, name: str) -> None:
    played = play([reply(calls=[(name, {"book_id": 7})]), DONE], bookshop)
    assert played.stop in ("done", "model_error")
    if name.strip() != "add_to_cart":
        assert (played.ran, played.cart) == ([], {})
    assert all(len(result) < 500 for result in played.results)


def test_an_unknown_and_a_known_call_in_one_reply_each_get_their_result(bookshop: Bookshop) -> None:
    calls = [("create_order", {}), ("check_stock", {"book_id": 7})]
    played = play([reply(calls=calls), DONE], bookshop)
    first, second = contents(played.sent(1), "tool")
    assert "search_books" in first
    assert '"in_stock": 15' in second
