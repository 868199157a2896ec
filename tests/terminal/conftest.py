"""The terminal program: in this process for most tests, as a process of its own for the few end-to-end ones."""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from assistant.bookshop import Bookshop, open_bookshop
from cli import app
from terminal.shell import run_program

PROGRAM = Path(sys.executable).with_name("bookshop")
JOB = "Add The Last Lighthouse to my cart. If it is not available, add another novel by the same author."


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


@dataclass(frozen=True)
class Outcome:
    """What a command came to: its exit status and what it wrote."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON object on stdout; anything else there is an error."""
        value = json.loads(self.out, parse_constant=_no_number)
        assert isinstance(value, dict)
        return value

    @property
    def complaint(self) -> str:
        """The one line of a command that failed."""
        assert self.out == ""
        assert "Traceback" not in self.err
        (line,) = self.err.splitlines()
        assert line.strip() == line
        assert len(line) > 10
        return line


Command = Callable[..., Outcome]


@pytest.fixture(scope="session")
def closed_port() -> Iterator[int]:
    """A port of this machine that nobody listens on, and nobody else can take."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.fixture
def file(seed_file: Path, tmp_path: Path) -> Path:
    """The database of this test's own shop."""
    return Path(shutil.copy(seed_file, tmp_path / "shop.db"))


@pytest.fixture(autouse=True)
def surroundings(file: Path, closed_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shop of its own for every test, and no Ollama."""
    monkeypatch.setenv("BOOKSHOP_DATABASE_URL", f"sqlite:///{file}")
    monkeypatch.setenv("OLLAMA_HOST", f"http://127.0.0.1:{closed_port}")
    monkeypatch.delenv("BOOKSHOP_MODEL", raising=False)


@pytest.fixture
def terminal(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command line in this process."""

    def command(*words: object) -> Outcome:
        capsys.readouterr()
        status = run_program(app, [str(word) for word in words])
        return Outcome(status, *capsys.readouterr())

    return command


@pytest.fixture
def program() -> Command:
    """Run a command line as a process of its own."""

    def command(*words: object, typed: str = "", **surroundings: str) -> Outcome:
        ended = subprocess.run(
            [PROGRAM, *map(str, words)],
            input=typed,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
            env=os.environ | surroundings,
            check=False,
        )
        return Outcome(ended.returncode, ended.stdout, ended.stderr)

    return command


@pytest.fixture
def shop() -> Iterator[Bookshop]:
    """The same shop, for looking at what a command left there."""
    opened = open_bookshop()
    yield opened
    opened.close()


def tool_calls(told: dict[str, Any]) -> list[str]:
    """The calls that ran, in order."""
    return [event["call"]["name"] for event in told["events"] if event["kind"] == "tool_finished" and event["ran"]]
