"""Looks at what the shop needs: Python, SQLite, the database, the server of the model, and the model."""

import platform
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import store
from agent.models.engine import Engine, Loaded, ModelCard, ServerState
from agent.trace import ModelOptions
from assistant.choose_model import engine_of, is_ours
from assistant.settings import PREFERRED_MODEL, chosen_model, database_url

PATIENCE = 1.2
"""Seconds for each question to a server; there are two, one after the other."""
MOST_NAMED = 8
GO_TEMPLATE = "Go template: garbles the tools, so the shop lists them in its instructions as well"
OWN_TEMPLATE = "builtin or native: prints the tools as JSON"

FIRST_SAFE_SQLITE = (3, 51, 3)
BACK_PORTED = {(3, 44): 6, (3, 50): 7}
"""Older lines whose patch release, from this one on, has the fix as well."""


@dataclass(frozen=True)
class Finding:
    """One thing looked at: what was found, whether it is as it should be, and what to do if it is not."""

    what: str
    found: str
    ok: bool = True
    advice: str = ""


def diagnose(database: str | None = None) -> list[Finding]:
    """Look at everything; takes at most 3 seconds and changes nothing but creating an absent database."""
    chosen = chosen_model()
    engine, name = engine_of(PREFERRED_MODEL if chosen is None or is_ours(chosen) else chosen)
    return [
        Finding("Python", platform.python_version()),
        sqlite_finding(sqlite3.sqlite_version_info),
        _database(database or database_url()),
        *_model(engine, engine.find_server(PATIENCE), name),
    ]


def sqlite_finding(version: tuple[int, ...]) -> Finding:
    """Judge a version of SQLite: some can, rarely, lose commits of a database that several processes write."""
    text = ".".join(map(str, version))
    fixed_from = BACK_PORTED.get((version[0], version[1]))
    if version >= FIRST_SAFE_SQLITE or (fixed_from is not None and version[2] >= fixed_from):
        return Finding("SQLite", text)
    advice = (
        "Rarely loses commits when several processes write at once; fixed in 3.51.3. Update SQLite when you can."
    )
    return Finding("SQLite", text, ok=False, advice=advice)


def _database(url: str | None) -> Finding:
    try:
        engine = store.open_shop(url)
    except store.ShopError as error:
        return Finding("Database", str(error), ok=False, advice="See: bookshop db --help")
    kind = engine.dialect.name
    engine.dispose()
    return Finding("Database", f"open ({kind})")


def _model(engine: Engine, server: ServerState, name: str) -> list[Finding]:
    place, pull = _printable(engine.address), engine.pull_command(name)
    if not server.reachable:
        advice = f"Start it: {engine.start_command}. Then: {pull}. Until then: --model offline"
        return [Finding(engine.label, f"not running at {place}", ok=False, advice=advice)]
    running = Finding(engine.label, f"running at {place}, version {server.version or 'unknown'}")
    pulled = server.find(name)
    if pulled is None:
        found = f"{name} is not pulled{_others(server)}"
        return [running, Finding("Model", found, ok=False, advice=f"Get it: {pull}")]
    size = f", {pulled.size / 1e9:.1f} GB" if pulled.size else ""
    digest = Finding("Digest", _printable(pulled.digest or "unknown"))
    with ThreadPoolExecutor(2) as asking:  # together, so that a server that hangs is waited for once
        card = asking.submit(engine.describe, name, PATIENCE)
        held = asking.submit(engine.loaded, name, PATIENCE)
        return [
            running,
            Finding("Model", f"{name} is pulled{size}"),
            digest,
            *model_findings(card.result(), held.result()),
        ]


def model_findings(card: ModelCard, held: Loaded | None) -> list[Finding]:
    """Judge a model by what the server tells of it; ``held`` says how it is loaded, if it is."""
    tools, thinks = _known(card.can_call_tools), "always" if card.thinking_only else _known(card.can_think)
    engine, preferred = engine_of(PREFERRED_MODEL)
    able = card.can_call_tools is not False
    cure = "" if able else f"It cannot shop without tools. Choose one that can: {engine.pull_command(preferred)}"
    found = [
        Finding("Capabilities", f"tools {tools}, thinking {thinks}", ok=able, advice=cure),
        _context(card.context_length, held),
    ]
    if card.can_call_tools is not None:  # else the server has told nothing of it
        found.append(Finding("Template", GO_TEMPLATE if card.garbles_tools else OWN_TEMPLATE))
    return found


def _context(most: int | None, held: Loaded | None) -> Finding:
    """Judge the context: the model's own, what the server gives it now, and what is asked for."""
    ours, now = ModelOptions().num_ctx, "not loaded"
    if held:
        now = "loaded with " + (f"{held.context_length:,}" if held.context_length else "an unknown context")
        if held.on_gpu is not None:
            now += f", {held.on_gpu:.0%} on the GPU"
    found = f"the model's {f'{most:,}' if most else 'unknown'}; server: {now}; ours {ours:,}"
    if most and most < ours:
        return Finding("Context", found, ok=False, advice=f"Ask for what the model has: --num-ctx {most}")
    if held and held.context_length and held.context_length < ours:
        advice = (
            "Loaded by another program, or short of memory: the next question loads it anew. Or: --num-ctx 8192"
        )
        return Finding("Context", found, ok=False, advice=advice)
    return Finding("Context", found)


def _others(server: ServerState) -> str:
    names = ", ".join(_printable(model.name) for model in server.models[:MOST_NAMED])
    return f"; the server has {names}" if names else "; the server has no models"


def _printable(text: str) -> str:
    """A server's words without what would steer a terminal."""
    return "".join(mark for mark in text if mark.isprintable())[:100]


def _known(fact: bool | None) -> str:
    return "unknown" if fact is None else "yes" if fact else "no"
