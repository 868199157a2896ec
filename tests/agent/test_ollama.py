"""The Ollama client against a scripted server on a real socket."""

import threading
import time
from contextlib import closing
from typing import Annotated

import pytest

from agent.guards.limits import Limits
from agent.loop.agent import Agent
from agent.models import Delta, Message
from agent.models.engine import ServerState
from agent.models.ollama import OllamaEngine, OllamaModel
from agent.models.ollama.model import OllamaStream
from agent.models.ollama.wire import body_of
from agent.tools import Arg, FunctionTools, Tool, ToolOutcome
from agent.trace import ModelOptions, ModelReply
from agent.views.conversation import Conversation
from agent.views.result import AgentResult
from tests.ollama_server import MODEL, OllamaServer, Step, chunk, end, lighthouse, reply

ASKED = [{"role": "user", "content": "Is there a copy?"}]
DRIP = {"line_delay_s": 0.02}


def ask(server: OllamaServer, model: OllamaModel | None = None) -> OllamaStream:
    deadline = time.monotonic() + 10  # so that no test hangs
    return (model or OllamaModel(MODEL, server.url)).stream(ASKED, [], ModelOptions(), deadline)


def failed(status: int, error: object) -> Step:
    return {"status": status, "body": {"error": error}}


def answer(*wire: Step) -> ModelReply:
    """The reply to one question put to a server with this wire."""
    with OllamaServer(wire) as server:
        return list(ask(server))[-1]


def bookshop(server: OllamaServer, **limits: float) -> Agent:
    """An agent with look-alikes of the shop's tools."""

    def search_books(query: Annotated[str, Arg("Words.")]) -> ToolOutcome:
        return ToolOutcome(result="[2] The Last Lighthouse\n[7] The Quiet Orchard")

    def check_stock(book_id: Annotated[int, Arg("Book.")]) -> ToolOutcome:
        return ToolOutcome(result=f"book {book_id}: {0 if book_id == 2 else 15}")

    def add_to_cart(
        book_id: Annotated[int, Arg("Book.")], quantity: Annotated[int, Arg("How many.")] = 1
    ) -> ToolOutcome:
        return ToolOutcome(result="cart total 16.50")

    tools = FunctionTools(*map(Tool.of, (search_books, check_stock, add_to_cart)))
    kept = Limits(**limits)
    return Agent(OllamaModel(MODEL, server.url, digest="known"), tools, "Sell books.", kept)


def run(wire: object, **limits: float) -> tuple[AgentResult, OllamaServer]:
    with OllamaServer(wire) as server:
        return bookshop(server, **limits).run(Conversation(), "Add The Last Lighthouse"), server


def test_a_reply_streams_thinking_apart_from_text_with_usage_and_timings() -> None:
    wire = [reply("Two copies are left.", "I look at the shelf.", usage=(169, 15), **DRIP)]
    with OllamaServer(wire) as server:
        *deltas, whole = ask(server)
    assert len(deltas) == 9
    assert Delta("thinking_delta", "look ") in deltas
    assert (whole.text, whole.thinking) == ("Two copies are left.", "I look at the shelf.")
    assert (whole.usage.input_tokens, whole.usage.output_tokens) == (169, 15)
    times = whole.timings_ms
    assert (times.load, times.prompt, times.generation) == (90.0, 200.0, 900.0)
    assert 20 <= times.first_token < times.total
    assert 0 < whole.thinking_ms < times.total
    assert (whole.done_reason, whole.error, whole.incomplete) == ("stop", None, False)


def test_every_request_carries_the_same_options_and_the_thinking_switch() -> None:
    with OllamaServer([reply("Yes.")]) as server:
        list(ask(server))
    sent = server.requests[0]
    assert sent["options"] == {"num_ctx": 16_384, "num_predict": 4_096, "temperature": 0.0, "seed": 42}
    assert (sent["think"], sent["keep_alive"], sent["stream"]) == (True, "10m", True)


