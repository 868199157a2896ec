"""Why a run stopped, as a card: what ended it, its value against the threshold, how near the other limits were."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent.ledger import Entry, StepLedger, ledger, nearness
from agent.text import written
from agent.trace import AnyEvent, RunFinished, StopReason
from assistant.bookshop import Bookshop, guards_under
from assistant.settings import DEMO_CUSTOMER, Settings

BECAUSE: dict[StopReason, str] = {
    "max_steps": "it reached the limit of steps",
    "max_tool_calls": "it reached the limit of tool calls",
    "max_tokens": "the next step would have passed the token limit",
    "max_input_tokens": "the next step would have passed the limit of input tokens",
    "max_cost": "the next step would have passed the cost limit",
    "max_seconds": "its time was up",
    "repeated_call": "the model made the same call again and again",
    "ping_pong": "the model went round in a circle of calls",
    "no_new_information": "the model learnt nothing new any more",
    "error_streak": "calls failed again and again",
    "not_approved": "nobody allowed the call it waited for",
    "context_window": "the conversation no longer fits into the model's context",
    "cancelled": "you stopped it",
    "empty_answer": "the model gave no answer",
    "model_unavailable": "the model cannot be reached",
    "model_error": "the model's reply broke off or was unusable",
    "interrupted": "the program ended in the middle of it",
    "internal_error": "something of ours broke",
}
LABELS = {
    "max_steps": "Steps",
    "max_seconds": "Seconds",
    "max_tokens": "Tokens",
    "max_input_tokens": "Input tokens",
    "max_cost": "Cost, dollars",
    "max_tool_calls": "Tool calls",
    "tool_cap": "Calls of one tool",
    "ping_pong": "Calls in a circle",
    "repeated_call": "The same call",
    "replay_writes": "The same write",
    "error_streak": "Failures in a row",
    "no_new_information": "Results without news",
    "unusable_reply": "Replies asked for again",
    "context_window": "Context, tokens",
}
"""What people call the guards."""
SWITCHES = ("replay_writes", "unusable_reply")
"""Guards that have no limit to come near to."""


@dataclass(frozen=True)
class StopCard:
    """``because`` completes "It stopped because"; ``decided`` is the guard that ended it, if one did.

    ``others`` are the limits that did not, the nearest first.
    """

    stop_reason: StopReason
    because: str
    decided: Entry | None
    others: tuple[Entry, ...]


def run_ledger(shop: Bookshop, events: Sequence[AnyEvent]) -> list[StepLedger]:
    """The guard ledger of a recorded run, under the settings it was made with."""
    started = events[0] if events else None
    if started is None or started.kind != "run_started":
        return []
    settings = Settings.of(started)
    return ledger(events, guards_under(settings), shop.toolbox(DEMO_CUSTOMER, "ledger", settings).tools)


def stop_card(shop: Bookshop, events: Sequence[AnyEvent]) -> StopCard | None:
    """The card of a run that stopped early; None for one that is done, or still goes on."""
    end = events[-1] if events else None
    if end is None or end.kind != "run_finished" or end.stop_reason == "done":
        return None
    entries = [_at_the_end(entry, end) for entry in nearness(run_ledger(shop, events))]
    decided = next((entry for entry in reversed(entries) if entry.action == "stop"), None)
    others = [entry for entry in entries if entry is not decided and entry.guard not in SWITCHES]
    others.sort(key=share, reverse=True)
    return StopCard(end.stop_reason, BECAUSE.get(end.stop_reason, "a guard stopped it"), decided, tuple(others))


def _at_the_end(entry: Entry, end: RunFinished) -> Entry:
    """Steps and calls as they stood at the end: a guard saw them last before the last of them."""
    value = {"max_steps": end.steps, "max_tool_calls": end.tool_calls}.get(entry.guard)
    return entry if value is None or entry.action else replace(entry, value=value)


def share(entry: Entry) -> float:
    """How much of a limit was used up, 1 at the limit."""
    return min((entry.value or 0) / entry.threshold, 1.0) if entry.threshold else 0.0


def figures(entry: Entry) -> str:
    """A value against its threshold, as people write it: "5,123 of 20,000"."""
    if entry.guard == "max_cost":
        return f"${entry.value or 0:.4f} of ${entry.threshold or 0:g}"
    return f"{written(entry.value or 0)} of {written(entry.threshold or 0)}"


def labelled(entry: Entry) -> str:
    """A guard by its name for people, with its figures: "Tokens 5,123 of 20,000"."""
    return f"{LABELS.get(entry.guard, entry.guard)} {figures(entry)}"
