"""The README names only what exists."""

import re
import shlex
from pathlib import Path

import pytest

import cli
from lab.stale import WORDINGS
from terminal.shell import run_program
from tests.ollama_server import OllamaServer, reply

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\.venv/bin/bookshop (.+)$", README, re.MULTILINE)


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\((?!https?:)([^)#]+)\)", README))))
def test_every_file_it_links_to_exists(target: str) -> None:
    assert (ROOT / target).exists()


@pytest.mark.parametrize("target", sorted(set(re.findall(r"make ([a-z]+)", README)) - {"."}))
def test_every_make_target_it_names_exists(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_it_shows_works(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BOOKSHOP_DATABASE_URL", f"sqlite:///{tmp_path / 'shop.db'}")
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
    monkeypatch.setattr("lab.stale.WORDINGS", WORDINGS[:1])  # a tenth of its trials show as well that it works
    status = run_program(cli.app, shlex.split(command))
    assert status == (3 if "--max-steps 2" in command else 0), capsys.readouterr().err


def test_it_shows_some_commands() -> None:
    assert len(COMMANDS) >= 5


def test_the_example_of_an_agent_lifted_out_works(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = re.findall(r"```python\n(.+?)```", README, re.DOTALL)
    with OllamaServer([reply(calls=[("add", {"one": 17, "other": 25})]), reply("It is 42.")]) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        exec(compile(example, "README.md", "exec"), {})
    assert capsys.readouterr().out == "It is 42.\n"
    assert server.requests[1]["messages"][-1]["content"] == "42"
