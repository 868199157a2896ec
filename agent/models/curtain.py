"""What may be drawn of a reply while it comes: never thinking, or the markup of a call, as an answer."""

import re
from typing import Literal

from agent.models.markup import DIALECTS, ECHO, FENCES, LONE_END, SWITCHES, THOUGHT, of_kind, pattern
from agent.models.protocol import Delta


def _slashed(marks: set[str]) -> set[str]:
    """These marks, and as they begin where they close: ``<tool_call`` and ``</tool_call``."""
    return marks | {f"{mark[0]}/{mark[1:]}" for mark in marks}


def _any(marks: set[str]) -> str:
    return "|".join(map(re.escape, marks))


def _begun(marks: set[str]) -> str:
    """A pattern for as many letters of one of these as may have come."""
    return "|".join("(?:".join(map(re.escape, mark)) + ")?" * (len(mark) - 1) for mark in marks)


_FIRST = {dialect.begins for dialect in DIALECTS if dialect.first}
_HIDDEN = _slashed({dialect.begins for dialect in of_kind("call") + of_kind("template")} - _FIRST) | {*FENCES}
_THOUGHT = _slashed({dialect.begins for dialect in of_kind("thinking")})
_UNSURE = rf"{_begun(_HIDDEN | _THOUGHT)}|[\[{{]\s{{0,20}}|\s{{0,20}}(?:{_begun({*SWITCHES})})\s{{0,20}}"

OPENER = pattern(_any(_HIDDEN | _FIRST), r"\{|\[\s*[\[{]")
"""What opens a text like this may be a call, so nothing of it is drawn; ``[2] The Last Lighthouse`` is no data."""
TURN = pattern(rf"(?P<end>{LONE_END.pattern})", _any(_HIDDEN), r"\{\s*[\"'}]")
"""Up to here a text is drawn, wherever this stands: at an end of thinking it begins anew, else nothing follows."""
UNSURE, UNSURE_OPENER = pattern(rf"(?:{_UNSURE})\Z"), pattern(rf"(?:{_UNSURE}|{_begun(_FIRST)})\Z")
"""An end that may turn out to be the beginning of any of these."""
SIGNS = tuple({mark[0] for mark in _HIDDEN | _THOUGHT} | {"{"})
LONGEST_UNSURE = 60
LONGEST_END = max(map(len, _THOUGHT)) + 1
VISIBLE = re.compile(r"\S")


class Curtain:
    """Takes the deltas of one reply as they come and gives back those to draw now.

    ``doubts``: the text may turn out to be thinking, ended by a lone ``</think>``, so it is held until that or the
    end has come. Deltas are for the eye: blanks at the beginning are dropped, and what stays behind the curtain is
    found in the reply.
    """

    def __init__(self, *, doubts: bool) -> None:
        self._state: Literal["doubtful", "beginning", "thinking", "open", "shut"]
        self._state = "doubtful" if doubts else "beginning"
        self._held: list[str] = []
        self._tail = ""

    def trust(self) -> None:
        """Hold no text for fear that it is thinking, where none is held yet."""
        if self._state == "doubtful" and not self._held:
            self._state = "beginning"

    def show(self, delta: Delta) -> list[Delta]:
        """Take the next delta; thinking that comes apart is always drawn."""
        if delta.kind != "text_delta":
            self.trust()  # this server tells them apart
            return [delta]
        return self._doubt(delta.text) if self._state == "doubtful" else self._read(delta.text)

    def end(self) -> list[Delta]:
        """What a whole reply still had to be held for and is fit to be drawn now."""
        if self._state == "doubtful":
            self._state, self._tail = "beginning", ""
            return self._read("".join(self._held)) + self.end()
        last, self._tail = self._tail, ""
        if self._state == "thinking":
            return self._drawn(last)
        cut_mark = len(last) > 1 and last.startswith(SIGNS)
        return [] if cut_mark or ECHO.fullmatch(last) else self._drawn(last)

    def _doubt(self, text: str) -> list[Delta]:
        """Hold the text until the thinking that it may be has ended; its end may be cut in two."""
        self._held.append(text)
        opened = len(self._held) <= LONGEST_END and THOUGHT.match("".join(self._held).lstrip())
        seen = self._tail + text
        self._tail = seen[1 - LONGEST_END :]
        if not opened and not LONE_END.search(seen):
            return []
        self._state, self._tail = "beginning" if opened else "thinking", ""
        return self._read("".join(self._held))

    def _read(self, text: str) -> list[Delta]:
        """Draw of a text what is clear, from one mark to the next, and keep an end that is not."""
        text, self._tail = self._tail + text, ""
        drawn: list[Delta] = []
        at = 0
        while at < len(text) and self._state != "shut":
            if self._state == "beginning":
                at = self._begin(text, at)
                continue
            thinking = self._state == "thinking"
            mark = (LONE_END if thinking else TURN).search(text, at)
            stop = mark.start() if mark else self._keep(text, at)
            drawn += self._drawn(text[at:stop])
            if mark:
                self._state = "beginning" if thinking or mark["end"] else "shut"
            at = mark.end() if mark else len(text)
        return drawn

    def _begin(self, text: str, at: int) -> int:
        """Decide by the first characters what comes, and say where that begins."""
        visible = VISIBLE.search(text, at)
        at = visible.start() if visible else len(text)
        if OPENER.match(text, at):
            self._state = "shut"
        elif mark := THOUGHT.match(text, at):
            self._state = "thinking"
            return mark.end()
        elif mark := LONE_END.match(text, at):
            return mark.end()
        elif UNSURE_OPENER.match(text, at):
            self._tail = text[at:]
            return len(text)
        elif visible:
            self._state = "open"
        return at

    def _keep(self, text: str, at: int) -> int:
        """Keep an end that may be the beginning of a mark for the next time, and say where it begins."""
        unsure = UNSURE.search(text, max(len(text) - LONGEST_UNSURE, at))
        stop = unsure.start() if unsure else len(text)
        self._tail = text[stop:]
        return stop

    def _drawn(self, text: str) -> list[Delta]:
        return [Delta("thinking_delta" if self._state == "thinking" else "text_delta", text)] if text else []
