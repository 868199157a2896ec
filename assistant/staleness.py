"""Which facts of a conversation the shop has overtaken since they were read."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import store
from agent.trace import Fact, Overtaken
from agent.views.conversation import Conversation
from agent.views.knowledge import Seen
from assistant.shop_facts import ShopWatch
from assistant.stating import states, states_as_current


def overtaken_now(seen: Iterable[Seen], watch: ShopWatch) -> list[Overtaken]:
    """Those of these facts whose resource has a newer version and another value now; no change, no mark."""
    facts = list(seen)
    return overtaken_by(facts, current({one.fact.resource for one in facts}, watch))


def overtaken_by(seen: Iterable[Seen], now: Mapping[str, Fact]) -> list[Overtaken]:
    """The same, where what is true ``now`` is known already, by resource."""
    return [
        Overtaken(seen=one.fact, turn=one.turn, step=one.step, now=fact)
        for one in seen
        if (fact := now.get(one.fact.resource))
        and fact.version != one.fact.version
        and fact.value != one.fact.value
    ]


def current(resources: Iterable[str], watch: ShopWatch) -> dict[str, Fact]:
    """What these resources are now; those that are no more are left out."""
    found = {}
    for resource in resources:
        with suppress(store.NotFound):
            found[resource] = watch.now(resource)
    return found


def stale_facts(conversation: Conversation, watch: ShopWatch, answer: str) -> list[Overtaken]:
    """What was overtaken and not read again, and what was told again but the answer states as it was before."""
    found = overtaken_now(conversation.knowledge.facts.values(), watch)
    marked = {one.seen.resource for one in found}
    return found + [
        one
        for one in conversation.knowledge.overtaken()
        if one.seen.resource not in marked and states_as_current(answer, one.seen, one.now)
    ]


def stale_json(conversation: Conversation, watch: ShopWatch, answer: str) -> list[dict[str, Any]]:
    """The overtaken facts of a conversation in the shape of the contract, with both values in words.

    ``stated_in_answer`` tells whether the answer holds the overtaken figure or status.
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
            "stated_in_answer": states(answer, one.seen),
        }
        for one in stale_facts(conversation, watch, answer)
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
