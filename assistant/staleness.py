"""Which facts of a conversation the shop has overtaken since they were read."""

import re
from typing import Any

import store
from agent.conversation import Conversation
from assistant.toolbox import ShopTools


def overtaken(conversation: Conversation, toolbox: ShopTools, answer: str) -> list[dict[str, Any]]:
    """List the facts whose resource has a newer version now, with both values in words.

    ``stated_in_answer`` tells whether the answer still holds the overtaken figure or status.
    """
    stale = []
    for resource, seen in conversation.facts.items():
        try:
            now = toolbox.now(resource)
        except store.NotFound:
            continue
        if now.version == seen.fact.version:
            continue
        stale.append(
            {
                "resource": resource,
                "turn": seen.turn,
                "step": seen.step,
                "seen_version": seen.fact.version,
                "current_version": now.version,
                "seen": seen.fact.value,
                "current": now.value,
                "stated_in_answer": _states(answer, seen.fact.value),
            }
        )
    return stale


def _states(answer: str, value: str) -> bool:
    """Whether a text holds the part of a value an answer would state: an amount, a count of copies, a status."""
    figure = value.removeprefix("total ").removesuffix(" copies").removesuffix(" copy")
    return re.search(rf"(?<![\w.,]){re.escape(figure)}(?!\w|[.,]\d)", answer, re.IGNORECASE) is not None
