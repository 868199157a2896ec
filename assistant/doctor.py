"""Looks at what the shop needs: Python, SQLite, the database, Ollama and the model."""

import platform
import sqlite3
from dataclasses import dataclass

import store
from agent.models.ollama_state import ServerState, find_server, has_model
from assistant.settings import PREFERRED_MODEL, database_url

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
    """Look at everything; takes at most a second or two and changes nothing but creating an absent database."""
    return [
        Finding("Python", platform.python_version()),
        sqlite_finding(sqlite3.sqlite_version_info),
        _database(database or database_url()),
        *_ollama(find_server()),
    ]


def sqlite_finding(version: tuple[int, ...]) -> Finding:
    """Judge a version of SQLite: some can, rarely, lose commits of a database that several processes write."""
    text = ".".join(map(str, version))
    fixed_from = BACK_PORTED.get(version[:2])
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


def _ollama(server: ServerState) -> list[Finding]:
    if not server.reachable:
        advice = f"Start it: ollama serve. Then: ollama pull {PREFERRED_MODEL}. Until then: --model offline"
        return [Finding("Ollama", "not running", ok=False, advice=advice)]
    found = [Finding("Ollama", f"running, version {server.version or 'unknown'}")]
    if has_model(server, PREFERRED_MODEL):
        return [*found, Finding("Model", f"{PREFERRED_MODEL} is pulled")]
    advice = f"Get it: ollama pull {PREFERRED_MODEL}"
    return [*found, Finding("Model", f"{PREFERRED_MODEL} is not pulled", ok=False, advice=advice)]
