"""The offline stand-in does its jobs: driven through the agent, judged by its calls and its words."""

import pytest

from agent.guards.limits import Limits
from tests.assistant.conftest import LIGHTHOUSE, Shop

Calls = list[tuple[str, int | str]]


def made(shop: Shop) -> list[tuple[object, ...]]:
    """The calls of the turn in short: the tool's first word and its arguments."""
    return [(name.partition("_")[0], *arguments.values()) for name, arguments in shop.calls]


INSTEAD = [
    LIGHTHOUSE,
    "I want The Last Lighthouse, or another novel by her if it's sold out",
    'Please add "the last lighthouse" to my cart; should it be sold out, choose a different novel by Mira Holt.',
    "Could you put The Last Lighthouse in my basket, or any other novel by the same author if it's out of stock?",
    "add the last lighthouse to my cart if it is available, otherwise add another novel by the same author",
    "Add The Last Lighthouse or, if unavailable, some other novel by Mira Holt",
    "If The Last Lighthouse is not available, add another novel by the same author to my cart",
    "Add The Last Lighthouse, and if it's sold out, anything else by the same author please",
    "Can I get The Last Lighthouse? If it isn't available, get me another book from the same author.",
    "Hello! Put one copy of The Last Lighthouse in my cart, please. If not, add one of her other novels.",
    "Add The Last Lighthouse to my cart.\nIf it is not available, add another novel of hers and tell me the sum.",
    "buy “The Last Lighthouse”; failing that, another novel of hers",
    "Add The Last Lighthouse to my cart, in case it is gone an alternative novel by the same writer",
]


@pytest.mark.parametrize("request_", INSTEAD)
def test_another_novel_by_the_author_is_added_when_the_first_is_out_of_stock(shop: Shop, request_: str) -> None:
    result = shop.ask(request_)

    wanted = [("search_books", {"query": shop.calls[0][1]["query"]}), ("check_stock", {"book_id": 2})]
    wanted += [("check_stock", {"book_id": 7}), ("add_to_cart", {"book_id": 7, "quantity": 1})]
    assert shop.calls == wanted
    assert shop.calls[0][1]["query"].lower() == "the last lighthouse"
    assert (result.stop_reason, result.steps, result.answer_by) == ("done", 5, "model")
    assert "The Last Lighthouse is out of stock" in result.answer
    assert "added The Quiet Orchard" in result.answer
    assert "cart total is $16.50" in result.answer


def test_a_stand_in_alone_is_asked_for_only_when_the_book_is_gone(shop: Shop) -> None:
    shop.stock(b2=3)
    request = "If The Last Lighthouse is not available, add another novel by the same author."
    assert "is available (3 copies in stock)" in shop.ask(request).answer
    assert shop.cart == {}


def test_another_title_may_be_named_to_take_instead(shop: Shop) -> None:
    answer = shop.ask("Add The Last Lighthouse to my cart. If it is not available, add The Weighbridge.").answer
    assert shop.cart == {122: 1}
    assert "The Last Lighthouse is out of stock" in answer


def test_input_tokens_are_estimates_that_rise_with_each_step(shop: Shop) -> None:
    replies = [event for event in shop.ask(LIGHTHOUSE).trace if event.kind == "model_reply"]
    tokens = [reply.usage.input_tokens or 0 for reply in replies]

    assert tokens == sorted(set(tokens))
    assert all(reply.usage.estimated and reply.usage.output_tokens for reply in replies)
    assert all(len(reply.tool_calls) == (0 if reply.text else 1) and reply.thinking for reply in replies)


def test_the_book_itself_is_added_when_there_is_one(shop: Shop) -> None:
    shop.stock(b2=1)
    assert "I added The Last Lighthouse" in shop.ask(LIGHTHOUSE).answer
    assert made(shop) == [("search", "The Last Lighthouse"), ("check", 2), ("add", 2, 1)]


def test_nothing_is_added_when_every_novel_of_the_author_is_out_of_stock(shop: Shop) -> None:
    shop.stock(b7=0)
    answer = shop.ask(LIGHTHOUSE).answer

    assert made(shop)[1:] == [("check", 2), ("check", 7), ("check", 46)]
    assert "have not added anything" in answer
    assert all(title in answer for title in ("The Last Lighthouse", "The Quiet Orchard", "The House at Fennmoor"))


