"""Recordings of replies that have calls, text, thinking and counts in all sorts of places."""

import json
from itertools import pairwise
from typing import Any

import pytest

from agent.trace import ModelOptions
from agent.views.conversation import Conversation
from assistant.answer_check.evidence import Evidence, grounding_mark
from assistant.bookshop import Bookshop
from assistant.settings import BadMessage, checked_message
from tests.agent.playing import ASK, CALL, END, OPEN, RUN
from tests.agent.wire import ANSWER, Step, called, contents, play, said, wire_of
from tests.ollama_server import AT, MODEL, chunk, end, reply

SEARCH: tuple[str, dict[str, Any]] = ("search_books", {"query": "dune"})
STOCK: tuple[str, dict[str, Any]] = ("check_stock", {"book_id": 7})
ADD: tuple[str, dict[str, Any]] = ("add_to_cart", {"book_id": 7, "quantity": 1})
DONE = said("Here you are.")


# calls, with text beside them or without


@pytest.mark.parametrize(
    "case", ["empty-text-before-call", "text-and-call", "calls-in-final-chunk", "history-keeps-thinking"]
)
def test_a_call_runs_whatever_stands_beside_it_and_the_later_text_answers(bookshop: Bookshop, case: str) -> None:
    played = play(case, bookshop)
    assert played.kinds == [*OPEN, *CALL, *ASK, *END]
    assert [name for name, _ in played.ran] == ["search_books"]
    assert (played.stop, played.answer, len(played.requests)) == ("done", ANSWER, 2)
    assert played.repairs == played.warnings == []


def test_text_beside_a_call_is_kept_as_a_note_but_sent_back_empty(bookshop: Bookshop) -> None:
    played = play("text-and-call", bookshop)
    assert played.replies[0].text == "Let me look that up for you."
    assert played.sent(1)[2].get("content") == ""
    assert "Let me look" not in str(played.sent(1))


@pytest.mark.parametrize("blank", [" ", "\n\n", "\t", "\u200b"])
def test_blank_text_beside_a_call_in_the_last_line_is_no_answer(bookshop: Bookshop, blank: str) -> None:
    last = end() | {"message": {"role": "assistant", "content": blank} | called(*STOCK)}
    played = play([{"lines": [last]}, DONE], bookshop)
    assert (played.kinds, played.answer) == ([*OPEN, *CALL, *ASK, *END], "Here you are.")


@pytest.mark.parametrize("blank", [" ", "\n \n", "\u00a0", "\u200b", "\ufeff", "\u200b\u200d "])
def test_blank_text_alone_is_no_answer(bookshop: Bookshop, blank: str) -> None:
    played = play([said(blank), DONE], bookshop)
    assert (played.answer, len(played.corrections)) == ("Here you are.", 1)


def test_text_after_a_call_does_not_end_the_run(bookshop: Bookshop) -> None:
    played = play([said(called(*STOCK), "One moment."), DONE], bookshop)
    assert (played.answer, played.replies[0].text, len(played.ran)) == ("Here you are.", "One moment.", 1)


def test_calls_over_several_lines_go_back_as_one_message_with_a_result_each(bookshop: Bookshop) -> None:
    played = play("calls-over-several-chunks", bookshop)
    assert played.kinds == [*OPEN, *ASK, *RUN, *RUN, *ASK, *END]
    assert [name for name, _ in played.ran] == ["search_books", "check_stock"]
    assert [message["role"] for message in played.sent(1)[2:]] == ["assistant", "tool", "tool"]
    assert [call["function"]["name"] for call in played.sent(1)[2]["tool_calls"]] == [
        "search_books",
        "check_stock",
    ]


def test_calls_with_the_same_id_or_none_each_get_their_own_result(bookshop: Bookshop) -> None:
    without = {"tool_calls": [{"function": {"name": "check_stock", "arguments": {"book_id": 2}}}]}
    played = play([said(called(*STOCK), called(*SEARCH), without), DONE], bookshop)
    assert len({event.call.id for event in played.of("tool_finished")}) == 3
    assert [name for name, _ in played.ran] == ["check_stock", "search_books", "check_stock"]
    assert '"in_stock": 15' in contents(played.sent(1), "tool")[0]
    assert '"in_stock": 0' in contents(played.sent(1), "tool")[2]


