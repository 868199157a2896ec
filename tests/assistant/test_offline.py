"""The offline stand-in does its jobs in the seed shop: driven through the agent, judged by its calls and words."""

import pytest

from lab.stale import FIRST_TURN
from tests.assistant.conftest import LIGHTHOUSE, ROOMY, Visit

SUGGESTIONS = {
    LIGHTHOUSE: "I added The Quiet Orchard",
    "Which mysteries do you have under $10?": "Constable Brack Takes the Waters",
    "Where is my order O-1001?": "O-1001 is shipped",
    "What is my cart total now?": "Your cart total is $16.50.",
}
INSTEAD = [
    LIGHTHOUSE,
    "add the last lighthouse to my cart if it is available, otherwise add another novel by the same author",
    "Hello! Please put one copy of The Last Lighthouse in my basket, or another novel by her if it is sold out.",
    "Add The Last Lighthouse. Should it be sold out, add a different novel by Mira Holt.",
]


@pytest.mark.parametrize("request_", INSTEAD)
def test_another_novel_by_the_author_is_added_when_the_first_is_out_of_stock(visit: Visit, request_: str) -> None:
    result = visit.ask(request_)
    query = visit.calls[0][1]
    assert visit.calls == [
        ("search_books", query, 5),
        ("check_stock", 2),
        ("check_stock", 7),
        ("add_to_cart", 7, 1),
    ]
    assert query.lower() == "the last lighthouse"
    assert (result.stop_reason, result.steps, result.answer_by) == ("done", 5, "model")
    assert result.answer == (
        "The Last Lighthouse is out of stock, so I added The Quiet Orchard to your cart instead. "
        "Your cart total is $16.50."
    )


def test_every_suggestion_of_the_page_is_answered_from_the_shop(visit: Visit) -> None:
    for request, words in SUGGESTIONS.items():
        assert words in visit.ask(request).answer
    assert visit.calls == []


def test_a_named_title_may_be_taken_instead(visit: Visit) -> None:
    answer = visit.ask("Add The Last Lighthouse to my cart. If it is not available, add The Weighbridge.").answer
    assert visit.cart == {122: 1}
    assert "The Last Lighthouse is out of stock, so I added The Weighbridge" in answer


def test_the_book_itself_is_added_when_there_is_one(visit: Visit) -> None:
    visit.stock(2, 1)
    assert "I added The Last Lighthouse" in visit.ask(LIGHTHOUSE).answer
    assert visit.calls[1:] == [("check_stock", 2), ("add_to_cart", 2, 1)]


def test_nothing_is_added_when_every_novel_of_the_author_that_was_found_is_out_of_stock(visit: Visit) -> None:
    visit.stock(7, 0)
    answer = visit.ask(LIGHTHOUSE).answer
    assert [book for _, book in visit.calls[1:]] == [2, 7, 46]
    assert "I have not added anything" in answer
    assert all(title in answer for title in ("The Last Lighthouse", "The Quiet Orchard", "The House at Fennmoor"))
    assert visit.cart == {}


def test_any_kind_of_book_will_do_only_if_none_was_named(visit: Visit) -> None:
    visit.stock(7, 0)
    visit.ask("Add Walking the Tideline. If it is not available, add another novel by the same author.")
    visit.stock(160, 0)
    visit.ask("Add Lanterns for the Drowned. If it is not available, add another novel by the same author.")
    assert visit.cart == {160: 1, 207: 1}
    visit.stock(207, 0)
    visit.ask("Add Lanterns for the Drowned. If it is not available, add another cookbook by the same author.")
    assert visit.cart == {160: 1, 207: 1}


def test_the_authors_name_is_searched_once_where_the_first_search_shows_no_other_book(visit: Visit) -> None:
    visit.ask(LIGHTHOUSE, ROOMY.model_copy(update={"max_result_chars": 150}))
    assert [call[1] for call in visit.calls if call[0] == "search_books"] == ["The Last Lighthouse", "Mira Holt"]
    assert visit.cart == {}


