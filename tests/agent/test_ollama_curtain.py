"""What is drawn of a reply while it comes: never thinking or the markup of a call as an answer."""

import pytest

from agent.models import Delta
from agent.models.curtain import Curtain
from agent.models.ollama import OllamaModel
from agent.trace import ModelOptions
from tests.ollama_server import MODEL, OllamaServer, chunk, end

CALL = '{"name": "search_books", "arguments": {"query": "dune"}}'


def drawn(*pieces: str, doubts: bool = False, whole: bool = True) -> tuple[str, str]:
    """The thinking and the text that are drawn of these pieces of text."""
    curtain = Curtain(doubts=doubts)
    deltas = [delta for piece in pieces for delta in curtain.show(Delta("text_delta", piece))]
    deltas += curtain.end() if whole else []
    assert curtain.end() == [] or not whole
    assert all(delta.text for delta in deltas)
    thinking, text = (
        "".join(delta.text for delta in deltas if delta.kind == kind) for kind in ("thinking_delta", "text_delta")
    )
    return thinking, text


CASES: dict[str, tuple[str, str, str]] = {
    "prose": ("Dune costs 9.99, a < b <3.", "", "Dune costs 9.99, a < b <3."),
    "list": ("[2] The Last Lighthouse", "", "[2] The Last Lighthouse"),
    "slash": ("crime/thriller and/or", "", "crime/thriller and/or"),
    "block": ("\n<think>\nhm\n</think>\n\nDune.", "\nhm\n", "Dune."),
    "capitals": ("<THINKING>hm</Thinking>Dune.", "hm", "Dune."),
    "two blocks": ("<think>a</think><think>b</think>Dune.", "ab", "Dune."),
    "empty block": ("<think>\n\n</think>\nDune.", "\n\n", "Dune."),
    "never closed": ("<think>on and on", "on and on", ""),
    "object": (CALL, "", ""),
    "array": (f"[ {CALL}]", "", ""),
    "fence": (f"```json\n{CALL}\n```", "", ""),
    "tag": (f"<tool_call>\n{CALL}\n</tool_call>", "", ""),
    "function": ("<function=search_books>\n<parameter=q>x</parameter>", "", ""),
    "token": ("<|tool_call|>x", "", ""),
    "tag in mid-text": (f"Let me look.\n<tool_call>{CALL}</tool_call> So.", "", "Let me look.\n"),
    "object in mid-text": (f"I call {CALL}", "", "I call "),
    "cut tag": ("Let me look.<tool_c", "", "Let me look."),
    "call after thinking": (f"<think>hm</think>{CALL}", "hm", ""),
    "echo": ("It is Dune. /no_think\n", "", "It is Dune."),
    "end mark": ("It is Dune.<|im_end|>", "", "It is Dune."),
    "lone end at once": ("</think>\n\nDune.", "", "Dune."),
}


@pytest.mark.parametrize(("said", "thinking", "text"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("doubts", [False, True])
@pytest.mark.parametrize("size", [1, 7, 1_000])
def test_only_the_answer_is_drawn_as_one_however_it_is_cut(
    said: str, thinking: str, text: str, doubts: bool, size: int
) -> None:
    pieces = [said[at : at + size] for at in range(0, len(said), size)]
    thought, answer = drawn(*pieces, doubts=doubts)
    assert (thought, answer.rstrip()) == (thinking, text.rstrip())


@pytest.mark.parametrize("size", [1, 5, 1_000])
def test_in_doubt_what_comes_before_a_lone_end_tag_is_drawn_as_thinking(size: int) -> None:
    said = "I look at the shelf.</think>\n\nDune."
    pieces = [said[at : at + size] for at in range(0, len(said), size)]
    assert drawn(*pieces, doubts=True) == ("I look at the shelf.", "Dune.")


def test_text_held_in_doubt_is_drawn_at_the_end_and_not_at_all_if_that_never_comes() -> None:
    assert drawn("Dune ", "costs 9.99.", doubts=True) == ("", "Dune costs 9.99.")
    assert drawn("Dune ", "costs 9.99.", doubts=True, whole=False) == ("", "")
    assert drawn("Dune ", "costs 9.99.", whole=False) == ("", "Dune costs 9.99.")


def test_after_thinking_that_came_apart_text_is_drawn_as_it_comes() -> None:
    curtain = Curtain(doubts=True)
    assert curtain.show(Delta("thinking_delta", "hm")) == [Delta("thinking_delta", "hm")]
    assert curtain.show(Delta("text_delta", "Dune")) == [Delta("text_delta", "Dune")]


def test_a_reply_keeps_what_the_curtain_hides() -> None:
    lines = [chunk(content=piece) for piece in ("I look.", "</think>", f"\n{CALL}")]
    with OllamaServer([{"lines": [*lines, end()], "line_delay_s": 0.005}]) as server:
        *deltas, whole = OllamaModel(MODEL, server.url).stream([], [], ModelOptions(think=False), None)
    assert deltas == [Delta("thinking_delta", "I look.")]
    assert (whole.text, whole.thinking) == (f"I look.</think>\n{CALL}", "")


def test_a_model_that_cannot_think_apart_is_drawn_as_it_comes() -> None:
    refusal = {"status": 400, "body": {"error": '"x" does not support thinking'}}
    step = {"lines": [chunk(content="Dune "), chunk(content="is")], "then": "hang"}
    with OllamaServer([refusal, step]) as server:
        stream = OllamaModel(MODEL, server.url).stream([], [], ModelOptions(), None)
        for item in stream:
            if item == Delta("text_delta", "is"):
                stream.close()
        assert item.text == "Dune is"