def test_any_genre_will_do_when_none_was_named(shop: Shop) -> None:
    shop.stock(b7=0, b46=0)
    shop.ask("Add The Last Lighthouse to my cart. If it is not available, add another book by the same author.")
    assert made(shop)[-1] == ("add", 160, 1)


def test_the_authors_name_is_searched_once_when_the_first_search_shows_no_other_book(shop: Shop) -> None:
    shop.limits = Limits(max_steps=12, max_tokens=None, max_result_chars=150)
    shop.ask(LIGHTHOUSE)
    assert [call for call in made(shop) if call[0] == "search"] == [
        ("search", "The Last Lighthouse"),
        ("search", "Mira Holt"),
    ]


def test_another_shops_author_is_served_by_the_same_rules(shop: Shop) -> None:
    shop.rows = [
        (31, "Bread, Salt and If", "Ann O'Dell", "essays", "5.00", 0),
        (32, "Salt Again", "Ann O'Dell", "essays", "6.25", 2),
        (33, "A Novel of Hers", "Ann O'Dell", "novel", "7.00", 0),
    ]
    answer = shop.ask('Add "Bread, Salt and If". If it is sold out, add any other essays by her.').answer
    assert made(shop)[1:] == [("check", 31), ("check", 32), ("add", 32, 1)]
    assert "Salt Again" in answer
    assert "$6.25" in answer


ADDS = [
    ("add two copies of The Quiet Orchard", 7, 2, "$33.00"),
    ("Add The Quiet Orchard x2", 7, 2, "$33.00"),
    ("add a couple of copies of the quiet orchard to my basket, please", 7, 2, "$33.00"),
    ("please put a dozen copies of The Quiet Orchard into the cart", 7, 12, "$198.00"),
    ("add The Quiet Orchard, three copies", 7, 3, "$49.50"),
    ("add The Quiet Orchard twice", 7, 2, "$33.00"),
    ("add 3 of book 7", 7, 3, "$49.50"),
    ("add the novel called The Weighbridge in my basket", 122, 1, "$12.80"),
    ("add The Weighbridge by Tomas Holt", 122, 1, "$12.80"),
    ("I'll take The Weighbridge, thanks", 122, 1, "$12.80"),
    ("Could you add bread and patience?", 68, 1, "$32.00"),
    ("add it is what it was please", 106, 1, "$9.20"),
    ("add Nine Minutes of Weather", 51, 1, "$11.90"),
    ("add C++ by the Fireside", 32, 1, "$36.00"),
    ("add 月面第七郵便局", 74, 1, "$12.80"),
    ("add 「月面第七郵便局」 to my cart", 74, 1, "$12.80"),
    ('put "بستان الليمون البعيد" in my cart', 40, 1, "$12.90"),
    ("add 417", 11, 1, "$8.90"),
    ("add the fox who counted stras", 4, 1, "$8.25"),
    ("add the lamplighter's daughter for $11.90", 57, 1, "$11.90"),
    ("add the cheapest edition of The Lamplighter's Daughter", 57, 1, "$11.90"),
    ("add the cheapest mystery to my cart", 99, 1, "$9.90"),
    ("Find the cheapest mystery and add it to my cart", 99, 1, "$9.90"),
    ("add a mystery under $10", 99, 1, "$9.90"),
    ("Is The Quiet Orchard in stock? If so, add it to my cart.", 7, 1, "$16.50"),
    ("add the pocket edition of The Weighbridge", 122, 1, "$12.80"),
    ('add "The Lamplighter\'s Daughter" by Orla Fenwick, the cheapest edition', 57, 1, "$11.90"),
    ("add The Quiet Orchard and tell me the total", 7, 1, "$16.50"),
]


@pytest.mark.parametrize(("request_", "book", "quantity", "total"), ADDS)
def test_a_book_is_added_in_the_quantity_asked_for(
    shop: Shop, request_: str, book: int, quantity: int, total: str
) -> None:
    answer = shop.ask(request_).answer
    assert shop.cart == {book: quantity}
    assert made(shop)[-2:] == [("check", book), ("add", book, quantity)]
    assert f"cart total is {total}" in answer


