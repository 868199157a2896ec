"""The trace as DataFrames: their documented columns, and nothing made up where nothing is known."""

import subprocess
import sys
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise

import pandas as pd
import pytest

from agent.trace import (
    AnyEvent,
    GuardDecision,
    ModelReply,
    ModelRequest,
    Prices,
    Timings,
    ToolCall,
    ToolFinished,
    Usage,
)
from agent.views import frames
from agent.views.conversation import Conversation
from assistant.bookshop import Bookshop
from assistant.settings import Settings
from lab.scripts import scripted_models


def request(step: int, estimated: int, again: int, *, wrap_up: bool = False) -> ModelRequest:
    return ModelRequest(
        step=step,
        new_messages=[],
        digest="",
        estimated_input_tokens=estimated,
        resent_tokens=again,
        new_tokens=estimated - again,
        wrap_up=wrap_up,
        elapsed_ms=0.0,
    )


def reply(step: int, sent: int | None, written: int | None, *, estimated: bool = False) -> ModelReply:
    usage = Usage(input_tokens=sent, output_tokens=written, estimated=estimated)
    return ModelReply(step=step, model="qwen3:4b", text="Fine.", usage=usage)


def known(frame: pd.DataFrame, *columns: str) -> list[tuple[object, ...]]:
    """The rows of some columns, with None for what is missing."""
    return [
        tuple(None if value is pd.NA else value for value in row) for row in frame[[*columns]].itertuples(False)
    ]


@pytest.fixture
def talk(bookshop: Bookshop) -> Conversation:
    """Two runs: one of five steps, and one that a guard stops."""
    conversation = Conversation()
    prices = Prices(input_per_million=Decimal(2), output_per_million=Decimal(10))
    for script in ("script:lighthouse", "script:endless"):
        agent = bookshop.agent(scripted_models()[script], 1, conversation, Settings(prices=prices))
        agent.run(conversation, f"Play {script}.")
    return conversation


