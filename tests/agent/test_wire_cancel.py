"""Stopping a run, in whatever it waits for: the server sees the client leave at once."""

import threading
import time
from itertools import count

import pytest

from agent.cancel import Cancel
from agent.guards.limits import Limits
from agent.loop.agent import Agent
from agent.models.ollama import OllamaModel
from agent.views.conversation import Conversation
from assistant.bookshop import Bookshop
from assistant.settings import Settings
from tests.agent.wire import assert_readable, contents, failed, in_time, play, said, shelf, stop_once, wire_of
from tests.ollama_server import MODEL, OllamaServer, Step, chunk

DONE = said("Here you are.")
THOUGHT = chunk(thinking="Hm.")
"""After which text is drawn as it comes: before it, it could still turn out to be thinking."""
PHASES: dict[str, tuple[Step, str]] = {
    "queue": ({"behaviour": "hang-before-response"}, ""),
    "load": (said("Late.") | {"delay_s": 600}, ""),
    "prompt": ({"lines": [], "then": "hang"}, ""),
    "thinking": ({"lines": [chunk(thinking="Hm, "), chunk(thinking="well.")], "then": "hang"}, "thinking_delta"),
    "answer": ({"lines": [THOUGHT, *[chunk(content="word ")] * 60_000], "line_delay_s": 0.01}, "text_delta"),
}
TIMES = 20


def stop_in(server: OllamaServer, after: str) -> str:
    """Run, stop once the phase is reached and see the server be left; why the run ended."""
    kept, cancel, conversation = Limits(max_seconds=300), Cancel(), Conversation()
    agent = Agent(OllamaModel(MODEL, server.url, digest="known"), shelf(), "Be brief.", kept)
    seen, left, asked = threading.Event(), len(server.disconnects), len(server.requests)

    def run() -> None:
        for item in agent.stream(conversation, "Hello", cancel=cancel):
            if item.kind == after:
                seen.set()

    thread = threading.Thread(target=run)
    thread.start()
    assert server.wait_until(lambda s: len(s.requests) > asked, 5)
    assert not after or seen.wait(5)
    time.sleep(0.01)  # so that it really waits
    cancel.request()
    assert server.wait_until(lambda s: len(s.disconnects) > left, 10), "left in the middle of what it does"
    thread.join(10)
    assert not thread.is_alive()
    end = conversation.events[-1]
    assert end.kind == "run_finished"
    return end.stop_reason


@pytest.mark.parametrize(("step", "after"), PHASES.values(), ids=PHASES)
def test_in_every_phase_a_stop_leaves_the_server_each_time(step: Step, after: str) -> None:
    with OllamaServer([step]) as server:  # which would go on for minutes
        assert {stop_in(server, after) for _ in range(TIMES)} == {"cancelled"}
    assert len(server.requests) == len(server.disconnects) == TIMES


def test_a_stop_in_mid_answer_closes_the_connection_and_the_part_is_no_finished_turn(bookshop: Bookshop) -> None:
    (step,) = wire_of("cancel-break-without-close")
    cancel = Cancel()
    wire = [step | {"lines": [THOUGHT, *step["lines"]]}]
    watch = stop_once("text_delta", cancel)
    played = play(wire, bookshop, cancel=cancel, watch=watch, until=lambda seen: seen.disconnects)
    assert (played.stop, len(played.requests), len(played.disconnects)) == ("cancelled", 1, 1)
    assert "you stopped it" in played.answer
    assert played.replies[0].incomplete
    assert "word" in played.replies[0].text
    later = play([DONE], bookshop, conversation=played.conversation)
    assert "word word" not in str(later.sent(0))
    assert contents(later.sent(0), "assistant") == [played.answer]


def test_a_stop_before_the_first_byte_ends_at_once_and_the_next_message_waits_for_nothing(
    bookshop: Bookshop,
) -> None:
    conversation = bookshop.conversation(1)
    wire = [*wire_of("cancel-during-prefill")[:1], DONE]
    wire[0] = wire[0] | {"delay_s": 600}
    with OllamaServer(wire) as server:
        agent = bookshop.agent(OllamaModel(MODEL, server.url), 1, conversation, Settings())
        bookshop.runs.start(agent, conversation, "Hello", "one")
        assert server.wait_until(lambda seen: seen.requests, 5)
        bookshop.runs.stop(conversation.handle)
        assert bookshop.runs.wait(conversation.handle, 10)
        assert server.wait_until(lambda seen: seen.disconnects)
        bookshop.runs.start(agent, conversation, "Hello again", "two")
        assert bookshop.runs.wait(conversation.handle, 10)
    ends = [event for event in conversation.events if event.kind == "run_finished"]
    assert [end.stop_reason for end in ends] == ["cancelled", "done"]
    assert ends[1].answer == "Here you are."
    assert "late" not in str(server.requests[1]["messages"])


def test_a_stop_in_the_pause_before_another_try_ends_it_at_once(
    bookshop: Bookshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.loop.model_call.PAUSES", (600.0, 600.0))
    cancel = Cancel()
    busy, watch = failed(503, "server busy, please try again"), stop_once("model_reply", cancel)
    played = in_time(lambda: play([busy], bookshop, cancel=cancel, watch=watch, max_seconds=1_000))
    assert (played.stop, len(played.requests)) == ("cancelled", 1)


def test_a_stop_asked_for_before_the_run_sends_nothing(bookshop: Bookshop) -> None:
    cancel = Cancel()
    cancel.request()
    played = play([DONE], bookshop, cancel=cancel)
    assert (played.stop, played.requests) == ("cancelled", [])


def test_a_generator_that_is_closed_by_its_reader_closes_the_connection(bookshop: Bookshop) -> None:
    conversation = Conversation()
    with OllamaServer([{"lines": [THOUGHT, *[chunk(content="word ")] * 500], "line_delay_s": 0.01}]) as server:
        agent = bookshop.agent(OllamaModel(MODEL, server.url), 1, conversation, Settings())
        stream = agent.stream(conversation, "Hello")
        next(item for item in stream if item.kind == "text_delta")
        stream.close()
        assert server.wait_until(lambda seen: seen.disconnects)
    end = conversation.events[-1]
    assert (end.kind, end.stop_reason) == ("run_finished", "cancelled")
    assert_readable(end.answer)


def test_every_way_to_stop_leaves_the_line_fit_for_the_next_run(bookshop: Bookshop) -> None:
    turns = count()

    def now_and_then(body: object) -> Step:
        return {"behaviour": "hang-before-response"} if next(turns) % 2 == 0 else DONE

    conversation = bookshop.conversation(1)
    with OllamaServer(now_and_then) as server:
        agent = bookshop.agent(OllamaModel(MODEL, server.url), 1, conversation, Settings())
        for number in range(6):
            asked = len(server.requests)
            bookshop.runs.start(agent, conversation, f"Hello {number}", f"m{number}")
            assert server.wait_until(lambda seen, asked=asked: len(seen.requests) > asked, 5)
            if number % 2 == 0:
                bookshop.runs.stop(conversation.handle)
            assert bookshop.runs.wait(conversation.handle, 5)
    ends = [event.stop_reason for event in conversation.events if event.kind == "run_finished"]
    assert ends == ["cancelled", "done"] * 3
