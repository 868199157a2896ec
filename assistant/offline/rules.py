"""The rules of the offline stand-in, tried in order: each answers, asks for a call first, or passes."""

import re
from collections.abc import Callable
from dataclasses import replace

from assistant.offline.adding import add
from assistant.offline.books import MOOD, bare_title, find_books, stock_of, tell_stock
from assistant.offline.cart import tell_cart
from assistant.offline.desk import Desk
from assistant.offline.intents import Adding, adding
from assistant.offline.orders import tell_orders
from assistant.offline.request import Wish, plain, wish_of

Rule = Callable[[str, Desk], str | None]
"""Takes the (shielded) request; gives the answer, or None to pass; raises Need, Trouble or Unclear."""

WHO = (
    "I am the offline stand-in of Glass Bookshop: a set of rules, not a language model. I can search the catalog "
    "by title, author, genre and price, check stock, look up your orders and add books to your cart."
)
ABLE = (
    "I can search by title, author, genre or price, check stock, look up your orders and add books to your cart."
)
_HELLO = re.compile(r"\W*(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|greetings)\b[\w\s]{0,20}\W*", re.I)
_THANKS = re.compile(r"\W*(?:many )?(?:thanks|thank you|thx|cheers|great|perfect|bye|goodbye)\b[^?]{0,30}", re.I)
_NO = re.compile(
    r"\W*(?:no|nope|no thanks|no thank you|never ?mind|cancel|leave it)\W*(?:thanks|thank you)?\W*", re.I
)
_YES = re.compile(
    r"\W*(?:yes|yeah|yep|sure|ok|okay|please do|do it|go ahead)\b(?:[\s,]+(?:please|do it|go ahead))?\W*", re.I
)
_WHO = re.compile(
    r"\b(?:who|what) are you\b|\bare you (?:a|an|real|human)\b|\bwhat can you do\b|^\W*help\W*$", re.I
)
_ASKED_FOR = re.compile(r"\((\d{1,4}) copies\)")
_REMOVE = re.compile(
    r"^(?:remove|delete|empty|clear|discard|take\b.*\b(?:out|off|away)\b|reduce|change|update)\b", re.I
)
_PAY = re.compile(
    r"^(?:check ?out|pay|place (?:the|an|my) order|cancel|refund|return|ship|deliver|gift|apply)\b|"
    r"\b(?:credit card|voucher|coupon|discount code)\b",
    re.I,
)


def small_talk(request: str, _: Desk) -> str | None:
    """Greetings, thanks, and who is speaking."""
    if _WHO.match(plain(request)):
        return WHO
    if _HELLO.fullmatch(request):
        return f"Hello! {WHO}"
    if _THANKS.fullmatch(request):
        return "You are welcome. Tell me if you need anything else."
    if _NO.fullmatch(request):
        return "All right, I leave it at that."
    return None


def cannot(request: str, _: Desk) -> str | None:
    """What no tool does."""
    asked = plain(request)
    if _REMOVE.search(asked):
        return "I cannot remove or change what is in your cart. You can do that yourself in the cart panel."
    if _PAY.search(asked):
        return f"I cannot take payment, apply codes, or place, change or cancel orders. {ABLE}"
    return None


def chosen(request: str, desk: Desk) -> str | None:
    """An answer to the question the stand-in asked last: "yes", "the second one", "the cheapest"."""
    question = desk.notes.question
    wish = wish_of(request)
    yes = bool(_YES.fullmatch(request))
    if not question or not (yes or wish.chooses or wish.book_id is not None):
        return None
    wish = Wish("it", points=True) if yes else replace(wish, title="")
    if "look up" in question:
        return stock_of(wish, desk)
    if "add" not in question:
        return None
    if (count := _ASKED_FOR.search(question)) and wish.quantity == 1:
        wish = replace(wish, quantity=int(count[1]))
    return add(Adding(request), desk, [wish])


def add_books(request: str, desk: Desk) -> str | None:
    """Books for the cart, with a stand-in for what cannot be had."""
    job = adding(request)
    return add(job, desk) if job else None


def give_up(request: str, _: Desk) -> str | None:
    """Whatever no rule understands."""
    if MOOD.search(plain(request)):
        return f"I cannot judge moods or tastes: I am rules, not a language model. {ABLE}"
    return f"I cannot help with that: I am a rule-based stand-in, not a language model. {ABLE}"


RULES: tuple[Rule, ...] = (
    small_talk,
    chosen,
    cannot,
    tell_cart,
    tell_orders,
    add_books,
    tell_stock,
    find_books,
    bare_title,
    give_up,
)
