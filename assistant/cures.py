"""The cures for stale facts, by name: what each adds to instructions, tools, messages and guards."""

from collections.abc import Sequence
from enum import StrEnum

from agent.guards.before_answer import Freshness
from agent.trace import Fact, Overtaken
from assistant.answer_check.figures import read_figures, stating


class Cure(StrEnum):
    """What is done so that the model does not answer from what the shop has overtaken."""

    HISTORY = "history"
    """Nothing: it answers from its history, as in the post."""
    INSTRUCT = "instruct"
    """The instructions say to read again what can change, and ``view_cart`` reads the cart."""
    STAMP = "stamp"
    """Results carry time and version, and are marked in place once they are overtaken."""
    SNAPSHOT = "snapshot"
    """A fresh block of what has changed comes after the history, only when something has."""
    VERIFY = "verify"
    """The snapshot; and an answer that states an overtaken figure is asked for again once, then corrected."""


READ_AGAIN = """
The cart, the stock and the status of orders can change at any time, on the website or in the warehouse. Before you
state a cart total, a stock count or a status, read it again in this turn with view_cart, check_stock or
get_order_status. Never answer such a question from an earlier result."""


def freshness_of(cure: Cure) -> Freshness:
    """What the agent does under a cure."""
    match cure:
        case Cure.STAMP:
            return Freshness(stamps=True)
        case Cure.SNAPSHOT:
            return Freshness(tell=snapshot)
        case Cure.VERIFY:
            return Freshness(tell=snapshot, correct=correction)
    return Freshness()


def snapshot(news: Sequence[Fact]) -> str:
    """The block the model reads when something has changed: one line for each thing, with its version."""
    lines = [f"- {_subject(fact)} {_now(fact)} (v{fact.version})" for fact in news]
    return "\n".join(["The shop has changed since you last looked. From now on this holds:", *lines])


def correction(answer: str, overtaken: Sequence[Overtaken]) -> str:
    """What has to be put right in an answer that states overtaken values as current; empty where nothing has."""
    facts = [(one.seen.resource.partition(":"), one.seen.name) for one in overtaken]
    books = {name: [int(number)] for (kind, _, number), name in facts if kind == "stock" and name}
    orders = [int(number) for (kind, _, number), _ in facts if kind == "order"]
    figures = read_figures(answer, books, orders)
    wrong = [one for one in overtaken if stating(figures, one.seen, one.now)]
    sentences = [
        f"{_subject(one.now)[0].upper()}{_subject(one.now)[1:]} {_now(one.now)}, not {_figure(one.seen)} "
        f"(that was read in turn {one.turn})."
        for one in wrong
    ]
    return " ".join(dict.fromkeys(sentences))


def _subject(fact: Fact) -> str:
    kind, _, number = fact.resource.partition(":")
    book = f"{fact.name} (book {number})" if fact.name else f"book {number}"
    return {"stock": f"the stock of {book}", "order": f"order O-{number}"}.get(kind, "the cart")


def _now(fact: Fact) -> str:
    return f"has a total of {_figure(fact)} now" if fact.resource == "cart" else f"is {_figure(fact)} now"


def _figure(fact: Fact) -> str:
    return fact.value.removeprefix("total ")
