"""What the stand-in says when a run ends before its request is done: only what the results show."""

from assistant.offline.cart import added_by
from assistant.offline.desk import doubtful
from assistant.offline.history import Notes
from assistant.offline.intents import adding
from assistant.offline.words import copies, dollars, listed, shield, whole


def wrap_up(notes: Notes) -> str:
    """Tell why it ends, what was found and done, what was not, and what to do next."""
    why = f" because {notes.wrap_up}" if notes.wrap_up else ""
    parts = [f"I had to stop{why}.", _looked_up(notes), _done(notes)]
    return " ".join(part for part in [*parts, "Ask me to continue, or raise the limit."] if part)


def _looked_up(notes: Notes) -> str:
    found = list(dict.fromkeys(book.title for book in notes.found))[:3]
    stock = {
        result.data.get("title"): count
        for result in notes.run
        if (count := whole(result.data.get("in_stock"))) is not None
    }
    checked = [
        f"{title} is {'out of stock' if not left else f'in stock ({copies(left)})'}"
        for title, left in stock.items()
    ]
    orders = [
        f"order O-{result.data.get('id')} is {result.data['status']}"
        for result in notes.run
        if "status" in result.data
    ]
    facts = [f"I found {listed(found)}"] if found and not checked else []
    seen = listed([*checked, *orders])
    return ". ".join([*facts, seen[:1].upper() + seen[1:]] if seen else facts) + ("." if facts or seen else "")


def _done(notes: Notes) -> str:
    adds = [result for result in notes.run if result.name == "add_to_cart"]
    if added := added_by(adds):
        total = f"; the cart total was then {dollars(notes.total)}" if notes.total is not None else ""
        return f"I added {listed(added)}{total}. The rest of your request is not done."
    if any(doubtful(result.error) for result in adds if result.error):
        return "I tried to add a book and cannot tell whether it took effect: please look at your cart."
    if adding(shield(notes.request)):
        return "I have not added anything to your cart: I had not come to that yet."
    return "The rest of your request is not done."