def test_chunks_that_arrive_together_become_one_delta_of_each_kind() -> None:
    with OllamaServer([reply("a b c d e f", "g h i j")]) as server:
        deltas = list(ask(server))[:-1]
    assert deltas == [Delta("thinking_delta", "g h i j"), Delta("text_delta", "a b c d e f")]


def test_calls_in_the_last_chunk_are_read() -> None:
    calls = [{"function": {"name": "check_stock", "arguments": {"book_id": 7}}}]
    last = end() | {"message": {"role": "assistant", "content": "", "tool_calls": calls}}
    whole = answer({"lines": [last]})
    assert [(call.name, call.arguments) for call in whole.tool_calls] == [("check_stock", {"book_id": 7})]


def test_absent_usage_and_times_are_unknown_not_zero() -> None:
    whole = answer({"lines": [chunk(content="Yes."), chunk() | {"done": True}]})
    assert whole.usage.input_tokens is None
    assert whole.usage.output_tokens is None
    assert whole.timings_ms.load is None
    assert whole.done_reason is None


def test_five_requests_hold_the_whole_history_with_one_result_after_each_call() -> None:
    result, server = run(lighthouse)
    assert (result.stop_reason, result.steps, result.tool_calls) == ("done", 5, 4)
    assert result.usage.input_tokens == 2196 + 2628 + 3018 + 3283 + 3594
    assert "16.50" in result.answer
    roles = ["system", "user"]
    for number, body in enumerate(server.requests):
        messages = body["messages"]
        assert [message["role"] for message in messages] == roles + ["assistant", "tool"] * number
        assert server.requests[number - 1]["messages"] == messages[:-2] or number == 0
        for called, answered in zip(messages[2::2], messages[3::2], strict=True):
            assert called["tool_calls"][0]["function"]["name"] == answered["tool_name"]
            assert called["thinking"]
            assert not called.get("content")


def test_two_calls_in_one_reply_get_two_results_in_their_order() -> None:
    calls = [("check_stock", {"book_id": 2}), ("check_stock", {"book_id": 7})]
    result, server = run([reply(calls=calls), reply("Book 7 is there.")])
    assert result.tool_calls == 2
    called, *answered = server.requests[1]["messages"][2:]
    assert [call["function"]["arguments"]["book_id"] for call in called["tool_calls"]] == [2, 7]
    assert [message["content"] for message in answered] == ["book 2: 0", "book 7: 15"]


def test_five_requests_share_one_connection() -> None:
    assert run(lighthouse)[1].connections == 1


def test_a_wrap_up_is_asked_without_tools() -> None:
    result, server = run(lighthouse, max_steps=2)
    assert (result.stop_reason, result.answer_by, result.model_calls) == ("max_steps", "model", 3)
    assert server.requests[-1]["tools"] == []


def test_with_no_server_the_run_ends_at_once_and_says_how_to_start_one() -> None:
    result, _ = run([{"behaviour": "refuse"}])
    assert (result.stop_reason, result.model_calls) == ("model_unavailable", 1)
    assert "Ollama is not running. Start it with: ollama serve" in result.answer


@pytest.mark.parametrize(
    "words", ["model 'qwen3:4b' not found", 'model "qwen3:4b" not found, try pulling it first']
)
def test_a_model_that_is_not_pulled_comes_with_its_command(words: str) -> None:
    result, _ = run([failed(404, words)])
    assert result.stop_reason == "model_unavailable"
    assert "The model qwen3:4b is not pulled. Get it with: ollama pull qwen3:4b" in result.answer


def test_a_model_that_cannot_think_is_asked_once_more_without_and_the_run_remembers() -> None:
    refusal = '"qwen3:4b" does not support thinking'
    look = ("check_stock", {"book_id": 7})
    result, server = run([failed(400, refusal), reply(calls=[look]), reply("Yes.")])
    assert [body.get("think") for body in server.requests] == [True, None, None]
    first, second = (event for event in result.trace if event.kind == "model_reply")
    assert (first.without_thinking, len(first.warnings)) == (True, 1)
    assert (second.without_thinking, second.warnings, second.text) == (False, [], "Yes.")
    asked = [event.options for event in result.trace if event.kind == "model_request"]
    assert [options.think for options in asked if options] == [True, None]


