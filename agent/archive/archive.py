"""Keeps conversations in tables of its own, on whatever SQLAlchemy engine it is given."""

import secrets
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection, Engine, Select, bindparam, delete, exists, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from agent.archive.listing import Listing, read_events
from agent.archive.tables import CONVERSATIONS, EVENTS, RUNS, TABLES, run_prepared
from agent.text import clean
from agent.trace import AnyEvent
from agent.trace.documents import FORMAT_VERSION, UnreadableTrace
from agent.views.conversation import Conversation, new_handle

T = TypeVar("T")

_RENEW = (
    update(RUNS)
    .where(
        RUNS.c.handle == bindparam("its_handle"),
        RUNS.c.worker == bindparam("its_worker"),
        RUNS.c.stop_reason.is_(None),
    )
    .values({name: bindparam(name) for name in ("heartbeat", "stop_reason", "last")})
)
_KEEP = insert(EVENTS)


class Transact(Protocol):
    """Runs work in a transaction of its own, again if others were in the way."""

    def __call__(self, work: Callable[[Connection], T]) -> T: ...


LONGEST_NAME = 100
BEAT_SECONDS = 2.0
NOBODY = ""
"""The worker of a run that waits for a person; such a run never lapses, however long that takes."""


class NameTaken(ValueError):
    """Another conversation of yours has this name already; choose another."""

    def __str__(self) -> str:
        return str(self.__doc__)


class LeaseLost(Exception):
    """This process does not hold the run: others closed it, or it has no lease; start turns with ``run_turn``."""

    def __str__(self) -> str:
        return str(self.__doc__)


class Pulse:
    """Calls ``renew`` with the runs that are held, every few seconds.

    The thread outlives the last run by a beat, so that runs in quick succession do not start one each.
    """

    def __init__(self, renew: Callable[[Collection[str]], object]) -> None:
        self._renew = renew
        self._lock = threading.Lock()
        self._held: set[str] = set()
        self._beating = False

    def hold(self, run_id: str) -> None:
        """Keep a run alive from now on."""
        with self._lock:
            self._held.add(run_id)
            if not self._beating:
                self._beating = True
                threading.Thread(target=self._beat, name="pulse", daemon=True).start()

    def drop(self, run_id: str) -> None:
        """Keep it alive no longer."""
        with self._lock:
            self._held.discard(run_id)

    def _beat(self) -> None:
        pause = threading.Event()
        while not pause.wait(BEAT_SECONDS):
            with self._lock:
                held = set(self._held)
                self._beating = bool(held)
            if not held:
                return
            # A database that fails now gets the next sign; several in a row fit into a lease.
            with suppress(Exception):
                self._renew(held)


