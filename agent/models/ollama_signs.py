"""Signs of trouble with Ollama: what an exception has to be for a symptom to fit."""

import re
from collections.abc import Callable

from agent.models.ollama_errors import Refused, Silent

Sign = Callable[[Exception], bool]


def raised(*kinds: type[Exception]) -> Sign:
    """The sign that one of these was raised."""
    return lambda error: isinstance(error, kinds)


def says(pattern: str) -> Sign:
    """The sign that the server's own words match a pattern; a page is not its own."""
    words = re.compile(pattern, re.IGNORECASE)
    return lambda error: isinstance(error, Refused) and not error.is_page and bool(words.search(error.words))


def status(*codes: int, empty: bool = False) -> Sign:
    """The sign that the server answered with one of these; ``empty``: and with nothing else."""
    return lambda error: (
        isinstance(error, Refused) and error.status in codes and not (empty and error.words.strip())
    )


def shows_a_page(error: Exception) -> bool:
    """The sign that something answered which speaks to browsers, or which only leads elsewhere."""
    if not isinstance(error, Refused) or error.status is None:
        return False
    return error.is_page or error.status in range(300, 400)


def never_began(error: Exception) -> bool:
    """The sign that nothing came within the time for the first byte."""
    return isinstance(error, Silent) and not error.begun
