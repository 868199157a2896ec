"""Recordings of servers that refuse, fail, break off, hang, or say nothing: each ends in one readable line."""

from typing import Any

import pytest

from agent.trace import ModelOptions
from assistant.bookshop import Bookshop
from tests.agent.playing import ASK, CALL, END, OPEN
from tests.agent.wire import ANSWER, Played, called, contents, failed, in_time, play, said, wire_of
from tests.ollama_server import TEMPLATE, OllamaServer, Step, chunk, end

DONE = said("Here you are.")
STOCK = called("check_stock", {"book_id": 7})
ADD = called("add_to_cart", {"book_id": 7, "quantity": 1})
SPOKE = chunk(content="Dune is")
PAGE = "<!DOCTYPE html><html><head><title>503</title></head><body><h1>Service Unavailable</h1></body></html>"
TOOLS = ("search_books", "check_stock", "get_order_status", "add_to_cart")


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds to wait before trying again, as tests have none to spare."""
    monkeypatch.setattr("agent.loop.model_call.PAUSES", (0.02, 0.04))


def fails(played: Played, stop: str, *words: str, requests: int = 1) -> None:
    """The run ended for this reason after so many requests, and its answer holds these words."""
    assert (played.stop, len(played.requests), played.result.answer_by) == (stop, requests, "program")
    missing = [word for word in words if word.lower() not in played.answer.lower()]
    assert not missing, played.answer
    assert played.replies[-1].error or played.replies[-1].incomplete or played.replies[-1].unusable


# nothing usable in the reply


def test_a_thought_alone_after_a_call_is_asked_for_an_answer(bookshop: Bookshop) -> None:
    played = play("empty-schema-garbled", bookshop)
    assert played.kinds == [*OPEN, *CALL, *ASK, "guard_decision", "note", *ASK, *END]
    assert (played.stop, played.answer, played.result.steps) == ("done", ANSWER, 3)
    assert contents(played.sent(1), "assistant") == [""]
    assert [message["role"] for message in played.sent(2)[2:]] == ["assistant", "tool", "user"]


def test_where_the_template_garbles_tools_the_instructions_hold_a_list_of_them(bookshop: Bookshop) -> None:
    go, jinja = (
        play([DONE], bookshop, server={"template": template}).sent(0)[0]["content"]
        for template in (TEMPLATE, "{% for m in messages %}{{ m.content }}{% endfor %}")
    )
    assert all(name in go for name in TOOLS)
    assert '"max_results"' in go
    assert '"max_results"' not in jinja


def test_a_swallowed_call_is_asked_for_again_with_the_names_of_the_tools(bookshop: Bookshop) -> None:
    played = play("empty-unknown-call-discarded", bookshop)
    assert (played.stop, played.answer, played.result.steps) == ("done", ANSWER, 2)
    assert played.replies[0].unusable == "only_thinking"
    assert "create_order" in played.replies[0].thinking
    assert all(name in played.corrections[0] for name in TOOLS)


def test_tokens_without_anything_to_see_are_an_empty_reply(bookshop: Bookshop) -> None:
    played = play("empty-with-tools-and-think", bookshop)
    assert (played.stop, played.answer, played.replies[0].unusable) == ("done", ANSWER, "empty")
    assert contents(played.sent(1), "assistant") == []


@pytest.mark.parametrize("step", [said(), said({"thinking": "hm"}), said("  "), said(usage=None)])
def test_empty_replies_end_in_words_after_two_corrections(bookshop: Bookshop, step: Step) -> None:
    played = play([step], bookshop)
    fails(played, "empty_answer", "no answer", requests=3)
    assert (len(played.corrections), played.result.steps) == (2, 3)
    assert len({str(request) for request in played.requests}) == 3


def test_an_empty_reply_after_a_write_says_what_was_done(bookshop: Bookshop) -> None:
    played = play([said(ADD), said()], bookshop)
    assert (played.stop, played.cart) == ("empty_answer", {7: 1})
    assert "The Quiet Orchard" in played.answer


# cut by the limit of output tokens


def test_a_call_cut_by_the_limit_is_tried_once_with_more_room(bookshop: Bookshop) -> None:
    played = play("call-cut-silently", bookshop)
    assert (played.stop, played.answer, played.replies[0].unusable) == ("done", ANSWER, "cut_by_length")
    first, second = played.options("num_predict")
    assert second > first
    assert played.ran == []


def test_thinking_that_uses_up_the_limit_is_named_with_both_numbers(bookshop: Bookshop) -> None:
    played = play("thinking-eats-budget", bookshop, options=ModelOptions(num_predict=512))
    assert played.stop == "empty_answer"
    limits = played.options("num_predict")
    assert (limits[0], len(set(limits))) == (512, 2)
    assert limits[0] < limits[1]
    assert limits[1:] == [limits[1]] * len(limits[1:])
    assert len(played.requests) <= 3
    assert "512" in played.answer
    assert f"{limits[-1]:,}" in played.answer
    assert "compare every edition" not in played.answer


def test_an_answer_cut_by_the_limit_is_shown_and_said_to_be_cut(bookshop: Bookshop) -> None:
    played = play([said("There are many books about", usage=(900, 512), done_reason="length")], bookshop)
    assert (played.stop, played.answer.startswith("There are many books about")) == ("done", True)
    assert any("512" in warning for warning in played.warnings)


def test_a_write_of_a_reply_cut_by_the_limit_is_whole_or_not_at_all(bookshop: Bookshop) -> None:
    cut = '{"name": "add_to_cart", "arguments": {"book_id": 7, "quantity": 1'
    played = play([said(cut, done_reason="length"), DONE], bookshop)
    assert (played.cart, played.answer) == ({}, "Here you are.")


# streams that are not whole


def test_a_blank_line_in_the_stream_is_no_end(bookshop: Bookshop) -> None:
    played = play("blank-line-in-stream", bookshop)
    assert (played.stop, played.answer, len(played.requests)) == ("done", "Dune costs 9.99.", 1)


def test_a_stream_without_its_last_line_is_incomplete_though_nothing_was_raised(bookshop: Bookshop) -> None:
    played = play("no-done-line", bookshop)
    fails(played, "model_error", "before the answer was complete")
    assert played.replies[0].incomplete
    assert played.replies[0].text.startswith("...")
    assert (
        contents(play([DONE], bookshop, conversation=played.conversation).sent(0), "assistant")[0] == played.answer
    )


BROKEN: dict[str, Step] = {
    "ends": {"lines": [SPOKE]},
    "closes": {"lines": [SPOKE], "then": "close"},
    "resets": {"lines": [SPOKE], "then": "reset", "line_delay_s": 0.01},
    "half a line": {"lines": [SPOKE, '{"model": "qwen3:4b", "mess'], "no_newline": True},
    "half a line, closed": {"lines": [SPOKE, '{"mess'], "no_newline": True, "then": "close"},
    "a page": {"lines": [SPOKE, PAGE]},
    "no JSON": {"lines": [SPOKE, "event: ping is not JSON"]},
    "a number": {"lines": [SPOKE, "7"]},
    "a list": {"lines": [SPOKE, "[1]"]},
    "a deep list": {"lines": [SPOKE, "[" * 100_000]},
    "no UTF-8 end": {"lines": [SPOKE, "\x00\x00"]},
}


@pytest.mark.parametrize("step", BROKEN.values(), ids=BROKEN)
def test_what_breaks_off_is_kept_in_the_trace_and_is_no_answer(bookshop: Bookshop, step: Step) -> None:
    played = play([step], bookshop)
    assert (played.stop, played.replies[0].incomplete) == ("model_error", True)
    assert played.replies[0].text in ("Dune is", "" if step.get("then") == "reset" else "Dune is")
    assert "Dune is" not in played.answer
    assert len(played.requests) <= 2


@pytest.mark.parametrize("step", BROKEN.values(), ids=BROKEN)
def test_no_effect_comes_of_a_reply_that_broke_off(bookshop: Bookshop, step: Step) -> None:
    played = play([step | {"lines": [chunk(**ADD), *step["lines"]]}], bookshop)
    assert (played.stop, played.ran, played.cart) == ("model_error", [], {})


@pytest.mark.parametrize(
    "step",
    [
        {"lines": []},
        {"body": ""},
        {"behaviour": "close-before-response"},
        {"behaviour": "reset-before-response"},
        {"lines": [""]},
    ],
    ids=["no lines", "no body", "closed", "reset", "a blank line"],
)
def test_nothing_at_all_is_a_failure_in_words(bookshop: Bookshop, step: Step) -> None:
    played = play([step], bookshop)
    assert played.stop in ("model_error", "model_unavailable")
    assert len(played.requests) <= 3


@pytest.mark.parametrize("then", ["end", "close", "hang"])
def test_a_whole_reply_counts_however_the_connection_ends(bookshop: Bookshop, then: str) -> None:
    played = play([DONE | {"then": then, "line_delay_s": 0.01}], bookshop)
    assert (played.stop, played.answer) == ("done", "Here you are.")


def test_what_is_no_line_of_data_is_read_over(bookshop: Bookshop) -> None:
    step = {"lines": ["", chunk(content="Dune "), "\r", "   ", chunk(content="costs 9.99."), "", end()]}
    played = play([step], bookshop)
    assert (played.stop, played.answer) == ("done", "Dune costs 9.99.")


def test_a_last_line_without_its_newline_counts(bookshop: Bookshop) -> None:
    assert play([DONE | {"no_newline": True}], bookshop).answer == "Here you are."


# no connection, and what stands in between


def test_nothing_that_listens_is_said_with_the_command_that_starts_it(bookshop: Bookshop) -> None:
    played = play("refused-while-streaming", bookshop)
    assert (played.stop, played.requests) == ("model_unavailable", [])
    assert "ollama serve" in played.answer


@pytest.mark.parametrize(("case", "status"), [("empty-502-from-proxy", "502"), ("html-error-from-proxy", "503")])
def test_what_a_proxy_answers_is_named_by_status_with_a_hint(bookshop: Bookshop, case: str, status: str) -> None:
    played = play(case, bookshop)
    assert played.stop in ("model_unavailable", "model_error")
    assert status in played.answer
    assert "proxy" in played.answer.lower()
    assert len(played.requests) <= 3


@pytest.mark.parametrize(
    "step",
    [
        {"status": 504, "body": PAGE, "headers": {"Content-Type": "text/html"}},
        {"status": 502, "body": PAGE, "headers": {"Content-Type": "text/plain"}},
        {"status": 407, "body": "Proxy Authentication Required"},
        {"status": 504, "body": ""},
        {"status": 200, "body": PAGE, "headers": {"Content-Type": "text/html"}},
        {"status": 403, "body": "\ufeff\n" + PAGE},
    ],
    ids=["504 page", "502 page as text", "407", "504 empty", "200 page", "page after a mark"],
)
def test_pages_of_all_sorts_are_never_shown(bookshop: Bookshop, step: Step) -> None:
    played = play([step], bookshop)
    assert played.stop in ("model_unavailable", "model_error")
    assert "Service Unavailable" not in played.answer


def test_a_proxy_in_the_surroundings_is_not_asked_for_this_machine(
    bookshop: Bookshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    with OllamaServer([{"status": 502, "body": ""}]) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        played = play([DONE], bookshop)
    assert (played.answer, proxy.requests) == ("Here you are.", [])


# errors the server tells


@pytest.mark.parametrize(
    ("case", "stop", "words"),
    [
        ("no-tool-support-400", "model_unavailable", ("qwen3:4b", "tools")),
        ("oom-500", "model_unavailable", ("memory", "num-ctx")),
        ("keep-alive-string-400", "model_error", ("missing unit in duration",)),
    ],
)
def test_what_would_fail_again_is_said_once_with_what_to_do(
    bookshop: Bookshop, case: str, stop: str, words: tuple[str, ...]
) -> None:
    fails(play(case, bookshop), stop, *words)


def test_settings_are_sent_as_the_server_takes_them(bookshop: Bookshop) -> None:
    (request,) = play([DONE], bookshop).requests
    alive = request["keep_alive"]
    assert isinstance(alive, int | float) or alive[-1] in "smh"
    assert all(isinstance(value, int | float) for value in request["options"].values())
    assert request["think"] in (True, False)


def test_a_runner_that_died_is_asked_once_more_after_a_pause(bookshop: Bookshop) -> None:
    played = play("runner-crash-500", bookshop)
    assert (played.stop, played.answer, len(played.requests)) == ("done", ANSWER, 2)


@pytest.mark.parametrize(
    "words",
    [
        "llama runner process has terminated: exit status 2",
        "llama runner process no longer running: 1 ",
        'POST predict: Post "http://127.0.0.1:43211/completion": EOF',
        "an error was encountered while running the model: CUDA error: an illegal memory access",
    ],
)
def test_other_words_for_a_runner_that_died_mean_the_same(bookshop: Bookshop, words: str) -> None:
    assert play([failed(500, words), DONE], bookshop).answer == "Here you are."
    assert "crash" in play([failed(500, words)], bookshop).answer


def test_a_runner_that_dies_every_time_is_said_to_crash(bookshop: Bookshop) -> None:
    played = play(wire_of("runner-crash-500")[:1], bookshop)
    assert played.stop in ("model_error", "model_unavailable")
    assert "crash" in played.answer
    assert 2 <= len(played.requests) <= 3


def test_an_error_line_in_mid_answer_keeps_the_text_in_the_trace_alone(bookshop: Bookshop) -> None:
    played = play("error-line-midstream", bookshop)
    assert (played.stop, played.replies[0].incomplete, played.replies[0].text) == ("model_error", True, "Dune is")
    assert "Dune is" not in played.answer
    assert "crash" in played.answer or "unknown error" in played.answer
    assert len(played.requests) <= 2
    later = play([DONE], bookshop, conversation=played.conversation)
    assert "Dune is" not in str(later.sent(0))


ERRORS: dict[str, tuple[Any, int, str, str]] = {
    "not pulled": ("model 'qwen3:4b' not found", 404, "model_unavailable", "ollama pull qwen3:4b"),
    "not pulled, older": (
        'model "qwen3:4b" not found, try pulling it first',
        404,
        "model_unavailable",
        "ollama pull",
    ),
    "no chat": ('"qwen3:4b" does not support chat', 400, "model_unavailable", "qwen3:4b"),
    "out of memory at start": (
        "llama-server reported out-of-memory during startup: x",
        500,
        "model_unavailable",
        "mem",
    ),
    "out of video memory": ("cudaMalloc failed: out of memory", 500, "model_unavailable", "memory"),
    "out of GPU memory": (
        "model requires more GPU memory (5 GiB) than is available",
        500,
        "model_unavailable",
        "mem",
    ),
    "killed": ("llama runner process has terminated: signal: killed", 500, "model_unavailable", "memory"),
    "buffer": ("unable to allocate CUDA0 buffer", 500, "model_unavailable", "memory"),
    "load took too long": (
        "timed out waiting for llama-server to start - progress 0.00 - ",
        500,
        "model_unavailable",
        "load",
    ),
    "bad think value": ('invalid think value: "yes" (must be "high" or "low")', 400, "model_error", ""),
    "no such option": ('option "num_ctx" must be of type integer', 500, "model_error", ""),
    "sign in": ("unauthorized", 401, "model_unavailable", "sign"),
    "an object": ({"code": 500, "message": "weights are missing"}, 500, "model_error", ""),
    "a list": (["a", "b"], 500, "model_error", ""),
    "a number": (500, 500, "model_error", ""),
    "nothing": ("", 500, "model_error", ""),
    "a host in it": ("dial tcp 127.0.0.1:4321: connect: connection refused", 500, "model_error", ""),
    "a page in it": (PAGE, 500, "model", ""),
}


@pytest.mark.parametrize(("error", "status", "stop", "hint"), ERRORS.values(), ids=ERRORS)
def test_errors_are_classified_by_what_they_mean_and_not_retried(
    bookshop: Bookshop, error: Any, status: int, stop: str, hint: str
) -> None:
    played = play([failed(status, error)], bookshop)
    assert played.stop.startswith(stop)
    assert hint in played.answer
    assert len(played.requests) == 1


@pytest.mark.parametrize(("error", "status", "stop", "hint"), ERRORS.values(), ids=ERRORS)
def test_the_same_errors_mean_the_same_as_a_line_in_mid_answer(
    bookshop: Bookshop, error: Any, status: int, stop: str, hint: str
) -> None:
    played = play([{"lines": [SPOKE, {"error": error}]}], bookshop)
    assert played.stop in ("model_unavailable", "model_error")
    assert "Dune is" not in played.answer


BUSY = failed(503, "server busy, please try again.  maximum pending requests exceeded")


def test_a_busy_server_is_asked_again_after_a_pause(bookshop: Bookshop) -> None:
    played = play([BUSY, DONE], bookshop)
    assert (played.stop, played.answer, len(played.requests)) == ("done", "Here you are.", 2)


def test_a_server_that_stays_busy_is_left_in_words(bookshop: Bookshop) -> None:
    played = play([BUSY], bookshop)
    fails(played, "model_unavailable", "busy", requests=3)


def test_pauses_between_tries_keep_to_the_deadline(bookshop: Bookshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.loop.model_call.PAUSES", (600.0, 600.0))
    played = in_time(lambda: play([BUSY], bookshop, max_seconds=0.3))
    assert played.stop in ("max_seconds", "model_unavailable")


def test_a_busy_server_between_two_steps_repeats_no_effect(bookshop: Bookshop) -> None:
    played = play([said(ADD), BUSY, DONE], bookshop)
    assert (played.cart, played.stop) == ({7: 1}, "done")
    assert played.sent(1) == played.sent(2)


def test_a_model_that_cannot_think_apart_is_asked_without_and_that_is_remembered(bookshop: Bookshop) -> None:
    refusal = failed(400, '"qwen3:4b" does not support thinking')
    played = play([refusal, said(STOCK), DONE], bookshop)
    assert (played.stop, played.answer) == ("done", "Here you are.")
    assert [request.get("think") for request in played.requests] == [True, None, None]
    assert played.warnings


# servers that are slow


def test_a_silent_load_is_waited_for(bookshop: Bookshop) -> None:
    played = play("cold-load-silence", bookshop)
    assert (played.stop, played.answer, len(played.requests)) == ("done", "Hello!", 1)


@pytest.mark.parametrize("case", ["hang-hours", "timeout-aborts-load"])
def test_a_server_that_hangs_is_left_at_the_deadline_and_asked_once(bookshop: Bookshop, case: str) -> None:
    played = play(case, bookshop, max_seconds=0.4)  # its own patience is 100 seconds
    fails(played, "max_seconds", "time")
    assert "Dun" not in played.answer.split("Done")[0].replace("Done", "")


@pytest.mark.parametrize(
    ("case", "words"), [("timeout-aborts-load", ("0.2 s", "load")), ("hang-hours", ("0.2 s", "silent"))]
)
def test_a_silence_longer_than_the_patience_ends_in_words_and_is_not_hammered(
    bookshop: Bookshop, case: str, words: tuple[str, ...]
) -> None:
    played = play(case, bookshop, patience=0.2, until=lambda seen: seen.disconnects)
    fails(played, "model_error", *words)
    assert len(played.disconnects) == 1


def test_a_slow_drip_is_no_silence(bookshop: Bookshop) -> None:
    played = play([said(*["drip "] * 12) | {"line_delay_s": 0.05}], bookshop, patience=0.3)
    assert (played.stop, played.answer.count("drip")) == ("done", 12)


def test_time_that_loading_takes_is_told_apart_from_answering(bookshop: Bookshop) -> None:
    played = play("reload-every-step", bookshop)
    times = played.replies[0].timings_ms
    assert (times.load, times.prompt, times.generation) == (9_800.0, 200.0, 900.0)
    assert (played.stop, played.answer) == ("done", "Dune.")


def test_nothing_that_happens_in_a_conversation_changes_what_would_load_the_model_anew(bookshop: Bookshop) -> None:
    unread = failed(500, "failed to parse JSON: EOF")
    wire = [said(), BUSY, said(STOCK), unread, said(done_reason="length")]
    first = play(wire, bookshop, max_steps=5)
    later = play([DONE], bookshop, conversation=first.conversation)
    assert (first.stop, first.requests[-1]["tools"]) == ("max_steps", [])
    assert set(first.options("num_ctx") + later.options("num_ctx")) == {16_384}
    for request in first.requests + later.requests:
        assert set(request["options"]) == set(first.requests[0]["options"])
        assert (request["keep_alive"], request["model"]) == ("10m", "qwen3:4b")


def test_the_settings_that_load_a_model_anew_never_change_within_a_run(bookshop: Bookshop) -> None:
    played = play("reload-every-step", bookshop)
    assert [request["options"] for request in played.requests] == [played.requests[0]["options"]] * 2
    for request in played.requests:
        assert request["model"] == "qwen3:4b"
        assert request["options"]["num_ctx"] == 16_384
