"""What of a reply may be drawn while it comes: neither thinking nor the markup of a call is ever shown as an answer."""

import re
from typing import Literal

from agent.models import Delta

THOUGHT, THOUGHT_ENDS = "<think>", "</think>"
CALL_MARKS = ("<tool_call", "<function")
"""With these begins a call wherever they stand, so that nothing after them is drawn."""
OPENERS = (*CALL_MARKS, "<|", "```", "{")
"""With these, at the very beginning, a text is markup or data: the reply will tell which."""

_ARRAY = re.compile(r"\[\s*(?:[\[{].*)?\Z", re.DOTALL)
"""The beginning of a JSON array of objects; ``[2] The Last Lighthouse`` is none."""

State = Literal["doubtful", "beginning", "thinking", "open", "drawn"]


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

    def show(self, delta: Delta) -> list[Delta]:
        """Take the next delta; thinking that comes apart is always drawn."""
        if delta.kind == "text_delta":
            return self._read(delta.text)
        if self._state == "doubtful" and not self._held:
            self._state = "beginning"  # this server tells them apart
        return [delta]

    def end(self) -> list[Delta]:
        """What a whole reply still had to be held for: text that was no thinking, and ends that were no marks."""
        held, self._tail = self._tail, ""
        if self._state == "doubtful":
            held, self._state = "".join(self._held), "beginning"
            return [*self._read(held), *self.end()]
        if self._state == "thinking":
            return _thinking(held)
        return _text(held) if self._state == "open" or not held.startswith(OPENERS) else []

    def _read(self, text: str) -> list[Delta]:
        match self._state:
            case "doubtful":
                return self._doubt(text)
            case "beginning":
                return self._begin(self._tail + text)
            case "thinking":
                before, mark, after = self._until((THOUGHT_ENDS,), text)
                if not mark:
                    return _thinking(before)
                self._state = "beginning"
                return _thinking(before) + self._read(after.removeprefix(THOUGHT_ENDS))
            case "open":
                before, mark, _ = self._until(CALL_MARKS, text)
                self._state = "drawn" if mark else "open"
                return _text(before)
        return []

    def _doubt(self, text: str) -> list[Delta]:
        """Hold the text until the thinking that it may be has ended."""
        self._held.append(text)
        seen = self._tail + text
        self._tail = seen[1 - len(THOUGHT_ENDS) :]
        if THOUGHT_ENDS not in seen:
            return []
        thought, _, answer = "".join(self._held).partition(THOUGHT_ENDS)
        self._state, self._tail = "beginning", ""
        return _thinking(thought.lstrip().removeprefix(THOUGHT)) + self._read(answer)

    def _begin(self, text: str) -> list[Delta]:
        """Decide by the first characters what the text is."""
        self._tail = text = text.lstrip()
        if text.startswith(THOUGHT):
            self._state, self._tail = "thinking", ""
            return self._read(text.removeprefix(THOUGHT))
        if text.startswith(OPENERS) or _ARRAY.match(text):
            self._tail = text[:2] if text.startswith("[") else text[:1]
            self._state = "drawn" if len(text) > 2 else self._state
            return []
        if any(mark.startswith(text) for mark in (THOUGHT, *OPENERS)):
            return []
        self._state, self._tail = "open", ""
        return self._read(text)

    def _until(self, marks: tuple[str, ...], text: str) -> tuple[str, bool, str]:
        """What stands before the first mark, whether there is one, and the rest; an end that may be one is held."""
        seen, self._tail = self._tail + text, ""
        places = [place for mark in marks if (place := seen.find(mark)) >= 0]
        if places:
            return seen[: min(places)], True, seen[min(places) :]
        longest = max(map(len, marks))
        for at in range(max(len(seen) - longest + 1, 0), len(seen)):
            if any(mark.startswith(seen[at:]) for mark in marks):
                self._tail = seen[at:]
                return seen[:at], False, ""
        return seen, False, ""


def _text(text: str) -> list[Delta]:
    return [Delta("text_delta", text)] if text else []


def _thinking(text: str) -> list[Delta]:
    return [Delta("thinking_delta", text)] if text else []
