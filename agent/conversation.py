"""A conversation: its events, the views folded from them, and where they are kept."""

import secrets
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from agent.history import History
from agent.meter import Meter
from agent.shapes import Fact, Overtaken
from agent.tally import Tally
from agent.trace import AnyEvent, ToolFinished

Save = Callable[[int, Sequence[AnyEvent]], None]
"""Keeps events for good: the position of the first one, and the events."""


class Seen(NamedTuple):
    """A fact, and the turn and step that learnt it."""

    fact: Fact
    turn: int
    step: int


class Conversation:
    """One append-only list of events; ``history``, ``run``, ``meter`` and ``facts`` are views of it.

    The views are folded event by event, so a step costs the same however long the conversation is; a
    conversation loaded again folds to the same views. ``commit`` keeps what was appended since the last time.
    """

    def __init__(self, handle: str = "", events: Iterable[AnyEvent] = (), save: Save | None = None) -> None:
        self.handle = handle or secrets.token_urlsafe(16)
        self.history = History()
        self.run = Tally()
        self.meter = Meter()
        self.seen: dict[str, list[Seen]] = {}
        """All that the conversation has read or changed, by resource, oldest first."""
        self.news: dict[str, Fact] = {}
        """What it heard of through ``shop_changed`` and has not read since: the model may know nothing of it."""
        self.known_versions: dict[str, int] = {}
        """The newest version of each resource that the conversation knows of."""
        self.doubtful: dict[str, ToolFinished] = {}
        """Calls that were cut off and may still take effect, by idempotency key."""
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
        match event.kind:
            case "tool_finished":
                for fact in event.reads:
                    self._learn(fact, event.step)
                for change in event.changes:
                    fact = Fact(resource=change.resource, version=change.version, value=change.value)
                    self._learn(fact, event.step)
                if event.doubtful and event.key:
                    self.doubtful[event.key] = event
                elif event.changes:
                    self.doubtful.pop(event.key or "", None)
            case "shop_changed":
                self.doubtful.pop(event.late_key or "", None)
                self.known_versions[event.resource] = event.version_after
                if event.now:
                    known = self.seen.get(event.resource)
                    self.news[event.resource] = Fact(
                        resource=event.resource,
                        version=event.version_after,
                        value=event.now,
                        name=known[-1].fact.name if known else "",
                    )
            case "note":
                for fact in event.reads:
                    self._learn(fact, event.step)

    @property
    def facts(self) -> dict[str, Seen]:
        """What the conversation last read or changed, by resource."""
        return {resource: seen[-1] for resource, seen in self.seen.items()}

    def overtaken(self) -> list[Overtaken]:
        """Every value that was seen once and is known to be true no more, with what is true now."""
        found = []
        for resource, seen in self.seen.items():
            now = self.news.get(resource, seen[-1].fact)
            told = {one.fact.value: one for one in seen if one.fact.value != now.value}  # each value once
            found += [Overtaken(seen=one.fact, turn=one.turn, step=one.step, now=now) for one in told.values()]
        return found

    def _learn(self, fact: Fact, step: int) -> None:
        if fact.version < self.known_versions.get(fact.resource, 0):
            return  # an old answer told again takes no knowledge back
        self.seen.setdefault(fact.resource, []).append(Seen(fact, self.run.turn, step))
        self.known_versions[fact.resource] = fact.version
        self.news.pop(fact.resource, None)

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
