"""What a server tells of its models, having one loaded, and fetching one."""

import threading
import time
from collections.abc import Iterator

import pytest

from agent.cancel import Cancel
from agent.models.engine import Loaded, ModelCard, PullFailed, PullProgress
from agent.models.ollama import OllamaEngine, OllamaModel
from agent.models.ollama.model import OllamaStream
from agent.trace import ModelOptions
from tests.ollama_server import MODEL, TEMPLATE, OllamaServer, Step, chunk, end, reply

ASKED = [{"role": "user", "content": "Is there a copy?"}]
GO = "{{ range .Messages }}{{ .Content }}{{ end }}{{ if .Tools }}{{ .Tools }}{{ end }}<|im_start|>assistant\n"
HYBRID = GO + "{{ if and $.IsThinkSet (not $.Think) }} /no_think{{ end }}<think>\n\n</think>\n\n"
JINJA = "{% for message in messages %}{{ message.content }}{% endfor %}{{ tools }}<think>\n"


@pytest.mark.parametrize(
    ("template", "garbles", "thinks_only"),
    [
        (GO + "<think>\n", True, True),
        (
            "{{ if .Messages }}{{ .Tools }}<|im_start|>assistant\n<think>\n{{ end }}{{ else }}{{ .Prompt }}",
            True,
            True,
        ),
        (TEMPLATE, True, False),
        (HYBRID, True, False),
        (GO, True, False),
        (JINJA, False, False),
        ("", False, False),
        ("{{ .Prompt }}", False, False),
    ],
)
def test_the_template_tells_how_a_model_is_prompted(template: str, garbles: bool, thinks_only: bool) -> None:
    with OllamaServer(template=template, context_length=40_960) as server:
        card = OllamaEngine(server.url).describe(MODEL)
        assert OllamaModel(MODEL, server.url).info.garbles_tools is garbles
    assert (card.garbles_tools, card.thinking_only) == (garbles, thinks_only)
    assert (card.can_call_tools, card.can_think, card.context_length) == (True, True, 40_960)
    assert card.size == 2_497_293_931