def test_a_write_that_comes_twice_in_one_reply_happens_once(bookshop: Bookshop) -> None:
    played = play("duplicate-side-effect", bookshop)
    first, second = played.of("tool_finished")
    assert played.cart == {7: 1}
    assert (first.ran, second.ran) == (True, False)
    assert first.call.id != second.call.id
    assert "once" in second.result or "already" in second.result
    assert len(contents(played.sent(1), "tool")) == 2
    assert played.answer == ANSWER


@pytest.mark.parametrize(
    ("second", "copies"),
    [
        ({"quantity": 1, "book_id": 7}, 1),
        ({"book_id": "7", "quantity": 1.0}, 1),
        ({"book_id": 7}, 1),
        ({"book_id": 7, "quantity": 2}, 3),
    ],
    ids=["other order", "other types", "default left out", "another quantity"],
)
def test_what_makes_a_write_the_same_is_what_it_means(bookshop: Bookshop, second: Any, copies: int) -> None:
    played = play([said(called(*ADD), called("add_to_cart", second)), DONE], bookshop)
    assert played.cart == {7: copies}


def test_a_write_that_failed_may_be_tried_again_in_the_same_reply(bookshop: Bookshop) -> None:
    unavailable = called("add_to_cart", {"book_id": 2})
    played = play([said(unavailable, unavailable), DONE], bookshop)
    assert played.cart == {}
    assert len(played.results) == 2


def test_the_same_write_in_a_later_step_is_answered_with_its_result(bookshop: Bookshop) -> None:
    played = play([said(called(*ADD)), said(called(*ADD)), DONE], bookshop)
    assert played.cart == {7: 1}
    first, second = contents(played.sent(2), "tool")
    assert second.startswith(first)
    assert "another quantity" in second


def test_one_more_in_a_later_message_is_one_more(bookshop: Bookshop) -> None:
    conversation = Conversation()
    play([said(called(*ADD)), DONE], bookshop, conversation=conversation)
    assert play([said(called(*ADD)), DONE], bookshop, conversation=conversation).cart == {7: 2}


def test_two_identical_reads_in_one_reply_each_get_a_result(bookshop: Bookshop) -> None:
    played = play("two-legit-identical", bookshop)
    results = contents(played.sent(1), "tool")
    assert len(results) == len(played.of("tool_finished")) == 2
    assert all('"in_stock": 15' in result for result in results)
    assert (played.stop, played.answer) == ("done", ANSWER)


# the history


def test_each_request_of_a_run_begins_with_the_whole_of_the_one_before(bookshop: Bookshop) -> None:
    wire = [
        said("Let me see.", called(*SEARCH), {"thinking": "hm"}),
        said({"thinking": "And now?"}),
        said('<tool_call>{"name": "check_stock", "arguments": {"book_id": 7}}</tool_call>'),
        {"status": 500, "body": {"error": "error parsing tool call: raw='', err=EOF"}},
        said(called(*STOCK), called("books", {})),
        said("<think>well</think>Here you are."),
    ]
    played = play(wire, bookshop)
    rendered = [json.dumps(request["messages"], ensure_ascii=False)[:-1] for request in played.requests]
    assert (played.stop, played.answer, len(rendered)) == ("done", "Here you are.", 6)
    for earlier, later in pairwise(rendered):
        assert later.startswith(earlier)
    assert len({str(request["tools"]) for request in played.requests}) == 1


def test_the_wrap_up_too_begins_with_the_request_before_it(bookshop: Bookshop) -> None:
    played = play([said(called(*STOCK)), said(called(*SEARCH)), DONE], bookshop, max_steps=2)
    assert (played.stop, played.result.answer_by, len(played.requests)) == ("max_steps", "model", 3)
    assert played.sent(2)[: len(played.sent(1))] == played.sent(1)


