"""Where the time of a step went: told, measured or left out, and never made up."""

import pytest
from streamlit.testing.v1 import AppTest

from agent.trace import ModelReply, ModelRequest, Timings, ToolCall, ToolFinished, Usage
from agent.views.steps import Step
from tests.ui.conftest import open_steps
from ui.panels.timeline import step_icon, step_label
from ui.panels.timings import CACHE_LOST, Part, parts_line, reading_speed, spoken, step_parts, writing_speed

CALLS = [ToolCall(id="call_1", name="check_stock", arguments={})]


def request(resent: int = 0, *, prefix_kept: bool = True) -> ModelRequest:
    return ModelRequest(
        step=1,
        new_messages=[],
        digest="",
        estimated_input_tokens=resent + 10,
        resent_tokens=resent,
        new_tokens=10,
        elapsed_ms=0.0,
        prefix_kept=prefix_kept,
    )


def reply(times: dict[str, float], usage: dict[str, object] | None = None, **more: object) -> ModelReply:
    said: dict[str, object] = {"text": "Fine."} | more
    return ModelReply(model="m", timings_ms=Timings(**times), usage=Usage(**(usage or {})), **said)


def finished(ms: float, *, ran: bool = True) -> ToolFinished:
    return ToolFinished(call=CALLS[0], raw_arguments={}, ran=ran, ok=ran, result="1", duration_ms=ms)


def named(parts: list[Part]) -> dict[str, float]:
    return {part.name: round(part.ms, 3) for part in parts}


OURS = {"first_token": 1.0, "total": 6.0}
TOLD = {"load": 100.0, "prompt": 1_200.0, "generation": 8_000.0}


@pytest.mark.parametrize(
    ("times", "more", "parts"),
    [
        ({}, {}, {}),
        (TOLD, {}, {"load": 100, "prompt": 1_200, "writing": 8_000}),
        (TOLD | {"total": 9_320.0}, {}, {"load": 100, "prompt": 1_200, "writing": 8_000}),
        (TOLD | {"total": 12_300.0}, {}, {"load": 100, "prompt": 1_200, "writing": 8_000, "waiting": 3_000}),
        (TOLD | {"total": 9_000.0}, {}, {"load": 100, "prompt": 1_200, "writing": 8_000}),
        ({"generation": 8_000.0, "total": 10_000.0}, {}, {"writing": 8_000, "other": 2_000}),
        ({"load": 0.0, "prompt": 5.0}, {}, {"load": 0, "prompt": 5}),
        ({"total": 700.0}, {}, {"model": 700}),
        ({"first_token": 200.0, "total": 700.0}, {}, {"first token after": 200, "writing": 500}),
        ({"first_token": 200.0}, {}, {"first token after": 200}),
        ({"generation": 5.0}, {"thinking": "Hm."}, {"thinking and writing": 5}),
        ({"generation": 5.0}, {"thinking": "Hm.", "text": " "}, {"thinking": 5}),
        ({"generation": 5.0}, {"thinking": "Hm.", "text": "", "tool_calls": CALLS}, {"thinking and writing": 5}),
        ({"generation": 5.0}, {"text": "", "tool_calls": CALLS}, {"writing": 5}),
        (OURS | {"generation": 5.0}, {"thinking": "Hm.", "thinking_ms": 4.0}, {"thinking": 4, "answer": 1}),
        (OURS | {"generation": 5.0}, {"thinking": "Hm.", "thinking_ms": 9.0}, {"thinking and writing": 5}),
        (OURS | {"generation": 40.0}, {"thinking": "Hm.", "thinking_ms": 4.0}, {"thinking and writing": 40}),
    ],
)
def test_a_step_has_the_parts_that_are_known(
    times: dict[str, float], more: dict[str, object], parts: dict[str, float]
) -> None:
    assert named(step_parts(Step(request(), reply(times, **more)))) == parts


def test_tools_count_together_and_those_that_did_not_run_not_at_all() -> None:
    after = [finished(1.5), finished(2.5), finished(99.0, ran=False)]
    assert named(step_parts(Step(request(), reply({}), after=after))) == {"tools": 4}
    assert step_parts(Step(request(), reply({}), after=[finished(99.0, ran=False)])) == []


@pytest.mark.parametrize(
    ("usage", "times", "speed"),
    [
        ({"output_tokens": 73}, {"generation": 8_000.0}, 9.125),
        ({"output_tokens": 73}, {}, None),
        ({}, {"generation": 8_000.0}, None),
        ({"output_tokens": 0}, {"generation": 8_000.0}, None),
        ({"output_tokens": 73}, {"generation": 0.0}, None),
        ({"output_tokens": 73, "estimated": True}, {"generation": 8_000.0}, None),
    ],
)
def test_the_speed_of_writing_is_known_or_left_out(
    usage: dict[str, object], times: dict[str, float], speed: float | None
) -> None:
    assert writing_speed(reply(times, usage)) == speed