def test_input_tokens_are_estimates_that_rise_with_each_step(visit: Visit) -> None:
    replies = [event for event in visit.ask(LIGHTHOUSE).trace if event.kind == "model_reply"]
    tokens = [reply.usage.input_tokens or 0 for reply in replies]
    assert tokens == sorted(set(tokens))
    assert all(reply.usage.estimated and reply.usage.output_tokens for reply in replies)
    assert all(len(reply.tool_calls) == (0 if reply.text else 1) and reply.thinking for reply in replies)


ADDS = [
    ("Add The Quiet Orchard to my cart.", {7: 1}, "$16.50"),
    ("add two copies of The Quiet Orchard, please", {7: 2}, "$33.00"),
    ("add 3 copies of book 7", {7: 3}, "$49.50"),
    ("Could you add The Weighbridge by Tomas Holt?", {122: 1}, "$12.80"),
    ('please buy "Walking the Tideline"', {160: 1}, "$13.90"),
    ("add 月面第七郵便局 to my cart", {74: 1}, "$12.80"),
    ("add constable brak says nothing", {9: 1}, "$10.50"),
    ("add the cheapest edition of The Lamplighter’s Daughter", {57: 1}, "$11.90"),
    ("add the cheapest mystery to my cart", {99: 1}, "$9.90"),
    (FIRST_TURN, {7: 1, 9: 1}, "$27.00"),
    ("add two copies of A Python for Every Pocket and 417", {14: 2, 11: 1}, "$44.90"),
    ("add book 7 and book 9", {7: 1, 9: 1}, "$27.00"),
]


@pytest.mark.parametrize(("request_", "cart", "total"), ADDS)
def test_books_are_added_in_the_quantities_asked_for(
    visit: Visit, request_: str, cart: dict[int, int], total: str
) -> None:
    answer = visit.ask(request_).answer
    assert visit.cart == cart
    assert f"Your cart total is {total}" in answer


NOT_ADDED = [
    ("add 0 copies of The Quiet Orchard", "whole number"),
    ("add -2 copies of The Quiet Orchard", "whole number"),
    ("add 1.5 copies of The Quiet Orchard", "whole number"),
    ("add minus two copies of the quiet orchard", "cannot make sense of “minus”"),
    ("add 16 copies of The Quiet Orchard", "only 15 copies"),
    ("add The Brass Elephant", "no book called “The Brass Elephant”"),
    ("add The Quiet Orchard and The Brass Elephant", "cannot make sense of “brass elephant”"),
    ("add the lamplighter's daughter", "Which one shall I add?"),
    ("add a mystery under $10", "Which one shall I add?"),
    ("add The Quiet Orchard for less than $10", "nothing below $10.00"),
    ("add book 999", "no book with the id 999"),
    ("Add The Last Lighthouse to my cart if it is available", "have not added it"),
    ("Add The Last Lighthouse. If it is not available, don't add anything.", "have not added it"),
    ("If The Last Lighthouse is not available, add The Quiet Orchard", "added nothing"),
    ("Add The Quiet Orchard if The Weighbridge is sold out", "added nothing"),
    ("add The Quiet Orchard unless it costs more than $10", "added nothing"),
    ("Is The Quiet Orchard in stock? If so, add it.", "added nothing"),
    ("Do not add The Quiet Orchard", "I leave it at that"),
    ("add it", "Tell me the title"),
]


@pytest.mark.parametrize(("request_", "words"), NOT_ADDED)
def test_nothing_is_added_where_it_is_not_sure_and_the_answer_says_why(
    visit: Visit, request_: str, words: str
) -> None:
    assert words in visit.ask(request_).answer
    assert visit.cart == {}


FINDS = [
    ("find The Weighbridge", ["The Weighbridge, Tomas Holt, novel, $12.80 (book 122)"], []),
    ("how much is The Quiet Orchard?", ["The Quiet Orchard, Mira Holt, novel, $16.50"], ["Orchid"]),
    ("who wrote The Weighbridge?", ["Tomas Holt"], []),
    ("anything by Mira Holt", ["The Last Lighthouse", "Walking the Tideline"], ["Weighbridge"]),
    ("do you have any novels by Mira Holt?", ["The Quiet Orchard"], ["Tideline"]),
    ("show me science fiction", ["417", "Nine Minutes of Weather"], ["Orchard"]),
    ("Which mysteries do you have under 10 dollars?", ["Takes the Waters"], ["Says Nothing"]),
    ("find the cheapest mystery", ["Takes the Waters"], ["Says Nothing"]),
    ("The Quiet Orchard", ["$16.50"], []),
    ("find a cookbook about zeppelins by Nobody Atall", ["found nothing"], []),
]


