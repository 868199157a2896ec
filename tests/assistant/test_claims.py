"""The claim check: what an answer says, against what the calls did and what the shop holds."""

from typing import Any

import pytest
from sqlalchemy import event

import store
from agent.models.scripted import Line, ScriptedModel, call, say
from agent.views.conversation import Conversation
from assistant.answer_check.claims import Claim, check_claims
from assistant.answer_check.evidence import Evidence
from assistant.bookshop import Bookshop
from assistant.cures import Cure
from assistant.settings import Settings

ORCHARD = call("add_to_cart", book_id=7)
FIND = call("search_books", query="The Quiet Orchard")


def claims_of(shop: Bookshop, *lines: Line, earlier: tuple[Line, ...] = ()) -> list[Claim]:
    """Play a turn, after an earlier one perhaps, and check its answer."""
    conversation = Conversation()
    for turn in filter(None, (earlier, lines)):
        agent = shop.agent(ScriptedModel("test", turn), 1, conversation, Settings())
        result = agent.run(conversation, "Hello")
    return check_claims(Evidence(conversation.events).read(result.answer), shop.engine, 1)


def verdicts(claims: list[Claim]) -> list[str]:
    return [claim.verdict for claim in claims]


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("I added The Quiet Orchard to your cart.", "backed"),
        ("I've added it to your cart.", "backed"),
        ("The Quiet Orchard has been added.", "backed"),
        ("I added 1 copy of The Quiet Orchard.", "backed"),
        ("I added 2 copies of The Quiet Orchard.", "contradicted"),
        ("I added two copies of The Quiet Orchard.", "contradicted"),
        ("I added Quiet Orchards to your cart.", "contradicted"),
    ],
)
def test_an_added_claim_is_held_against_the_calls(bookshop: Bookshop, answer: str, verdict: str) -> None:
    assert verdicts(claims_of(bookshop, FIND, ORCHARD, say(answer)))[0] == verdict


@pytest.mark.parametrize(
    "answer",
    [
        "I added The Quiet Orchard to your cart.",
        "I have added the book for you.",
        "Done! The Quiet Orchard is in your cart.",
        "The book has been added to the cart.",
    ],
)
def test_added_without_an_effect_is_caught(bookshop: Bookshop, answer: str) -> None:
    claims = claims_of(bookshop, FIND, say(answer))
    assert [(claim.verdict, claim.why) for claim in claims] == [
        ("contradicted", "no call of this conversation added it")
    ]


@pytest.mark.parametrize(
    "answer",
    ["I have not added anything.", "I could not add it.", "Shall I add it?", "I will add it then."],
)
def test_what_was_not_added_is_no_claim(bookshop: Bookshop, answer: str) -> None:
    assert claims_of(bookshop, FIND, say(answer)) == []


def test_what_an_earlier_turn_added_backs_a_claim_too(bookshop: Bookshop) -> None:
    claims = claims_of(bookshop, say("I added The Quiet Orchard."), earlier=(ORCHARD, say("Done.")))
    assert [(claim.verdict, claim.why) for claim in claims] == [("backed", "add_to_cart in turn 1")]


def test_a_replayed_add_backs_its_claim_once(bookshop: Bookshop) -> None:
    claims = claims_of(bookshop, ORCHARD, ORCHARD, say("I added The Quiet Orchard."))
    assert verdicts(claims) == ["backed"]


@pytest.mark.parametrize(
    ("answer", "claimed"),
    [
        ("Your cart total is $16.50.", [("total $16.50", "backed")]),
        ("Your cart total is $18.90.", [("total $18.90", "contradicted")]),
        ("The Quiet Orchard costs $16.50.", [("$16.50", "backed")]),
        ("The Quiet Orchard costs $12.00.", [("$12.00", "contradicted")]),
        ("You wanted something under $20.00.", [("$20.00", "unchecked")]),
        ("Shipping is $4.99.", [("$4.99", "unchecked")]),
        ("Your cart total was $10.00.", [("$10.00", "unchecked")]),
        ("It has 320 pages and 5 stars.", []),
    ],
)
def test_amounts(bookshop: Bookshop, answer: str, claimed: list[tuple[str, str]]) -> None:
    claims = claims_of(bookshop, FIND, ORCHARD, say(answer))
    assert [(claim.text, claim.verdict) for claim in claims] == claimed


def test_a_total_that_the_website_has_changed_is_contradicted_with_the_new_one(bookshop: Bookshop) -> None:
    store.set_quantity(bookshop.engine, 1, 7, 2, by="website")
    (claim,) = claims_of(bookshop, say("Your cart total is $16.50."))
    assert (claim.verdict, claim.why) == ("contradicted", "the cart's total is $33.00 now")


@pytest.mark.parametrize(
    ("answer", "claimed"),
    [
        ("The Quiet Orchard: 15 copies in stock.", ["backed"]),
        ("There are 3 copies of The Quiet Orchard left.", ["contradicted"]),
        ("The Quiet Orchard is sold out.", ["contradicted"]),
        ("There are 3 copies left.", ["unchecked"]),
        ("If The Quiet Orchard is sold out, tell me.", []),
    ],
)
def test_stock_counts_of_a_named_book(bookshop: Bookshop, answer: str, claimed: list[str]) -> None:
    assert verdicts(claims_of(bookshop, FIND, say(answer))) == claimed