class Archive:
    """Conversations and their events, each conversation belonging to an owner.

    Only the worker that holds a run's lease appends to its conversation (see ``lease``), in one short transaction
    a commit. ``create`` makes the tables; nothing is read or written before.
    """

    def __init__(self, engine: Engine, transact: Transact | None = None) -> None:
        self.engine = engine
        self.transact = transact or _transact_on(engine)
        self.worker = secrets.token_hex(8)
        """Names this process among those that share the database."""
        self.pulse = Pulse(self._renew)
        """Keeps the leases of this process alive."""
        self.listing = Listing(engine)
        """What there is, without loading it."""

    def create(self) -> None:
        """Make the tables that are missing."""
        TABLES.create_all(self.engine)

    def start(self, owner: str, name: str | None = None) -> Conversation:
        """Begin a conversation under a new, unguessable handle; a name this owner has used continues that one.

        One without a name is kept from its first run on (see ``lease``).
        """
        conversation = self._conversation(owner, new_handle(), ())
        if name is None:
            return conversation
        row = {**first_row(conversation), "name": clean(name)}
        try:
            self.transact(lambda db: db.execute(insert(CONVERSATIONS).values(row)))
        except IntegrityError:  # another process was quicker with this name
            found = self.find(owner, name)
            if found is None:
                raise
            return found
        return conversation

    def find(self, owner: str, handle_or_name: str) -> Conversation | None:
        """Load a conversation of this owner by its handle or name; a foreign or forged handle finds none.

        Raises UnreadableTrace if a newer version of this program stored it.
        """
        with self.engine.connect() as db:
            found = db.execute(_called(owner, handle_or_name)).first()
            if found is None:
                return None
            if found.format != FORMAT_VERSION:
                raise UnreadableTrace(f"This conversation has format {found.format}; update this program.")
            return self._conversation(owner, found.handle, read_events(db, found.handle))

    def handle(self, owner: str, handle_or_name: str) -> str | None:
        """The handle of the conversation that ``find`` would load, also where it cannot be read."""
        with self.engine.connect() as db:
            found = db.execute(_called(owner, handle_or_name)).first()
            return found.handle if found else None

    def length(self, owner: str, handle: str) -> int | None:
        """How many events a conversation of this owner has; None if there is no such conversation."""
        count = select(func.count()).select_from(EVENTS).where(EVENTS.c.handle == handle).scalar_subquery()
        mine = (CONVERSATIONS.c.handle == handle, CONVERSATIONS.c.owner == owner)
        with self.engine.connect() as db:
            return db.scalar(select(count).select_from(CONVERSATIONS).where(*mine))

    def rename(self, owner: str, handle: str, name: str) -> None:
        """Give a conversation of this owner a name; raises NameTaken if another of theirs has it."""
        mine = update(CONVERSATIONS).where(CONVERSATIONS.c.handle == handle, CONVERSATIONS.c.owner == owner)
        try:
            self.transact(lambda db: db.execute(mine.values(name=clean(name).strip()[:LONGEST_NAME] or None)))
        except IntegrityError:
            raise NameTaken from None

    def delete(self, owner: str, handle: str) -> bool:
        """Delete a conversation of this owner, events and all; False if there is none, or if it is answering."""
        mine = delete(CONVERSATIONS).where(
            CONVERSATIONS.c.handle == handle,
            CONVERSATIONS.c.owner == owner,
            ~exists().where(RUNS.c.handle == handle, RUNS.c.stop_reason.is_(None), RUNS.c.worker != NOBODY),
        )

        def remove(db: Connection) -> bool:
            if not db.execute(mine).rowcount:
                return False
            for table in (EVENTS, RUNS):
                db.execute(delete(table).where(table.c.handle == handle))
            return True

        return self.transact(remove)

    def _renew(self, run_ids: Collection[str]) -> None:
        mine = (RUNS.c.run_id.in_(run_ids), RUNS.c.worker == self.worker)
        self.transact(lambda db: db.execute(update(RUNS).where(*mine).values(heartbeat=time.time())))

    def _conversation(self, owner: str, handle: str, events: Sequence[AnyEvent]) -> Conversation:
        return Conversation(handle, events, lambda position, fresh: self._save(handle, position, fresh), owner)

    def _save(self, handle: str, position: int, events: Sequence[AnyEvent]) -> None:
        ended = next((event.stop_reason for event in events if event.kind == "run_finished"), None)
        last = position + len(events) - 1
        rows = [
            {"handle": handle, "position": position + offset, "body": event.model_dump_json()}
            for offset, event in enumerate(events)
        ]
        lease = {
            "its_handle": handle,
            "its_worker": self.worker,
            "heartbeat": time.time(),
            "stop_reason": ended,
            "last": last if ended else None,
        }

        def write(db: Connection) -> None:
            if run_prepared(db, _RENEW, lease).rowcount != 1:
                raise LeaseLost
            run_prepared(db, _KEEP, *rows)

        self.transact(write)


def first_row(conversation: Conversation) -> dict[str, Any]:
    """What is kept of a conversation when it begins."""
    row = {"handle": conversation.handle, "owner": conversation.owner, "name": None}
    return {**row, "format": FORMAT_VERSION, "created": time.time()}


def _called(owner: str, handle_or_name: str) -> Select[tuple[str, int]]:
    """Picks an owner's conversations of this handle or name; a handle comes before a name that looks like it."""
    row, wanted = CONVERSATIONS.c, clean(handle_or_name)
    named = or_(row.handle == wanted, row.name == wanted)
    return select(row.handle, row.format).where(row.owner == owner, named).order_by(row.handle != wanted)


def _transact_on(engine: Engine) -> Transact:
    def transact(work: Callable[[Connection], T]) -> T:
        with engine.begin() as db:
            return work(db)

    return transact
