"""What a conversation knows of the world, and what the world has overtaken since."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from agent.trace import AnyEvent, Fact, Overtaken, ToolFinished


class Seen(NamedTuple):
    """A fact, and the turn and step that learnt it."""

    fact: Fact
    turn: int
    step: int


def told(event: AnyEvent) -> list[Fact]:
    """The facts that an event tells the model: what a call read or changed, what a note of the program says."""
    match event.kind:
        case "tool_finished":
            changed = [
                Fact(resource=change.resource, version=change.version, value=change.value)
                for change in event.changes
            ]
            return [*event.reads, *changed]
        case "note":
            return event.reads
    return []


class Knowledge:
    """Folded from events; nothing of it is asked of the world, which others bring as what is true ``now``.

    ``seen`` holds all that was read or changed, by resource, oldest first. ``news`` is what was heard of through
    ``shop_changed`` and not read since, so that the model may know nothing of it. ``versions`` are the newest
    known, by resource. ``doubtful`` are calls that were cut off and may still take effect, by idempotency key.
    """

    def __init__(self) -> None:
        self.seen: dict[str, list[Seen]] = {}
        self.news: dict[str, Fact] = {}
        self.versions: dict[str, int] = {}
        self.doubtful: dict[str, ToolFinished] = {}
        self._turn = 0

    def add(self, event: AnyEvent) -> None:
        """Take one event."""
        for fact in told(event):
            self._learn(fact, event.step)
        match event.kind:
            case "run_started":
                self._turn = event.turn
            case "tool_finished" if event.doubtful and event.key:
                self.doubtful[event.key] = event
            case "tool_finished" if event.changes:
                self.doubtful.pop(event.key or "", None)
            case "shop_changed":
                self.doubtful.pop(event.late_key or "", None)
                self.versions[event.resource] = event.version_after
                if event.now:
                    known = self.seen.get(event.resource)
                    self.news[event.resource] = Fact(
                        resource=event.resource,
                        version=event.version_after,
                        value=event.now,
                        name=known[-1].fact.name if known else "",
                    )

    @property
    def facts(self) -> dict[str, Seen]:
        """What was last read or changed, by resource."""
        return {resource: seen[-1] for resource, seen in self.seen.items()}

    def unread(self) -> list[Fact]:
        """The news that tells of another value than the one seen last: a change there and back is none."""
        return [
            fact
            for resource, fact in self.news.items()
            if resource not in self.seen or self.seen[resource][-1].fact.value != fact.value
        ]

    def overtaken(self) -> list[Overtaken]:
        """Every value that was seen once and is known to be true no more, with what is true now."""
        known = {resource: self.news.get(resource, seen[-1].fact) for resource, seen in self.seen.items()}
        return [_overtaken(one, now) for one, now in self._values(known) if one.fact.value != now.value]

    def overtaken_by(self, now: Mapping[str, Fact], until: int | None = None) -> list[Overtaken]:
        """Every value that was seen up to the turn ``until`` and has a newer version and another value ``now``."""
        return [
            _overtaken(one, fact)
            for one, fact in self._values(now, until)
            if one.fact.value != fact.value and one.fact.version != fact.version
        ]

    def versions_after(self, events: Iterable[AnyEvent]) -> dict[str, int]:
        """The newest versions that will be known once these events are folded, too."""
        known = dict(self.versions)
        for event in events:
            heard = {fact.resource: fact.version for fact in told(event)}
            if event.kind == "shop_changed":
                heard[event.resource] = event.version_after
            known |= {resource: max(version, known.get(resource, 0)) for resource, version in heard.items()}
        return known

    def _values(self, now: Mapping[str, Fact], until: int | None = None) -> Iterator[tuple[Seen, Fact]]:
        """Each value once, as it was seen last, beside what its resource is now."""
        for resource, seen in self.seen.items():
            if fact := now.get(resource):
                values = {one.fact.value: one for one in seen if until is None or one.turn <= until}
                yield from ((one, fact) for one in values.values())

    def _learn(self, fact: Fact, step: int) -> None:
        if fact.version < self.versions.get(fact.resource, 0):
            return  # an old answer told again takes no knowledge back
        self.seen.setdefault(fact.resource, []).append(Seen(fact, self._turn, step))
        self.versions[fact.resource] = fact.version
        self.news.pop(fact.resource, None)


def _overtaken(one: Seen, now: Fact) -> Overtaken:
    return Overtaken(seen=one.fact, turn=one.turn, step=one.step, now=now)
