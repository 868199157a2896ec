"""Which model answers, and how another engine is added."""

from collections.abc import Iterator

import pytest

from agent.cancel import Cancel
from agent.models.engine import Loaded, ModelCard, PulledModel, PullProgress, ServerState
from agent.models.scripted import ScriptedModel, say
from agent.trace import ModelFault, ModelOptions
from assistant.choose_model import ENGINES, choose
from tests.ollama_server import MODEL, OllamaServer


class Shelf:
    """An engine that holds one model."""

    label, address, start_command = "Shelf", "here", "shelf open"

    def pull_command(self, name: str) -> str:
        return f"shelf get {name}"

    def model(self, name: str) -> ScriptedModel:
        return ScriptedModel(name, [say("From the shelf.")])

    def find_server(self, timeout: float = 1.0) -> ServerState:
        return ServerState(reachable=True, models=(PulledModel("tiny", None, None),))

    def describe(self, name: str, timeout: float = 2.0) -> ModelCard:
        return ModelCard(name)

    def loaded(self, name: str, timeout: float = 1.0) -> Loaded | None:
        return None

    def warm_up(self, name: str, options: ModelOptions, seconds: float = 300.0) -> ModelFault | None:
        return None

    def pull(self, name: str, cancel: Cancel | None = None) -> Iterator[PullProgress]:
        yield PullProgress("", None, "done")


def test_a_second_engine_is_one_line_and_its_models_go_by_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(ENGINES, "shelf", Shelf())
    choice = choose("shelf:tiny")
    assert (choice.name, choice.label, choice.model.info.name) == ("shelf:tiny", "tiny on Shelf", "script:tiny")
    assert choose("gemma:2b").label == "gemma:2b on Ollama"
    assert choose("ollama:gemma:2b").label == "gemma:2b on Ollama"


def test_the_best_there_is_answers_and_it_is_said_what_would_be_better(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BOOKSHOP_MODEL", raising=False)
    with OllamaServer() as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        assert (choose().name, choose().commands) == (MODEL, ())
        server.models = ()
        assert (choose().name, choose().commands) == ("offline", (f"ollama pull {MODEL}",))
    assert choose().commands == ("ollama serve", f"ollama pull {MODEL}")