# thinking


def test_thinking_goes_back_within_the_turn_and_not_into_the_next(bookshop: Bookshop) -> None:
    played = play("history-keeps-thinking", bookshop)
    assert played.sent(1)[2]["thinking"] == "search first"
    later = play([DONE], bookshop, conversation=played.conversation)
    assert "search first" not in str(later.requests)


def test_a_control_mark_at_the_end_of_an_answer_is_not_shown(bookshop: Bookshop) -> None:
    played = play("no-think-marker-echo", bookshop)
    assert played.answer == 'The title is "Dune"'
    assert "no_think" not in played.drawn
    assert played.repairs


@pytest.mark.parametrize(
    "echo",
    [" /think", "/no_think", " /no_think\n", "<|im_end|>", "<|im_end|>\n", "<|endoftext|>", "<|eot_id|>", "</s>"],
)
def test_other_control_marks_are_not_shown_either(bookshop: Bookshop, echo: str) -> None:
    played = play([said("Dune ", "costs 9.99.", *echo)], bookshop)
    assert (played.stop, played.answer) == ("done", "Dune costs 9.99.")
    assert not any(mark in played.drawn for mark in ("<", "|", "/think", "/no_think"))


def test_a_mark_alone_is_no_answer(bookshop: Bookshop) -> None:
    played = play([said("<|im_end|>"), DONE], bookshop)
    assert (played.answer, len(played.corrections)) == ("Here you are.", 1)


def test_a_slash_inside_an_answer_stays(bookshop: Bookshop) -> None:
    told = "See the aisle crime/thriller, or novels in https-free words and/or poems."
    assert play([said(told)], bookshop).answer == told


def test_a_think_block_inside_content_is_thinking_not_answer(bookshop: Bookshop) -> None:
    played = play("think-tags-in-content-old-server", bookshop)
    assert (played.answer, played.replies[0].thinking.strip()) == ("Dune costs 9.99.", "hm")
    assert "hm" not in played.drawn
    assert "<" not in played.drawn
    assert played.repairs
    later = play([DONE], bookshop, conversation=played.conversation)
    assert contents(later.sent(0), "assistant") == ["Dune costs 9.99."]


THOUGHTS = {
    "whole": ["<think>secret thought</think>Dune costs 9.99."],
    "cut anywhere": list("<think>secret thought</think>\n\nDune costs 9.99."),
    "other tag": ["<thinking>secret ", "thought</thinking>", "Dune costs 9.99."],
    "after a blank line": ["\n<think>\nsecret thought\n</think>\n\nDune costs 9.99."],
    "lone end": ["secret thought", "</think>", "\n\n", "Dune costs 9.99."],
    "two blocks": ["<think>secret</think><think>thought</think>Dune costs 9.99."],
    "capitals": ["<THINK>secret thought</THINK>Dune costs 9.99."],
    "reasoning": ["<reasoning>secret thought</reasoning>Dune costs 9.99."],
    "thought": ["<thought>secret thought</thought>Dune costs 9.99."],
    "brackets": ["[THINK]secret thought[/THINK]Dune costs 9.99."],
    "attribute": ['<think id="1">secret thought</think>Dune costs 9.99.'],
}


@pytest.mark.parametrize("parts", THOUGHTS.values(), ids=THOUGHTS)
def test_thinking_is_split_off_wherever_it_comes(bookshop: Bookshop, parts: list[str]) -> None:
    played = play([said(*parts)], bookshop)
    assert (played.stop, played.answer) == ("done", "Dune costs 9.99.")
    assert "secret" in played.replies[0].thinking
    assert "secret" not in played.replies[0].text
    assert played.repairs


@pytest.mark.parametrize("name", sorted(set(THOUGHTS) - {"lone end"}))
def test_tagged_thinking_is_never_flashed_as_an_answer(bookshop: Bookshop, name: str) -> None:
    step = said(*THOUGHTS[name]) | {"line_delay_s": 0.005}
    played = play([step], bookshop)
    assert "secret" not in played.drawn
    assert "<" not in played.drawn
    assert played.drawn.strip() == played.answer


