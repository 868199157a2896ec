"""The claim check: amounts, stock counts, statuses and "added" claims of an answer, against calls and database.

Rules, not understanding: what no rule can decide is "unchecked", never guessed.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from sqlalchemy import Engine

import store
from agent.trace import AnyEvent, Shape
from assistant.claim_evidence import Evidence, evidence_of
from assistant.stating import PAST, sentences, totals

Verdict = Literal["backed", "contradicted", "unchecked"]

_AMOUNT = re.compile(r"(?<![\w.,])\$\s?(\d{1,6}(?:,\d{3})*\.\d{2})(?!\d)|(?<![\w.,$])(\d{1,6}\.\d{2})(?![\d%])")
_BOUND = re.compile(
    r"\b(?:under|below|less than|over|above|more than|budget(?: of)?|up to|at most)\s*\$?\s*$", re.I
)
_ADDED = re.compile(
    r"\b(?P<who>i|we)(?:['’]ve| have)?\s+(?:\w+\s+)?(?:added|put|placed(?=.*\b(?:cart|basket)))\b|"
    r"\b(?:has|have) been (?:added|put|placed(?=.*\b(?:cart|basket)))\b"
    r"(?!\s+(?:to|in|on)\s+(?!(?:your|the) (?:\w+ )?(?:cart|basket)))|"
    r"\badded\b[^.!?]*\bto (?:your|the) (?:cart|basket)\b|"
    r"\bis (?:now |already )?in (?:your|the) (?:cart|basket)\b",
    re.I,
)
_NOT = re.compile(
    r"\b(?:not|n['’]t|cannot|unable|nothing|never|without|if|once|would|could|shall|will)\b|n['’]t\b", re.I
)
_COUNT = re.compile(r"(?<![\w.,$#-])(\d{1,6})\s+(?:cop(?:y|ies)\b|in stock\b|left\b|available\b)", re.I)
_NONE_LEFT = re.compile(r"\b(?:out of stock|sold out|no copies|none left)\b", re.I)
_REASON = re.compile(
    r"[;:(]|,\s(?:another|an?|also|the other|who)\b|\bto (?:your|the) (?:cart|basket)\b|"
    r"\b(?:instead|in place|rather|because|since|as|but|which|while|although|though|after|when|by)\b",
    re.I,
)
_TO_COME = re.compile(
    r"\b(?:will|to (?:be|get)|should|can|may|could|would|until|before|once|when|if)\b[^.;,]*$", re.I
)
_STATUS = re.compile(rf"\b({'|'.join(store.STATUSES)})\b", re.I)
_ORDER = re.compile(r"\b[Oo]-?(\d{1,10})\b|\border (?:number )?#?(\d{1,10})\b", re.I)
_NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "a": 1, "an": 1}
_QUANTITY = re.compile(rf"\b(\d{{1,2}}|{'|'.join(_NUMBERS)})\s+(?:×|x|copies|copy)", re.I)


class Claim(Shape):
    """Something an answer states: the text of it, whether it holds, and why."""

    text: str
    verdict: Verdict
    why: str


def check_claims(
    answer: str, events: Sequence[AnyEvent], earlier: Sequence[AnyEvent], engine: Engine, customer_id: int
) -> list[Claim]:
    """The claims of an answer, each once: held against its turn's events, the earlier ones and the shop."""
    checker = _Checker(evidence_of(events, earlier), engine, customer_id)
    found = [claim for sentence in sentences(answer) for claim in checker.claims_of(sentence)]
    return list({(claim.text, claim.why): claim for claim in found}.values())


