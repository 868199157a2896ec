"""Models for the experiment on stale facts: they answer from memory, and heed a cure more or less."""

import re
from collections.abc import Sequence

from agent.models import Message
from agent.models.scripted import Asked, Line, Play, ScriptedModel, call, say
from agent.text import leading_json
from lab.misbehaving import DEMO_PRICES

FIRST_BOOK, SECOND_BOOK = 7, 9
_TOTAL_NOW = re.compile(r"total of (\$\d+\.\d\d) now")
_READ_AGAIN = "read it again in this turn"


def remembers(asked: Asked) -> Line:
    """States what it saw last, in a result or in a block of the program; heeds instructions and marks."""
    if _turn(asked.messages) == 1:
        return _first_turn(asked)
    may_read = any(tool["function"]["name"] == "view_cart" for tool in asked.tools)
    if may_read and _READ_AGAIN in _system(asked.messages) and asked.messages[-1]["role"] == "user":
        return call("view_cart")
    total, marked = _last_total(asked.messages, blocks=True)
    if marked:
        return say(f"Your cart total was {total} when I last saw it; it may have changed since.")
    return say(f"Your cart total is {total}.")


def insists(asked: Asked) -> Line:
    """States what it saw first, whatever it reads of later, unless its answer is sent back."""
    if _turn(asked.messages) == 1:
        return _first_turn(asked)
    sent_back = _TOTAL_NOW.search(str(asked.messages[-1]["content"]))
    if sent_back and asked.messages[-2]["role"] == "assistant":
        return say(f"I am sorry: your cart total is {sent_back[1]}.")
    return say(f"Your cart total is {_last_total(asked.messages, blocks=False)[0]}.")


def deaf(asked: Asked) -> Line:
    """States what it saw first, whatever it is told."""
    if _turn(asked.messages) == 1:
        return _first_turn(asked)
    return say(f"Your cart total is {_last_total(asked.messages, blocks=False)[0]}.")


SHARES: tuple[tuple[Play, int], ...] = ((remembers, 12), (insists, 5), (deaf, 3))
"""The models, and of how many trials in twenty each is the subject."""


def model_for(trial: int) -> ScriptedModel:
    """The model of a trial, in a fixed order, new."""
    plays = [play for play, share in SHARES for _ in range(share)]
    play = plays[trial % len(plays)]
    return ScriptedModel(play.__name__, play, DEMO_PRICES)


def remembers_model() -> ScriptedModel:
    """The one that answers from memory and heeds a cure, new."""
    return ScriptedModel("remembers", remembers, DEMO_PRICES)


def _first_turn(asked: Asked) -> Line:
    adds = [call("add_to_cart", book_id=FIRST_BOOK), call("add_to_cart", book_id=SECOND_BOOK)]
    done = len([message for message in asked.messages if message["role"] == "tool"])
    if done < len(adds):
        return adds[done]
    return say(f"Both books are in your cart. Your cart total is {_last_total(asked.messages, blocks=False)[0]}.")


def _turn(messages: Sequence[Message]) -> int:
    """Whose turn it is: the first until there is an answer in words."""
    return 1 + any(message["role"] == "assistant" and message["content"] for message in messages)


def _system(messages: Sequence[Message]) -> str:
    return str(messages[0]["content"])


def _last_total(messages: Sequence[Message], *, blocks: bool) -> tuple[str, bool]:
    """The total seen last, and whether it is marked as overtaken; ``blocks`` counts those of the program, too."""
    total, marked = "unknown", False
    for message in messages:
        text = str(message["content"])
        if message["role"] == "tool":
            data = leading_json(text)
            shown = data.get("cart_total", data.get("total"))
            total, marked = (f"${shown}", "[OVERTAKEN" in text) if shown else (total, marked)
        elif blocks and message["role"] == "user" and (found := _TOTAL_NOW.search(text)):
            total, marked = found[1], False
    return total, marked
