"""The cures by name, with the stand-in, which behaves like the post's model; and what they leave in the record."""

from decimal import Decimal
from typing import Any

import pytest

import store
from agent.loop.tool_call import Approval
from agent.models.scripted import ScriptedModel, call, say
from agent.trace import Overtaken
from agent.views.conversation import Conversation
from assistant.answer_check.figures import read_figures
from assistant.answer_check.stale_marks import in_words, stale_json
from assistant.bookshop import Bookshop
from assistant.cures import Cure
from assistant.meanwhile import Deed, Plan
from assistant.offline import OfflineModel
from assistant.settings import Settings
from assistant.shop_facts import ShopWatch

JOB = "Add The Last Lighthouse to my cart. If it is not available, add another novel by the same author."
TOTAL = "What is my cart total now?"


def ask(shop: Bookshop, conversation: Conversation, text: str, cure: Cure, **more: Any) -> Any:
    settings = Settings(freshness=cure, **more)
    return shop.agent(OfflineModel(), 1, conversation, settings).run(conversation, text)


def overtaken_now(conversation: Conversation, watch: ShopWatch) -> list[Overtaken]:
    return conversation.knowledge.overtaken_by(watch.now_of(conversation.knowledge.seen))


def told(shop: Bookshop, cure: Cure, *, change: bool) -> Any:
    """The answer to the total after the job, with or without a change through the website between them."""
    conversation = Conversation()
    ask(shop, conversation, JOB, cure)
    if change:
        store.set_quantity(shop.engine, 1, 7, 2, by="website")
    return ask(shop, conversation, TOTAL, cure)


@pytest.mark.parametrize("cure", Cure)
def test_without_a_change_every_cure_gives_the_total(bookshop: Bookshop, cure: Cure) -> None:
    result = told(bookshop, cure, change=False)
    assert "$16.50" in result.answer
    assert (result.model_calls, result.tool_calls) == ((2, 1) if cure is Cure.INSTRUCT else (1, 0))


@pytest.mark.parametrize(
    ("cure", "answer", "calls"),
    [
        (Cure.HISTORY, "Your cart total is $16.50.", 0),
        (Cure.INSTRUCT, "Your cart total is $33.00: 2 × The Quiet Orchard.", 1),
        (Cure.STAMP, "Your cart total was $16.50 when I last saw it; the cart has changed since.", 0),
        (Cure.SNAPSHOT, "Your cart total is $33.00.", 0),
        (Cure.VERIFY, "Your cart total is $33.00.", 0),
    ],
)
def test_after_a_change_the_answer_depends_on_the_cure(
    bookshop: Bookshop, cure: Cure, answer: str, calls: int
) -> None:
    result = told(bookshop, cure, change=True)
    assert (result.answer, result.tool_calls, result.stop_reason) == (answer, calls, "done")


def test_a_price_that_equals_an_earlier_total_is_no_overtaken_total(bookshop: Bookshop) -> None:
    adds = [call("add_to_cart", book_id=number) for number in (7, 9)]
    said = "I added The Quiet Orchard ($16.50) and Constable Brack Says Nothing ($10.50) to your cart."
    agent = bookshop.agent(
        ScriptedModel("t", [*adds, say(said)]), 1, Conversation(), Settings(freshness=Cure.VERIFY)
    )
    result = agent.run(Conversation(), "Add both.")
    assert (result.answer, result.model_calls) == (said, 3)


def test_only_instruct_has_view_cart_and_says_to_read_again(bookshop: Bookshop) -> None:
    for cure in Cure:
        started = told(bookshop, cure, change=False).trace[0]
        names = [tool["function"]["name"] for tool in started.tools]
        assert ("view_cart" in names) is ("read it again" in started.instructions) is (cure is Cure.INSTRUCT)
        assert started.settings["freshness"] == cure
        assert Settings.of(started).freshness is cure


def test_what_the_shop_has_overtaken_is_told_in_one_line(bookshop: Bookshop) -> None:
    conversation = Conversation()
    ask(bookshop, conversation, JOB, Cure.HISTORY)
    watch = ShopWatch(bookshop.engine, 1)
    assert overtaken_now(conversation, watch) == []
    store.set_quantity(bookshop.engine, 1, 7, 2, by="website")
    (one,) = overtaken_now(conversation, watch)
    seen, now = one.seen.version, one.now.version
    assert in_words(one) == f"cart read at v{seen} (turn 1, step 4), now v{now}: the total was $16.50, is $33.00"


def test_a_change_there_and_back_needs_no_mark(bookshop: Bookshop) -> None:
    conversation = Conversation()
    ask(bookshop, conversation, JOB, Cure.HISTORY)
    for quantity in (2, 1):
        store.set_quantity(bookshop.engine, 1, 7, quantity, by="website")
    assert overtaken_now(conversation, ShopWatch(bookshop.engine, 1)) == []


