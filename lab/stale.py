"""The experiment on stale facts: the same conversation and the same change, under every cure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from sqlalchemy import Engine

import store
from agent.archive import Archive, run_turn
from agent.guards.limits import Limits
from agent.models import ChatModel
from agent.trace import Fact
from agent.views.result import AgentResult
from assistant.answer_check.figures import giving, hedges, read_figures, stating
from assistant.bookshop import Bookshop
from assistant.cures import Cure
from assistant.settings import DEMO_CUSTOMER, LAB_OWNER, Settings
from assistant.shop_facts import ShopWatch
from lab.guarding import WIDE, fresh_shops
from lab.stale_models import FIRST_BOOK, SECOND_BOOK

BY = "website"
FIRST_TURN = "Add The Quiet Orchard and Constable Brack Says Nothing to my cart."
WORDINGS = (
    "What is my cart total now?",
    "What's my total?",
    "How much is in my cart?",
    "What does my cart come to?",
    "Tell me the total of my cart, please.",
    "How much do I have to pay for my cart?",
    "What is the sum of my cart at the moment?",
    "And what is my current total?",
    "What do I owe for what is in my cart?",
    "Total of my cart?",
)
"""Ten ways to ask for something that the change has made another."""

Outcome = Literal["fresh", "stale", "hedged", "none"]
Handling = Literal["untouched", "regenerated", "corrected"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
HANDLINGS: tuple[Handling, ...] = get_args(Handling)
Change = Callable[[Engine], object]

CHANGES: Mapping[str, Change] = {
    "line added": lambda engine: store.set_quantity(engine, DEMO_CUSTOMER, 1, 1, by=BY),
    "line removed": lambda engine: store.remove_from_cart(engine, DEMO_CUSTOMER, SECOND_BOOK, by=BY),
    "quantity": lambda engine: store.set_quantity(engine, DEMO_CUSTOMER, FIRST_BOOK, 2, by=BY),
    "price": lambda engine: store.set_price(engine, FIRST_BOOK, 1_725, by=BY),
    "emptied": lambda engine: store.clear_cart(engine, DEMO_CUSTOMER, by=BY),
}
"""Five ways in which the cart becomes another through the other channel."""
NO_CHANGE = "no change"


@dataclass(frozen=True)
class Trial:
    """One second turn: what was changed and asked, under which cure, what was answered and what that took.

    Tokens are of the second turn, input and output; ``prefix_lost`` counts its requests whose beginning had
    changed; ``handling`` is what became of the answer under ``verify``.
    """

    cure: Cure
    change: str
    question: str
    answer: str
    outcome: Outcome
    calls: int
    tokens: int
    seconds: float
    prefix_lost: int
    handling: Handling
    run_id: str

    @property
    def changed(self) -> bool:
        return self.change != NO_CHANGE


def plan(rounds: int) -> list[tuple[str, str]]:
    """What is changed and what is asked in each trial: every change with every wording, and as many controls."""
    changed = [(change, wording) for change in CHANGES for wording in WORDINGS] * rounds
    return changed + [(NO_CHANGE, wording) for _, wording in changed]


def try_cures(
    shop: Bookshop, model_for: Callable[[int], ChatModel], rounds: int = 2, cures: Sequence[Cure] = tuple(Cure)
) -> Iterator[Trial]:
    """Run every planned trial under every cure, each on a fresh copy of the seed shop.

    ``model_for`` gives the model of a trial by its number. The archive of ``shop`` keeps one conversation for each
    change and cure; the others are gone with their copies.
    """
    trials = plan(rounds)
    half = len(trials) // 2
    with fresh_shops() as fresh:
        for number, (change, question) in enumerate(trials):
            for cure in cures:
                copy = fresh()
                kept = number % half % len(WORDINGS) == 0 and number % half < half // rounds
                archive = shop.archive if kept and (change != NO_CHANGE or number == half) else copy.archive
                yield _try(archive, copy, model_for(number % half), cure, change, question)


def side_by_side(shop: Bookshop, model: Callable[[], ChatModel], change: str, question: str) -> Iterator[Trial]:
    """One conversation and one change under every cure; the archive of ``shop`` keeps all of it."""
    with fresh_shops() as fresh:
        for cure in Cure:
            yield _try(shop.archive, fresh(), model(), cure, change, question)


def _try(archive: Archive, copy: Bookshop, model: ChatModel, cure: Cure, change: str, question: str) -> Trial:
    """One conversation of two turns on a copy, with the change between them."""
    conversation = archive.start(LAB_OWNER)
    settings = Settings(limits=Limits(max_steps=12), options=WIDE, freshness=cure)
    agent = copy.agent(model, DEMO_CUSTOMER, conversation, settings)

    def turn(text: str) -> AgentResult:
        return run_turn(archive, agent, conversation, text)

    turn(FIRST_TURN)
    watch = ShopWatch(copy.engine, DEMO_CUSTOMER)
    before = watch.now("cart")
    if change != NO_CHANGE:
        CHANGES[change](copy.engine)
    result = turn(question)
    actions = {event.action for event in result.trace if event.kind == "guard_decision"}
    requests = [event for event in result.trace if event.kind == "model_request"]
    return Trial(
        cure=cure,
        change=change,
        question=question,
        answer=result.answer,
        outcome="fresh" if "correct" in actions else classify(result.answer, before, watch.now("cart")),
        calls=result.model_calls + result.tool_calls,
        tokens=(result.usage.input_tokens or 0) + (result.usage.output_tokens or 0),
        seconds=result.seconds or 0.0,
        prefix_lost=sum(not request.prefix_kept for request in requests),
        handling="corrected" if "correct" in actions else "regenerated" if "nudge" in actions else "untouched",
        run_id=result.run_id,
    )


def classify(answer: str, before: Fact, now: Fact) -> Outcome:
    """Whether an answer gives the total of now, an overtaken one as if it were now, a warning, or no total.

    One that gives both without saying which holds is stale.
    """
    figures = read_figures(answer)
    if before.value != now.value and stating(figures, before, now):
        return "stale"
    if hedges(answer):
        return "hedged"
    return "fresh" if giving(figures, now) else "none"
