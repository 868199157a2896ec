"""What is to be said under each answer, worked out only when conversation or shop have gone on, and drawn."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import streamlit as st

import store
from agent.views.conversation import Conversation
from assistant.answer_check.claims import Claim, check_claims
from assistant.answer_check.evidence import Evidence, grounding_mark
from assistant.answer_check.figures import giving, stating
from assistant.answer_check.stale_marks import in_words
from assistant.bookshop import Bookshop
from assistant.shop_facts import ShopWatch
from ui.kept import kept
from ui.safe import WORD_JOINER, safe_label, safe_markdown


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


VERDICTS = {
    "backed": (":material/check_circle:", "holds", "hold"),
    "contradicted": (":material/error:", "does not hold", "do not hold"),
    "unchecked": (":material/help:", "not checked", "not checked"),
}
"""The icon of each verdict, and how one claim and how several are said to be."""
MOST_CLAIMS = 12
_OPEN, _CLOSE = "\ue010", "\ue011"
"""Private signs that carry the places of figures through what makes a text safe."""
_FADED = re.compile(f"{_OPEN}([^{_OPEN}{_CLOSE}\n]*){_CLOSE}")


def draw_marks(lines: Sequence[str], *, loud: bool) -> None:
    """Draw a line for each overtaken fact: in a box where it matters now, quietly under an older answer."""
    if not lines:
        return
    words = "  \n".join(safe_label(line, 300) for line in lines)
    if loud:
        st.warning(f"The shop has changed since this was read.  \n{words}", icon=":material/history:")
    else:
        st.caption(f":material/history: Overtaken: {words}")


def draw_claims(claims: Sequence[Mapping[str, str]], key: str) -> None:
    """Draw what became of the claims of an answer; one that does not hold is said openly, the others on demand."""
    wrong = [claim for claim in claims if claim["verdict"] == "contradicted"]
    for claim in wrong:
        st.error(f"Does not hold: {_words(claim)}", icon=":material/error:")
    rest = [claim for claim in claims if claim["verdict"] != "contradicted"]
    if not rest:
        return
    counts = Counter(claim["verdict"] for claim in claims)
    summary = [
        f"{counts[name]} {one if counts[name] == 1 else more}"
        for name, (_, one, more) in VERDICTS.items()
        if counts[name]
    ]
    with st.expander(f"Claims: {', '.join(summary)}", type="compact", key=f"claims-{key}"):
        for claim in rest[:MOST_CLAIMS]:
            icon, words, _ = VERDICTS[claim["verdict"]]
            st.caption(f"{icon} {words.capitalize()}: {_words(claim)}")


def draw_grounding(mark: str) -> None:
    """Draw, quietly, that figures of an answer come from nowhere."""
    if mark:
        st.caption(f":material/help: {safe_markdown(mark)}")


def faded(text: str, places: Sequence[tuple[int, int]]) -> str:
    """A text as safe Markdown, in grey and struck out at these places; the marks below say in words why."""
    signs = ["" if sign in (_OPEN, _CLOSE) else sign for sign in text]
    for start, end in places:
        signs[start] = _OPEN + signs[start]
        signs[end - 1] += _CLOSE
    safe = _FADED.sub(rf"{WORD_JOINER}:gray[~~\1~~]", safe_markdown("".join(signs)))
    return safe.replace(_OPEN, "").replace(_CLOSE, "")


def _words(claim: Mapping[str, str]) -> str:
    return f"{safe_label(claim['text'], 160)} ({safe_label(claim['why'], 160)})"
