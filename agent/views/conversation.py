"""A conversation: its events, the views folded from them, and where they are kept."""

import secrets
from collections.abc import Callable, Iterable, Sequence

from agent.trace import AnyEvent
from agent.views.history import History
from agent.views.knowledge import Knowledge
from agent.views.run import Tally
from agent.views.tokens import Meter

Save = Callable[[int, Sequence[AnyEvent]], None]
"""Keeps events for good: the position of the first one, and the events."""


def new_handle() -> str:
    """A handle that nobody can guess; none begins with a dash, which commands would take for a flag."""
    handle = "-"
    while handle.startswith("-"):
        handle = secrets.token_urlsafe(16)
    return handle


class Conversation:
    """One append-only list of events; ``history``, ``run``, ``meter`` and ``knowledge`` are views of it.

    The views are folded event by event, so a step costs the same however long the conversation is; a
    conversation loaded again folds to the same views. ``commit`` keeps what was appended since the last time.
    ``owner`` says whose it is, where it is kept anywhere.
    """

    def __init__(
        self, handle: str = "", events: Iterable[AnyEvent] = (), save: Save | None = None, owner: str = ""
    ) -> None:
        self.handle, self.owner = handle or new_handle(), owner
        self.history = History()
        self.run = Tally()
        self.meter = Meter()
        self.knowledge = Knowledge()
        self._events: list[AnyEvent] = []
        self._save = save
        for event in events:
            self.append(event)
        self.saved = len(self._events)
        """How many events are kept for good."""

    @property
    def events(self) -> Sequence[AnyEvent]:
        """All events, oldest first."""
        return self._events

    def append(self, event: AnyEvent) -> None:
        """Add an event and fold it into the views."""
        self._events.append(event)
        if event.kind == "run_started":
            continued = event.continues is not None and event.continues == self.run.run_id
            self.run = Tally(self.run if continued else None)
        self.meter.add(event, self.history)
        self.history.add(event)
        self.run.add(event)
        self.knowledge.add(event)

    def commit(self) -> None:
        """Keep all events appended so far; raises what the store raises, and then keeps none of them."""
        fresh = self._events[self.saved :]
        if fresh and self._save:
            self._save(self.saved, fresh)
        self.saved = len(self._events)

    def run_events(self, run_id: str | None = None) -> list[AnyEvent]:
        """The events of one run, by default of the latest."""
        found: list[AnyEvent] = []
        for event in reversed(self._events):
            found.append(event)
            if event.kind == "run_started":
                if run_id in (None, event.run_id):
                    return found[::-1]
                found.clear()
        return []
