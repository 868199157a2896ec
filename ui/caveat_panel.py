"""What is to be said under an answer: facts the shop has overtaken since, and which of its claims hold."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import streamlit as st

from ui.safe import safe_label

VERDICTS = {
    "backed": (":material/check_circle:", "holds", "hold"),
    "contradicted": (":material/error:", "does not hold", "do not hold"),
    "unchecked": (":material/help:", "not checked", "not checked"),
}
"""The icon of each verdict, and how one claim and how several are said to be."""
MOST_CLAIMS = 12


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


def faded(text: str, figures: Sequence[str]) -> str:
    """A safe Markdown text with overtaken figures in grey and struck out; the marks below say it in words."""
    for figure in figures:
        written = re.escape(figure.replace("$", "\\$"))
        text = re.sub(rf"(?<![\w.,]){written}(?!\w|[.,]\d)", lambda found: f":gray[~~{found[0]}~~]", text)
    return text


def _words(claim: Mapping[str, str]) -> str:
    return f"{safe_label(claim['text'], 160)} ({safe_label(claim['why'], 160)})"
