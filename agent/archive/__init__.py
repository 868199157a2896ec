"""Conversations and their runs, kept in tables of their own; and the one way to run a turn of one."""

from agent.archive.archive import LONGEST_NAME, NOBODY, Archive, LeaseLost, NameTaken
from agent.archive.lease import ConversationBusy, close_lapsed, lease, waiting_lease
from agent.archive.listing import ConversationSummary, RunSummary
from agent.archive.runs import Runs, Snapshot
from agent.archive.turns import HeldTurn, resume_turn, run_turn, start_turn

__all__ = [
    "LONGEST_NAME",
    "NOBODY",
    "Archive",
    "ConversationBusy",
    "ConversationSummary",
    "HeldTurn",
    "LeaseLost",
    "NameTaken",
    "RunSummary",
    "Runs",
    "Snapshot",
    "close_lapsed",
    "lease",
    "resume_turn",
    "run_turn",
    "start_turn",
    "waiting_lease",
]