def test_calls_are_sent_in_ollamas_shape() -> None:
    call = {"id": "call_1.1.1", "name": "check_stock", "arguments": {"book_id": 7}}
    message: Message = {"role": "assistant", "content": "", "thinking": "Hm.", "tool_calls": [call]}
    (sent,) = body_of(MODEL, [message], [], ModelOptions())["messages"]
    function = {"name": "check_stock", "arguments": {"book_id": 7}}
    assert list(sent.items()) == [
        ("role", "assistant"),
        ("content", ""),
        ("thinking", "Hm."),
        ("tool_calls", [{"id": "call_1.1.1", "function": function}]),
    ]


def test_what_a_run_must_know_of_its_model_is_asked_once_for_many_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    with OllamaServer() as server:
        paths, plain = [], server.step
        monkeypatch.setattr(server, "step", lambda path, body: paths.append(path) or plain(path, body))
        infos = {OllamaModel(MODEL, server.url).info.digest for _ in range(20)}
        assert paths == ["/api/tags", "/api/show"]
        monkeypatch.setattr("agent.models.ollama.server.STAYS_TRUE_SECONDS", 0.0)
        infos |= {OllamaModel(MODEL, server.url).info.digest for _ in range(2)}
        assert paths == ["/api/tags", "/api/show", "/api/tags", "/api/tags"]
        listed = server._listed
        monkeypatch.setattr(server, "_listed", lambda name: listed(name) | {"digest": "of another pull"})
        infos.add(OllamaModel(MODEL, server.url).info.digest)
        assert paths[4:] == ["/api/tags", "/api/show"]
    assert len(infos) == 2


SPOKE = chunk(content="Dune is")


def test_a_model_without_tools_is_told_by_name() -> None:
    result, _ = run([failed(400, "registry.ollama.ai/library/x:4b does not support tools")])
    assert result.stop_reason == "model_unavailable"
    assert "The model qwen3:4b cannot call tools." in result.answer


def test_calls_of_a_reply_that_broke_off_are_dropped_with_a_warning() -> None:
    call = {"function": {"name": "add_to_cart", "arguments": {"book_id": 7}}}
    result, _ = run([{"lines": [chunk(tool_calls=[call])]}])
    assert (result.stop_reason, result.tool_calls) == ("model_error", 0)
    said = next(event for event in result.trace if event.kind == "model_reply")
    assert said.warnings == ["The reply broke off, so its calls were not run: add_to_cart"]


@pytest.mark.parametrize("ending", ["hang", "close", "reset"])
def test_a_reply_that_is_done_counts_however_the_connection_ends(ending: str) -> None:
    whole = answer(reply("Yes.") | {"then": ending, "line_delay_s": 0.01})
    assert (whole.text, whole.error, whole.incomplete) == ("Yes.", None, False)


@pytest.mark.parametrize("step", [{"behaviour": "hang-before-response"}, {"lines": [SPOKE], "then": "hang"}])
def test_a_server_that_hangs_is_left_at_the_deadline(step: Step) -> None:
    with OllamaServer([step]) as server:  # for ever, and the model's own patience is minutes
        result = bookshop(server, max_seconds=0.3).run(Conversation(), "Hello")
        assert server.wait_until(lambda seen: seen.disconnects)
    assert (result.stop_reason, result.model_calls) == ("max_seconds", 1)


PHASES = [
    ({"behaviour": "hang-before-response"}, ""),
    (reply("Late.", delay_s=60), ""),
    ({"lines": [chunk(thinking="Hm, "), chunk(thinking="well.")], "then": "hang"}, "thinking_delta"),
    (
        {"lines": [chunk(thinking="Hm."), chunk(content="Dune "), chunk(content="is")], "then": "hang"},
        "text_delta",
    ),
    ({"lines": [chunk(thinking="Hm."), *[chunk(content="word ")] * 500], "line_delay_s": 0.01}, "text_delta"),
]


