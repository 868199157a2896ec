"""The shape of the program: imports point one way, importing does nothing, files and functions stay small."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("agent", "assistant", "lab", "store", "terminal", "ui")
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
    "terminal": {"agent", "assistant", "lab", "store", "terminal"},
    "ui": {"agent", "assistant", "lab", "store", "ui"},
    "app": {"agent", "assistant", "lab", "store", "ui"},
    "cli": {"agent", "assistant", "lab", "store", "terminal"},
}
PANELS = {
    "ui/trace_panel.py",
    "ui/token_chart.py",
    "ui/token_counts.py",
    "ui/timings.py",
    "ui/steps.py",
    "ui/cart_panel.py",
    "ui/safe.py",
    "ui/approval_panel.py",
    "ui/caveat_panel.py",
    "ui/pending_panel.py",
    "ui/stale_panel.py",
    "ui/lab_panel.py",
    "ui/ledger_panel.py",
    "ui/stop_panel.py",
}
ONLY_IN = {"streamlit": ("app", "ui"), "typer": ("cli", "terminal"), "rich": ("cli", "terminal")}
MOST_LINES, MOST_FUNCTION_LINES = 200, 60


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imports(path: Path) -> set[str]:
    """The modules a file imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)} imports relatively"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def top(module: str) -> str:
    return module.partition(".")[0]


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_point_one_way(path: Path) -> None:
    package = path.relative_to(ROOT).parts[0].removesuffix(".py")
    allowed = MAY_IMPORT[package] | ({"tests"} if name_of(path).startswith("lab/bench") else set())
    assert {module for module in imports(path) if top(module) in OURS - allowed} == set()


@pytest.mark.parametrize("path", sorted(PANELS))
def test_panels_know_the_trace_and_nothing_else_of_ours(path: str) -> None:
    modules = {module for module in imports(ROOT / path) if top(module) in OURS}
    assert {module for module in modules if not module.startswith(("agent.trace.", "ui."))} == set()


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_framework_is_imported_only_where_it_belongs(path: Path) -> None:
    package = path.relative_to(ROOT).parts[0].removesuffix(".py")
    if name_of(path) == "lab/bench_page.py":
        return  # speaks the page's own protocol to a real server, to measure it from outside
    used = {top(module) for module in imports(path)} & set(ONLY_IN)
    assert {framework for framework in used if package not in ONLY_IN[framework]} == set()


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_no_file_is_longer_than_200_lines(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


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


def modules_of(*packages: str) -> list[str]:
    paths = [path for path in FILES if path.relative_to(ROOT).parts[0].removesuffix(".py") in packages]
    names = [name_of(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".") for path in paths]
    return [name for name in names if name != "ui.page"]  # the page is run by Streamlit, never imported


@pytest.mark.parametrize("packages", [("agent", "store", "assistant", "lab"), ("terminal", "cli"), ("ui", "app")])
def test_importing_starts_no_thread_and_opens_nothing(packages: tuple[str, ...], tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data"), "PYTHONDONTWRITEBYTECODE": "1"}
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("BOOKSHOP_")} | home
    look = [sys.executable, "-c", LOOK, *modules_of(*packages)]
    done = subprocess.run(look, cwd=ROOT, env=surroundings, capture_output=True, text=True, timeout=60)
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr
    assert list(tmp_path.rglob("*")) == []
