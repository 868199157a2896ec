"""The runs under way in this process: each in a worker thread of its own, watched through snapshots."""

import logging
import threading
import time
from dataclasses import dataclass, field

from agent.archive.archive import Archive
from agent.archive.turns import HeldTurn, resume_turn, start_turn
from agent.cancel import Cancel
from agent.loop.agent import Agent
from agent.loop.tool_call import Approval
from agent.models import Delta
from agent.trace import AnyEvent
from agent.views.conversation import Conversation

KEEP_SECONDS = 60.0
"""How long a finished run can still be watched; after that it is read from the archive."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Snapshot:
    """A run as it stands: its events that are kept for good, and the words and thoughts now coming in."""

    run_id: str
    question: str
    events: tuple[AnyEvent, ...]
    doing: str
    text: str
    thinking: str
    running: bool
    stopping: bool
    seconds: float


@dataclass
class LiveRun:
    """One run and its worker; fields are guarded by ``lock``."""

    run_id: str
    question: str
    conversation: Conversation
    first: int
    cancel: Cancel
    lock: threading.Lock = field(default_factory=threading.Lock)
    over: threading.Event = field(default_factory=threading.Event)
    started: float = field(default_factory=time.monotonic)
    ended: float | None = None
    events: tuple[AnyEvent, ...] = ()
    doing: str = "starting"
    words: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)

    def take(self, item: AnyEvent | Delta) -> None:
        """Show what has come: deltas at once, events when they are kept."""
        with self.lock:
            match item.kind:
                case "text_delta":
                    self.words.append(item.text)
                    self.doing = "answering"
                case "thinking_delta":
                    self.thoughts.append(item.text)
                    self.doing = "thinking"
                case "phase":
                    self.doing = item.text
                case "model_request":
                    self.words, self.thoughts = [], []
                    self.doing = "waiting for the model"
                case "tool_started":
                    self.doing = f"running {item.call.name}"
            self._show_kept()

    def end(self) -> None:
        with self.lock:
            self._show_kept()
            self.ended = time.monotonic()
        self.over.set()

    def _show_kept(self) -> None:
        if len(self.events) < self.conversation.saved - self.first:
            self.events = tuple(self.conversation.events[self.first : self.conversation.saved])

    def snapshot(self) -> Snapshot:
        with self.lock:
            return Snapshot(
                run_id=self.run_id,
                question=self.question,
                events=self.events,
                doing=self.doing,
                text="".join(self.words),
                thinking="".join(self.thoughts),
                running=self.ended is None,
                stopping=self.cancel.wanted,
                seconds=(self.ended or time.monotonic()) - self.started,
            )


class Runs:
    """Starts, shows, stops and waits for runs, one a conversation; a plain object, safe for all threads."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._lock = threading.Lock()
        self._live: dict[str, LiveRun] = {}

    def start(
        self, agent: Agent, conversation: Conversation, text: str, message_id: str, continues: str | None = None
    ) -> str:
        """Answer a message in a worker thread; returns the run id, or raises ConversationBusy."""
        cancel = Cancel()
        turn = start_turn(
            self._archive, agent, conversation, text, message_id=message_id, continues=continues, cancel=cancel
        )
        return self._work_on(turn, conversation, text, cancel)

    def resume(self, agent: Agent, conversation: Conversation, approval: Approval | None) -> str:
        """Go on with the run that waits for this answer; returns the run id, or raises ConversationBusy."""
        cancel = Cancel()
        question = next(event.text for event in conversation.run_events() if event.kind == "user_message")
        turn = resume_turn(self._archive, agent, conversation, approval, cancel=cancel)
        return self._work_on(turn, conversation, question, cancel)

    def _work_on(self, turn: HeldTurn, conversation: Conversation, question: str, cancel: Cancel) -> str:
        live = LiveRun(turn.run_id, question, conversation, _first_of(conversation, turn.run_id), cancel)
        with self._lock:
            self._forget_old()
            self._live[conversation.handle] = live
        threading.Thread(target=_work, args=(live, turn), name=f"run {turn.run_id}", daemon=True).start()
        return turn.run_id

    def snapshot(self, handle: str) -> Snapshot | None:
        """The latest run of a conversation, while it is live and a little longer."""
        live = self._get(handle)
        return live.snapshot() if live else None

    def stop(self, handle: str) -> None:
        """Ask the run of a conversation to stop, at once in whatever it waits for."""
        live = self._get(handle)
        if live:
            live.cancel.request()

    def wait(self, handle: str, seconds: float | None = None) -> bool:
        """Wait until no run of the conversation is live; returns False after ``seconds``."""
        live = self._get(handle)
        return live.over.wait(seconds) if live else True

    def _get(self, handle: str) -> LiveRun | None:
        with self._lock:
            return self._live.get(handle)

    def _forget_old(self) -> None:
        now = time.monotonic()
        for handle, live in list(self._live.items()):
            if live.ended and now - live.ended > KEEP_SECONDS:
                del self._live[handle]


def _first_of(conversation: Conversation, run_id: str) -> int:
    """The position of a run's first event: where a new one will begin, or one that waited began."""
    waited = conversation.run_events(run_id) if conversation.run.run_id == run_id else []
    return conversation.saved - len(waited)


def _work(live: LiveRun, turn: HeldTurn) -> None:
    try:
        for item in turn:
            live.take(item)
    except Exception:
        log.exception("run %s broke", live.run_id)
    finally:
        turn.close()
        live.end()