@dataclass(frozen=True)
class _Checker:
    evidence: Evidence
    engine: Engine
    customer_id: int

    def claims_of(self, sentence: str) -> Iterator[Claim]:
        """What one sentence claims."""
        if _ADDED.search(sentence) and not _NOT.search(sentence):
            yield self._added(sentence)
        else:
            yield from self._stock(sentence)
        for found in _AMOUNT.finditer(sentence):
            yield self._amount(sentence, found)
        yield from self._status(sentence)

    def _added(self, sentence: str) -> Claim:
        """An "added" claim holds if a call put this book there, in this turn or an earlier one."""
        named, held = (
            self.evidence.books_in(sentence),
            {x.title.casefold(): x.quantity for x in self._cart().lines},
        )
        calls = [*self.evidence.added, *self.evidence.added_before]
        fitting = [call for call in calls if not named or call.title.casefold() in named]
        done = {call.title.casefold() for call in fitting} | set(held)
        if missing := [title for title in self._said_to_be_added(sentence) if title not in done]:
            why = f"no call of this conversation added {missing[0] if fitting else 'it'}"
            return Claim(text=sentence, verdict="contradicted", why=why)
        wanted = _QUANTITY.search(sentence)
        if fitting and wanted and len(named) <= 1:
            counts = {call.quantity for call in fitting} | {sum(call.quantity for call in fitting)}
            if _number(wanted[1]) not in counts | {held.get(title, 0) for title in named}:
                why = f"a call added {fitting[0].quantity} × {fitting[0].title}"
                return Claim(text=sentence, verdict="contradicted", why=why)
        if fitting:
            return Claim(text=sentence, verdict="backed", why=f"add_to_cart in {fitting[0].place}")
        if set(named) & set(held):
            return Claim(text=sentence, verdict="backed", why="the cart holds it now")
        return Claim(text=sentence, verdict="contradicted", why="no call of this conversation added it")

    def _said_to_be_added(self, sentence: str) -> Iterable[str]:
        """The titles after "I added": all of them, but not those of a reason, as in "because ... is sold out"."""
        found = _ADDED.search(sentence)
        return self.evidence.books_in(_REASON.split(sentence[found.end() :])[0]) if found and found["who"] else ()

    def _amount(self, sentence: str, found: re.Match[str]) -> Claim:
        text = found[1] or found[2]
        amount, named = Decimal(text.replace(",", "")), self.evidence.books_in(sentence)
        shown = f"${text}"
        if _BOUND.search(sentence[: found.start()]) or PAST.search(sentence):
            return Claim(text=shown, verdict="unchecked", why="a bound, or of the past")
        prices = [Decimal(cents) / 100 for cents in self._prices(named.values())]
        if amount in prices:
            return Claim(text=shown, verdict="backed", why="a price in the catalog now")
        if len(prices) > 1 and amount == sum(prices):
            return Claim(text=shown, verdict="backed", why="the prices of these books together")
        if any(total.start <= found.start() < total.end for total in totals(sentence)):
            total = Decimal(self._cart().total_cents) / 100
            verdict: Verdict = "backed" if amount == total else "contradicted"
            return Claim(text=f"total {shown}", verdict=verdict, why=f"the cart's total is ${total:.2f} now")
        if text in self.evidence.results:
            return Claim(text=shown, verdict="backed", why="a tool result of this turn shows it")
        if len(named) == 1 and len(prices) == 1:
            return Claim(text=shown, verdict="contradicted", why=f"the price is ${prices.pop():.2f} now")
        return Claim(text=shown, verdict="unchecked", why="no tool result of this turn shows it")

    def _stock(self, sentence: str) -> Iterator[Claim]:
        none_left, count = _NONE_LEFT.search(sentence), _COUNT.search(sentence)
        if not (none_left or count) or PAST.search(sentence) or re.search(r"\bif\b", sentence, re.I):
            return
        claimed = int(count[1]) if count else 0
        text = count[0] if count else none_left[0] if none_left else ""
        named = self.evidence.books_in(sentence)
        if len(named) != 1:
            yield Claim(text=text, verdict="unchecked", why="it names no one book, or several")
            return
        (book_id,) = named.values()
        stock = store.check_stock(self.engine, book_id)
        verdict: Verdict = "backed" if claimed == stock.in_stock else "contradicted"
        yield Claim(text=f"{stock.title}: {text}", verdict=verdict, why=f"{stock.in_stock} in stock now")

    def _status(self, sentence: str) -> Iterator[Claim]:
        told = (one for one in _STATUS.finditer(sentence) if not _TO_COME.search(sentence[: one.start()]))
        status, number = next(told, None), _ORDER.search(sentence)
        if status is None or (number is None and len(self.evidence.orders) != 1) or PAST.search(sentence):
            return
        order_id = int(number[1] or number[2]) if number else next(iter(self.evidence.orders))
        text = f"O-{order_id} {status[1]}"
        try:
            now = store.get_order_status(self.engine, self.customer_id, order_id).status
        except store.ShopError:
            yield Claim(text=text, verdict="contradicted", why="this customer has no such order")
            return
        verdict: Verdict = "backed" if now == status[1].lower() else "contradicted"
        yield Claim(text=text, verdict=verdict, why=f"it is {now} now")

    def _cart(self) -> store.CartView:
        return store.view_cart(self.engine, self.customer_id)

    def _prices(self, book_ids: Iterable[int]) -> Iterator[int]:
        for book_id in book_ids:
            with suppress(store.NotFound):
                yield store.get_book(self.engine, book_id).price_cents


def _number(word: str) -> int:
    return int(word) if word.isdigit() else _NUMBERS[word.lower()]
