"""The rules of the offline stand-in: what it understands in one table, and what it does about each."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from assistant.offline.desk import Desk, Trouble
from assistant.offline.notes import Book, Notes, Result, copies, dollars, listed, money, rows_in, whole
from assistant.offline.wishes import Kind, Unclear, count_in, kind_in, named_in, plain, pointed_at, rows

ABLE = "I can search by title, author, genre or price, check stock, look up your orders and fill your cart."
WHO = f"I am the offline stand-in of Glass Bookshop: a set of rules, not a language model. {ABLE}"
_BEFORE = re.compile(
    r"^(?:(?:(?:hi|hello|hey)[,.!]|yes,?|ok,?|please|(?:could|can|will) you|i(?: want|['’]d like) (?:you )?to) )+",
    re.I,
)
_AFTER = re.compile(r"(?:,? (?:please|thanks|thank you|for me|now|today|too))+$", re.I)
_TO_THE_CART = re.compile(r",? (?:to|in|into) (?:my|the|your) (?:shopping )?(?:cart|basket)\b", re.I)
_OTHERWISE = re.compile(
    r"(?:[.;!?] |,? )(?:and |but )?(?:(?i:if|should|in case|unless)(?= (?:it|that|this|they|not|sold|out|un\w+) )|"
    r"otherwise\b|failing that\b|or (?:another|any|some)\b)|[.;!?] Otherwise\b"
)
_ABOUT_STOCK = re.compile(r"availab|stock|sold out|gone|\bif not\b|otherwise|failing|\bor (?:an|any|so)", re.I)
_SAME_AUTHOR = re.compile(r"\b(?:same|that|this) (?:author|writer)\b|\b(?:by|of) (?:hers?|him|his|them)\b", re.I)
_ANY_BOOK = re.compile(r"\b(?:books?|titles?|works?|one|(?:any|some)thing)\b", re.I)
_ADD_INSTEAD = re.compile(r"(?<!not )(?<!n['’]t )\b(?:add|put|take|buy|choose) (?P<what>.+)", re.I)
_ANOTHER_JOB = re.compile(r"\b(?:if|unless|when|should|find|search|is|are)\b", re.I)
_SEVERAL = re.compile(r",| and |&| plus |\bcheapest\b|\bunder\b|\bby\b", re.I)
_ORDER_NUMBER = re.compile(r"\bO-?(\d{1,9})\b|(?<![\w$.-])(\d{3,9})\b(?!\.\d)", re.I)


def choose(asked: re.Match[str], desk: Desk) -> str | None:
    """An answer to the question that the stand-in asked last: "yes", "the second one", "book 7"."""
    question, phrase = desk.notes.question, asked["what"] or "it"
    if "shall I look up" in question:
        return tell_stock(asked, desk)
    if "shall I add" not in question:
        return None
    many = re.search(r"\((\d+) copies\)", question)
    return _add([(book, int(many[1]) if many else count) for book, count in meant(phrase, desk, "add")], "", desk)


def add_books(asked: re.Match[str], desk: Desk) -> str:
    """Books for the cart, and what to take in place of one that is not available."""
    before, phrase = plain(asked.string[: asked.start()]), _TO_THE_CART.sub("", asked["what"])
    instead = ""
    if otherwise := _OTHERWISE.search(phrase):
        phrase, instead = phrase[: otherwise.start()], phrase[otherwise.start() :]
    points_back = before and re.search(r"\b(?:it|this|that|one|them)\b", phrase)
    if points_back or _ANOTHER_JOB.search(before) or (instead and not _ABOUT_STOCK.search(instead)):
        raise Unclear(
            "That is more than I can follow, so I have added nothing. Please ask for one thing at a time. I know "
            "one condition only, said after the book: what to take if it is not available."
        )
    return _add(meant(phrase, desk, "add"), instead, desk)


def meant(phrase: str, desk: Desk, verb: str) -> list[tuple[Book, float]]:
    """The books a phrase means, each with the copies asked for; raises Unclear where that is not certain."""
    kind = kind_in(phrase)
    count, bare = count_in(kind.query)
    if book := pointed_at(count_in(phrase)[1], desk.notes):
        return [(book, count)]
    picks, rest = named_in(kind.query, (), desk.notes.books)
    if not picks or rest:
        found = desk.search(bare or phrase, many=bool(_SEVERAL.search(phrase))).books
        picks, rest = named_in(kind.query, found, desk.notes.books)
        if not picks and kind.narrows(found) and (fitting := kind.of(found)):
            picks = [(fitting, count)]
        if not picks:
            brought = f" The search brought:\n{rows(found)}" if found else ""
            raise Unclear(f"I found no book called “{bare}”.{brought}")
    if rest and verb == "add":
        titles = listed([books[0].title for books, _ in picks])
        raise Unclear(f"I found {titles}, but cannot make sense of “{' '.join(rest)}”, so I have added nothing.")
    return [(_only(kind.of(books) or books, kind, verb, count), count) for books, count in picks]


def _only(books: Sequence[Book], kind: Kind, verb: str, count: float) -> Book:
    """The one book of a title, or of a kind; raises Unclear with a list to choose from if there are several."""
    if kind.under and not kind.of(books):
        raise Unclear(f"I found nothing below {dollars(kind.under)}, only:\n{rows(books)}")
    if len(books) > 1:
        many = f" ({copies(count)})" if count > 1 else ""
        raise Unclear(f"There are {len(books)} such books:\n{rows(books)}\nWhich one shall I {verb}{many}?")
    return books[0]


def _add(wanted: list[tuple[Book, float]], instead: str, desk: Desk) -> str:
    """Add one book after another, and tell what was done and what was not."""
    if wrong := [count for _, count in wanted if count < 1 or count % 1]:
        return f"I cannot add {copies(wrong[0])}: a quantity is a whole number, 1 or more. I have added nothing."
    told = [_obtain(book, int(count), instead, desk) for book, count in wanted]
    if any(made.name == "add_to_cart" and made.data for made in desk.notes.run):
        told.append(_total(desk.notes))
    return " ".join(told)


def _obtain(book: Book, count: int, instead: str, desk: Desk) -> str:
    """Add the book, or else the first that may stand in for it; of an add in doubt nothing more is tried."""
    gone, candidate = list[str](), book
    try:
        for candidate in chain([book], _stand_ins(book, instead, desk)):
            left = desk.stock(candidate)
            if left >= count:
                return _added(desk.add(candidate, count), gone)
            gone.append(f"{candidate.title} {f'has only {copies(left)} in stock' if left else 'is out of stock'}")
    except Trouble as trouble:
        return " ".join([*(f"{why}." for why in gone), _not_added(candidate, trouble)])
    except Unclear as unclear:
        return " ".join([*(f"{why}." for why in gone), str(unclear)])
    return f"{'; '.join(gone)}. I have not added {'it' if len(gone) == 1 else 'anything'} to your cart."


def _stand_ins(book: Book, instead: str, desk: Desk) -> Iterator[Book]:
    """What may be taken in place of a book: a named one, or others by its author, as far as searches show."""
    kind = kind_in(instead)
    if _SAME_AUTHOR.search(instead):
        kind = replace(kind, author=book.author)
    if kind.author:
        found = [other for other in kind.of(desk.notes.found) if plain(other.title) != plain(book.title)]
        if not _ANY_BOOK.search(instead):
            found = [other for other in found if kind.names_genre(other)]
        if not found:
            desk.search(kind.author)
        yield from found
    elif named := _ADD_INSTEAD.search(instead):
        yield from (other for other, _ in meant(named["what"], desk, "add"))


def _added(result: Result, gone: list[str]) -> str:
    title, count = result.data.get("added", "it"), whole(result.data.get("quantity")) or 1
    words = f"I added {title if count == 1 else f'{copies(count)} of {title}'} to your cart"
    return f"{'; '.join(gone)}, so {words} instead." if gone else f"{words}."


def _not_added(book: Book, trouble: Trouble) -> str:
    if trouble.declined:
        return f"You did not allow me to add {book.title}, so I have not added it."
    if trouble.undone:
        return f"I could not add {book.title}: the shop says “{trouble}”."
    return (
        f"I tried to add {book.title}, but the call failed (“{trouble}”) and may still have taken effect. "
        "Please look at your cart before you ask for it again; I have not repeated it."
    )


def tell_stock(asked: re.Match[str], desk: Desk) -> str:
    """How many copies there are."""
    told = []
    for book, _ in meant(asked["what"] or "it", desk, "look up"):
        left = desk.stock(book)
        told.append(f"{book.title} is {f'in stock: {copies(left)}' if left else 'out of stock'}.")
    return " ".join(told)


def find_books(asked: re.Match[str], desk: Desk) -> str:
    """Books by title, author, genre and price."""
    phrase = asked["what"] + asked.groupdict().get("more", "")
    if book := pointed_at(phrase, desk.notes):
        return rows([book])
    kind = kind_in(phrase)
    result = desk.search(kind.query or phrase, many=True)
    picks, _ = named_in(kind.query, result.books, desk.notes.books)
    books = [book for group, _ in picks for book in kind.of(group) or group]
    if not books and (kind.narrows(result.books) or "corrected_query" not in result.data):
        books = kind.of(result.books)
    if not books:
        return f"I found nothing that fits “{phrase}”. Try the title, the author or the genre alone."
    shown = "this book" if len(books) == 1 else f"these {len(books)} books"
    return f"I found {shown}:\n{rows(books)}"


def tell_cart(_: re.Match[str], desk: Desk) -> str:
    """The total: from what was read last, as a model with a memory does, or read again where a tool is given."""
    notes = desk.notes
    if desk.has("view_cart"):
        cart = desk.cart().data
        lines = [f"{line.get('quantity', 1)} × {line.get('title')}" for line in rows_in(cart, "lines")]
        return f"Your cart total is {dollars(money(cart.get('total')))}{': ' * bool(lines)}{listed(lines)}."
    return _total(notes)


def _total(notes: Notes) -> str:
    if notes.total is None:
        return "I cannot tell the total: no result in this conversation shows it. The cart panel shows your cart."
    if notes.total_overtaken:
        return f"Your cart total was {dollars(notes.total)} when I last saw it; the cart has changed since."
    return f"Your cart total is {dollars(notes.total)}."


def tell_orders(asked: re.Match[str], desk: Desk) -> str:
    """The status of the orders that are named."""
    numbers = [int(marked or bare) for marked, bare in _ORDER_NUMBER.findall(asked.string)]
    if not numbers:
        return "Which order do you mean? Tell me the order number, such as O-1001."
    return "\n".join(_order(number, desk) for number in dict.fromkeys(numbers))


def _order(number: int, desk: Desk) -> str:
    try:
        order = desk.order(number).data
    except Trouble as trouble:
        return f"I could not look up order O-{number}: the shop says “{trouble}”."
    dates = ", ".join(f"{name.replace('_', ' ')} {day}" for name, day in order.items() if name.endswith("_on"))
    books = listed([f"{line.get('quantity')} × {line.get('title')}" for line in rows_in(order, "lines")])
    return f"Order O-{number} is {order.get('status')}{f' ({dates})' * bool(dates)}{f': {books}' * bool(books)}."


Rule = Callable[[re.Match[str], Desk], str | None]
"""Takes what was asked and the desk; gives the answer, or None to pass; raises Need, Trouble or Unclear."""

_TABLE: tuple[tuple[str, Rule | str], ...] = (
    (r"^(?:hi|hello|hey|good (?:morning|afternoon|evening))\b[\w ]{0,20}$", f"Hello! {WHO}"),
    (r"^(?:(?:who|what) are you|are you (?:an? |real|human)|what can you do|help$)", WHO),
    (r"^(?:many )?(?:thanks|thank you|bye|goodbye)\b", "You are welcome. Tell me if you need anything else."),
    (r"^(?:no\b[\w ,]{0,15}$|nope\b|never ?mind|leave it|do not |don['’]t )", "All right, I leave it at that."),
    (r"^(?:yes|sure|ok(?:ay)?|please(?: do)?|go ahead)(?P<what>)$", choose),
    (r"^(?P<what>(?:(?:that|the )?\w+ one|book \d{1,9}|(?:the )?(?:first|last|cheapest)))$", choose),
    (
        r"^(?:remove|delete|empty|clear|discard|reduce|take .*\b(?:out|off|away))\b",
        "I cannot remove or change what is in your cart. You can do that yourself in the cart panel.",
    ),
    (
        r"^(?:check ?out|pay|cancel|refund|return|ship|apply|place)\b|\b(?:voucher|coupon|discount) code\b",
        f"I cannot take payment, apply codes, or place, change or cancel orders. {ABLE}",
    ),
    (r"(?:^|[.?!;,:] |\b(?:please|and|then) )(?:add|put|buy|i(?:['’]ll| will) take) (?P<what>.+)", add_books),
    (r"\b(?:cart|basket)\b|\bmy (?:current )?total\b|\bowe\b|\bthe total\b|^total\b", tell_cart),
    (r"\bo-?\d+\b|\b(?:order|parcel|package)s?\b|^(?:and )?\d{4,9}$", tell_orders),
    (r"^how many(?: copies of)? (?P<what>.+?)(?: (?:do you have|are (?:there|left|in stock)))?$", tell_stock),
    (r"^(?:is|are) (?:a copy of )?(?P<what>.+?)(?: still)? (?:in stock|available|left|sold out)\b", tell_stock),
    (r"^(?:check )?(?:the )?(?:stock|availability) of (?P<what>.+)$", tell_stock),
    (r"^(?:do you have|do you sell|have you got) (?:any )?(?P<what>.+)$", find_books),
    (r"^(?:which|what) (?P<what>.+?) (?:do you have|are there|have you got)\b(?P<more>.*)$", find_books),
    (r"^(?:find|search for|look for|show(?: me)?|list|recommend|suggest) (?P<what>.+)$", find_books),
    (r"^(?:how much is|who wrote|tell me about|anything|i(?: want|['’]d like)) (?P<what>.+)$", find_books),
    # A title or an author alone: every word of weight begins with a capital.
    (r"^(?P<what>(?-i:[^a-z\s]\S*(?: (?:[^a-z\s]\S*|of|the|and|in|a|to|for|by|at))*))$", find_books),
    (r"", f"I cannot help with that: I am rules, not a language model, and read only plain English. {ABLE}"),
)
RULES = tuple((re.compile(pattern, re.I), rule) for pattern, rule in _TABLE)
"""What is understood, tried in this order: a pattern of the tidied request, and its answer or the rule for it."""


def tidy(request: str) -> str:
    """A request on one line, without the courtesies around it."""
    line = _BEFORE.sub("", " ".join(request.split()).strip(" .,;:!?"))
    return _AFTER.sub("", line)