def test_thinking_in_the_middle_of_an_answer_leaves_both_ends_of_it(bookshop: Bookshop) -> None:
    played = play([said("Dune <think>secret</think>costs 9.99.")], bookshop)
    assert (played.answer, "secret" in played.replies[0].thinking) == ("Dune costs 9.99.", True)


def test_the_role_echoed_before_an_answer_is_not_shown(bookshop: Bookshop) -> None:
    assert play([said("<|im_start|>assistant\nDune costs 9.99.<|im_end|>")], bookshop).answer == "Dune costs 9.99."


def test_channels_of_thought_and_answer_are_told_apart(bookshop: Bookshop) -> None:
    thought = "<|channel|>analysis<|message|>secret<|end|>"
    played = play(
        [said(f"{thought}<|start|>assistant<|channel|>final<|message|>Dune costs 9.99."), DONE], bookshop
    )
    assert played.answer in ("Dune costs 9.99.", "Here you are.")
    assert "secret" not in played.drawn


def test_a_lone_end_tag_is_never_flashed_where_thinking_is_off(bookshop: Bookshop) -> None:
    # The thinking-only model with thinking off: all before the tag is thought. What was drawn before it cannot be
    # known for thinking, but the tag and a second copy of the thought must never be drawn.
    step = said("secret ", "thought", "</think>", "\n\nDune costs 9.99.") | {"line_delay_s": 0.005}
    played = play([step], bookshop, options=ModelOptions(think=False))
    assert (played.answer, played.requests[0]["think"]) == ("Dune costs 9.99.", False)
    assert "<" not in played.drawn
    assert played.drawn.count("secret") <= 1


def test_a_think_tag_echoed_at_the_start_of_the_thinking_is_dropped(bookshop: Bookshop) -> None:
    played = play([said({"thinking": "<think>"}, {"thinking": "\nhm"}, "Yes.")], bookshop)
    assert (played.answer, played.replies[0].thinking.strip()) == ("Yes.", "hm")


def test_a_lone_end_tag_after_thinking_in_its_field_is_not_shown(bookshop: Bookshop) -> None:
    played = play([said({"thinking": "hm"}, "</think>\n\nYes.")], bookshop)
    assert (played.answer, "hm" in played.replies[0].thinking) == ("Yes.", True)


def test_a_call_beside_a_think_block_in_content_still_runs(bookshop: Bookshop) -> None:
    played = play([said("<think>look</think>", called(*STOCK)), DONE], bookshop)
    assert len(played.ran) == 1
    assert "<" not in played.drawn
    assert played.replies[0].text.strip() == ""


def test_thinking_that_never_ends_is_asked_for_an_answer_twice_then_said_so(bookshop: Bookshop) -> None:
    played = play("thinking-never-closes", bookshop)
    assert (played.stop, len(played.requests), len(played.corrections)) == ("empty_answer", 3, 2)
    assert played.replies[0].unusable == "only_thinking"
    assert "and on and on" not in played.answer
    assert contents(played.sent(2), "assistant") == []


@pytest.mark.parametrize("text", ["<think>I wonder about Dune", "<think>", "<think>\n\n</think>", "hm</think>  "])
def test_an_open_or_empty_think_block_is_no_answer(bookshop: Bookshop, text: str) -> None:
    played = play([said(text), DONE], bookshop)
    assert (played.answer, len(played.corrections), len(played.requests)) == ("Here you are.", 1, 2)
    assert played.drawn.strip() in ("Here you are.", "hm Here you are.", "hmHere you are.")


# odd characters


def test_replacement_characters_are_shown_as_they_are_or_fewer(bookshop: Bookshop) -> None:
    played = play("emoji-replacement-char", bookshop)
    assert played.stop == "done"
    assert played.answer.replace("\ufffd", "") == "Enjoy  reading"


