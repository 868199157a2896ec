"""The steps of a run, as they are grouped and worded."""

from collections.abc import Sequence
from typing import get_args

import pytest

from agent.trace import (
    AnyEvent,
    ApprovalAnswered,
    ApprovalRequested,
    GuardDecision,
    ModelFault,
    ModelReply,
    ModelRequest,
    Note,
    NotRun,
    ShopChanged,
    Timings,
    ToolCall,
    ToolFinished,
    Usage,
)
from agent.views.conversation import Conversation
from assistant.bookshop import Bookshop
from assistant.settings import Settings
from lab.scripts import scripted_models
from tests.ui.conftest import JOB
from ui.panels.timeline import NOT_RUN, NOTES, Step, answer_text, call_text, step_label, steps_of
from ui.safe import WORD_JOINER


def request(step: int = 1, *, wrap_up: bool = False) -> ModelRequest:
    return ModelRequest(
        step=step,
        new_messages=[],
        digest="",
        estimated_input_tokens=100,
        resent_tokens=0,
        new_tokens=100,
        wrap_up=wrap_up,
        elapsed_ms=0.0,
    )


def reply(*calls: str, text: str = "", **more: object) -> ModelReply:
    called = [ToolCall(id=f"call_{name}", name=name, arguments={}) for name in calls]
    return ModelReply(step=1, model="m", text=text, tool_calls=called, **more)


def finished(name: str = "check_stock", **arguments: object) -> ToolFinished:
    call = ToolCall(id="call_1", name=name, arguments=arguments)
    return ToolFinished(step=1, call=call, raw_arguments=arguments, ran=True, ok=True, result="1 copy")


def test_the_lighthouse_job_is_five_steps_named_by_what_they_did(lighthouse: Sequence[AnyEvent]) -> None:
    steps = steps_of(lighthouse)
    labels = [step_label(step) for step in steps]
    assert [label.split(" · ")[0] for label in labels] == ["Step 1", "Step 2", "Step 3", "Step 4", "Step 5"]
    for label, what in zip(
        labels, ["search\\_books", "check\\_stock", "check\\_stock", "add\\_to\\_cart", "answer"], strict=True
    ):
        assert what in label
        assert " in + " in label


def test_every_result_stands_in_the_step_that_asked_for_it(lighthouse: Sequence[AnyEvent]) -> None:
    results = [[event.call.name for event in step.after] for step in steps_of(lighthouse)]
    assert results == [["search_books"], ["check_stock"], ["check_stock"], ["add_to_cart"], []]


def test_what_a_guard_decided_stands_in_the_step_it_stopped(bookshop: Bookshop) -> None:
    conversation = Conversation()
    bookshop.agent(scripted_models()["script:endless"], 1, conversation, Settings()).run(conversation, JOB)
    steps = steps_of(conversation.run_events())
    guarded = [event.action for step in steps for event in step.after if event.kind == "guard_decision"]
    assert guarded == ["nudge", "stop"]
    assert step_label(steps[-1]).startswith("Wrap-up · ")


def test_notes_and_news_of_the_shop_stand_before_the_call_they_went_with() -> None:
    note = Note(purpose="corrective", text="Answer, please.")
    news = ShopChanged(resource="stock:7", version_before=1, version_after=2, by="terminal", value="3 copies")
    first, second = steps_of([request(1), reply(), news, note, request(2), reply(text="Fine.")])
    assert first.before == []
    assert [event.kind for event in second.before] == ["shop_changed", "note"]


def test_no_events_are_no_steps() -> None:
    assert steps_of([]) == []


def test_a_guard_that_stopped_before_the_first_call_breaks_nothing() -> None:
    stop = GuardDecision(guard="max_tokens", action="stop", value=2, threshold=1, reason="too many")
    assert steps_of([stop, finished()]) == []


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        (None, "Step 1 · no reply"),
        (reply(text="Fine."), "Step 1 · answer · unknown in + unknown out"),
        (reply(), "Step 1 · empty reply · unknown in + unknown out"),
        (reply(text="  "), "Step 1 · empty reply · unknown in + unknown out"),
        (reply("a", "b", text="Let me see."), "Step 1 · a, b · unknown in + unknown out"),
        (
            reply(text="Fine.", usage=Usage(input_tokens=1_234, output_tokens=5)),
            "Step 1 · answer · 1,234 in + 5 out",
        ),
        (
            reply(text="Fine.", usage=Usage(input_tokens=0, output_tokens=0, estimated=True)),
            "Step 1 · answer · ~0 in + ~0 out",
        ),
        (
            reply(text="Fine.", usage=Usage(input_tokens=7), timings_ms=Timings(total=1_250)),
            "Step 1 · answer · 7 in + unknown out · 1.2 s",
        ),
        (
            reply("a", error=ModelFault(stop_reason="model_error", message="it broke off")),
            "Step 1 · failed · unknown in + unknown out",
        ),
    ],
)
def test_a_step_is_one_line(answer: ModelReply | None, label: str) -> None:
    assert step_label(Step(request(), answer)) == label


def test_a_step_that_waits_says_for_what() -> None:
    assert step_label(Step(request()), "waiting for the model") == "Step 1 · waiting for the model"


def test_a_tool_name_of_a_model_is_no_markup() -> None:
    label = step_label(Step(request(), reply(":red[x](http://evil/)`\n# y")))
    assert "\\:red\\[x\\]\\(http\\:" in label.replace(WORD_JOINER, "")
    assert "\n" not in label


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "check_stock()"),
        ({"book_id": 7}, "check_stock(book_id=7)"),
        ({"query": "it's", "n": None, "ok": True}, 'check_stock(query="it\'s", n=None, ok=True)'),
        ({"query": "a\nb\u202e"}, "check_stock(query='a\\nb\\u202e')"),
    ],
)
def test_a_call_is_written_as_it_would_be_made(arguments: dict[str, object], text: str) -> None:
    assert call_text("check_stock", arguments) == text


def test_a_long_call_is_cut() -> None:
    assert len(call_text("check_stock", {"query": "x" * 10_000})) == 4_000


def test_every_reason_for_a_call_that_was_not_run_and_every_note_has_words() -> None:
    assert NOT_RUN.keys() == set(get_args(NotRun))
    assert NOTES.keys() == set(get_args(Note.model_fields["purpose"].annotation))


def test_a_step_whose_call_waits_says_so_until_it_is_answered() -> None:
    call = ToolCall(id="call_1", name="add_to_cart", arguments={"book_id": 7})
    asked = ApprovalRequested(step=1, call=call, reason="The cart would come to $16.50.", elapsed_ms=1.0)
    said = ApprovalAnswered(step=1, call_id="call_1", approved=True, by="test")
    (waiting,) = steps_of([request(), reply("add_to_cart"), asked])
    (answered,) = steps_of([request(), reply("add_to_cart"), asked, said])
    assert "waits for a person" in step_label(waiting)
    assert "waits for a person" not in step_label(answered)


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"approved": True}, "A person said yes (website ab12)."),
        ({"approved": False}, "A person said no (website ab12)."),
        (
            {"approved": True, "arguments": {"quantity": 2}},
            "A person said yes, with other arguments (website ab12): ",
        ),
    ],
)
def test_what_a_person_said_of_a_call_is_told_with_its_channel(more: dict[str, object], text: str) -> None:
    assert answer_text(ApprovalAnswered(step=1, call_id="c", by="website ab12", **more)).startswith(text)
