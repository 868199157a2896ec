"""What a server may say or do instead of answering, and what people read of it."""

import re
from typing import Any

import pytest

from agent.models.ollama import OllamaModel
from agent.trace import ModelOptions, ModelReply
from tests.ollama_server import MODEL, OllamaServer, Step, chunk, end, reply

ASKED = [{"role": "user", "content": "Is there a copy?"}]
PAGE = "<!DOCTYPE html><html><title>Service Unavailable</title></html>"
SPOKE = chunk(content="Dune is")
TOO_LONG = "request (9012 tokens) exceeds the available context size (4096 tokens), try increasing it"
OVERFLOW = {"code": 400, "message": TOO_LONG, "type": "exceed_context_size_error"}
COUNTED = {"code": 400, "message": "too much", "type": "exceed_context_size_error", "n_prompt_tokens": 9012}
NESTED = '{"error":{"code":400,"message":"' + TOO_LONG + '"}}'
NOT_FOR_PEOPLE = re.compile(r"[<>{}\[\]\n]|https?:|localhost|127\.0|\.ai\b|\w/\w")


def answer(step: Step) -> ModelReply:
    with OllamaServer([step]) as server:
        *_, whole = OllamaModel(MODEL, server.url).stream(ASKED, [], ModelOptions(), None)
    return whole


def refused(status: int, error: Any) -> Step:
    return {"status": status, "body": {"error": error}}


def broke(*lines: Any, **step: Any) -> Step:
    return {"lines": [SPOKE, *lines]} | step


NOT_PULLED = "The model qwen3:4b is not pulled. Get it with: ollama pull qwen3:4b"
PROXY = "A proxy answered in Ollama's place"
BUSY = "Ollama is busy"
MEMORY = "The model qwen3:4b does not fit into memory"
CRASHED = "The model crashed"
BAD_CALL = "The model wrote a tool call that Ollama could not read"
CUT = "Ollama broke off before the answer was complete"
UNSHAPED = "Ollama sent something that is no answer of a model"
UNAVAILABLE: dict[str, tuple[Step, str, str]] = {
    "not pulled": (refused(404, "model 'qwen3:4b' not found"), NOT_PULLED, "never"),
    "not pulled, older": (refused(404, 'model "x" not found, try pulling it first'), NOT_PULLED, "never"),
    "no tools": (refused(400, "registry.ollama.ai/library/x:4b does not support tools"), "cannot call", "never"),
    "no memory": (refused(500, "model requires more system memory (5.3 GiB) than is available"), MEMORY, "never"),
    "no memory, newer": (refused(500, "llama-server reported out-of-memory during startup: x"), MEMORY, "never"),
    "no memory, CUDA": (refused(500, "CUDA error: out of memory"), MEMORY, "never"),
    "killed": (refused(500, "llama-server process has terminated: signal: killed"), MEMORY, "never"),
    "slow load": (refused(500, "timed out waiting for llama-server to start - 0.4"), "in time", "never"),
    "busy": (refused(503, "server busy, please try again.  maximum pending requests exceeded"), BUSY, "later"),
    "busy, cloud": (refused(429, "slow down"), BUSY, "later"),
    "page": ({"status": 503, "body": PAGE}, f"{PROXY} (status 503)", "never"),
    "page as a success": ({"body": PAGE, "headers": {"Content-Type": "text/html"}}, PROXY, "never"),
    "nothing from a proxy": ({"status": 502, "body": ""}, f"{PROXY} (status 502)", "never"),
    "password": ({"status": 407, "body": "x"}, f"{PROXY} (status 407)", "never"),
    "elsewhere": ({"status": 304, "body": ""}, PROXY, "never"),
    "no such path": ({"status": 404, "body": "404 page not found"}, "is not Ollama", "never"),
    "sign in": (refused(401, "unauthorized"), "ollama signin", "never"),
    "forbidden": ({"status": 403, "body": ""}, "refuses to be used", "never"),
}
ERRORS: dict[str, tuple[Step, str, str]] = {
    "setting": (refused(400, 'time: missing unit in duration "-1"'), "missing unit in duration", "never"),
    "shape": (refused(400, "json: cannot unmarshal string into Go struct field X.y"), "could not read", "never"),
    "our JSON": (refused(400, "invalid character 'x' looking for value"), "could not read", "never"),
    "crash": (refused(500, "model runner has unexpectedly stopped, check the logs"), CRASHED, "later"),
    "crash, late": (broke({"error": "an error was encountered while running the model: EOF"}), CRASHED, "never"),
    "terminated": (refused(500, "llama-server process has terminated: exit status 2"), CRASHED, "later"),
    "call": (refused(500, "error parsing tool call: raw='{\"a\"]}', err=invalid character"), BAD_CALL, "changed"),
    "call, late": (broke({"error": "failed to parse JSON: unexpected end of JSON input"}), BAD_CALL, "changed"),
    "call, native": (refused(500, 'returned invalid tool call arguments for "f": x'), BAD_CALL, "changed"),
    "loop": (broke({"error": "prediction aborted, token repeat limit reached"}), BAD_CALL, "changed"),
    "host": (refused(500, "dial tcp 127.0.0.1:4321: connection refused"), "failed (status 500)", "never"),
    "name": (refused(500, "lookup registry.ollama.ai: no such host"), "failed (status 500)", "never"),
    "object": (refused(400, {"code": 400}), "could not read the request", "never"),
    "list": ({"status": 400, "body": "[1]"}, "could not read the request", "never"),
    "deep": ({"status": 500, "body": "[" * 50_000}, "failed (status 500)", "never"),
    "huge": ({"status": 500, "body": "x " * 5_000_000}, "failed (status 500): x x", "never"),
    "line": (broke({"error": "an unknown fault "}), "while it was answering: an unknown fault", "never"),
    "empty line": (broke({"error": ""}), "Ollama failed while it was answering", "never"),
    "page line": (broke({"error": PAGE}), "Ollama failed while it was answering", "never"),
    "page within": (broke(PAGE), UNSHAPED, "never"),
    "number": (broke('{"eval_count": ' + "9" * 5_000 + "}"), UNSHAPED, "never"),
    "nesting": (broke("[" * 100_000), UNSHAPED, "never"),
    "text as number": (broke({"message": {"content": 7}}), UNSHAPED, "never"),
    "cut": (broke(), CUT, "never"),
    "half a line": (broke('{"message": {"con', no_newline=True), UNSHAPED, "never"),
    "closed": (broke(then="close"), CUT, "never"),
    "reset": (broke(then="reset", line_delay_s=0.01), CUT, "never"),
    "nothing": ({"lines": []}, CUT, "later"),
    "closed early": ({"behaviour": "close-before-response"}, CUT, "later"),
    "reset early": ({"behaviour": "reset-before-response"}, CUT, "later"),
    "loaded": ({"lines": [chunk() | {"done": True, "done_reason": "load"}]}, "only loaded", "never"),
}
OVERFLOWS: dict[str, tuple[Step, str, str]] = {
    "nested": (refused(400, NESTED), "(9,012 tokens, and it reads 4,096 at once)", "never"),
    "object": (refused(400, OVERFLOW), "(9,012 tokens, and it reads 4,096 at once)", "never"),
    "counts": (refused(400, COUNTED | {"message": "exceeds the context", "n_ctx": 4096}), "(9,012 tok", "never"),
    "line": (broke({"error": NESTED}), "(9,012 tokens, and it reads 4,096 at once)", "never"),
    "words": (refused(400, "the prompt is longer than the context length currently available"), "16,384", "never"),
    "cut": (refused(500, "no user query found in messages"), "your question was cut away", "never"),
}


