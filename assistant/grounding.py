"""Figures in an answer that no tool result shows: a model that answered from its head."""

import re
from collections.abc import Iterable, Sequence

from agent.trace import AnyEvent

_PRICE = re.compile(r"(?<![\w.,])\$?(\d{1,6}[.,]\d{2})(?![\d%])")
_COPIES = re.compile(r"(?<![\w.,$])(\d{1,6})(?=\s+(?:copies|copy|in stock|left|available)\b)", re.IGNORECASE)


def ungrounded_figures(answer: str, results: Iterable[str]) -> list[str]:
    """The prices and stock counts an answer states that stand in none of the tool results, as they are written."""
    known = "\n".join(results)
    stated = [*_PRICE.findall(answer), *_COPIES.findall(answer)]
    shown = {figure for figure in stated if re.search(rf"(?<![\d.]){re.escape(figure)}(?![\d.]\d)", known)}
    return [figure for figure in dict.fromkeys(stated) if figure not in shown]


def grounding_mark(events: Sequence[AnyEvent]) -> str:
    """What to say under the latest answer of a conversation if its figures come from nowhere; else nothing.

    Only of a turn that ran no tool: figures that an earlier turn read are known, if perhaps overtaken.
    """
    end = events[-1] if events else None
    if end is None or end.kind != "run_finished" or end.answer_by != "model" or end.tool_calls:
        return ""
    results = [event.result for event in events if event.kind == "tool_finished" and event.ok]
    figures = ungrounded_figures(end.answer, results)
    return f"No tool was used for this answer, and no tool result shows: {', '.join(figures)}." if figures else ""