@pytest.mark.parametrize(("request_", "shown", "hidden"), FINDS)
def test_books_are_found_by_title_author_genre_and_price(
    visit: Visit, request_: str, shown: list[str], hidden: list[str]
) -> None:
    answer = visit.ask(request_).answer
    assert [name for name, *_ in visit.calls] == ["search_books"]
    assert all(words in answer for words in shown), answer
    assert not any(words in answer for words in hidden), answer


STOCK = [
    ("How many copies of The Quiet Orchard are there?", "in stock: 15 copies"),
    ("is the quiet orchard still in stock?", "in stock: 15 copies"),
    ("Is The Last Lighthouse available?", "out of stock"),
    ("is book 7 in stock?", "in stock: 15 copies"),
]


@pytest.mark.parametrize(("request_", "words"), STOCK)
def test_stock_is_told_from_a_check(visit: Visit, request_: str, words: str) -> None:
    assert words in visit.ask(request_).answer
    assert visit.calls[-1][0] == "check_stock"


ORDERS = [
    ("Where is my order O-1001?", ["1001"], "O-1001 is shipped"),
    ("what about orders 1001, 1002 and 9999?", ["1001", "1002", "9999"], "no order O-9999"),
    ("where is my order?", [], "order number"),
]


@pytest.mark.parametrize(("request_", "numbers", "words"), ORDERS)
def test_orders_are_looked_up_by_their_numbers(
    visit: Visit, request_: str, numbers: list[str], words: str
) -> None:
    assert words in visit.ask(request_).answer
    assert visit.calls == [("get_order_status", number) for number in numbers]


TALK = [
    ("hello", "not a language model"),
    ("who are you?", "not a language model"),
    ("Thanks a lot!", "welcome"),
    ("remove The Quiet Orchard from my cart", "cart panel"),
    ("check out", "cannot take payment"),
    ("what's the weather in Paris?", "cannot help with that"),
    ("write a poem about cats", "I can search"),
    ("¿Tienen novelas de misterio?", "read only plain English"),
    ("Ajoutez The Quiet Orchard à mon panier", "read only plain English"),
    ("What is my cart total now?", "cannot tell"),
]


@pytest.mark.parametrize(("request_", "words"), TALK)
def test_what_needs_no_tool_is_answered_without_one(visit: Visit, request_: str, words: str) -> None:
    assert words in visit.ask(request_).answer
    assert visit.calls == []


FOLLOW_UPS = [
    (["Which mysteries do you have under $10?", "add the second one"], {162: 1}),
    (["is The Quiet Orchard in stock?", "yes, add it"], {7: 1}),
    ([LIGHTHOUSE, "add two more please"], {7: 3}),
    (["add two copies of the lamplighter's daughter", "the first one"], {57: 2}),
    (["add the lamplighter's daughter", "book 64"], {64: 1}),
    (["add the lamplighter's daughter", "the cheapest"], {57: 1}),
    (["add the lamplighter's daughter", "no thanks"], {}),
    (["add two copies of the lamplighter's daughter", "yes", "the first one"], {57: 2}),
    (["find The Quiet Orchard", "add it"], {7: 1}),
    (["find anything by Mira Holt", "add it"], {}),
    (["is The Quiet Orchard in stock?", "Find The Weighbridge and add it"], {}),
    (["where is order O-1001", "add it"], {}),
]


@pytest.mark.parametrize(("requests", "cart"), FOLLOW_UPS)
def test_a_follow_up_is_understood_from_what_was_said_before(
    visit: Visit, requests: list[str], cart: dict[int, int]
) -> None:
    for request in requests:
        visit.ask(request)
    assert visit.cart == cart


def test_stock_is_checked_anew_with_each_request(visit: Visit) -> None:
    visit.ask(LIGHTHOUSE)
    visit.stock(7, 3)
    assert "3 copies" in visit.ask("is it in stock?").answer
    assert visit.calls == [("check_stock", 7)]
