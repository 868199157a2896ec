"""Recordings of prompts that are too long, and of servers that cut them without a word."""

import json
from typing import Any

import pytest

from agent.trace import ModelOptions
from assistant.bookshop import Bookshop
from tests.agent.wire import called, failed, play, said
from tests.ollama_server import Step, chunk, reply

DONE = said("Here you are.")
SEARCH: tuple[str, dict[str, Any]] = ("search_books", {"query": "lighthouse"})
ADD = called("add_to_cart", {"book_id": 7, "quantity": 1})


def test_a_count_that_falls_though_the_prompt_grew_raises_a_visible_warning(bookshop: Bookshop) -> None:
    played = play("silent-truncation-200", bookshop)
    first, second = played.replies
    assert (first.prompt_cut, first.warnings) == (False, [])
    assert second.prompt_cut
    assert any("cut the prompt" in warning for warning in second.warnings)
    assert any("2,050" in warning for warning in second.warnings)


def test_no_effect_of_a_reply_to_a_cut_prompt_is_run(bookshop: Bookshop) -> None:
    played = play([reply(calls=[SEARCH], usage=(3900, 20)), said(ADD, usage=(2050, 20)), DONE], bookshop)
    assert played.cart == {}
    assert [name for name, _ in played.ran] == ["search_books"]
    assert played.replies[1].prompt_cut


def test_no_effect_is_recovered_from_the_text_of_such_a_reply_either(bookshop: Bookshop) -> None:
    text = '{"name": "add_to_cart", "arguments": {"book_id": 7}}'
    assert play([reply(calls=[SEARCH], usage=(3900, 20)), said(text, usage=(2050, 20)), DONE], bookshop).cart == {}


def test_half_of_the_context_well_below_the_estimate_is_a_cut(bookshop: Bookshop) -> None:
    options = ModelOptions(num_ctx=8_192, num_predict=1_024)
    wire = [reply(calls=[SEARCH], usage=(6_500, 20)), said(ADD, usage=(4_098, 20)), DONE]
    played = play(wire, bookshop, options=options, max_tokens=None)
    assert played.replies[1].prompt_cut
    assert played.cart == {}


def test_an_estimate_that_no_count_has_calibrated_only_warns(bookshop: Bookshop) -> None:
    options = ModelOptions(num_ctx=8_192, num_predict=512)
    wire = [said(ADD, usage=(4_098, 20)), said("Added.", usage=(4_200, 20))]
    played = play(wire, bookshop, text="Please add it. " * 1_800, options=options, max_tokens=None)
    assert played.replies[0].warnings
    assert not played.replies[0].prompt_cut
    assert (played.cart, played.stop) == ({7: 1}, "done")


@pytest.mark.parametrize("counts", [(2_000, 2_300), (2_000, 2_000), (8_190, 8_400), (1_990, None), (None, 2_050)])
def test_counts_that_grow_or_are_unknown_raise_no_alarm(bookshop: Bookshop, counts: tuple[Any, Any]) -> None:
    first, second = ((count, 20) if count else None for count in counts)
    wire = [reply(calls=[SEARCH], usage=first), said(ADD, usage=second), DONE]
    played = play(wire, bookshop, max_tokens=None)
    assert not any(reply.prompt_cut for reply in played.replies[:2])
    assert (played.cart, played.stop) == ({7: 1}, "done")


def test_the_context_size_is_sent_with_every_request_and_stays(bookshop: Bookshop) -> None:
    played = play("system-prompt-lost", bookshop)
    assert played.options("num_ctx") == [16_384]
    played = play([reply(calls=[SEARCH]), DONE], bookshop, options=ModelOptions(num_ctx=8_192))
    assert played.options("num_ctx") == [8_192, 8_192]


def test_after_a_prompt_that_filled_the_context_the_next_turn_is_not_sent(bookshop: Bookshop) -> None:
    options = ModelOptions(num_ctx=4_096, num_predict=256)
    first = play("system-prompt-lost", bookshop, options=options)
    later = play([DONE], bookshop, options=options, conversation=first.conversation)
    assert (later.stop, later.requests) == ("context_window", [])
    assert "4,096" in later.answer