def test_unusual_characters_reach_the_tool_and_go_back_identical(bookshop: Bookshop) -> None:
    query = wire_of("non-ascii-arguments")[0]["lines"][0]["message"]["tool_calls"][0]["function"]["arguments"][
        "query"
    ]
    played = play("non-ascii-arguments", bookshop)
    assert played.ran == [("search_books", {"query": query, "max_results": 5})]
    assert played.sent(1)[2]["tool_calls"][0]["function"]["arguments"]["query"] == query
    assert (played.stop, played.answer) == ("done", ANSWER)


@pytest.mark.parametrize("odd", ["\x85", "\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\r", "a\x00b"])
def test_a_character_that_could_end_a_line_does_not(bookshop: Bookshop, odd: str) -> None:
    played = play(
        [said(f"Dune{odd}costs", {"thinking": odd}, called("search_books", {"query": f"x{odd}y"})), DONE]
    )
    assert played.stop == "done"
    played = play([said(f"Dune {odd} costs 9.99.")], bookshop)
    assert played.stop == "done"
    assert played.answer.startswith("Dune")
    assert played.answer.endswith("costs 9.99.")


@pytest.mark.parametrize("half", ["\ud83d", "\udc00"])
def test_half_a_character_does_not_break_the_next_request(bookshop: Bookshop, half: str) -> None:
    played = play([said(called("search_books", {"query": f"x {half}"})), said(f"Yes {half}.")], bookshop)
    assert (played.stop, len(played.requests)) == ("done", 2)


def test_a_stream_of_single_bytes_reads_the_same(bookshop: Bookshop) -> None:
    step = said({"thinking": "naïve 📚"}, called("search_books", {"query": "漢字"})) | {"byte_by_byte": True}
    played = play([step, said("Čapek – “R.U.R.” 📚") | {"byte_by_byte": True}], bookshop)
    assert played.ran[0][1]["query"] == "漢字"
    assert played.answer == "Čapek – “R.U.R.” 📚"


# counts


def test_counts_that_are_absent_are_unknown_and_the_sum_is_partial(bookshop: Bookshop) -> None:
    played = play("usage-all-absent", bookshop)
    usage = played.replies[0].usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (None, None, None)
    assert (played.result.usage.input_tokens, played.result.usage_complete) == (None, False)
    assert played.replies[0].timings_ms.total > 0
    assert (played.replies[0].timings_ms.load, played.stop) == (None, "done")


def test_a_sum_with_one_unknown_part_is_partial(bookshop: Bookshop) -> None:
    played = play([reply(calls=[STOCK], usage=(1500, 20)), reply("Yes.", usage=None)], bookshop)
    assert (played.result.usage.input_tokens, played.result.usage_complete) == (1500, False)


@pytest.mark.parametrize(
    "counts",
    [
        {"prompt_eval_count": "many", "eval_count": None},
        {"prompt_eval_count": -5, "eval_count": -1},
        {"prompt_eval_count": True, "eval_count": [3]},
        {"prompt_eval_count": 12.5, "eval_count": {"n": 1}},
        {"prompt_eval_count": 0, "eval_count": 0, "eval_duration": "fast", "load_duration": None},
        {"total_duration": "1s", "prompt_eval_duration": -3, "done_reason": 7},
        {"prompt_eval_count": 10**30, "eval_count": 1e300},
    ],
    ids=["words", "negative", "lists", "fractions", "odd times", "odd ends", "endless"],
)
def test_counts_of_an_odd_type_do_not_break_an_answer(bookshop: Bookshop, counts: dict[str, Any]) -> None:
    last = end(None) | counts
    played = play([{"lines": [chunk(content="Yes."), last]}], bookshop)
    assert (played.stop, played.answer) == ("done", "Yes.")
    usage = played.replies[0].usage
    assert usage.input_tokens is None or usage.input_tokens >= 0
    assert usage.output_tokens is None or usage.output_tokens >= 0


