"""Turns run under their lease: the one way, for the page, the terminal, the lab and everybody else."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack

from agent.archive.archive import Archive
from agent.archive.lease import lease, waiting_lease
from agent.cancel import Cancel
from agent.loop.agent import Agent
from agent.loop.tool_call import Approval
from agent.loop.turn import Yields
from agent.models import Delta
from agent.trace import AnyEvent, ApprovalRequested
from agent.views.conversation import Conversation
from agent.views.result import AgentResult


class HeldTurn:
    """A turn whose lease is held: iterating it runs it, and lets go of the lease at the end.

    ``close`` breaks it off, and is due where it may not have been iterated to its end.
    """

    def __init__(self, held: AbstractContextManager[str], drive: Callable[[str], Yields[None]]) -> None:
        self._stack = ExitStack()
        self.run_id = self._stack.enter_context(held)
        self._items = drive(self.run_id)

    def __iter__(self) -> Iterator[AnyEvent | Delta]:
        with self._stack:
            yield from self._items

    def close(self) -> None:
        with self._stack:
            self._items.close()


def start_turn(
    archive: Archive,
    agent: Agent,
    conversation: Conversation,
    text: str,
    *,
    message_id: str = "",
    continues: str | None = None,
    cancel: Cancel | None = None,
) -> HeldTurn:
    """Take the lease and give the turn to iterate; takes what ``Agent.stream`` takes.

    Raises ConversationBusy if a run of the conversation is live, or if it has gone on elsewhere.
    """

    def drive(run_id: str) -> Yields[None]:
        return agent.stream(
            conversation, text, message_id=message_id, run_id=run_id, continues=continues, cancel=cancel
        )

    return HeldTurn(lease(archive, conversation), drive)


def resume_turn(
    archive: Archive,
    agent: Agent,
    conversation: Conversation,
    approval: Approval | None,
    *,
    cancel: Cancel | None = None,
) -> HeldTurn:
    """Take up the run that waits for ``approval``, as ``Agent.resume`` does; raises ConversationBusy."""
    return HeldTurn(
        waiting_lease(archive, conversation), lambda _: agent.resume(conversation, approval, cancel=cancel)
    )


def run_turn(
    archive: Archive,
    agent: Agent,
    conversation: Conversation,
    text: str,
    *,
    approve: Callable[[ApprovalRequested], Approval | None] | None = None,
    continues: str | None = None,
) -> AgentResult:
    """Run one turn to its end, as ``Agent.run`` does; raises ConversationBusy."""
    for _ in start_turn(archive, agent, conversation, text, continues=continues):
        pass
    while request := conversation.run.waiting:
        for _ in resume_turn(archive, agent, conversation, approve(request) if approve else None):
            pass
    return AgentResult.of(conversation)