def test_a_step_that_cannot_fit_is_stopped_before_it_is_sent_with_the_numbers(bookshop: Bookshop) -> None:
    options = ModelOptions(num_ctx=4_096, num_predict=256)
    played = play([reply(calls=[SEARCH], usage=(4_000, 20)), DONE], bookshop, options=options)
    assert (played.stop, len(played.requests), played.result.answer_by) == ("context_window", 1, "program")
    assert "4,096" in played.answer
    assert len(played.ran) == 1


def test_a_question_the_server_dropped_is_a_context_that_overflowed(bookshop: Bookshop) -> None:
    played = play("user-question-dropped-500", bookshop)
    assert (played.stop, len(played.requests), len(played.ran)) == ("context_window", 2, 1)
    assert "16,384" in played.answer


EXCEEDED = {
    "code": 400,
    "message": "request (9012 tokens) exceeds the available context size (4096 tokens), try increasing it",
    "type": "exceed_context_size_error",
    "n_prompt_tokens": 9012,
    "n_ctx": 4096,
}
NESTINGS: dict[str, Step] = {
    "an object in a string": failed(400, json.dumps({"error": EXCEEDED})),
    "an object": failed(400, EXCEEDED),
    "an object in an object": failed(400, {"error": EXCEEDED}),
    "a string in a string": failed(400, json.dumps({"error": json.dumps({"error": EXCEEDED})})),
    "the object alone in a string": failed(400, json.dumps(EXCEEDED)),
    "with status 500": failed(500, json.dumps({"error": EXCEEDED})),
    "words alone": failed(400, EXCEEDED["message"]),
    "an error line": {"lines": [chunk(thinking="hm"), {"error": json.dumps({"error": EXCEEDED})}]},
    "an object in an error line": {"lines": [{"error": EXCEEDED}]},
    "numbers without words": failed(
        400, json.dumps({"error": EXCEEDED | {"message": "the request exceeds the available context size"}})
    ),
}


@pytest.mark.parametrize("step", NESTINGS.values(), ids=NESTINGS)
def test_an_exceeded_context_is_named_with_both_numbers_however_they_are_packed(
    bookshop: Bookshop, step: Step
) -> None:
    played = play([step], bookshop)
    assert (played.stop, len(played.requests)) == ("context_window", 1)
    assert "9,012" in played.answer
    assert "4,096" in played.answer


@pytest.mark.parametrize(
    "words",
    [
        "the prompt is longer than the context length currently available to the model; shorten it",
        "input length exceeds the context length",
        "no user query found in messages",
        "prompt too long; exceeded max context length by 128 tokens",
    ],
)
def test_other_words_for_a_prompt_too_long_mean_the_same(bookshop: Bookshop, words: str) -> None:
    played = play([failed(400, words)], bookshop)
    assert (played.stop, len(played.requests)) == ("context_window", 1)


@pytest.mark.parametrize("letters_a_token", [2.1, 3.3, 4.6])
def test_the_estimate_is_within_five_percent_after_the_first_reply(
    bookshop: Bookshop, letters_a_token: float
) -> None:
    counts: list[int] = []

    def counting(body: dict[str, Any]) -> Step:
        written = sum(
            len(message.get("content", "")) + len(message.get("thinking", "")) + 12 for message in body["messages"]
        )
        called_so_far = sum(len(json.dumps(message.get("tool_calls", ""))) for message in body["messages"])
        counts.append(round((written + called_so_far + len(json.dumps(body["tools"]))) / letters_a_token))
        number = len(counts)
        call = ("search_books", {"query": ["holt", "vos", "night", "history"][number - 1], "max_results": 12})
        return (
            reply("Done.", usage=(counts[-1], 20)) if number == 4 else reply(calls=[call], usage=(counts[-1], 20))
        )

    played = play(counting, bookshop, max_tokens=None)
    estimates = [request.estimated_input_tokens for request in played.of("model_request")]
    assert len(counts) == 4
    for estimate, count in zip(estimates[1:], counts[1:], strict=True):
        assert abs(estimate - count) <= 0.05 * count


def test_a_result_too_long_for_the_prompt_is_cut_and_says_so(bookshop: Bookshop) -> None:
    played = play([reply(calls=[("search_books", {"query": "novel", "max_results": 50})]), DONE], bookshop)
    (finished,) = played.of("tool_finished")
    assert len(finished.result) <= 2_100
    assert finished.chars_cut == 0 or "characters cut" in finished.result