@pytest.mark.parametrize(
    ("answer", "claimed"),
    [
        ("Order O-1001 is shipped.", ["backed"]),
        ("Order 1001 is delivered.", ["contradicted"]),
        ("It is shipped.", ["backed"]),
        ("Order O-9999 is shipped.", ["contradicted"]),
        ("Order O-1001 is on its way.", []),
    ],
)
def test_statuses_of_orders(bookshop: Bookshop, answer: str, claimed: list[str]) -> None:
    look = call("get_order_status", order_id="1001")
    assert verdicts(claims_of(bookshop, look, say(answer))) == claimed


def test_another_customers_order_is_no_order(bookshop: Bookshop) -> None:
    (claim,) = claims_of(bookshop, say("Order O-1011 is shipped."))
    assert (claim.verdict, claim.why) == ("contradicted", "this customer has no such order")


@pytest.mark.parametrize(
    "answer", ["", "\n", "$", "$99999999999.99", "O-99999999999 shipped", "x" * 5_000, "1.2.3.4"]
)
def test_any_answer_can_be_checked(bookshop: Bookshop, answer: str) -> None:
    found: list[Any] = check_claims(Evidence().read(answer), bookshop.engine, 1)
    assert all(claim.verdict != "backed" for claim in found)


HOLT = call("search_books", query="The Last Lighthouse")


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("I added The Quiet Orchard and The Last Lighthouse to your cart.", "contradicted"),
        ("The Last Lighthouse is sold out, so I added The Quiet Orchard.", "backed"),
        ("I added The Quiet Orchard instead of The Last Lighthouse.", "backed"),
        ("I added The Quiet Orchard to your cart since The Last Lighthouse is sold out.", "backed"),
        ("I added The Quiet Orchard, another novel by the author of The Last Lighthouse.", "backed"),
        ("I added The Quiet Orchard (by the author of The Last Lighthouse).", "backed"),
    ],
)
def test_each_title_that_is_said_to_be_added_counts(bookshop: Bookshop, answer: str, verdict: str) -> None:
    assert verdicts(claims_of(bookshop, HOLT, ORCHARD, say(answer)))[0] == verdict


def test_two_adds_of_a_book_back_their_sum(bookshop: Bookshop) -> None:
    adds = (ORCHARD, call("add_to_cart", book_id=7, quantity=2))
    for count, verdict in (("3", "backed"), ("2", "backed"), ("four", "contradicted")):
        claims = claims_of(bookshop, *adds, say(f"I added {count} copies of The Quiet Orchard."))
        assert verdicts(claims) == [verdict]
        store.clear_cart(bookshop.engine, 1, by="test")


@pytest.mark.parametrize(
    "answer",
    [
        "Once added to your cart, it is yours.",
        "Both have been added to your wish list.",
        "Your order has been placed.",
        "There are 417 copies of something.",
        "Order O-1001 will be delivered soon.",
    ],
)
def test_what_only_looks_like_a_claim_is_not_contradicted(bookshop: Bookshop, answer: str) -> None:
    claims = claims_of(bookshop, call("search_books", query="417"), say(answer))
    assert "contradicted" not in verdicts(claims)


@pytest.mark.parametrize(
    "answer",
    [
        "Your cart total is $33.00: 2 × The Quiet Orchard at $16.50 each.",
        "Your cart total is $33.00 (2 × $16.50).",
        "The Quiet Orchard is in your cart.",
        "The total of order O-1001 is $23.64.",
    ],
)
def test_the_lines_of_a_cart_that_was_read_contradict_nothing(bookshop: Bookshop, answer: str) -> None:
    store.set_quantity(bookshop.engine, 1, 7, 2, by="website")
    script = ScriptedModel("test", [call("view_cart"), say(answer)])
    agent = bookshop.agent(script, 1, Conversation(), Settings(freshness=Cure.INSTRUCT))
    result = agent.run(Conversation(), "Hello")
    assert "contradicted" not in verdicts(
        check_claims(Evidence(result.trace).read(result.answer), bookshop.engine, 1)
    )


def test_books_together_may_cost_what_the_cart_does_not(bookshop: Bookshop) -> None:
    both = "The Quiet Orchard and The Last Lighthouse cost $35.40 in total."
    assert verdicts(claims_of(bookshop, HOLT, say(both))) == ["backed"]


def test_the_shop_is_asked_once_for_each_thing_however_often_it_is_named(bookshop: Bookshop) -> None:
    line = "The Quiet Orchard costs $16.50, 15 copies are left; your cart total is $16.50 and it is shipped. "
    looks = (FIND, call("get_order_status", order_id="1001"))
    agent = bookshop.agent(ScriptedModel("test", [*looks, say("Done.")]), 1, Conversation(), Settings())
    evidence = Evidence(agent.run(Conversation(), "Hello").trace)
    asked: list[str] = []
    event.listen(bookshop.engine, "before_cursor_execute", lambda *about: asked.append(about[2]))
    taken = []
    for times in (1, 100):
        reading = evidence.read(line * times)
        assert len(reading.figures) == 4 * times
        check_claims(reading, bookshop.engine, 1)
        taken.append(len(asked))
        asked.clear()
    assert taken[0] == taken[1] > 0