@pytest.mark.parametrize(
    ("asked", "usage", "prompt", "speed"),
    [
        (request(), {"input_tokens": 2_196}, 1_200.0, 1_830),
        (request(), {"input_tokens": 2_196, "cached_tokens": 0}, 1_200.0, 1_830),
        (request(2_000), {"input_tokens": 2_400, "cached_tokens": 2_000}, 200.0, 2_000),
        (request(2_000), {"input_tokens": 2_400}, 200.0, None),  # part of it came from the cache
        (request(2_000, prefix_kept=False), {"input_tokens": 2_400}, 1_200.0, 2_000),
        (request(), {"input_tokens": 2_400}, 20.0, None),  # an earlier run had sent the same beginning
        (request(), {"input_tokens": 2_400, "cached_tokens": 0}, 20.0, 120_000),
        (request(), {"input_tokens": 2_400, "cached_tokens": 2_400}, 20.0, None),
        (request(), {"input_tokens": 2_400, "cached_tokens": 9_000}, 20.0, None),
        (request(), {}, 1_200.0, None),
        (request(), {"input_tokens": 2_400}, 0.0, None),
        (request(), {"input_tokens": 2_400, "estimated": True}, 1_200.0, None),
    ],
)
def test_the_speed_of_reading_is_known_only_where_nothing_was_cached(
    asked: ModelRequest, usage: dict[str, object], prompt: float, speed: float | None
) -> None:
    assert reading_speed(asked, reply({"prompt": prompt}, usage)) == speed


@pytest.mark.parametrize(
    ("ms", "words"),
    [
        (0.0, "under 1 ms"),
        (0.4, "under 1 ms"),
        (1.0, "1 ms"),
        (2.4, "2 ms"),
        (99.0, "99 ms"),
        (99.6, "0.1 s"),
        (1_234.0, "1.2 s"),
        (99_949.0, "99.9 s"),
        (125_400.0, "2 min 5 s"),
    ],
)
def test_a_duration_is_spoken_as_people_do(ms: float, words: str) -> None:
    assert spoken(ms) == words


def test_the_parts_are_one_line() -> None:
    whole = reply(TOLD, {"input_tokens": 2_244, "output_tokens": 73})
    assert parts_line(step_parts(Step(request(), whole, after=[finished(2.0)]))) == (
        "load 0.1 s · prompt 1.2 s (1,870 tokens/s) · writing 8.0 s (9.1 tokens/s) · tools 2 ms"
    )
    assert parts_line([]) == ""


@pytest.mark.parametrize(
    ("said", "what", "icon"),
    [
        (reply({}, text="{}", unusable="call_as_text"), "call as text", "warning"),
        (reply({}, text="", thinking="Hm.", unusable="only_thinking"), "only thinking", "warning"),
        (reply({}, text="", unusable="empty"), "empty reply", "warning"),
        (reply({}, text="Well", unusable="cut_by_length"), "cut by length", "warning"),
        (reply({}), "answer", "check"),
    ],
)
def test_an_unusable_reply_is_no_answer(said: ModelReply, what: str, icon: str) -> None:
    step = Step(request(), said)
    assert step_label(step) == f"Step 1 · {what} · unknown in + unknown out"
    assert step_icon(step) == f":material/{icon}:"


def test_a_cut_prompt_is_said_in_the_line_of_its_step() -> None:
    assert step_label(Step(request(), reply({}, prompt_cut=True))).endswith("the prompt was cut")


def _panel(events: list[object]) -> None:
    from ui.panels.timeline import draw_trace

    draw_trace(events, "test")  # type: ignore[arg-type]


def test_the_panel_says_what_was_wrong_and_what_was_mended() -> None:
    asked = request(2_000, prefix_kept=False)
    said = reply(
        TOLD,
        {"input_tokens": 2_400, "cached_tokens": 7, "output_tokens": 73},
        repairs=["took *the* call out of the text"],
        warnings=["asked without thinking"],
        unusable="call_as_text",
        prompt_cut=True,
    )
    at = AppTest.from_function(_panel, args=([asked, said],))
    at.run()
    open_steps(at)
    assert not at.exception
    captions = "\n".join(found.value for found in at.caption)
    assert "Time: load 0.1 s · prompt 1.2 s (1,994 tokens/s) · writing 8.0 s (9.1 tokens/s)" in captions
    assert CACHE_LOST in captions
    assert "7 in were cached" in captions
    assert "Repaired: took \\*the\\* call out of the text" in captions
    warnings = [found.value for found in at.warning]
    assert [words.split(":")[0].split(".")[0] for words in warnings] == [
        "The model wrote a call as text",
        "The server cut the prompt",
        "asked without thinking",
    ]