@pytest.mark.parametrize(
    ("stop_reason", "step", "line", "retry"),
    [
        pytest.param(stop, *case, id=f"{stop}: {name}")
        for stop, cases in (
            ("model_unavailable", UNAVAILABLE),
            ("model_error", ERRORS),
            ("context_window", OVERFLOWS),
        )
        for name, case in cases.items()
    ],
)
def test_what_goes_wrong_is_one_readable_line_that_says_what_to_do(
    stop_reason: str, step: Step, line: str, retry: str
) -> None:
    whole = answer(step)
    assert (whole.error.stop_reason, whole.error.retry) == (stop_reason, retry)
    assert line in whole.error.message
    assert not NOT_FOR_PEOPLE.search(whole.error.message)
    assert whole.text == ("Dune is" if SPOKE in step.get("lines", ()) else "")
    assert whole.incomplete or whole.done_reason == "load"


def test_the_servers_own_words_are_kept_for_the_trace() -> None:
    (words,) = answer(refused(400, "json: cannot unmarshal\nstring")).warnings
    assert words == "Ollama's own words: json: cannot unmarshal string"
    assert answer({"status": 502, "body": PAGE}).warnings == []


def test_calls_in_an_unusual_shape_are_read_or_dropped_with_a_word() -> None:
    functions = [
        {"name": "check_stock", "arguments": '{"book_id": 7}'},
        {"name": "view_cart", "arguments": None},
        {"name": "view_cart"},
        {"name": "check_stock", "arguments": "7"},
        {"name": "check_stock", "arguments": [7]},
        {"name": "check_stock", "arguments": "{"},
        {"name": "", "arguments": {}},
        {"arguments": {}},
    ]
    whole = answer({"lines": [chunk(tool_calls=[{"function": function} for function in functions]), end()]})
    assert [(call.name, call.arguments) for call in whole.tool_calls] == [
        ("check_stock", {"book_id": 7}),
        ("view_cart", {}),
        ("view_cart", {}),
    ]
    assert whole.repairs == ["check_stock: arguments came as text and were read as an object"]
    assert len(whole.warnings) == 5
    assert whole.error is None


def test_a_reply_of_unreadable_calls_alone_may_be_asked_for_again_in_another_way() -> None:
    calls = [{"function": {"name": "check_stock", "arguments": "7"}}, {}, 7]
    whole = answer({"lines": [chunk(tool_calls=calls), end()]})
    assert (whole.error.stop_reason, whole.error.retry, whole.tool_calls) == ("model_error", "changed", [])
    beside = answer({"lines": [chunk(content="Here."), chunk(tool_calls=calls), end()]})
    assert (beside.text, beside.error, len(beside.warnings)) == ("Here.", None, 3)


@pytest.mark.parametrize("value", ["120", -1, True, [], {}, 1e300, 10**30])
def test_counts_that_can_be_none_are_unknown(value: Any) -> None:
    last = end() | {"prompt_eval_count": value, "eval_count": value, "load_duration": value, "done_reason": 7}
    whole = answer({"lines": [chunk(content="Yes."), last]})
    assert (whole.usage.input_tokens, whole.usage.output_tokens, whole.timings_ms.load) == (None, None, None)
    assert (whole.text, whole.done_reason, whole.error) == ("Yes.", None, None)


def test_a_healthy_reply_has_no_fault() -> None:
    assert answer(reply("Yes.")).error is None
