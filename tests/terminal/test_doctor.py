"""The doctor over a scripted Ollama server: one table, a line of advice for each problem, and no long wait."""

from collections.abc import Iterator
from typing import Any

import pytest

from agent.models.engine import Loaded, ModelCard
from agent.models.ollama import OllamaEngine
from assistant.doctor import GO_TEMPLATE, OWN_TEMPLATE, PATIENCE, model_findings
from tests.ollama_server import MODEL, OllamaServer, Step, reply
from tests.terminal.conftest import Command

GO = '{{ range .Messages }}{{ if eq .Role "tool" }}{{ .Content }}{{ end }}{{ end }}{{ .Tools }}'


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[OllamaServer]:
    with OllamaServer([reply("Fine.")], template=GO) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        yield server


def findings(terminal: Command) -> dict[str, dict[str, Any]]:
    told = terminal("doctor", "--json").json["findings"]
    assert [set(finding) for finding in told] == [{"what", "found", "ok", "advice"}] * len(told)
    return {finding["what"]: finding for finding in told}


def test_a_healthy_server_is_one_table_of_what_it_has(terminal: Command, ollama: OllamaServer) -> None:
    found = findings(terminal)
    assert list(found) == [
        "Python",
        "SQLite",
        "Database",
        "Ollama",
        "Model",
        "Digest",
        "Capabilities",
        "Context",
        "Template",
    ]
    assert found["Ollama"]["found"] == f"running at {ollama.url}, version 0.33.0"
    assert found["Model"]["found"] == f"{MODEL} is pulled, 2.5 GB"
    assert len(found["Digest"]["found"]) == 64
    assert found["Capabilities"]["found"] == "tools yes, thinking yes"
    assert found["Context"]["found"] == "the model's 262,144; server: not loaded; ours 16,384"
    assert found["Template"]["found"] == GO_TEMPLATE


def test_the_table_in_words_holds_the_same(terminal: Command, ollama: OllamaServer) -> None:
    told = terminal("doctor")
    for word in (
        "Python",
        "SQLite",
        "Database",
        "Ollama",
        "Digest",
        "Capabilities",
        "Context",
        "Template",
        "16,384",
    ):
        assert word in told.out
    assert told.out.count("Finding") == 1


def test_a_missing_model_is_said_with_the_command_and_with_what_there_is(
    terminal: Command, ollama: OllamaServer
) -> None:
    ollama.models = ("gemma:2b\x1b[2J",)
    model = findings(terminal)["Model"]
    assert model["ok"] is False
    assert model["advice"] == f"Get it: ollama pull {MODEL}"
    assert model["found"] == f"{MODEL} is not pulled; the server has gemma:2b[2J"


def test_the_chosen_model_is_looked_at(
    terminal: Command, ollama: OllamaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ollama.models, ollama.capabilities = ("gemma:2b",), ("completion",)
    monkeypatch.setenv("BOOKSHOP_MODEL", "gemma:2b")
    found = findings(terminal)
    assert found["Capabilities"]["ok"] is False
    assert "ollama pull qwen3:4b" in found["Capabilities"]["advice"]


def test_a_server_that_hangs_is_not_waited_for(terminal: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def hang(path: str, body: object) -> Step:
        asked.append(path)
        return {"behaviour": "hang-before-response"}

    with OllamaServer() as server:
        monkeypatch.setattr(server, "step", hang)
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        assert findings(terminal)["Ollama"]["ok"] is False
    assert asked == ["/api/version"]  # it is asked nothing more


def test_a_server_that_hangs_when_asked_about_a_model_is_not_waited_for(
    terminal: Command, ollama: OllamaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = ollama.step
    hang = {"behaviour": "hang-before-response"}
    slow = ("/api/show", "/api/ps")
    monkeypatch.setattr(ollama, "step", lambda path, body: hang if path in slow else plain(path, body))
    found = findings(terminal)
    assert len(ollama.disconnects) == 2  # both at once, so the doctor waits twice at most
    assert 2 * PATIENCE < 3
    assert found["Capabilities"]["found"] == "tools unknown, thinking unknown"
    assert found["Context"]["found"] == "the model's unknown; server: not loaded; ours 16,384"


CARD = ModelCard(name=MODEL, can_call_tools=True, can_think=True, context_length=262_144)


@pytest.mark.parametrize(
    ("card", "held", "what", "found", "ok"),
    [
        (CARD, None, "Template", OWN_TEMPLATE, True),
        (
            ModelCard(name="x", can_call_tools=True, thinking_only=True),
            None,
            "Capabilities",
            "thinking always",
            True,
        ),
        (ModelCard(name="x", can_call_tools=False), None, "Capabilities", "tools no", False),
        (CARD, Loaded(16_384, 1.0), "Context", "server: loaded with 16,384, 100% on the GPU; ours 16,384", True),
        (CARD, Loaded(4_096, None), "Context", "server: loaded with 4,096; ours 16,384", False),
        (CARD, Loaded(None, None), "Context", "server: loaded with an unknown context; ours", True),
        (ModelCard(name="x", context_length=8_192), None, "Context", "the model's 8,192", False),
    ],
)
def test_each_fact_of_a_model_is_judged(
    card: ModelCard, held: Loaded | None, what: str, found: str, ok: bool
) -> None:
    (finding,) = [finding for finding in model_findings(card, held) if finding.what == what]
    assert found in finding.found
    assert finding.ok is ok
    assert bool(finding.advice) is not ok


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("", "http://127.0.0.1:11434"),
        ("example", "example"),
        ("http://user:secret@example:1", "http://example:1"),
        ("user:secret@example", "example"),
    ],
)
def test_the_address_is_named_without_a_password(host: str, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert OllamaEngine().address == address


def test_an_address_cannot_steer_the_terminal(terminal: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "ex\x1b[2Jample")
    assert findings(terminal)["Ollama"]["found"] == "not running at ex[2Jample"
