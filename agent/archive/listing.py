"""What an archive holds, listed: the conversations and runs of an owner, read without their whole traces."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from sqlalchemy import Connection, Engine, Select, and_, func, select
from sqlalchemy.orm import aliased

from agent.archive.tables import CONVERSATIONS, EVENTS, RUNS
from agent.text import clean
from agent.trace import EVENT, AnyEvent, RunFinished, StopReason
from agent.trace.documents import UnreadableTrace


@dataclass(frozen=True)
class RunSummary:
    """One stored run: who was asked what, when (seconds since the epoch), and how it ended (None: it has not)."""

    run_id: str
    handle: str
    started: float
    model: str
    text: str
    stop_reason: StopReason | None
    answer: str
    steps: int | None


@dataclass(frozen=True)
class ConversationSummary:
    """One stored conversation: its ``name`` if it was given one, else what was asked first is its title.

    ``turns`` counts its runs; ``begun`` and ``used`` are seconds since the epoch; ``live``: a run of it goes on,
    or waits for a person.
    """

    handle: str
    name: str | None
    first_request: str
    turns: int
    begun: float
    used: float
    live: bool

    @property
    def title(self) -> str:
        return self.name or self.first_request or "New conversation"


class Listing:
    """Reads an archive's tables; every answer is about one owner's things alone."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def conversations(self, owner: str, limit: int = 200) -> list[ConversationSummary]:
        """The conversations of an owner, the one used last first; those nothing was asked in are left out."""
        with self._engine.connect() as db:
            rows = db.execute(_CONVERSATIONS.where(CONVERSATIONS.c.owner == owner).limit(limit)).all()
            return [
                ConversationSummary(
                    handle=row.handle,
                    name=row.name,
                    first_request=_text(row.body),
                    turns=row.turns,
                    begun=row.created,
                    used=row.used,
                    live=row.ended < row.turns,
                )
                for row in rows
            ]

    def runs(self, owner: str, limit: int = 20) -> list[RunSummary]:
        """The latest runs of an owner, newest first."""
        with self._engine.connect() as db:
            rows = db.execute(_summaries(owner).limit(limit)).all()
            return [_summary(row) for row in rows]

    def finished(self, owner: str, limit: int = 20) -> list[RunFinished]:
        """How the latest runs of an owner ended, newest first; those that have not are left out."""
        last = and_(EVENTS.c.handle == RUNS.c.handle, EVENTS.c.position == RUNS.c.last)
        ends = select(EVENTS.c.body).select_from(RUNS).join(EVENTS, last)
        owned = ends.join(CONVERSATIONS, CONVERSATIONS.c.handle == RUNS.c.handle)
        latest = owned.where(CONVERSATIONS.c.owner == owner).order_by(RUNS.c.started.desc()).limit(limit)
        with self._engine.connect() as db:
            events = [read_event(body) for body in db.scalars(latest)]
        return [event for event in events if event.kind == "run_finished"]

    def run_events(self, owner: str, run_id: str) -> list[AnyEvent]:
        """The events of one run of an owner, so far; empty if there is no such run."""
        run = select(RUNS).join(CONVERSATIONS, CONVERSATIONS.c.handle == RUNS.c.handle)
        with self._engine.connect() as db:
            row = db.execute(run.where(CONVERSATIONS.c.owner == owner, RUNS.c.run_id == clean(run_id))).first()
            return read_events(db, row.handle, row.first, row.last) if row else []


def read_events(db: Connection, handle: str, first: int = 0, last: int | None = None) -> list[AnyEvent]:
    """The events of a conversation in order, all or from ``first`` to ``last``; raises UnreadableTrace."""
    span = [EVENTS.c.handle == handle, EVENTS.c.position >= first]
    if last is not None:
        span.append(EVENTS.c.position <= last)
    return [
        read_event(body) for body in db.scalars(select(EVENTS.c.body).where(*span).order_by(EVENTS.c.position))
    ]


def read_event(body: str) -> AnyEvent:
    """One event as it is stored; raises UnreadableTrace for anything else."""
    try:
        return EVENT.validate_json(body)
    except ValidationError:
        raise UnreadableTrace("This conversation is damaged and cannot be read.") from None


_RUNS_OF = (
    select(
        RUNS.c.handle,
        func.count().label("turns"),
        func.count(RUNS.c.stop_reason).label("ended"),
        func.max(RUNS.c.started).label("used"),
    )
    .group_by(RUNS.c.handle)
    .subquery()
)
_CONVERSATIONS = (
    select(CONVERSATIONS, _RUNS_OF.c.turns, _RUNS_OF.c.ended, _RUNS_OF.c.used, EVENTS.c.body)
    .join(_RUNS_OF, _RUNS_OF.c.handle == CONVERSATIONS.c.handle)
    # Every run begins with run_started and the message it answers.
    .outerjoin(EVENTS, and_(EVENTS.c.handle == CONVERSATIONS.c.handle, EVENTS.c.position == 1))
    .order_by(_RUNS_OF.c.used.desc())
)


def _summaries(owner: str) -> Select[Any]:
    """The runs of an owner, each with the three events that tell what it was about."""
    begun, asked, end = aliased(EVENTS), aliased(EVENTS), aliased(EVENTS)
    places = ((begun, RUNS.c.first), (asked, RUNS.c.first + 1), (end, RUNS.c.last))
    bodies = [event.c.body.label(name) for name, event in (("begun", begun), ("asked", asked), ("end", end))]
    runs = select(RUNS, *bodies).join(CONVERSATIONS, CONVERSATIONS.c.handle == RUNS.c.handle)
    for event, position in places:
        runs = runs.outerjoin(event, and_(event.c.handle == RUNS.c.handle, event.c.position == position))
    return runs.where(CONVERSATIONS.c.owner == owner).order_by(RUNS.c.started.desc())


def _summary(row: Any) -> RunSummary:
    events: Sequence[AnyEvent] = [read_event(body) for body in (row.begun, row.asked, row.end) if body]
    started = next((event for event in events if event.kind == "run_started"), None)
    finished = next((event for event in events if event.kind == "run_finished"), None)
    return RunSummary(
        run_id=row.run_id,
        handle=row.handle,
        started=row.started,
        model=started.model.name if started else "",
        text=_text(row.asked),
        stop_reason=row.stop_reason,
        answer=finished.answer if finished else "",
        steps=finished.steps if finished else None,
    )


def _text(body: str | None) -> str:
    """What the user said in a stored event; nothing if it is no message."""
    event = read_event(body) if body else None
    return event.text if event and event.kind == "user_message" else ""
