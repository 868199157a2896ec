"""Why a run stopped, as a card: what ended it, its value against the threshold, how near the other limits were."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from agent.guards.ledger import Entry, StepLedger, ledger, nearness
from agent.text import written
from agent.trace import AnyEvent, RunFinished, StopReason
from agent.trace.stop_reasons import STOPS, Ending
from assistant.bookshop import Bookshop
from assistant.settings import DEMO_CUSTOMER, Settings

NO_LIMIT = {
    "replay_writes": "The same write",
    "unusable_reply": "Replies asked for again",
    "fresh_answer": "Answers asked for again",
}
"""Guards that have no limit to come near to, and what people call them."""
LABELS: Mapping[str, str] = {
    **{reason: stop.limit for reason, stop in STOPS.items() if stop.limit},
    "tool_cap": "Calls of one tool",
    **NO_LIMIT,
}


@dataclass(frozen=True)
class StopCard:
    """How a run ended early: ``decided`` is the guard that ended it, if one did.

    ``others`` are the limits that did not, the nearest first.
    """

    stop_reason: StopReason
    decided: Entry | None
    others: tuple[Entry, ...]

    @property
    def ending(self) -> Ending:
        """What is to be known of the stop reason."""
        return STOPS[self.stop_reason]


def run_ledger(shop: Bookshop, events: Sequence[AnyEvent]) -> list[StepLedger]:
    """The guard ledger of a recorded run, under the settings it was made with."""
    started = events[0] if events else None
    if started is None or started.kind != "run_started":
        return []
    settings = Settings.of(started)
    return ledger(events, settings.guards, shop.toolbox(DEMO_CUSTOMER, "ledger", settings).tools)


def stop_card(shop: Bookshop, events: Sequence[AnyEvent]) -> StopCard | None:
    """The card of a run that stopped early; None for one that is done, or still goes on."""
    end = events[-1] if events else None
    if end is None or end.kind != "run_finished" or end.stop_reason == "done":
        return None
    entries = [_at_the_end(entry, end) for entry in nearness(run_ledger(shop, events))]
    decided = next((entry for entry in reversed(entries) if entry.action == "stop"), None)
    others = [entry for entry in entries if entry is not decided and entry.guard not in NO_LIMIT]
    others.sort(key=share, reverse=True)
    return StopCard(end.stop_reason, decided, tuple(others))


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
    return f"{label_of(entry.guard)} {figures(entry)}"


def label_of(guard: str) -> str:
    """What people call a guard, with the unit of its limit; a policy of somebody else keeps its own name."""
    return LABELS.get(guard, guard)