def test_a_count_of_new_tokens_alone_is_shown_as_told_and_raises_no_alarm(bookshop: Bookshop) -> None:
    played = play("usage-only-new-tokens", bookshop, text="dune")
    assert [reply.usage.input_tokens for reply in played.replies] == [812, 37]
    assert (played.stop, played.answer) == ("done", "Dune costs 9.99.")
    assert not any(reply.prompt_cut for reply in played.replies)


def test_the_estimate_does_not_fall_to_a_count_of_new_tokens_alone(bookshop: Bookshop) -> None:
    first, _ = wire_of("usage-only-new-tokens")
    second = reply(calls=[("search_books", {"query": "emma"})], usage=(37, 20))
    played = play([first, second, DONE], bookshop)
    estimates = [request.estimated_input_tokens for request in played.of("model_request")]
    assert estimates[2] >= 812


# answers that are none of the model's


def test_a_reply_that_only_says_loaded_is_never_asked_for_again_unchanged(bookshop: Bookshop) -> None:
    played = play("no-user-message", bookshop)
    assert played.stop in ("empty_answer", "model_error")
    assert 1 <= len(played.requests) <= 3
    asked = [str(request) for request in played.requests]
    assert len(set(asked)) == len(asked)
    assert contents(played.sent(0), "user")[0].strip()


@pytest.mark.parametrize("reason", ["load", "unload"])
def test_load_and_unload_are_no_answer_and_never_a_blank_one(bookshop: Bookshop, reason: str) -> None:
    message = {"role": "assistant", "content": ""}
    loaded: Step = {
        "lines": [{"model": MODEL, "created_at": AT, "message": message, "done_reason": reason, "done": True}]
    }
    played = play([loaded, DONE], bookshop)
    assert played.stop in ("done", "model_error", "empty_answer")
    assert contents(played.requests[-1]["messages"], "assistant") == []


@pytest.mark.parametrize("blank", ["", "   ", "\n\t"])
def test_a_blank_message_is_refused_before_anything_is_sent(blank: str) -> None:
    with pytest.raises(BadMessage):
        checked_message(blank)


def test_an_answer_from_the_models_head_shows_that_no_tool_was_used(bookshop: Bookshop) -> None:
    played = play("claims-without-call", bookshop)
    assert (played.stop, played.result.tool_calls, len(played.requests)) == ("done", 0, 1)
    assert played.kinds == [*OPEN, *ASK, *END]
    assert played.answer == "Dune costs 12.50 and we have 4 copies."
    events = played.conversation.events
    assert "12.50, 4" in grounding_mark(Evidence(events).read(played.answer), events[-1])


@pytest.mark.parametrize(
    ("case", "limits", "stop"),
    [
        ("cap-reported-as-success", {"max_steps": 3}, "max_steps"),
        ("identical-calls-20x", {}, "repeated_call"),
        ("never-returns-to-talk", {}, "repeated_call"),
    ],
)
def test_a_model_that_only_calls_is_stopped_and_the_program_answers(
    bookshop: Bookshop, case: str, limits: dict[str, Any], stop: str
) -> None:
    played = play(case, bookshop, **limits)
    assert (played.stop, played.result.answer_by) == (stop, "program")
    assert played.result.steps <= 4
    assert len(played.requests) == played.result.steps + 1
    assert played.requests[-1]["tools"] == []
    assert "before your request was finished" in played.answer
    assert played.cart == {}


def test_a_model_that_calls_something_else_each_time_is_held_by_the_step_limit(bookshop: Bookshop) -> None:
    def ever_on(body: dict[str, Any]) -> Step:
        return reply(calls=[("check_stock", {"book_id": len(body["messages"])})])

    played = play(ever_on, bookshop)
    assert (played.stop, played.result.steps, len(played.requests)) == ("max_steps", 6, 7)
    assert len(played.ran) == 6


def test_a_conversation_goes_on_after_a_run_without_an_answer(bookshop: Bookshop) -> None:
    conversation = Conversation()
    play("identical-calls-20x", bookshop, conversation=conversation)
    assert play([DONE], bookshop, conversation=conversation).answer == "Here you are."
