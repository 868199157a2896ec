"""How many copies a phrase asks for, before or after the title."""

import re

from assistant.offline.words import NUMBERS, OPEN

_NUMBER = "|".join(sorted(NUMBERS, key=len, reverse=True))
_COUNT = rf"(?P<sign>-|−|minus |negative )?(?P<count>\d+(?:[.,]\d+)?|{_NUMBER})"
_COPIES = r"(?:more |extra |other )?(?:cop(?:y|ies)|pieces?|units?)"

# A number alone may begin a title ("Nine Minutes of Weather"), so each pattern wants a sign of counting.
_QUANTITIES = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        rf"^{_COUNT}\s*(?:x|×)?\s*(?:{_COPIES}(?:\s+(?:each\s+)?of)?|(?:more|extra)?\s*of)\b:?\s*",
        rf"^{_COUNT}\s*(?:(?:x|×)\s*|(?:more|extra)\b\s*)",
        rf"^(?P<sign>-|−)?(?P<count>\d{{1,3}})\s+(?=the\b|book\b|{OPEN})",
        rf"[,\s]+\(?{_COUNT}\s+{_COPIES}(?:\s+of\s+(?:it|them))?\)?$",
        r"[,\s]+\(?(?:x|×)\s*(?P<sign>-|−)?(?P<count>\d+)\)?$",
    )
)


def quantity_in(phrase: str) -> tuple[float, str]:
    """The count a phrase names, 1 if it names none, and the phrase without it."""
    if phrase.lower().endswith(" twice"):
        return 2, phrase[: -len(" twice")]
    for pattern in _QUANTITIES:
        if found := pattern.search(phrase):
            word = found["count"].lower()
            count = float(NUMBERS[word] if word in NUMBERS else word.replace(",", "."))
            return (-count if found["sign"] else count), phrase[: found.start()] + phrase[found.end() :]
    return 1, phrase