def test_another_conversation_of_the_customer_is_another_channel(bookshop: Bookshop) -> None:
    mine, other = Conversation(), Conversation()
    ask(bookshop, mine, JOB, Cure.HISTORY)
    ask(bookshop, other, "Add The Quiet Orchard to my cart.", Cure.HISTORY)
    ask(bookshop, mine, TOTAL, Cure.HISTORY)
    (heard,) = [event for event in mine.events if event.kind == "shop_changed"]
    assert heard.by == f"assistant {other.handle[:6]}"


def test_the_website_can_act_between_two_steps(bookshop: Bookshop) -> None:
    conversation = Conversation()
    result = ask(bookshop, conversation, JOB, Cure.HISTORY, meanwhile=Plan.read("4:stock 7 3"))
    heard = [event for event in result.trace if event.kind == "shop_changed"]
    assert [(event.step, event.resource, event.by) for event in heard] == [(3, "stock:7", "website, as planned")]
    assert Settings.of(result.trace[0]).meanwhile == Plan(4, Deed("stock", 7, "3"))


@pytest.mark.parametrize("cure", Cure)
def test_what_is_planned_before_a_step_that_never_comes_is_not_done(bookshop: Bookshop, cure: Cure) -> None:
    ask(bookshop, Conversation(), "hello", cure, meanwhile=Plan.read("2:stock 7 3"))
    assert store.check_stock(bookshop.engine, 7).in_stock == 15


def test_what_was_planned_is_done_once_and_not_again_when_a_person_has_answered(bookshop: Bookshop) -> None:
    settings = Settings(approve_above=Decimal(0), meanwhile=Plan.read("1:stock 7 9"))
    lines = [call("check_stock", book_id=7), call("add_to_cart", book_id=7), say("Done.")]
    conversation, model = Conversation(), ScriptedModel("test", lines)
    list(bookshop.agent(model, 1, conversation, settings).stream(conversation, "Add it."))
    assert conversation.run.waiting
    store.set_stock(bookshop.engine, 7, 8, by="warehouse")
    list(bookshop.agent_of(model, 1, conversation).resume(conversation, Approval(True, "page")))
    assert store.check_stock(bookshop.engine, 7).in_stock == 8


def test_what_the_shop_refuses_does_not_end_the_run(bookshop: Bookshop) -> None:
    result = ask(bookshop, Conversation(), JOB, Cure.HISTORY, meanwhile=Plan.read("2:order 9999 lost"))
    assert (result.stop_reason, [event for event in result.trace if event.kind == "shop_changed"]) == ("done", [])


@pytest.mark.parametrize("text", ["", "cart", "cart 7", "cart x 2", "basket 7 2", "7 2"])
def test_a_deed_that_cannot_be_read_is_refused_in_words(text: str) -> None:
    with pytest.raises(store.BadInput):
        Deed.read(text)
    with pytest.raises(store.BadInput):
        Plan.read(f"2:{text}")


@pytest.mark.parametrize("deed", ["cart 7 -1", "cart 7 two", "stock 7 1.5", "price 7 cheap", "cart 99999 1"])
def test_a_deed_the_shop_cannot_do_changes_nothing(bookshop: Bookshop, deed: str) -> None:
    with pytest.raises(store.ShopError):
        Deed.read(deed).do(bookshop.engine, 1, "website")
    assert store.latest_change(bookshop.engine) == 0


def test_a_fact_that_was_told_again_and_is_stated_as_before_is_marked(bookshop: Bookshop) -> None:
    conversation = Conversation()
    ask(bookshop, conversation, JOB, Cure.SNAPSHOT)
    store.set_quantity(bookshop.engine, 1, 7, 2, by="website")
    deaf = ScriptedModel("deaf", [say("Your cart total is $16.50.")])
    settings = Settings(freshness=Cure.SNAPSHOT)
    result = bookshop.agent(deaf, 1, conversation, settings).run(conversation, TOTAL)
    watch = ShopWatch(bookshop.engine, 1)
    (one,) = stale_json(conversation, watch, read_figures(result.answer))
    assert (one["seen"], one["current"], one["stated_in_answer"]) == ("total $16.50", "total $33.00", True)
    assert stale_json(conversation, watch, read_figures("Your cart total is $33.00.")) == []


def test_one_old_fact_does_not_make_each_look_read_the_whole_past(bookshop: Bookshop) -> None:
    for copies in (3, 4, 5):
        store.set_stock(bookshop.engine, 9, copies, by="warehouse")
    cart = store.set_quantity(bookshop.engine, 1, 7, 2, by="website").version
    watch = ShopWatch(bookshop.engine, 1)
    assert (
        watch.changes({"stock:7": 0, "stock:9": store.check_stock(bookshop.engine, 9).version, "cart": cart}) == []
    )
    (heard,) = watch.changes({"stock:7": 0, "cart": cart - 1})
    assert (heard.resource, heard.version_after) == ("cart", cart)
