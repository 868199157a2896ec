"""Draws carts, steps and runs in a terminal."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

import store
from agent.archive import RunSummary
from agent.models import Delta
from agent.text import arguments_text, written
from agent.trace import AnyEvent, ModelReply
from assistant.doctor import Finding
from assistant.stopping import StopCard, labelled

if TYPE_CHECKING:
    from pandas import DataFrame

SHOWN_CHARS = 160
NEAREST = 5


def draw_cart(console: Console, cart: store.CartView) -> None:
    """Print the lines and the total of a cart."""
    if not cart.lines:
        console.print("The cart is empty.")
        return
    table = Table("Book", "Title", "Copies", "Price", "Sum", box=None, pad_edge=False)
    for line in cart.lines:
        prices = store.dollars(line.price_cents), store.dollars(line.line_total_cents)
        table.add_row(str(line.book_id), Text(line.title), str(line.quantity), *prices)
    console.print(table)
    console.print(f"Total {store.dollars(cart.total_cents)}")


def draw_events(console: Console, events: Iterable[AnyEvent]) -> None:
    """Print a line for each event that a person follows a run by."""
    for event in events:
        line = event_line(event)
        if line:
            console.print(Text(line), soft_wrap=True)


def event_line(event: AnyEvent | Delta) -> str:
    """One line of a trace; empty for events that say nothing to a person."""
    match event.kind:
        case "run_started":
            return f"run {event.run_id} · turn {event.turn} · {event.model.label}"
        case "user_message":
            return f"user: {short(event.text)}"
        case "model_request":
            place = "wrap-up" if event.wrap_up else f"step {event.step}"
            lost = "" if event.prefix_kept else "; its beginning changed, so the server's cache of it was lost"
            return (
                f"{place}: about {event.estimated_input_tokens:,} tokens, {event.new_tokens:,} of them new{lost}"
            )
        case "model_reply":
            return "\n".join(reply_lines(event))
        case "tool_started":
            return f"  {event.call.name}({arguments_text(event.call.arguments)})"
        case "tool_finished":
            state = "" if event.ok else " failed" if event.ran else " not run"
            cut = f" [{event.chars_cut:,} characters cut]" if event.chars_cut else ""
            return f"   {state or ''} → {short(event.result)}{cut} ({event.duration_ms:.1f} ms)"
        case "guard_decision":
            figures = f"{written(event.value)} of {written(event.threshold)}"
            return f"  guard {event.guard}: {event.action} at {figures}: {event.reason}"
        case "approval_requested":
            return (
                f"  waits for approval: {event.call.name}({arguments_text(event.call.arguments)}): {event.reason}"
            )
        case "approval_answered":
            changed = f" with {arguments_text(event.arguments)}" if event.arguments else ""
            return f"  {'allowed' if event.approved else 'not allowed'} by {event.by}{changed}"
        case "shop_changed":
            versions = f"v{event.version_before} to v{event.version_after}"
            return f"  the shop changed: {event.resource} {versions}: {event.value} (by {event.by})"
        case "run_finished":
            return f"{event.stop_reason}: {event.steps} steps, {event.tool_calls} tool calls"
        case "note":
            return f"  note to the model: {short(event.text)}"
        case _:
            return ""


def reply_lines(reply: ModelReply) -> list[str]:
    """What a reply took and said, in one line, and a line for each thing that was wrong with it."""
    usage = reply.usage
    mark = "~" if usage.estimated else ""
    counts = f"{mark}{_count(usage.input_tokens)} in, {mark}{_count(usage.output_tokens)} out"
    said = reply.error.message if reply.error else reply.text
    first = (
        f"  model ({'; '.join(filter(None, [counts, _times(reply)]))}){': ' + short(said) if said.strip() else ''}"
    )
    lines = [f"repaired: {short(text)}" for text in reply.repairs]
    lines += [f"warning: {short(text)}" for text in reply.warnings]
    if reply.unusable:
        lines.append(f"unusable: {reply.unusable.replace('_', ' ')}")
    if reply.prompt_cut:
        lines.append("warning: the server cut the prompt, so nothing that was asked for was run")
    return [first, *(f"    {line}" for line in lines)]


def _times(reply: ModelReply) -> str:
    """The times a server told, and how fast the model wrote; without them, the whole as we measured it."""
    times, written = reply.timings_ms, reply.usage.output_tokens
    told = {"load": times.load, "prompt": times.prompt, "writing": times.generation}
    known = [f"{name} {ms / 1000:.1f} s" for name, ms in told.items() if ms is not None]
    if times.generation and written and not reply.usage.estimated:
        known.append(f"{written / (times.generation / 1000):,.1f} tokens/s")
    if not known and times.total is not None:
        known = [f"{times.total / 1000:.1f} s"]
    return ", ".join(known)


def draw_runs(console: Console, runs: Sequence[RunSummary]) -> None:
    """Print the latest runs, one a line."""
    if not runs:
        console.print('No runs yet. Start one with: bookshop ask "..."')
        return
    table = Table("Run", "When", "Model", "Steps", "End", "Request", box=None, pad_edge=False)
    for run in runs:
        steps = "?" if run.steps is None else str(run.steps)
        when = f"{datetime.fromtimestamp(run.started, UTC).astimezone():%Y-%m-%d %H:%M:%S}"
        table.add_row(run.run_id, when, run.model, steps, run.stop_reason or "running", Text(short(run.text, 60)))
    console.print(table)


def draw_frame(console: Console, frame: "DataFrame", title: str | None = None) -> None:
    """Print a frame as a table with the names of its columns as heads; what is unknown is a question mark."""
    table = Table(*frame.columns, title=title, title_justify="left", box=None, pad_edge=False)
    for row in frame.astype(object).where(frame.notna(), "?").itertuples(index=False):
        table.add_row(*(Text(str(cell)) for cell in row))
    console.print(table)


def draw_stop_card(console: Console, card: StopCard, session: str) -> None:
    """Print why a run stopped, how near the other limits were, and the ways on."""
    against = f" ({labelled(card.decided)})" if card.decided else ""
    console.print(f"Stopped because {card.ending.because}{against}.", style="bold", markup=False)
    if card.others:
        near = [labelled(entry) for entry in card.others[:NEAREST]]
        console.print(f"The other limits: {' · '.join(near)}.", markup=False)
    console.print(f"Go on with a new allowance: bookshop continue --session {session}", markup=False)
    console.print(f"Answer now, without tools:  bookshop continue --session {session} --no-tools", markup=False)


def draw_findings(console: Console, findings: Sequence[Finding]) -> None:
    """Print what the doctor found as one table, with what to do about each problem."""
    table = Table("", "What", "Finding", "What to do", box=None, pad_edge=False)
    for finding in findings:
        mark = Text("ok", style="green") if finding.ok else Text("!", style="bold yellow")
        table.add_row(mark, finding.what, Text(finding.found), Text(finding.advice))
    console.print(table, soft_wrap=False)


def short(text: str, limit: int = SHOWN_CHARS) -> str:
    """A text on one line, cut with a mark where it is longer."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _count(tokens: int | None) -> str:
    return "?" if tokens is None else f"{tokens:,}"
