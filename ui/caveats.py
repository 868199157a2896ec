"""What is to be said under each answer, worked out anew only when the conversation or the shop has gone on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import store
from agent.views.conversation import Conversation
from assistant.answer_check.claims import Claim, check_claims
from assistant.answer_check.evidence import Evidence, grounding_mark
from assistant.answer_check.figures import giving, stating
from assistant.answer_check.stale_marks import in_words
from assistant.bookshop import Bookshop
from assistant.shop_facts import ShopWatch
from ui.caveat_panel import draw_claims, draw_grounding, draw_marks
from ui.kept import kept


@dataclass(frozen=True)
class Caveat:
    """What is to be said under one answer: a line for each overtaken value it states, its claims, and the rest.

    ``faded`` are the places in the answer where it states what is overtaken.
    """

    marks: Sequence[str] = ()
    faded: Sequence[tuple[int, int]] = ()
    claims: Sequence[Claim] = ()
    grounding: str = ""


@dataclass(frozen=True)
class Caveats:
    """The caveats by run id. Only those of the latest answer are loud, and only its claims are checked."""

    by_run: Mapping[str, Caveat] = field(default_factory=dict)
    latest: str = ""

    def faded(self, run_id: str) -> Sequence[tuple[int, int]]:
        """Where an answer states what the shop has overtaken."""
        return self.by_run.get(run_id, Caveat()).faded

    def draw(self, run_id: str) -> None:
        """Draw what is to be said under the answer of a run."""
        caveat = self.by_run.get(run_id, Caveat())
        draw_marks(caveat.marks, loud=run_id == self.latest)
        draw_claims([claim.model_dump() for claim in caveat.claims], run_id)
        draw_grounding(caveat.grounding)


def caveats_of(shop: Bookshop, customer: int, conversation: Conversation) -> Caveats:
    """The caveats of a conversation as the shop stands now."""
    state = (conversation.handle, len(conversation.events), store.latest_change(shop.engine))
    return kept("caveats", state, lambda: _work_out(shop, customer, conversation))


def _work_out(shop: Bookshop, customer: int, conversation: Conversation) -> Caveats:
    knowledge = conversation.knowledge
    now = ShopWatch(shop.engine, customer).now_of(knowledge.seen)
    evidence, run_id, by_run = Evidence(), "", {}
    for event in conversation.events:
        evidence.add(event)
        if event.kind == "run_started":
            run_id = event.run_id
        elif event.kind == "run_finished":
            reading = evidence.read(event.answer)
            overtaken = knowledge.overtaken_by(now, until=evidence.turn)
            stated = [(one, stating(reading.figures, one.seen, one.now)) for one in overtaken]
            claims: Sequence[Claim] = ()
            if event.answer_by == "model" and run_id == conversation.run.run_id:
                # What was overtaken after the answer was given is marked as that; it was no false claim.
                known = knowledge.versions
                later = [one.seen for one in overtaken if one.now.version > known[one.now.resource]]
                stated_then = [one for one in reading.figures if not any(giving([one], seen) for seen in later)]
                claims = check_claims(reading._replace(figures=stated_then), shop.engine, customer)
            by_run[run_id] = Caveat(
                marks=[in_words(one) for one, figures in stated if figures],
                faded=[(figure.start, figure.end) for _, figures in stated for figure in figures],
                claims=claims,
                grounding=grounding_mark(reading, event),
            )
    return Caveats(by_run, latest=next(reversed(by_run), ""))
