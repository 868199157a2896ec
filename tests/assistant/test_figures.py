"""What an answer states: the figures in it, whether they are of now, and that all who check it read the same."""

import pytest

from agent.trace import Fact, Overtaken
from assistant.answer_check.claims import check_claims
from assistant.answer_check.evidence import Evidence, ungrounded
from assistant.answer_check.figures import giving, hedges, read_figures, stating
from assistant.bookshop import Bookshop
from assistant.cures import correction, snapshot

THEN, NOW = (
    Fact(resource="cart", version=v, value=f"total {value}") for v, value in ((1, "$16.50"), (2, "$33.00"))
)
LEFT, FEW = (Fact(resource="stock:7", version=v, value=value) for v, value in ((1, "15 copies"), (2, "1 copy")))
SENT, THERE = (
    Fact(resource="order:1001", version=v, value=value) for v, value in ((1, "shipped"), (2, "delivered"))
)


def states_as_current(answer: str, seen: Fact, now: Fact) -> bool:
    books = {seen.name: [int(seen.resource.partition(":")[2])]} if seen.name else {}
    return bool(stating(read_figures(answer, books), seen, now))


def states(text: str, fact: Fact) -> bool:
    return bool(giving(read_figures(text), fact))


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


SHELF = {"The Last Lighthouse": [2], "The Last Lighthouse Keeper": [21], "417": [11], "Bread and Patience": [68]}


def told(answer: str) -> list[tuple[str, object, tuple[str, ...], str]]:
    return [(one.kind, one.value, one.about, one.sense) for one in read_figures(answer, SHELF, [1001])]


@pytest.mark.parametrize(
    "amount",
    ["$33", "$33.00", "$ 33", "**$33**", "`$33.00`", "33.00", "33,00 €", "33 dollars", "USD 33", "usd 33.0"],
)
def test_an_amount_is_one_for_all_who_read_the_answer(bookshop: Bookshop, amount: str) -> None:
    answer = f"Your cart total is {amount}."
    (figure,) = read_figures(answer)
    assert (figure.kind, figure.value, figure.about) == ("amount", 3300, ("cart",))
    assert states_as_current(answer, NOW, THEN)
    assert correction(answer, [Overtaken(seen=NOW, turn=1, step=2, now=THEN)]) != ""
    assert ungrounded([figure], {"33.00"}) == []
    assert len(ungrounded([figure], {"16.50"})) == 1
    (claim,) = check_claims(Evidence().read(answer), bookshop.engine, 1)
    assert (claim.verdict, claim.why) == ("contradicted", "the cart's total is $0.00 now")


@pytest.mark.parametrize(
    "number", ["33", "33.0", "33.000", "33%", "33.00%", "x33.00", "1.33.00", "$1234567890", "33rd"]
)
def test_what_is_no_amount_is_one_for_nobody(number: str) -> None:
    assert read_figures(f"Your cart total is {number}.") == []


