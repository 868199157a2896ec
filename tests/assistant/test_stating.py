"""What an answer states as true now: rules over sentences, and their limits."""

import pytest

from agent.trace import Fact, Overtaken
from assistant.freshness import correction, snapshot
from assistant.stating import hedges, states, states_as_current

THEN, NOW = (
    Fact(resource="cart", version=v, value=f"total {value}") for v, value in ((1, "$16.50"), (2, "$33.00"))
)
LEFT, FEW = (Fact(resource="stock:7", version=v, value=value) for v, value in ((1, "15 copies"), (2, "1 copy")))
SENT, THERE = (
    Fact(resource="order:1001", version=v, value=value) for v, value in ((1, "shipped"), (2, "delivered"))
)


@pytest.mark.parametrize(
    "answer",
    [
        "Your cart total is $16.50.",
        "Your cart total is **$16.50**.",
        "Your total is 16.50 dollars.",
        "I added the book, and your cart comes to $16.50.",
        "The book was added. You have to pay $16.50.",
        "The Last Lighthouse was sold out, so I took The Quiet Orchard; the total is $16.50.",
        "- Total: $16.50",
        "You owe $16.50 in all.",
        "Your cart total is USD 16.50.",
        "Your total is 16,50 €.",
        "Your total comes to $16.5.",
        "The total cost of your cart is $16.50.",
        "Your cart holds 1 × The Quiet Orchard for a total price of $16.50.",
        "Your cart is at $16.50 now.",
        "You have $16.50 in your cart.",
        "Your total from all of this is $16.50.",
        "Your current total, not including shipping, is $16.50.",
    ],
)
def test_an_old_total_beside_a_word_of_the_cart_is_stated_as_current(answer: str) -> None:
    assert states_as_current(answer, THEN, NOW)


@pytest.mark.parametrize(
    "answer",
    [
        "Your cart total is $33.00.",
        "Your cart total was $16.50 and is $33.00 now.",
        "The total has changed from $16.50 to $33.00.",
        "Your cart total was $16.50.",
        "When I last looked, the total came to $16.50 as of 10:00.",
        "The Quiet Orchard costs $16.50.",
        "I added The Quiet Orchard ($16.50 each) to your cart.",
        "I added The Quiet Orchard ($16.50) and Constable Brack Says Nothing ($10.50) to your cart.",
        "I put The Quiet Orchard for $16.50 into your cart.",
        "Your cart holds two copies of The Quiet Orchard ($16.50).",
        "The book in your cart costs $16.50.",
        "The total of order O-1001 is $16.50.",
        "Your cart total is $116.50.",
        "Your cart total is $16.505.",
        "I do not know your total.",
        "",
    ],
)
def test_what_is_new_or_past_or_a_price_is_not(answer: str) -> None:
    assert not states_as_current(answer, THEN, NOW)


@pytest.mark.parametrize(
    ("answer", "seen", "now", "stale"),
    [
        ("There are 15 copies left.", LEFT, FEW, True),
        ("There were 15 copies.", LEFT, FEW, False),
        ("There is 1 copy left, not 15.", LEFT, FEW, False),
        ("It has 150 copies.", LEFT, FEW, False),
        ("It is out of stock.", Fact(resource="stock:7", version=1, value="0 copies"), LEFT, True),
        ("Order O-1001 is shipped.", SENT, THERE, True),
        ("Order O-1001 was shipped and is delivered.", SENT, THERE, False),
        ("Your cart is empty.", Fact(resource="cart", version=1, value="total $0.00"), NOW, True),
    ],
)
def test_stock_orders_and_empty_carts_are_read_too(answer: str, seen: Fact, now: Fact, stale: bool) -> None:
    assert states_as_current(answer, seen, now) is stale


NAMED = LEFT.model_copy(update={"name": "The Quiet Orchard"})
GONE = Fact(resource="stock:2", version=1, value="0 copies", name="The Last Lighthouse")


@pytest.mark.parametrize(
    ("answer", "seen", "now", "stale"),
    [
        ("The Quiet Orchard has 15 copies in stock.", NAMED, FEW, True),
        ("There are 15 copies.", NAMED, FEW, True),
        ("There are 15 copies of Constable Brack Says Nothing.", NAMED, FEW, False),
        ("I looked at Constable Brack Says Nothing. There are 15 copies.", NAMED, FEW, False),
        ("I added 15 copies to your cart.", NAMED, FEW, False),
        ("Dead Reckoning Street is sold out.", GONE, NAMED, False),
        ("Order O-1002 is shipped.", SENT, THERE, False),
        ("I looked at order 1002. It is shipped.", SENT, THERE, False),
        ("I looked at order 1001. It is shipped.", SENT, THERE, True),
        ("It is shipped (placed on 2026-11-22).", SENT, THERE, True),
    ],
)
def test_what_is_said_of_another_book_or_order_is_not_said_of_this(
    answer: str, seen: Fact, now: Fact, stale: bool
) -> None:
    assert states_as_current(answer, seen, now) is stale


@pytest.mark.parametrize("text", ["$1,234.50", "$1234.50", "1,234.50", "1234.50 dollars", "1234,50 €"])
def test_an_amount_is_the_same_however_it_is_written(text: str) -> None:
    dear = Fact(resource="cart", version=1, value="total $1,234.50")
    assert states(f"It is {text}.", dear)
    assert states_as_current(f"Your cart total is {text}.", dear, NOW)


def test_a_value_is_found_whole() -> None:
    assert states("It is $16.50, I think", THEN)
    assert not states("It is $216.50", THEN)


@pytest.mark.parametrize(
    ("answer", "hedged"),
    [
        ("It was $16.50 when I last saw it; it may have changed.", True),
        ("As of this morning it is $16.50.", True),
        ("I cannot tell.", True),
        ("It is $16.50.", False),
    ],
)
def test_a_warning_is_a_hedge(answer: str, hedged: bool) -> None:
    assert hedges(answer) is hedged


def test_a_correction_names_what_is_true_now_and_what_was() -> None:
    one = Overtaken(seen=THEN, turn=1, step=4, now=NOW)
    words = correction("Your cart total is $16.50.", [one, one])
    assert words == "The cart has a total of $33.00 now, not $16.50 (that was read in turn 1)."
    assert correction("Your cart total is $33.00.", [one]) == ""


def test_the_snapshot_has_a_line_for_each_thing_with_its_version() -> None:
    lines = snapshot([NOW, FEW, THERE]).splitlines()
    assert lines[1:] == [
        "- the cart has a total of $33.00 now (v2)",
        "- the stock of book 7 is 1 copy now (v2)",
        "- order O-1001 is delivered now (v2)",
    ]
