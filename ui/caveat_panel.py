"""What is to be said under an answer: facts the shop has overtaken since, and which of its claims hold."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import streamlit as st

from ui.safe import WORD_JOINER, safe_label, safe_markdown

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
