"""The books of one request, one by one: an "and" may join two books or stand within a title."""

import re
from dataclasses import replace

from assistant.offline.choice import SURE
from assistant.offline.desk import Desk
from assistant.offline.intents import Adding
from assistant.offline.questions import search_question, stock_question
from assistant.offline.request import Wish, wish_of
from assistant.offline.words import OPEN, alike

_JOINER = re.compile(r"(\s*,\s*(?:and\s+)?|\s+(?:and|plus|as well as|along with)\s+|\s*&\s*)", re.I)


def wishes_of(job: Adding, desk: Desk) -> list[Wish]:
    """What is to be added; "it" may be a book that the same request has named before."""
    wish = wish_of(job.phrase)
    if wish.points and job.before:
        before = stock_question(job.before) or search_question(job.before)
        return [replace(before, quantity=wish.quantity) if before else wish]
    return _split(job.phrase, desk) if wish.title else [wish]


def _split(phrase: str, desk: Desk) -> list[Wish]:
    """Cut a phrase into its titles: the longest run of pieces that is one is taken out, and the rest cut again."""
    parts = _JOINER.split(phrase)  # pieces, with their joiners between them
    single = [wish_of(part) for part in parts[::2]]
    if len(parts) == 1 or all(one.book_id for one in single):
        return single
    if all(OPEN in part for part in parts[::2]):
        desk.search(", ".join(one.title for one in single), why="I look for all these titles at once.")
        return single
    found = desk.search(
        wish_of(phrase).phrase, why="There may be several books in this, so I look for them at once."
    )
    for start, end in _runs(len(parts)):
        run = "".join(parts[start:end])
        wish = wish_of(run)
        if run.count(OPEN) < 2 and any(alike(wish.title, book.title) >= SURE for book in found.books):
            before, after = "".join(parts[: max(start - 1, 0)]), "".join(parts[end + 1 :])
            return [*(_split(before, desk) if before else []), wish, *(_split(after, desk) if after else [])]
    return [wish_of(phrase)]


def _runs(length: int) -> list[tuple[int, int]]:
    """Where runs of pieces begin and end, the longest first."""
    return [(start, start + size) for size in range(length, 0, -2) for start in range(0, length - size + 1, 2)]