BOTH = [
    ("put The Quiet Orchard and The Weighbridge in my cart", {7: 1, 122: 1}),
    ("add Bread and Patience and The Weighbridge", {68: 1, 122: 1}),
    ('add "The Quiet Orchard" and two copies of "Bread and Patience" to my cart', {7: 1, 68: 2}),
    ("add two copies of Bread and Patience, The Weighbridge and The Quiet Orchard", {68: 2, 122: 1, 7: 1}),
    ("add book 7 and book 9", {7: 1, 9: 1}),
]


@pytest.mark.parametrize(("request_", "cart"), BOTH)
def test_several_books_are_added_one_after_another(shop: Shop, request_: str, cart: dict[int, int]) -> None:
    assert f"${shop.ask(request_) and shop.total}" in shop.ask("what is my cart total?").answer
    assert shop.cart == cart


NOT_ADDED = [
    ("add 0 copies of The Quiet Orchard", "whole number"),
    ("add -2 copies of The Quiet Orchard", "whole number"),
    ("add minus two copies of the quiet orchard", "whole number"),
    ("add 1.5 copies of The Quiet Orchard", "whole number"),
    ("add 16 copies of The Quiet Orchard", "only 15 copies"),
    ("add The Brass Elephant", "no book called “The Brass Elephant”"),
    ("add The Quiet Elephant", "no book called “The Quiet Elephant”"),
    ("add the lamplighter's daughter", "3 editions"),
    ("add book 999", "no book with the id 999"),
    ("Add The Last Lighthouse to my cart", "out of stock"),
    ("Add The Last Lighthouse to my cart if it is available", "have not added it"),
    ("Add The Last Lighthouse. If it is not available, don't add anything.", "have not added it"),
    ("is The Last Lighthouse available? If so, add it", "have not added it"),
    ("add it", "Which book do you mean"),
]


@pytest.mark.parametrize(("request_", "words"), NOT_ADDED)
def test_nothing_is_added_and_the_answer_says_why(shop: Shop, request_: str, words: str) -> None:
    assert words in shop.ask(request_).answer
    assert shop.cart == {}


FINDS = [
    ("find The Weighbridge", ["The Weighbridge, Tomas Holt, novel, $12.80"], []),
    ("how much is The Quiet Orchard?", ["The Quiet Orchard, Mira Holt, novel, $16.50"], []),
    ("who wrote The Weighbridge?", ["Tomas Holt"], []),
    ("what does it is what it was cost", ["$9.20"], []),
    ("anything by Mira Holt", ["The Last Lighthouse", "Walking the Tideline"], ["Weighbridge"]),
    ("do you have any novels by Mira Holt?", ["The Quiet Orchard"], ["Tideline"]),
    ("what books by Mira Holt do you have?", ["The Quiet Orchard"], ["Weighbridge"]),
    ("show me science fiction", ["417", "Nine Minutes of Weather"], ["Orchard"]),
    ("a mystery under $10", ["Takes the Waters"], ["Says Nothing"]),
    ("which mysteries do you have under 10 dollars?", ["Takes the Waters"], ["Says Nothing"]),
    ("I'm looking for a mystery over $10.60", ["Tower Clock"], ["Says Nothing"]),
    ("books under 9", ["The Fox Who Counted Stars"], ["Constable"]),
    ("cheapest mystery", ["Takes the Waters"], ["Says Nothing"]),
    ("what's the most expensive novel?", ["$45.00"], ["$18.90"]),
    ("tell me about The Weighbridge", ["Tomas Holt"], []),
    ("do you have anything about lighthouses", ["The Last Lighthouse"], []),
    ("recommend a mystery", ["Constable Brack"], []),
    ("The Quiet Orchard", ["$16.50"], []),
    ("「月面第七郵便局」", ["久遠寺ミナト"], []),
    ("find a cookbook about zeppelins by Nobody Atall", ["found nothing"], []),
]


@pytest.mark.parametrize(("request_", "shown", "hidden"), FINDS)
def test_books_are_found_by_title_author_genre_and_price(
    shop: Shop, request_: str, shown: list[str], hidden: list[str]
) -> None:
    answer = shop.ask(request_).answer
    assert {name for name, _ in shop.calls} == {"search_books"}
    assert all(words in answer for words in shown), answer
    assert not any(words in answer for words in hidden), answer


