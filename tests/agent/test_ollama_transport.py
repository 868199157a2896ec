"""However a server cuts, delays or pads its lines: what was complete is read, in bounded time and memory."""

import json
import tracemalloc

import pytest

from agent.models.curtain import Curtain
from agent.models.ollama import OllamaModel
from agent.models.ollama.refusals import TooLong
from agent.models.ollama.reply import LONGEST_SAID, Draft
from agent.trace import ModelOptions, ModelReply
from tests.ollama_server import MODEL, OllamaServer, Step, chunk, end, reply

ASKED = [{"role": "user", "content": "Is there a copy?"}]
TEXT = "Dune\x85costs\u2028$9.99 \U0001f4da"
LINES = [chunk(content=TEXT), end()]


def answer(step: Step, **patience: float) -> ModelReply:
    with OllamaServer([step]) as server:
        *_, whole = OllamaModel(MODEL, server.url, **patience).stream(ASKED, [], ModelOptions(), None)
    return whole


def written(between: str, prefix: str = "") -> list[str]:
    return [f"{prefix}{json.dumps(line, ensure_ascii=False)}{between}" for line in LINES]


@pytest.mark.parametrize(
    "step",
    [
        {"lines": LINES},
        {"lines": LINES, "byte_by_byte": True},
        {"lines": LINES, "no_newline": True},
        {"lines": written("\r")},
        {"lines": written("\n\n  ")},
        {"lines": ["", *written(""), ""]},
        {"lines": [": ping", "event: x", *written("\r\n", "data: "), "data: [DONE]"]},
        {"body": LINES[0] | {"done": True}},
        {"lines": [LINES[0], '{"message": {}, "done": true, "eval_count": NaN, "load_duration": Infinity}']},
        {"lines": [*LINES, chunk(content="more"), "nonsense"]},
    ],
)
def test_complete_lines_are_read_however_they_come(step: Step) -> None:
    whole = answer(step)
    assert (whole.text, whole.error, whole.incomplete) == (TEXT, None, False)


def test_bytes_that_are_no_text_become_replacement_marks() -> None:
    broken = '{"message":{"content":"a\udcffb"},"done":true}'

    class Raw(str):
        def encode(self, *_: object) -> bytes:
            return str.encode(self, "utf-8", "surrogateescape")

    assert answer({"lines": [Raw(broken)]}).text == "a\ufffdb"


@pytest.mark.parametrize(
    "step",
    [
        {"lines": ["x" * 5_000_000]},
        {"lines": [chunk(content="a" * 1_000_000)] * 3},
        {"lines": [" " * 3_000_000] * 12},
        {"lines": [""] * 200_001},
        {"lines": [chunk(tool_calls=[{"function": {"name": "f"}}] * 2_000)]},
    ],
    ids=["line", "characters", "bytes", "lines", "calls"],
)
def test_more_than_an_answer_can_have_ends_in_words(step: Step) -> None:
    whole = answer(step)
    assert (whole.error.stop_reason, whole.error.retry) == ("model_error", "never")
    assert whole.error.message == "Ollama sent more than an answer can have"
    assert len(whole.text) <= LONGEST_SAID


def test_tiny_chunks_are_kept_as_what_they_say() -> None:
    draft = Draft(Curtain(doubts=True))
    tracemalloc.start()
    for _ in range(40_000):
        draft.add({"message": {"content": "é"}})
        draft.fresh()
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 2_000_000
    with pytest.raises(TooLong):
        for _ in range(LONGEST_SAID // 100_000):
            draft.add({"message": {"thinking": "x" * 100_000}})


def test_a_packed_bomb_is_not_unpacked() -> None:
    with OllamaServer([reply("Yes.", headers={"Content-Encoding": "gzip"})]) as server:
        *_, whole = OllamaModel(MODEL, server.url).stream(ASKED, [], ModelOptions(), None)
    assert whole.text == "Yes."


@pytest.mark.parametrize(
    ("step", "words", "text"),
    [
        ({"behaviour": "hang-before-response"}, "no answer within 0.1 s", ""),
        ({"lines": [chunk(content="Dun")], "then": "hang"}, "nothing came for 0.15 s", "Dun"),
        ({"lines": [chunk(content="Dun"), *[""] * 2_000], "line_delay_s": 0.02}, "nothing came for 0.15 s", "Dun"),
    ],
    ids=["first byte", "stall", "only blanks"],
)
def test_silence_ends_in_words_before_the_server_does(step: Step, words: str, text: str) -> None:
    with OllamaServer([step]) as server:
        model = OllamaModel(MODEL, server.url, first_byte_seconds=0.1, stall_seconds=0.15)
        *_, whole = model.stream(ASKED, [], ModelOptions(), None)
        assert server.wait_until(lambda seen: seen.disconnects), "left in the middle of the answer"
    assert (whole.error.stop_reason, whole.error.retry, whole.text) == ("model_error", "never", text)
    assert words in whole.error.message


def test_a_slow_server_that_goes_on_is_waited_for() -> None:
    whole = answer(reply("a b c d e f g h", line_delay_s=0.04), first_byte_seconds=0.5, stall_seconds=0.12)
    assert (whole.text, whole.error) == ("a b c d e f g h", None)
