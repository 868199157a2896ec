"""Three questions to ask of any agent, answered for the settings as they stand: how does it stop, what does a job
cost at the worst, what does a failed call return.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from agent.text import counted, nth
from agent.tools import MAX_ERROR_CHARS
from agent.trace import RunFinished
from agent.trace.stop_reasons import BUDGET, MODEL, ROOM, STOPS, STUCK
from assistant.settings import Settings
from assistant.worst_case import Averages, Worst, at_most, averages, ends_under, worst_case

JOBS, DAYS = 1_000, 30


@dataclass(frozen=True)
class Answer:
    """A question and its answer, a few lines of plain text."""

    question: str
    lines: tuple[str, ...]


def answers(settings: Settings, finished: Sequence[RunFinished]) -> tuple[Answer, Answer, Answer]:
    """The three answers under ``settings``, with the latest finished runs to go by."""
    return (
        Answer("How does it stop?", tuple(_stops(settings))),
        Answer("What does one job cost at the worst?", tuple(_costs(settings, averages(finished)))),
        Answer("What does a failed call return?", tuple(_failures(settings))),
    )


def _stops(settings: Settings) -> list[str]:
    """Every end a run can come to, in the words of the guards."""
    found: dict[str, list[str]] = {BUDGET: [], STUCK: [], ROOM: [], MODEL: []}
    for ends in ends_under(settings):
        found[STOPS[ends.reason].kind].append(ends.when)
    caps = [f"{tool} after {counted(cap, 'call')}" for tool, cap in settings.tool_caps.items()]
    lines = ["The model answers, fails, or you press Stop."]
    lines += [f"{kind}: {'; '.join(whens)}." for kind, whens in found.items() if whens]
    if not found[STUCK]:
        lines.append("No stuck shape ends it.")
    if caps:
        lines.append(f"A tool was used up: {'; '.join(caps)}.")
    if settings.approve_above is not None:
        lines.append(f"It waits for your yes before the cart passes ${settings.approve_above:.2f}.")
    if settings.limits.wrap_up:
        lines.append("After a budget or a stuck shape, one last model call without tools.")
    return lines


def _costs(settings: Settings, measured: Averages | None) -> list[str]:
    """Tokens, money and seconds of the longest job; what is not known is said to be."""
    if measured is None:
        known = at_most(settings)
        return [
            "No runs measured yet, so tokens and money are not known.",
            f"The limits allow at most {', '.join(known)}." if known else "No limit bounds it.",
        ]
    worst = worst_case(settings, measured)
    typical = f"Measured: {counted(measured.runs, 'run')}, {measured.calls:.1f} model calls each on average."
    if worst is None:
        return ["Nothing bounds it: switch a budget on.", typical]
    tokens = worst.input_tokens + worst.output_tokens
    calls = f"{counted(worst.calls, 'model call')}, stopped by {worst.end}"
    lines = [
        f"Estimate: {calls}; {tokens:,} tokens, {worst.input_tokens:,} in and {worst.output_tokens:,} out.",
        _money(settings, worst),
        _time(worst),
        f"{JOBS:,} jobs a day: {tokens * JOBS / 1e6:,.1f} million tokens.",
        typical,
    ]
    if measured.growth is None:
        lines.append(
            "No run of several steps measured yet: how requests grow is not known, and not in these figures."
        )
    if measured.estimated:
        lines.append("Some of the measured tokens are estimates of ours.")
    return lines


def _money(settings: Settings, worst: Worst) -> str:
    if settings.prices is None:
        return "No price is set: nothing for a model that runs here, not known for any other."
    cost = settings.prices.cost(worst.input_tokens, worst.output_tokens)
    day = cost * JOBS
    return (
        f"About ${cost:.4f}; {JOBS:,} jobs a day cost ${day:,.2f}, or ${day * DAYS:,.2f} a month of {DAYS} days."
    )


def _time(worst: Worst) -> str:
    if worst.seconds is None:
        return "How long it takes is not known."
    hours = worst.seconds * JOBS / 3600
    return f"About {worst.seconds:,.1f} seconds; {JOBS:,} jobs, one after the other, {hours:,.1f} hours."


def _failures(settings: Settings) -> list[str]:
    limits = settings.limits
    lines = [
        f"One line of at most {MAX_ERROR_CHARS} characters that says what to try next.",
        "Never the error itself, a host name or a line of code.",
        "The page shows it as failed. It is not kept as a result: the same call may run again.",
    ]
    if limits.tool_seconds is not None:
        lines.append(f"A call that takes longer than {counted(limits.tool_seconds, 'second')} counts as failed.")
    if limits.error_streak is not None:
        last, more = nth(limits.error_streak), nth(limits.error_streak + 1)
        lines.append(f"The {last} failure in a row ends the run; of calls that could not even run, the {more}.")
    else:
        lines.append("No streak of failures ends the run.")
    if limits.repeat_nudge_at is not None:
        lines.append(f"The same call once more is not run from the {nth(limits.repeat_nudge_at)} time on.")
    lines += [f"Now on purpose: {tool} has the fault {fault}." for tool, fault in settings.faults.items()]
    return lines
