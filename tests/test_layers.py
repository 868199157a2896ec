"""The shape of the program: imports point one way, importing does nothing, functions stay small."""

import ast
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("agent", "assistant", "bench", "lab", "store", "terminal", "ui")
PROGRAMS = ("app", "cli")
OURS = {*PACKAGES, *PROGRAMS, "tests"}
FILES = sorted(path for name in PACKAGES for path in (ROOT / name).rglob("*.py")) + [
    ROOT / f"{name}.py" for name in PROGRAMS
]
MAY_IMPORT = {
    "agent": {"agent"},
    "store": {"store"},
    "assistant": {"agent", "assistant", "store"},
    "lab": {"agent", "assistant", "lab", "store"},
    "bench": {"agent", "assistant", "bench", "lab", "store", "tests"},
    "terminal": {"agent", "assistant", "lab", "store", "terminal"},
    "ui": {"agent", "assistant", "lab", "store", "ui"},
    "app": {"agent", "assistant", "lab", "store", "ui"},
    "cli": {"agent", "assistant", "lab", "store", "terminal"},
}
ROOMS = ("trace", "tools", "models", "views", "guards", "loop", "archive")
"""The rooms of agent/: each knows itself, those before it, and the files beside them."""
MAY_IMPORT_OF_OURS = {
    "ui/panels": ("agent.trace.", "agent.views.", "agent.text.", "ui.panels.", "ui.safe."),
    "assistant/answer_check": ("agent.", "store.", "assistant.answer_check.", "assistant.shop_facts."),
    "assistant/offline": ("agent.", "assistant.offline."),
}
"""Folders that know less than the rest of their package."""
ONLY_IN = {"streamlit": ("app", "ui"), "typer": ("cli", "terminal"), "rich": ("cli", "terminal")}
ENGINE = "agent.models.ollama"
KNOW_THE_ENGINE = ("agent/models/ollama/", "assistant/choose_model.py", "bench/")
MOST_FUNCTION_LINES = 60


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imports(path: Path) -> set[str]:
    """The names a file imports, anywhere in it, each with its module."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {f"{alias.name}." for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)} imports relatively"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def top(module: str) -> str:
    return module.partition(".")[0]


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_point_one_way(path: Path) -> None:
    package = path.relative_to(ROOT).parts[0].removesuffix(".py")
    assert {module for module in imports(path) if top(module) in OURS - MAY_IMPORT[package]} == set()


@pytest.mark.parametrize("path", [path for path in FILES if name_of(path).startswith("agent/")], ids=name_of)
def test_a_room_of_the_agent_knows_only_those_before_it(path: Path) -> None:
    room = path.relative_to(ROOT / "agent").parts[0]
    if room == "__init__.py":
        return  # the face shows what is in all of them
    known = ROOMS[: ROOMS.index(room) + 1] if room in ROOMS else ()
    used = {module.split(".")[1] for module in imports(path) if top(module) == "agent"}
    assert used - {*known, "text", "cancel"} == set()


@pytest.mark.parametrize("folder", MAY_IMPORT_OF_OURS)
def test_some_folders_know_less_than_their_package(folder: str) -> None:
    paths = sorted((ROOT / folder).rglob("*.py"))
    used = {module for path in paths for module in imports(path) if top(module) in OURS}
    assert paths
    assert {module for module in used if not module.startswith(MAY_IMPORT_OF_OURS[folder])} == set()


def test_no_modules_import_each_other_in_a_circle() -> None:
    modules = {module_of(path): path for path in FILES}
    graph = {
        name: {found for used in imports(path) if (found := known_module(used, modules)) and found != name}
        for name, path in modules.items()
    }
    TopologicalSorter(graph).prepare()  # raises CycleError with the circle


def module_of(path: Path) -> str:
    return name_of(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def known_module(used: str, modules: Mapping[str, Path]) -> str | None:
    """The module an imported name is, or is taken from."""
    return next((name for name in (used.rstrip("."), used.rpartition(".")[0]) if name in modules), None)


def test_one_name_means_one_thing() -> None:
    names = Counter(path.stem for path in FILES if path.stem not in ("__init__", "__main__"))
    assert {name for name, count in names.items() if count > 1} == set()


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_only_the_choice_of_a_model_knows_the_engine(path: Path) -> None:
    if not name_of(path).startswith(KNOW_THE_ENGINE):
        assert {module for module in imports(path) if module.startswith((f"{ENGINE}.", "ollama."))} == set()


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_framework_is_imported_only_where_it_belongs(path: Path) -> None:
    package = path.relative_to(ROOT).parts[0].removesuffix(".py")
    if package == "bench":
        return  # measures pages and commands from outside, and speaks their protocols
    used = {top(module) for module in imports(path)} & set(ONLY_IN)
    assert {framework for framework in used if package not in ONLY_IN[framework]} == set()


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_no_function_is_longer_than_60_lines(path: Path) -> None:
    assert {name: lines for name, lines in functions(path) if lines > MOST_FUNCTION_LINES} == {}


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """The functions of a file, with their lines, decorators left out."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


LOOK = """
import importlib, sys, threading, sqlalchemy, sqlite3, socket
made = []
def audit(event, arguments):
    if event in ("sqlite3.connect", "socket.connect", "_thread.start_new_thread", "subprocess.Popen"):
        made.append(event)
    if event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
        made.append(f"write {arguments[0]}")
sys.addaudithook(audit)
for name in sys.argv[1:]:
    importlib.import_module(name)
made += [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]
print(made)
"""


def modules_in(*packages: str) -> list[str]:
    paths = [path for path in FILES if path.relative_to(ROOT).parts[0].removesuffix(".py") in packages]
    names = [module_of(path) for path in paths]
    return [name for name in names if name != "ui.page"]  # the page is run by Streamlit, never imported


@pytest.mark.parametrize(
    "packages", [("agent", "store", "assistant", "lab", "bench"), ("terminal", "cli"), ("ui", "app")]
)
def test_importing_starts_no_thread_and_opens_nothing(packages: tuple[str, ...], tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data"), "PYTHONDONTWRITEBYTECODE": "1"}
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("BOOKSHOP_")} | home
    look = [sys.executable, "-c", LOOK, *modules_in(*packages)]
    done = subprocess.run(look, cwd=ROOT, env=surroundings, capture_output=True, text=True, timeout=60)
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr
    assert list(tmp_path.rglob("*")) == []
