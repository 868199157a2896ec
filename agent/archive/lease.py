"""One live run a conversation: a lease in the database, renewed while the worker lives, closed when it died.

A run that waits for a person has no worker; whoever brings the answer takes it up.
"""

import math
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from sqlalchemy import Connection, Update, bindparam, exists, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from agent.archive.archive import NOBODY, Archive, first_row
from agent.archive.tables import CONVERSATIONS, EVENTS, RUNS, run_prepared
from agent.tools import ToolOutcome
from agent.tools.fingerprint import fingerprint
from agent.trace import ToolFinished
from agent.trace.documents import UnreadableTrace
from agent.views.answers import program_answer
from agent.views.conversation import Conversation

LAPSE_SECONDS = 10.0
"""A run whose worker gave no sign for this long (see ``Pulse``) is taken for dead."""
_BEGIN = insert(CONVERSATIONS).from_select(
    [column.name for column in CONVERSATIONS.columns],
    select(*(bindparam(column.name, type_=column.type) for column in CONVERSATIONS.columns)).where(
        ~exists().where(CONVERSATIONS.c.handle == bindparam("handle"))
    ),
)
_CLAIM = insert(RUNS)
_AT_THE_END = (
    select(func.count())
    .select_from(EVENTS)
    .where(
        EVENTS.c.handle == bindparam("its_handle"), EVENTS.c.position.in_((bindparam("last"), bindparam("next")))
    )
)
_WAITING = {"worker": NOBODY, "heartbeat": math.inf}
"""What the lease of a run says that waits for a person."""


class ConversationBusy(Exception):
    """This conversation is answering already, or waits for your approval; wait for it, answer it, or stop it."""

    def __str__(self) -> str:
        return super().__str__() or str(self.__doc__)


@contextmanager
def lease(archive: Archive, conversation: Conversation) -> Iterator[str]:
    """Hold the one live run of a conversation; yields its new run id.

    Raises ConversationBusy if there is one, or if the conversation has gone on elsewhere since it was loaded.
    """
    run_id, now = secrets.token_hex(8), time.time()
    claim = {
        "run_id": run_id,
        "handle": conversation.handle,
        "first": conversation.saved,
        "last": None,
        "started": now,
        "heartbeat": now,
        "worker": archive.worker,
        "stop_reason": None,
    }

    def take(db: Connection) -> None:
        if not conversation.saved:
            run_prepared(db, _BEGIN, first_row(conversation))
        run_prepared(db, _CLAIM, claim)
        _refuse_if_gone_on(db, conversation)

    try:
        archive.transact(take)
    except IntegrityError:
        raise ConversationBusy from None
    with _alive(archive, conversation, run_id):
        yield run_id


@contextmanager
def waiting_lease(archive: Archive, conversation: Conversation) -> Iterator[str]:
    """Take up the run of a conversation that waits for a person; yields its run id.

    Raises ConversationBusy if somebody else has: of several answers to one request one counts.
    """
    run_id = conversation.run.run_id
    waits = (RUNS.c.run_id == run_id, RUNS.c.worker == NOBODY, RUNS.c.stop_reason.is_(None))

    def take(db: Connection) -> None:
        mine = update(RUNS).where(*waits).values(worker=archive.worker, heartbeat=time.time())
        if db.execute(mine).rowcount != 1:
            raise ConversationBusy("This request was answered already.")
        _refuse_if_gone_on(db, conversation)

    archive.transact(take)
    with _alive(archive, conversation, run_id):
        yield run_id


@contextmanager
def _alive(archive: Archive, conversation: Conversation, run_id: str) -> Iterator[None]:
    """Keep the lease of a run that is held; at the end it is over, waits for a person, or lapses at once."""
    archive.pulse.hold(run_id)
    try:
        yield
    finally:
        archive.pulse.drop(run_id)
        run = conversation.run
        mine = update(RUNS).where(
            RUNS.c.run_id == run_id, RUNS.c.worker == archive.worker, RUNS.c.stop_reason.is_(None)
        )
        kept = run.run_id == run_id and conversation.saved == len(conversation.events)
        waits = _WAITING if kept and run.waiting else {"heartbeat": 0.0}
        if run.waiting or not kept or not run.finished:
            with suppress(Exception):  # one that cannot even write its end lapses by itself
                _change(archive, mine.values(**waits))


def _refuse_if_gone_on(db: Connection, conversation: Conversation) -> None:
    """Raise ConversationBusy unless the last event that is known is the last one there is."""
    places = {"last": conversation.saved - 1, "next": conversation.saved}
    known = run_prepared(db, _AT_THE_END, {"its_handle": conversation.handle, **places}).scalar()
    if known != min(conversation.saved, 1):
        raise ConversationBusy("This conversation has gone on elsewhere; open it again.")


def close_lapsed(archive: Archive, outcome: Callable[[str], ToolOutcome | None]) -> int:
    """Close the runs whose lease has lapsed as ``interrupted``; returns how many.

    ``outcome`` tells what a call came to, by its idempotency key, if it took effect: a call that the crash left
    without a result gets the true one.
    """
    closed = 0
    lapsed = (RUNS.c.stop_reason.is_(None), RUNS.c.heartbeat < time.time() - LAPSE_SECONDS)
    with archive.engine.connect() as db:
        owners = select(RUNS.c.run_id, RUNS.c.handle, CONVERSATIONS.c.owner)
        rows = db.execute(owners.join(CONVERSATIONS, CONVERSATIONS.c.handle == RUNS.c.handle).where(*lapsed)).all()
    for row in rows:
        this_run = update(RUNS).where(RUNS.c.run_id == row.run_id)
        taken = _change(archive, this_run.where(*lapsed).values(worker=archive.worker, heartbeat=time.time()))
        if not taken:
            continue
        with suppress(UnreadableTrace):
            conversation = archive.find(row.owner, row.handle)
            if conversation and conversation.run.run_id == row.run_id:
                if conversation.run.waiting:  # it died after it had asked; the answer may still come
                    _change(archive, this_run.values(_WAITING))
                    continue
                interrupt(conversation, outcome)
        # One that died before its first event was kept, or that cannot be read, has nothing else to be closed.
        _change(archive, this_run.where(RUNS.c.stop_reason.is_(None)).values(stop_reason="interrupted"))
        closed += 1
    return closed


def interrupt(conversation: Conversation, outcome: Callable[[str], ToolOutcome | None]) -> None:
    """Give every open call its true result and end the run as ``interrupted``."""
    run = conversation.run
    keys = {event.call.id: event for event in conversation.run_events() if event.kind == "tool_started"}
    for call in list(run.open_calls.values()):
        started = keys.get(call.id)
        known = outcome(started.key) if started else None
        lost = "Not known: the program ended before the result came."
        words = lost if started else "Not run: the program ended before."
        result = known or ToolOutcome(result=words, ok=False)
        conversation.append(
            ToolFinished(
                step=started.step if started else run.steps,
                call=started.call if started else call,
                raw_arguments=call.arguments,
                ran=known is not None,
                ok=result.ok,
                not_run=None if known else "run_ended",
                side_effecting=bool(result.changes),
                result=result.result,
                reads=result.reads,
                changes=result.changes,
                fingerprint=started.fingerprint if started else fingerprint(call.name, call.arguments),
                key=started.key if started else None,
            )
        )
    answer = program_answer(conversation, "interrupted", "the program ended in the middle of it")
    conversation.append(run.end("interrupted", answer, "program", seconds=None))
    conversation.commit()


def _change(archive: Archive, statement: Update) -> int:
    return archive.transact(lambda db: db.execute(statement).rowcount)
