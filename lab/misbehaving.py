"""Models that misbehave, each in one way and always the same: prepared replies, not language models."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from agent.models.scripted import Asked, Line, Play, ScriptedModel, call, say
from agent.trace import Prices
from assistant.faults import Fault

DEMO_PRICES = Prices(input_per_million=Decimal("2.50"), output_per_million=Decimal("10"))
JOB = "Add The Quiet Orchard to my cart."
QUERY = "The Quiet Orchard"
SPELLINGS = (
    {"query": "The Quiet Orchard", "max_results": 5},
    {"max_results": "5", "query": "the quiet  orchard"},
    {"query": " THE QUIET ORCHARD "},
    {"max_results": 5.0, "query": "The\tQuiet Orchard"},
)
WORDINGS = ("The Quiet Orchard", "quiet orchard", "orchard quiet", "the quiet orchard novel", "a quiet orchard")
PROSE = (
    "I will now add the book to the cart for you. "
    '<tool_call>{"name": "add_to_cart", "arguments": {"book_id": 7}}</tool_call> There, that should do it.'
)


@dataclass(frozen=True)
class Misbehaver:
    """A model that misbehaves: its name, what it does in words, its script, and the faults its tools have."""

    name: str
    what: str
    play: Play
    faults: Mapping[str, Fault] = field(default_factory=dict)
    request: str = JOB

    def model(self) -> ScriptedModel:
        """A new one, that begins at the beginning."""
        return ScriptedModel(self.name, self.play, DEMO_PRICES)


def _nth_book(asked: Asked) -> Line:
    return call("check_stock", book_id=asked.number)


def _stubborn(asked: Asked) -> Line:
    return call("search_books", query=QUERY) if asked.tools else say("I searched and searched and found one book.")


def _ping_pong(asked: Asked) -> Line:
    if not asked.tools:
        return say("I went back and forth and came to no end.")
    return call("search_books", query=QUERY) if asked.number % 2 else call("check_stock", book_id=7)


def _hoarder(asked: Asked) -> Line:
    return _nth_book(asked) if asked.tools else say("I have read a great many records.")


def _double_buyer(asked: Asked) -> Line:
    return (
        call("add_to_cart", book_id=7, quantity=1)
        if asked.number <= 2
        else say("The Quiet Orchard is in your cart.")
    )


def _flaky(asked: Asked) -> Line:
    give_up = asked.number > 4 or not asked.tools
    return say("The warehouse does not answer.") if give_up else call("check_stock", book_id=7)


def _listener(asked: Asked) -> Line:
    if asked.messages[-1]["content"].startswith("GUARD:") or not asked.tools:
        return say("It is The Quiet Orchard, $16.50.")
    return call("search_books", query=QUERY)


def _shuffler(asked: Asked) -> Line:
    if not asked.tools:
        return say("I asked the same in many spellings.")
    return call("search_books", **SPELLINGS[(asked.number - 1) % len(SPELLINGS)])


def _paraphraser(asked: Asked) -> Line:
    if not asked.tools:
        return say("Whatever words I took, it was the same book.")
    turn, words = divmod(asked.number - 1, len(WORDINGS))
    return call("search_books", query=WORDINGS[words] + " please" * turn, max_results=1)


def _dangler(asked: Asked) -> Line:
    return Line(text="One moment, I look once more.", calls=(("check_stock", {"book_id": asked.number}),))


def _inventor(asked: Asked) -> Line:
    return call("buy_book_now", title=QUERY) if asked.tools else say("There is no way to buy it at once.")


def _mumbler(asked: Asked) -> Line:  # noqa: ARG001
    return say(PROSE)


def _mute(asked: Asked) -> Line:  # noqa: ARG001
    return say("")


def _liar(asked: Asked) -> Line:
    return _nth_book(asked) if asked.tools else say("Done! The Quiet Orchard is in your cart.")


MISBEHAVERS: tuple[Misbehaver, ...] = (
    Misbehaver("stubborn", "makes the same search for ever", _stubborn),
    Misbehaver("pingpong", "goes back and forth between two calls", _ping_pong),
    Misbehaver("hoarder", "reads one fat record after the other", _hoarder, {"check_stock": Fault.HUGE}),
    Misbehaver("doublebuyer", "buys twice, as after a client's retry", _double_buyer),
    Misbehaver("flaky", "insists on a tool that always fails", _flaky, {"check_stock": Fault.FAILING}),
    Misbehaver("listener", "repeats itself, but takes a hint", _listener),
    Misbehaver("shuffler", "spells the same call anew each time", _shuffler),
    Misbehaver("paraphraser", "asks the same in other words", _paraphraser),
    Misbehaver("dangler", "calls a tool even in the wrap-up", _dangler),
    Misbehaver("inventor", "calls a tool that does not exist", _inventor),
    Misbehaver("mumbler", "writes its calls inside prose", _mumbler),
    Misbehaver("mute", "answers nothing", _mute),
    Misbehaver("liar", "runs into a limit and claims to be done", _liar),
)
"""In the order of the table in the post they are built after; the last six are ours."""


def misbehavers(names: tuple[str, ...] = ()) -> list[Misbehaver]:
    """Those of these names, in any spelling of case and dashes, or all; raises LookupError in words."""
    known = {each.name: each for each in MISBEHAVERS}
    wanted = [name.lower().replace("-", "").replace(" ", "") for name in names] or list(known)
    if unknown := [name for name in wanted if name not in known]:
        raise LookupError(f'there is no model "{unknown[0]}" in the lab; there are {", ".join(known)}')
    return [known[name] for name in dict.fromkeys(wanted)]
