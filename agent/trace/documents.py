"""A trace as a JSON document, to export, share and load again."""

import json
from collections.abc import Iterable

from pydantic import TypeAdapter, ValidationError

from agent.trace import AnyEvent

FORMAT_VERSION = 1
"""Of stored and exported events; a reader refuses versions it does not know."""

EVENTS: TypeAdapter[list[AnyEvent]] = TypeAdapter(list[AnyEvent])


class UnreadableTrace(ValueError):
    """This trace cannot be read: it is not JSON of this program, or of a version it does not know."""


def dump_events(events: Iterable[AnyEvent]) -> str:
    """Write events as one JSON document that ``load_events`` reads back equal, event for event."""
    body = EVENTS.dump_python(list(events), mode="json")
    return json.dumps({"version": FORMAT_VERSION, "events": body}, ensure_ascii=False)


def load_events(document: str) -> list[AnyEvent]:
    """Read what ``dump_events`` wrote; raises UnreadableTrace in words for anything else."""
    try:
        data = json.loads(document)
    except (ValueError, RecursionError):
        raise UnreadableTrace("This trace is not JSON; export it again with: bookshop runs export RUN") from None
    version = data.get("version") if isinstance(data, dict) else None
    if type(version) is not int or version != FORMAT_VERSION:
        raise UnreadableTrace(f"This trace has version {version!r}; this program reads version {FORMAT_VERSION}.")
    try:
        return EVENTS.validate_python(data.get("events"))
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"][:2])
        raise UnreadableTrace(f"This trace is damaged at event {where or '0'}.") from None
