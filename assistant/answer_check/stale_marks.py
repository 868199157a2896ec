"""Which facts of a conversation the shop has overtaken, as other programs and people are told."""

from collections.abc import Sequence
from typing import Any

from agent.trace import Overtaken
from agent.views.conversation import Conversation
from assistant.answer_check.figures import Figure, stating
from assistant.shop_facts import ShopWatch


def stale_facts(conversation: Conversation, watch: ShopWatch, figures: Sequence[Figure]) -> list[Overtaken]:
    """What was overtaken and not read again, and what was told again but an answer states as it was before."""
    knowledge = conversation.knowledge
    last, now = knowledge.facts, watch.now_of(knowledge.seen)
    found = [one for one in knowledge.overtaken_by(now) if one.seen == last[one.seen.resource].fact]
    marked = {one.seen.resource for one in found}
    return found + [
        one
        for one in knowledge.overtaken()
        if one.seen.resource not in marked and stating(figures, one.seen, one.now)
    ]


def stale_json(conversation: Conversation, watch: ShopWatch, figures: Sequence[Figure]) -> list[dict[str, Any]]:
    """The overtaken facts of a conversation in the shape of the contract, with both values in words.

    ``stated_in_answer`` tells whether the answer with these figures states the overtaken value as that of now.
    """
    return [
        {
            "resource": one.seen.resource,
            "turn": one.turn,
            "step": one.step,
            "seen_version": one.seen.version,
            "current_version": one.now.version,
            "seen": one.seen.value,
            "current": one.now.value,
            "stated_in_answer": bool(stating(figures, one.seen, one.now)),
        }
        for one in stale_facts(conversation, watch, figures)
    ]


def in_words(one: Overtaken) -> str:
    """One line: "cart read at v12 (turn 1, step 4), now v15: the total was $16.50, is $33.00"."""
    place = f"turn {one.turn}, step {one.step}" if one.step else f"turn {one.turn}"
    versions = f"{one.seen.resource} read at v{one.seen.version} ({place}), now v{one.now.version}"
    return f"{versions}: {_then_and_now(one)}"


def _then_and_now(one: Overtaken) -> str:
    if one.seen.resource == "cart":
        was, now = (fact.value.removeprefix("total ") for fact in (one.seen, one.now))
        return f"the total was {was}, is {now}"
    return f"it was {one.seen.value}, is {one.now.value}"