def test_a_figure_has_its_place_in_the_answer_as_it_was_written() -> None:
    answer = "**The `417`** costs *$8.90*; your **total** is **$16.50**, and `3 copies` are left."
    found = read_figures(answer, SHELF)
    assert [answer[one.start : one.end] for one in found] == ["$8.90", "$16.50", "3 copies"]


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("The Last Lighthouse Keeper: 4 copies.", [("copies", 4, ("stock:21",), "now")]),
        (
            "The Last Lighthouse is sold out, but The Last Lighthouse Keeper has 4 left.",
            [("copies", 0, ("stock:2",), "now"), ("copies", 4, ("stock:21",), "now")],
        ),
        ("Of Bread and Patience 6 copies are left.", [("copies", 6, ("stock:68",), "now")]),
        ("I have 417 in stock: 13 copies.", [("copies", 417, (), "now"), ("copies", 13, (), "now")]),
        ("The price of 417 is $8.90.", [("amount", 890, (), "now")]),
        ("Dead Reckoning Street is sold out.", [("copies", 0, ("stock:?",), "now")]),
        ("I looked at 417. There are 13 copies.", [("copies", 13, ("stock:11",), "now")]),
        ("Your cart holds 2 copies of Bread and Patience.", [("copies", 2, ("cart",), "now")]),
        ("In stock: 7", [("copies", 7, (), "now")]),
        ("That totals $33.", [("amount", 3300, ("cart",), "now")]),
        ("No copies of 417 are left.", [("copies", 0, ("stock:11",), "now")]),
        ("Order O-1001 holds 1 copy for $16.50.", [
            ("copies", 1, ("order:1001",), "now"), ("amount", 1650, ("order:1001",), "now"),
        ]),
        ("1001 is shipped.", [("status", "shipped", ("order:1001",), "now")]),
        ("It is delivered (shipped on 2026-11-24).", [
            ("status", "delivered", (), "now"), ("status", "shipped", (), "past"),
        ]),
        ("Your cart is empty.", [("amount", 0, ("cart",), "now")]),
    ],
)  # fmt: skip
def test_a_figure_is_about_what_its_words_name(answer: str, found: list[object]) -> None:
    assert told(answer) == found


@pytest.mark.parametrize(
    ("answer", "senses"),
    [
        ("Which mysteries do you have under $10?", ["bound"]),
        ("At most $20, or $30 or less, or a $40 budget.", ["bound", "bound", "bound"]),
        ("More than 5 copies are left.", ["bound"]),
        ("Your total was $16.50 (now $33.00).", ["past", "now"]),
        ("It was $18.00, then $17.00, and is $16.50 now.", ["past", "past", "now"]),
        ("The total went from $16.50 to $33.00.", ["past", "past"]),
        ("When I last checked, it cost $12.00.", ["past"]),
        ("Your total isn't $16.50.", ["past"]),
        ("The total was $16.50, but it's $33.00 now.", ["past", "now"]),
        ("Your total is $33.00, up from $16.50.", ["now", "past"]),
        ("The Last Lighthouse was sold out, so the total is $16.50.", ["past", "now"]),
        ("If you add it, your total would be $33.00.", ["supposed"]),
        ("If 417 is sold out, tell me.", ["supposed"]),
        ("Order O-1001 is shipped and will be delivered soon.", ["now", "supposed"]),
        ("Order O-1001 was processing and shipped on Tuesday.", ["past", "past"]),
    ],
)
def test_a_figure_is_of_now_of_the_past_a_bound_or_supposed(answer: str, senses: list[str]) -> None:
    assert [sense for *_, sense in told(answer)] == senses


@pytest.mark.parametrize(
    ("answer", "quantity", "titles"),
    [
        ("I added two copies of 417.", 2, ("417",)),
        ("I added Bread and Patience and 417 to your cart.", None, ("bread and patience", "417")),
        ("The Last Lighthouse is sold out, so I added 417.", None, ("417",)),
        ("I added 417 (The Last Lighthouse is sold out).", None, ("417",)),
        ("417 has been added.", None, ()),
    ],
)
def test_an_added_claim_is_read_with_its_titles_and_quantity(
    answer: str, quantity: int | None, titles: tuple[str, ...]
) -> None:
    added = read_figures(answer, SHELF)[0]
    assert (added.kind, added.value, added.about, added.text) == ("added", quantity, titles, answer)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "\n\n",
        "İ $16.50 " * 200,
        "\ud800 $16.50, " * 200,
        "$" + "9" * 10_000,
        "the total is " * 1_000 + "$16.50",
        "*`" * 5_000,
        "\ue000\ue010 $16.50 \ue011",
        "A'" * 5_000,
    ],
)
def test_any_text_can_be_read_and_its_places_hold(answer: str) -> None:
    for one in read_figures(answer, SHELF, [1001]):
        assert answer[one.start : one.end] == "$16.50"