@pytest.mark.parametrize("name", frames.FRAMES)
def test_every_frame_has_its_documented_columns_whatever_the_events(name: str, talk: Conversation) -> None:
    assert frames.FRAMES.keys() == frames.COLUMNS.keys()
    wanted = {column: dtype for column, (dtype, _) in frames.COLUMNS[name].items()}
    for events in (talk.events, talk.run_events(), talk.events[: len(talk.events) // 2], talk.events[3:5], []):
        frame = frames.FRAMES[name](events)
        assert {column: str(dtype) for column, dtype in frame.dtypes.items()} == wanted
        assert frame.index.tolist() == list(range(len(frame)))
    assert all(meaning for _, meaning in frames.COLUMNS[name].values())


def test_two_runs_are_ten_model_calls_with_their_tokens(talk: Conversation) -> None:
    steps = frames.steps(talk.events)
    assert steps["turn"].tolist() == [1] * 5 + [2] * 5
    assert steps["step"].tolist() == [1, 2, 3, 4, 5, 1, 2, 3, 4, 0]
    assert steps["wrap_up"].tolist() == [False] * 9 + [True]
    assert steps["calls"].tolist()[:5] == ["search_books", "check_stock", "check_stock", "add_to_cart", ""]
    assert (steps["resent"] + steps["new"]).equals(steps["input"])
    assert steps["resent"][0] == 0
    assert all(later > earlier for earlier, later in pairwise(steps["resent"][:5]))
    assert known(steps.dropna(subset="stop"), "turn", "stop") == [(1, "done"), (2, "repeated_call")]
    sums = steps.groupby("turn")[["input", "output", "cost"]].sum()
    runs = frames.runs(talk.events).set_index("turn")
    assert sums["input"].tolist() == runs["input"].tolist()
    assert sums["output"].tolist() == runs["output"].tolist()
    assert sums["cost"].tolist() == pytest.approx(runs["cost"].tolist())
    assert steps.groupby("turn")["running"].last().tolist() == (runs["input"] + runs["output"]).tolist()


def test_the_sums_of_a_run_are_those_it_ended_with(talk: Conversation) -> None:
    ends = [event for event in talk.events if event.kind == "run_finished"]
    runs = frames.runs(talk.events)
    columns = ("stop_reason", "answer_by", "steps", "model_calls", "tool_calls", "seconds")
    assert known(runs, *columns) == [tuple(getattr(end, name) for name in columns) for end in ends]
    assert known(runs, "request", "cost") == [
        (f"Play script:{name}.", float(end.cost or 0))
        for name, end in zip(("lighthouse", "endless"), ends, strict=True)
    ]
    assert runs["started"].tolist() == [event.at for event in talk.events if event.kind == "run_started"]


def test_a_run_that_goes_on_has_its_sums_so_far_and_no_end(talk: Conversation) -> None:
    events = talk.events[: [event.kind for event in talk.events].index("tool_finished") + 1]
    assert known(frames.runs(events), "steps", "tool_calls", "stop_reason", "answer_by", "seconds") == [
        (1, 1, None, None, None)
    ]
    assert known(frames.steps(events), "step", "stop") == [(1, None)]


@pytest.mark.parametrize(
    ("events", "row"),
    [
        ([request(1, 100, 40), reply(1, 130, 20)], (130, 40, 90, 20, 150, False)),
        ([request(1, 100, 40), reply(1, 130, 20, estimated=True)], (130, 40, 90, 20, 150, True)),
        ([request(1, 100, 40), reply(1, None, None)], (100, 40, 60, None, 100, True)),
        ([request(1, 100, 0)], (100, 0, 100, None, 100, True)),
        ([request(2, 100, 80), reply(2, 50, 5)], (50, 50, 0, 5, 55, False)),
    ],
    ids=["counted", "reply estimated", "reply without a count", "no reply yet", "fewer than were sent before"],
)
def test_tokens_are_the_models_count_else_our_estimate(
    events: Sequence[AnyEvent], row: tuple[object, ...]
) -> None:
    steps = frames.steps(events)
    assert known(steps, "input", "resent", "new", "output", "running", "estimated") == [row]
    assert known(steps, "run_id", "turn", "total_s", "tools_s", "cost") == [(None,) * 5]


def test_the_seconds_of_a_step_are_those_that_are_known() -> None:
    said = reply(1, 1, 1).model_copy(
        update={"timings_ms": Timings(load=0.0, generation=1_500.0, total=2_000.0), "thinking_ms": 250.0}
    )
    call = ToolCall(id="call_1", name="check_stock", arguments={"book_id": 7})
    done = [
        ToolFinished(call=call, raw_arguments={}, ran=ran, ok=ran, result="1", duration_ms=9.0)
        for ran in (True, False)
    ]
    parts = [f"{name}_s" for name in ("load", "prompt", "generation", "thinking", "first_token", "total", "tools")]
    assert known(frames.steps([request(1, 1, 0), said, *done]), *parts) == [
        (0.0, None, 1.5, 0.25, None, 2.0, 0.009)
    ]


def test_a_call_without_a_result_yet_is_a_call() -> None:
    call = ToolCall(id="call_1", name="check_stock", arguments={"book_id": 7})
    asked = reply(1, 1, 1).model_copy(update={"tool_calls": [call]})
    shown = ("step", "tool", "arguments", "ran", "ok", "result_chars", "ms")
    assert known(frames.calls([request(1, 1, 0), asked]), *shown) == [
        (1, "check_stock", '{"book_id": 7}', None, None, None, None)
    ]
    done = ToolFinished(step=1, call=call, raw_arguments={}, ran=True, ok=True, result="3 copies", duration_ms=2.0)
    assert known(frames.calls([request(1, 1, 0), asked, done]), *shown) == [
        (1, "check_stock", '{"book_id": 7}', True, True, 8, 2.0)
    ]


def test_what_a_guard_did_is_a_row(talk: Conversation) -> None:
    decided = frames.decisions(talk.events)
    assert known(decided, "turn", "guard", "action", "value", "threshold", "moment", "stop") == [
        (2, "repeated_call", "nudge", 3.0, 3.0, "before_tool", None),
        (2, "repeated_call", "stop", 4.0, 4.0, "before_tool", "repeated_call"),
    ]
    bare = GuardDecision(guard="max_tokens", action="stop", value=2, threshold=1, reason="too many")
    assert known(frames.decisions([bare]), "run_id", "moment", "seconds", "call_id") == [(None,) * 4]


def test_importing_the_frames_imports_no_pandas() -> None:
    look = "import sys, agent.views.frames; print(sorted({'pandas', 'pyarrow', 'numpy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
