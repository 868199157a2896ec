"""What may be drawn of a reply while it comes: never thinking, or the markup of a call, as an answer."""

import re
from typing import Literal

from agent.models import Delta

THOUGHT = re.compile(r"<(?:think(?:ing)?|thought|reasoning)\b[^<>]{0,40}>|\[think\]", re.IGNORECASE)
THOUGHT_ENDS = re.compile(r"</(?:think(?:ing)?|thought|reasoning)>|\[/think\]", re.IGNORECASE)
LONGEST_MARK = len("</reasoning>")

_MARKUP = r"</?tool_call|</?function|<\||</s>|\[TOOL_CALLS|```|~~~|\{\s*[\"'}]"
MARKUP = re.compile(_MARKUP, re.IGNORECASE)
"""With one of these begins what may be a call, wherever it stands: from there on nothing is drawn."""
OPENER = re.compile(rf"{_MARKUP}|\{{|\[\s*[\[{{]", re.IGNORECASE)
"""So it does with these where they open a text; ``[2] The Last Lighthouse`` is no data."""
ECHO = re.compile(r"\s*/(?:no_)?think\s*", re.IGNORECASE)
"""A switch of the template that models repeat at the end of an answer."""
UNSURE = re.compile(
    r"(?:<[/|a-z_]{0,10}|\[\s{0,20}[a-z_]{0,10}|`{1,2}|~{1,2}|\{\s{0,20}|\s{0,20}/[a-z_]{0,8}\s{0,20})\Z",
    re.IGNORECASE,
)
"""An end that may turn out to be the beginning of any of these."""

State = Literal["doubtful", "beginning", "thinking", "open", "shut"]


class Curtain:
    """Takes the deltas of one reply as they come and gives back those to draw now.

    ``doubts``: the text may turn out to be thinking, ended by a lone ``</think>``, so it is held until that or the
    end has come. Deltas are for the eye: blanks at the beginning are dropped, and what stays behind the curtain is
    found in the reply.
    """

    def __init__(self, *, doubts: bool) -> None:
        self._state: State = "doubtful" if doubts else "beginning"
        self._held: list[str] = []
        self._tail = ""

    def trust(self) -> None:
        """Hold no text for fear that it is thinking, where none is held yet."""
        if self._state == "doubtful" and not self._held:
            self._state = "beginning"

    def show(self, delta: Delta) -> list[Delta]:
        """Take the next delta; thinking that comes apart is always drawn."""
        if delta.kind == "text_delta":
            return self._read(delta.text)
        self.trust()  # this server tells them apart
        return [delta]

    def end(self) -> list[Delta]:
        """What a whole reply still had to be held for and is fit to be drawn now."""
        if self._state == "doubtful":
            self._state, self._tail = "beginning", ""
            return self._read("".join(self._held)) + self.end()
        last, self._tail = self._tail, ""
        if self._state == "thinking":
            return _thinking(last)
        cut_mark = len(last) > 1 and last.startswith(("<", "[", "`", "~", "{"))
        return [] if cut_mark or ECHO.fullmatch(last) else _text(last)

    def _read(self, text: str) -> list[Delta]:
        if self._state == "doubtful":
            return self._doubt(text)
        text, self._tail = self._tail + text, ""
        match self._state:
            case "beginning":
                return self._begin(text.lstrip())
            case "thinking":
                return self._think(text)
            case "open":
                return self._speak(text)
        return []

    def _doubt(self, text: str) -> list[Delta]:
        """Hold the text until the thinking that it may be has ended; its end may be cut in two."""
        self._held.append(text)
        opened = len(self._held) <= LONGEST_MARK and THOUGHT.match("".join(self._held).lstrip())
        seen = self._tail + text
        self._tail = seen[1 - LONGEST_MARK :]
        if not opened and not THOUGHT_ENDS.search(seen):
            return []
        self._state, self._tail = "beginning" if opened else "thinking", ""
        return self._read("".join(self._held))

    def _begin(self, text: str) -> list[Delta]:
        """Decide by the first characters what the text is."""
        if mark := THOUGHT.match(text) or THOUGHT_ENDS.match(text):
            self._state = "thinking" if mark.re is THOUGHT else "beginning"
            return self._read(text[mark.end() :])
        if OPENER.match(text):
            self._state = "shut"
            return []
        if not text or UNSURE.match(text):
            self._tail = text
            return []
        self._state = "open"
        return self._read(text)

    def _think(self, text: str) -> list[Delta]:
        if end := THOUGHT_ENDS.search(text):
            self._state = "beginning"
            return _thinking(text[: end.start()]) + self._read(text[end.end() :])
        return _thinking(self._without_end(text))

    def _speak(self, text: str) -> list[Delta]:
        """Draw up to the first mark; what came before an end of thinking was thought, but is drawn already."""
        end, markup = THOUGHT_ENDS.search(text), MARKUP.search(text)
        if end and not (markup and markup.start() < end.start()):
            self._state = "beginning"
            return _text(text[: end.start()]) + self._read(text[end.end() :])
        if markup:
            self._state = "shut"
            return _text(text[: markup.start()])
        return _text(self._without_end(text))

    def _without_end(self, text: str) -> str:
        """The text without an end that may be the beginning of a mark, which is kept for the next time."""
        unsure = UNSURE.search(text, max(len(text) - 60, 0))
        at = unsure.start() if unsure else len(text)
        self._tail = text[at:]
        return text[:at]


def _text(text: str) -> list[Delta]:
    return [Delta("text_delta", text)] if text else []


def _thinking(text: str) -> list[Delta]:
    return [Delta("thinking_delta", text)] if text else []
