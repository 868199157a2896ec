"""Whatever a server streams: a run ends in words, exactly once, and nothing happens that was not said whole."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import store
from agent.guards.limits import Limits
from agent.models.ollama import OllamaModel
from agent.trace import StopReason
from agent.views.conversation import Conversation
from assistant.bookshop import Bookshop
from assistant.settings import DEMO_CUSTOMER, Settings
from tests.agent.playing import of
from tests.agent.wire import called, said
from tests.ollama_server import MODEL, OllamaServer, Step, chunk, end

EXAMPLES = 400
ADD = called("add_to_cart", {"book_id": 7, "quantity": 1})
LEAKED = '{"name": "add_to_cart", "arguments": {"book_id": 7, "quantity": 2}}'

TEXTS = st.sampled_from(
    [
        "Dune ",
        "costs 9.99.",
        " ",
        "",
        "<think>",
        "</think>",
        "<tool_call>",
        "</tool_call>",
        LEAKED,
        LEAKED[:30],
        "```",
    ]
) | st.text(max_size=8)
VALUES = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.lists(st.integers(), max_size=2)
CALLS = st.sampled_from(
    [ADD, called("search_books", {"query": "holt"}), called("books", {}), called("add_to_cart", {})]
)
MESSAGES = (
    st.builds(lambda text: {"content": text}, TEXTS)
    | st.builds(lambda text: {"thinking": text}, TEXTS)
    | CALLS
    | st.dictionaries(st.sampled_from(["content", "thinking", "tool_calls", "role"]), VALUES, max_size=2)
)
ENDS = st.builds(
    lambda reason, counts: end(None) | {"done_reason": reason} | counts,
    st.sampled_from(["stop", "length", "load", None, 7]),
    st.dictionaries(st.sampled_from(["prompt_eval_count", "eval_count", "load_duration"]), VALUES, max_size=2),
)
GOOD = st.builds(lambda message: _line(chunk(**message)), MESSAGES) | st.builds(lambda last: _line(last), ENDS)
JUNK = st.sampled_from(
    [
        "",
        "{",
        "null",
        "[]",
        "7",
        '"text"',
        "<html>",
        "data: {}",
        '{"error": "busy"}',
        '{"error": {}}',
        "{}",
        "\x00",
        "\r",
    ]
) | st.text(alphabet=st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=12)


def _line(part: dict[str, Any]) -> str:
    return json.dumps(part, separators=(",", ":"))


ADDING, ENDING = _line(chunk(**ADD)), _line(end())


@st.composite
def streams(draw: st.DrawFn) -> Step:
    """Lines, most of them good, cut anywhere, in chunks of a line or of a byte, ended in some way."""
    lines = draw(st.lists(draw(st.sampled_from([GOOD, GOOD, GOOD | JUNK])), max_size=6))
    lines += draw(st.sampled_from([[], [ADDING], [ADDING]]))
    lines += draw(st.sampled_from([[], [ENDING], [ENDING]]))
    text = "\n".join(lines)
    if draw(st.sampled_from([False, False, True])):
        text = text[: draw(st.integers(0, len(text)))]
    return {
        "lines": text.split("\n"),
        "no_newline": draw(st.booleans()),
        "byte_by_byte": len(text) < 800 and draw(st.integers(0, 3)) == 0,
        "then": draw(st.sampled_from(["end", "end", "end", "close", "reset"])),
        "status": draw(st.sampled_from([200, 200, 200, 200, 200, 200, 200, 400, 500, 503])),
    }


@dataclass
class Playing:
    """One shop, one server and one model for all examples; the server plays what is put into ``steps``."""

    shop: Bookshop
    steps: list[Step] = field(default_factory=list)
    played: list[str] = field(default_factory=list)

    def step(self, body: dict[str, Any]) -> Step:
        step = self.steps.pop(0) if self.steps else said("Here you are.")
        self.played.append("\n".join(str(line) for line in step["lines"]))
        return step

    def cart(self) -> int:
        return sum(line.quantity for line in store.view_cart(self.shop.engine, DEMO_CUSTOMER).lines)

    def clear(self, *steps: Step) -> None:
        self.steps[:], self.played[:] = steps, []
        if self.cart():
            store.clear_cart(self.shop.engine, DEMO_CUSTOMER, by="test")


@pytest.fixture(scope="module")
def playing(seed_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Playing, OllamaModel]]:
    path = shutil.copy(seed_file, tmp_path_factory.mktemp("random") / "shop.db")
    playing = Playing(Bookshop(store.open_shop(f"sqlite:///{path}")))
    with pytest.MonkeyPatch.context() as patched, OllamaServer(playing.step) as server:
        patched.setattr("agent.loop.model_call.PAUSES", (0.0, 0.0))
        yield playing, OllamaModel(MODEL, server.url, digest="known")
    playing.shop.close()


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(drawn=st.lists(streams(), min_size=1, max_size=2))
def test_any_stream_ends_in_words_exactly_once_and_only_whole_replies_have_effects(
    playing: tuple[Playing, OllamaModel], drawn: list[Step]
) -> None:
    play, model = playing
    play.clear(*drawn)
    conversation = Conversation()
    kept = Settings(limits=Limits(max_seconds=10, max_steps=4))
    result = play.shop.agent(model, DEMO_CUSTOMER, conversation, kept).run(conversation, "Hello")

    assert len(of(conversation.events, "run_finished")) == 1
    assert result.stop_reason in get_args(StopReason)
    assert result.stop_reason not in ("internal_error", "interrupted", "cancelled", "max_seconds")
    assert result.answer.strip()
    asked = [call.id for reply in of(result.trace, "model_reply") for call in reply.tool_calls]
    assert asked == [event.call.id for event in of(result.trace, "tool_finished")]
    assert not any(reply.tool_calls for reply in of(result.trace, "model_reply") if reply.incomplete)
    changed = [event for event in of(result.trace, "tool_finished") if event.changes]
    assert play.cart() == sum(event.call.arguments["quantity"] for event in changed)
    if not any('"done":true' in text for text in play.played[: len(drawn)]):
        assert play.cart() == 0