@pytest.mark.parametrize(
    ("shown", "tools", "context"),
    [
        ({}, None, None),
        ({"capabilities": None, "model_info": None, "template": None}, None, None),
        ({"capabilities": ["completion"], "model_info": {"x.context_length": "many"}}, False, None),
    ],
)
def test_what_an_old_server_does_not_tell_is_unknown(
    shown: dict[str, object], tools: bool | None, context: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with OllamaServer() as server:
        monkeypatch.setattr(server, "_shown", lambda: shown)
        card = OllamaEngine(server.url).describe(MODEL)
    assert (card.can_call_tools, card.can_think, card.context_length) == (tools, tools, context)
    assert card.digest


def test_a_model_that_is_not_there_and_a_server_that_is_not_are_known_for_nothing() -> None:
    with OllamaServer(models=["gemma3:latest"]) as server:
        assert OllamaEngine(server.url).describe(MODEL) == ModelCard(MODEL)
        assert OllamaEngine(server.url).describe("gemma3").digest
    assert OllamaEngine(server.url).describe(MODEL) == ModelCard(MODEL)
    assert OllamaEngine(server.url).loaded(MODEL) is None


def test_a_warm_up_loads_with_the_options_of_the_runs_and_says_what_went_wrong() -> None:
    options = ModelOptions(num_ctx=8_192)
    load = {"lines": [chunk() | {"done": True, "done_reason": "load"}]}
    with OllamaServer([load, reply("Yes.")]) as server:
        assert OllamaEngine(server.url).loaded(MODEL) is None
        assert OllamaEngine(server.url).warm_up(MODEL, options) is None
        assert OllamaEngine(server.url).loaded(MODEL) == Loaded(context_length=8_192, on_gpu=1.0)
        list(OllamaModel(MODEL, server.url).stream(ASKED, [], options, None))
    warm, asked = server.requests
    assert warm["messages"] == []
    assert (warm["options"], warm["keep_alive"]) == (asked["options"], asked["keep_alive"])
    with OllamaServer([{"status": 500, "body": {"error": "model requires more system memory"}}]) as server:
        fault = OllamaEngine(server.url).warm_up(MODEL, ModelOptions())
    assert fault is not None
    assert fault.stop_reason == "model_unavailable"
    with OllamaServer([{"behaviour": "hang-before-response"}]) as server:
        assert OllamaEngine(server.url).warm_up(MODEL, ModelOptions(), seconds=0.1) is not None
        assert server.wait_until(lambda seen: seen.disconnects)


def wait_for(stream: OllamaStream, phase: str) -> None:
    for _ in range(4_000):
        if stream.phase == phase:
            return
        time.sleep(0.005)
    pytest.fail(stream.phase)


def read_in_background(stream: OllamaStream, into: list[object]) -> threading.Thread:
    reader = threading.Thread(target=lambda: into.extend(stream))
    reader.start()
    return reader


@pytest.mark.parametrize(("loading", "phase"), [(True, "loading the model"), (False, "reading the prompt")])
def test_while_nothing_comes_the_phase_tells_whether_the_model_is_loaded(loading: bool, phase: str) -> None:
    with OllamaServer([{"behaviour": "hang-before-response"}]) as server:
        server.loading = loading
        stream = OllamaModel(MODEL, server.url).stream(ASKED, [], ModelOptions(), None)
        assert stream.phase == "connecting"
        reader = read_in_background(stream, [])
        wait_for(stream, phase)
        stream.close()
        reader.join(1)
        assert not reader.is_alive()
        assert server.wait_until(lambda seen: seen.disconnects)


def test_thinking_and_answering_are_phases() -> None:
    lines = [chunk(thinking="hm"), *[chunk(thinking=".")] * 20, *[chunk(content="Yes")] * 20, end()]
    with OllamaServer([{"lines": lines, "line_delay_s": 0.01}]) as server:
        stream = OllamaModel(MODEL, server.url).stream(ASKED, [], ModelOptions(), None)
        items: list[object] = []
        reader = read_in_background(stream, items)
        wait_for(stream, "thinking")
        wait_for(stream, "answering")
        reader.join(2)
    assert items[-1].text == "Yes" * 20


def test_a_server_that_cannot_tell_what_is_loaded_disturbs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with OllamaServer([reply("Yes.", delay_s=0.4)]) as server:
        monkeypatch.setattr(server, "_plain", lambda *_: {"behaviour": "close-before-response"})
        *_, whole = OllamaModel(MODEL, server.url).stream(ASKED, [], ModelOptions(), None)
    assert (whole.text, whole.error) == ("Yes.", None)


def layer(digest: str, total: object, completed: object = None) -> dict[str, object]:
    there = {} if completed is None else {"completed": completed}
    return {"status": f"pulling {digest}", "digest": f"sha256:{digest}", "total": total} | there


SUCCESS = {"status": "success"}


def fetched(step: Step) -> list[PullProgress]:
    with OllamaServer(pull=[step | {"line_delay_s": 0.003}]) as server:
        return list(OllamaEngine(server.url).pull("gemma3"))


def test_a_pull_tells_of_each_layer_and_never_falls_back() -> None:
    lines = [
        layer("aa", 100),
        layer("aa", 100, 60),
        layer("bb", 10, 1),
        layer("aa", 100, 40),
        layer("aa", 100, 900),
    ]
    progress = fetched({"lines": [{"status": "pulling manifest"}, *lines, SUCCESS]})
    shown = [item.fraction for item in progress if item.layer == "aa"]  # lines that come together are one progress
    assert (shown, shown[-1], set(shown) <= {0.0, 0.6, 1.0}) == (sorted(shown), 1.0, True)
    assert [item.fraction for item in progress if item.layer == "bb"] == [0.1]
    assert progress[0] == PullProgress("", None, "pulling manifest")
    assert progress[-1].status == "success"


NEWER = (
    "pull model manifest: 412: \n\nThe model you are attempting to pull requires a newer version of Ollama.\n\n"
)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ({"lines": [layer("aa", 9, 1), {"error": "max retries exceeded: EOF"}]}, "pull again to go on"),
        ({"lines": [{"error": NEWER}]}, "newer Ollama"),
        ({"lines": [{"error": "pull model manifest: file does not exist"}]}, "no model gemma3"),
        ({"lines": [layer("aa", 9, 9)]}, "pull again to go on"),
        ({"lines": [], "then": "close"}, "pull again to go on"),
        ({"status": 502, "body": "<html></html>"}, "A proxy"),
    ],
)
def test_a_pull_without_success_fails_in_one_line(step: Step, words: str) -> None:
    with pytest.raises(PullFailed, match=words) as failed:
        fetched(step)
    assert "\n" not in str(failed.value)


def test_a_pull_ends_at_once_when_it_is_cancelled_or_left() -> None:
    with OllamaServer(pull=[{"lines": [layer("aa", 9, 1)], "then": "hang"}]) as server:
        cancel, ended = Cancel(), []

        def work() -> None:
            with pytest.raises(PullFailed, match="stopped"):
                list(OllamaEngine(server.url).pull("gemma3", cancel))
            ended.append(True)

        worker = threading.Thread(target=work)
        worker.start()
        assert server.wait_until(lambda seen: seen.pulls)
        cancel.request()
        worker.join(1)
        assert ended
        assert server.wait_until(lambda seen: len(seen.disconnects) == 1)
        progress: Iterator[PullProgress] = OllamaEngine(server.url).pull("gemma3")
        next(progress)
        progress.close()
        assert server.wait_until(lambda seen: len(seen.disconnects) == 2)
    with pytest.raises(PullFailed, match="ollama serve"):
        list(OllamaEngine(server.url).pull("gemma3"))
    with pytest.raises(PullFailed, match="OLLAMA_HOST"):
        list(OllamaEngine("http://[bad").pull("gemma3"))
