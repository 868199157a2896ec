"""The stale-data caveat of a conversation, worked out anew only when the conversation or the shop has gone on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import streamlit as st

import store
from agent.trace import Overtaken, RunFinished
from agent.views.conversation import Conversation
from assistant.bookshop import Bookshop
from assistant.claims import Claim, check_claims
from assistant.shop_facts import ShopWatch
from assistant.staleness import current, in_words, overtaken_by, stale_facts
from assistant.stating import states
from ui.caveat_panel import draw_claims, draw_marks


@dataclass(frozen=True)
class Caveats:
    """What is to be said under each answer, by run id; claims are checked for the latest answer alone.

    Under the latest answer stands every overtaken fact, under an older one what it states and what is overtaken.
    """

    overtaken: Mapping[str, Sequence[Overtaken]] = field(default_factory=dict)
    claims: Sequence[Claim] = ()
    latest: str = ""

    def figures(self, run_id: str) -> list[str]:
        """The overtaken values under an answer, as it would write them."""
        return [one.seen.value.removeprefix("total ") for one in self.overtaken.get(run_id, ())]

    def draw(self, run_id: str) -> None:
        """Draw what is to be said under the answer of a run."""
        lines = [in_words(one) for one in self.overtaken.get(run_id, ())]
        draw_marks(lines, loud=run_id == self.latest)
        if run_id == self.latest:
            draw_claims([claim.model_dump() for claim in self.claims], run_id)


def caveats_of(shop: Bookshop, customer: int, conversation: Conversation) -> Caveats:
    """The caveats of a conversation as the shop stands now."""
    now = (conversation.handle, len(conversation.events), store.latest_change(shop.engine))
    known, found = st.session_state.get("caveats", (None, Caveats()))
    if known != now:
        found = _work_out(shop, customer, conversation)
        st.session_state.caveats = now, found
    return found


def _work_out(shop: Bookshop, customer: int, conversation: Conversation) -> Caveats:
    watch = ShopWatch(shop.engine, customer)
    now = current(conversation.knowledge.seen, watch)
    ends = _ends(conversation)
    if not ends:
        return Caveats()
    latest = next(reversed(ends))
    overtaken = {}
    for run_id, (turn, end) in ends.items():
        then = [[one for one in seen if one.turn <= turn] for seen in conversation.knowledge.seen.values()]
        found = overtaken_by([seen[-1] for seen in then if seen], now)
        overtaken[run_id] = [one for one in found if states(end.answer, one.seen)]
    overtaken[latest] = stale_facts(conversation, watch, ends[latest][1].answer)
    claims = _claims(shop, customer, conversation, ends[latest][1])
    # What was overtaken after the answer was given is marked as that; it was no false claim.
    later = [
        one.seen
        for one in overtaken[latest]
        if one.now.version > conversation.knowledge.versions[one.now.resource]
    ]
    claims = [claim for claim in claims if not any(states(claim.text, seen) for seen in later)]
    return Caveats(overtaken, claims, latest)


def _claims(shop: Bookshop, customer: int, conversation: Conversation, end: RunFinished) -> Sequence[Claim]:
    if not conversation.run.finished or end.answer_by != "model":
        return ()
    events = conversation.run_events()
    earlier = conversation.events[: len(conversation.events) - len(events)]
    return check_claims(end.answer, events, earlier, shop.engine, customer)


def _ends(conversation: Conversation) -> dict[str, tuple[int, RunFinished]]:
    """The turn and the end of each finished run, by run id."""
    found, run_id, turn = {}, "", 0
    for event in conversation.events:
        match event.kind:
            case "run_started":
                run_id, turn = event.run_id, event.turn
            case "run_finished":
                found[run_id] = (turn, event)
    return found
