"""Trying again after a failed model call."""

from typing import Any

import pytest

from agent.models.scripted import call, say
from agent.trace import ModelFault, ModelReply
from tests.agent.playing import Shelf, play


def failed(retry: Any, reason: Any = "model_error") -> ModelReply:
    return ModelReply(model="m", error=ModelFault(stop_reason=reason, message="it broke", retry=retry))


def test_a_reply_of_bad_output_is_asked_for_once_more_with_another_seed() -> None:
    played = play(failed("changed"), say("Yes."))
    assert (played.result.stop_reason, played.result.answer, played.result.steps) == ("done", "Yes.", 2)
    first, second = played.model.options
    assert first.seed != second.seed


@pytest.mark.parametrize(("retry", "calls"), [("never", 1), ("changed", 2)])
def test_the_tries_are_bounded_and_end_in_words(retry: str, calls: int) -> None:
    played = play(failed(retry), failed(retry), failed(retry), failed(retry))
    assert (played.result.stop_reason, played.result.model_calls) == ("model_error", calls)
    assert "it broke" in played.result.answer


def test_a_success_between_two_failures_gives_new_patience() -> None:
    played = play(failed("changed"), call("look"), failed("changed"), say("Yes."))
    assert played.result.stop_reason == "done"


def test_a_retry_repeats_no_effect() -> None:
    shelf = Shelf()
    played = play(call("put", what="x"), failed("changed"), say("Put."), toolbox=shelf.tools())
    assert played.result.stop_reason == "done"
    assert shelf.things == {"x": 1}


def test_waiting_for_a_busy_server_keeps_to_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.loop.model_call.PAUSES", (3_600.0, 3_600.0))
    played = play(failed("later", "model_unavailable"), max_seconds=0.1)
    assert played.result.stop_reason in ("max_seconds", "model_unavailable")
    assert len(played.model.requests) == 1


def test_a_cut_reply_gets_a_larger_allowance_once_and_the_numbers_are_named() -> None:
    cut = ModelReply(model="m", thinking="hm", done_reason="length")
    played = play(cut, cut, cut)
    assert [options.num_predict for options in played.model.options] == [4_096, 8_192, 8_192]
    assert played.result.stop_reason == "empty_answer"
    assert "limit of output tokens" in played.result.answer
    assert "4,096 allowed" in " ".join(played.of("model_reply")[0].warnings)