@pytest.mark.parametrize(
    ("step", "after"), PHASES, ids=["no-answer", "loading", "thinking", "answering", "between-tokens"]
)
def test_closing_from_another_thread_ends_reply_and_connection_at_once_each_time(step: Step, after: str) -> None:
    with OllamaServer([step]) as server:
        for time_of_twenty in range(20):
            stream, got, reached = ask(server), [], threading.Event()
            reader = threading.Thread(target=_read, args=(stream, got, after, reached))
            reader.start()
            asked = time_of_twenty + 1
            assert reached.wait(2) if after else server.wait_until(lambda seen, n=asked: len(seen.requests) == n)
            stream.close()
            reader.join(10)
            assert not reader.is_alive()
            assert server.wait_until(lambda seen, n=asked: len(seen.disconnects) == n)
            whole = got[-1]
            assert (whole.incomplete, whole.error.stop_reason) == (True, "cancelled")  # the deadline is later
            assert whole.thinking + whole.text == "".join(delta.text for delta in got[:-1])


def _read(stream: OllamaStream, got: list[object], after: str, reached: threading.Event) -> None:
    for item in stream:
        got.append(item)
        if item.kind == after:
            reached.set()


def test_a_closed_stream_asks_nothing() -> None:
    with OllamaServer([reply("Yes.")]) as server:
        stream = ask(server)
        stream.close()
        (whole,) = stream
        assert whole.incomplete
        assert server.requests == []


def test_leaving_the_iteration_closes_the_connection() -> None:
    with OllamaServer([{"lines": [chunk(thinking="hm ")] * 500, "line_delay_s": 0.01}]) as server:
        with closing(iter(ask(server))) as items:
            next(items)
        assert server.wait_until(lambda seen: seen.disconnects)


def test_the_next_request_does_not_wait_for_a_reply_that_was_closed() -> None:
    with OllamaServer([{"behaviour": "hang-before-response"}, reply("Yes.")]) as server:
        stream = ask(server)
        threading.Thread(target=lambda: server.wait_until(lambda seen: seen.requests) and stream.close()).start()
        assert list(stream)[-1].incomplete
        assert list(ask(server))[-1].text == "Yes."
        assert server.wait_until(lambda seen: seen.disconnects)


def test_a_server_that_is_there_tells_its_models_and_their_digests() -> None:
    with OllamaServer(models=["qwen3:4b", "gemma3:latest"]) as server:
        state = OllamaEngine(server.url).find_server()
        info = OllamaModel("gemma3", server.url).info
    assert (state.reachable, state.version) == (True, "0.33.0")
    assert state.find("qwen3:4b")
    assert state.find("gemma3")
    assert not state.find("qwen3")
    assert info.digest == state.models[1].digest
    assert info.label == "gemma3 on Ollama"


@pytest.mark.parametrize("hangs", [True, False])
def test_a_server_that_does_not_answer_is_not_waited_for(hangs: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    with OllamaServer([{"behaviour": "refuse"}]) as server:
        if hangs:
            monkeypatch.setattr(server, "step", lambda *_: {"behaviour": "hang-before-response"})
        assert OllamaEngine(server.url).find_server(0.1) == ServerState()
        assert OllamaModel(MODEL, server.url).info.digest is None


@pytest.mark.parametrize("host", ["http://[bad", "localhost:99999", "ftp://localhost"])
def test_an_address_that_is_none_is_told_in_words(host: str) -> None:
    (whole,) = OllamaModel(MODEL, host).stream(ASKED, [], ModelOptions(), None)
    assert whole.error.message.startswith("OLLAMA_HOST is not an address.")
    assert not OllamaEngine(host).find_server().reachable


def test_a_proxy_in_the_environment_is_not_asked_for_a_server_on_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with OllamaServer([reply("Yes.")]) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        (*_, whole) = OllamaModel(MODEL).stream(ASKED, [], ModelOptions(), None)
    assert whole.text == "Yes."