STOCK = [
    ("is the quiet orchard in stock?", "15 copies"),
    ("how many copies of The Weighbridge do you have?", "6 copies"),
    ("how many copies of The Weighbridge are left", "6 copies"),
    ("is there a copy of The Weighbridge left?", "6 copies"),
    ("do you have Who Wound the Tower Clock?", "out of stock"),
    ("check the stock of Bread and Patience", "6 copies"),
    ("is book 7 in stock?", "15 copies"),
    ("Is The Last Lighthouse available?", "out of stock"),
]


@pytest.mark.parametrize(("request_", "words"), STOCK)
def test_stock_is_told_from_a_check(shop: Shop, request_: str, words: str) -> None:
    assert words in shop.ask(request_).answer
    assert made(shop)[-1][0] == "check"


ORDERS = [
    ("where is order O-1001", ["1001"], "O-1001 is shipped"),
    ("status of 1002", ["1002"], "O-1002 is processing"),
    ("what about orders 1001, 1002 and 9999?", ["1001", "1002", "9999"], "no order O-9999"),
    ("track O-1001 please", ["1001"], "1 × The Quiet Orchard at $16.50"),
    ("where is my order?", [], "order number"),
    ("has my parcel been shipped?", [], "order number"),
]


@pytest.mark.parametrize(("request_", "numbers", "words"), ORDERS)
def test_orders_are_looked_up_by_their_numbers(shop: Shop, request_: str, numbers: list[str], words: str) -> None:
    assert words in shop.ask(request_).answer
    assert made(shop) == [("get", number) for number in numbers]


TALK = [
    ("hello", "not a language model"),
    ("who are you?", "not a language model"),
    ("Thanks a lot!", "welcome"),
    ("remove The Quiet Orchard from my cart", "cart panel"),
    ("empty my cart", "cart panel"),
    ("check out", "cannot take payment"),
    ("recommend something cheerful to read", "moods"),
    ("I feel sad, recommend something", "moods"),
    ("what's the weather in Paris?", "cannot help with that"),
    ("write a poem about cats", "I can search"),
    ("what is my cart total?", "cannot tell"),
    ("", "I can search"),
]


@pytest.mark.parametrize(("request_", "words"), TALK)
def test_what_needs_no_tool_is_answered_without_one(shop: Shop, request_: str, words: str) -> None:
    assert words in shop.ask(request_).answer
    assert shop.calls == []


FOLLOW_UPS = [
    (["novels by Mira Holt", "add the second one"], {7: 1}),
    (["novels by Mira Holt", "add the cheapest one, two copies"], {}),
    (["mysteries", "under 10", "add it"], {99: 1}),
    (["is The Quiet Orchard in stock?", "add two copies of it"], {7: 2}),
    (["is The Quiet Orchard in stock?", "yes, add it"], {7: 1}),
    ([LIGHTHOUSE, "add one more"], {7: 2}),
    ([LIGHTHOUSE, "add two more please"], {7: 3}),
    (["add two copies of the lamplighter's daughter", "the first one"], {57: 2}),
    (["add the lamplighter's daughter", "book 64"], {64: 1}),
    (["add the lamplighter's daughter", "the $19.50 one"], {64: 1}),
    (["add the lamplighter's daughter", "the cheapest"], {57: 1}),
    (["add the lamplighter's daughter", "no thanks"], {}),
    (["add the lamplighter's daughter", "yes"], {}),
    (["add two copies of the lamplighter's daughter", "yes", "the first one"], {57: 2}),
    (["tell me about The Quiet Orchard", "add it"], {7: 1}),
    (["Add The Last Lighthouse", "add the first one instead"], {7: 1}),
    (["Add The Last Lighthouse", "add it"], {}),
    (["add The Quiet Elephant", "add the first one"], {7: 1}),
]


@pytest.mark.parametrize(("requests", "cart"), FOLLOW_UPS)
def test_a_follow_up_is_understood_from_what_was_said_before(
    shop: Shop, requests: list[str], cart: dict[int, int]
) -> None:
    for request in requests:
        shop.ask(request)
    assert shop.cart == cart


def test_how_many_are_left_of_it_is_checked_anew(shop: Shop) -> None:
    shop.ask(LIGHTHOUSE)
    shop.stock(b7=3)
    assert "3 copies" in shop.ask("how many are left of it?").answer
    assert made(shop) == [("check", 7)]


def test_a_bare_number_after_an_order_is_another_order(shop: Shop) -> None:
    shop.ask("where is order O-1001")
    assert "O-1002 is processing" in shop.ask("and 1002?").answer
