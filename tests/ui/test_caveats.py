"""The stale-data caveat on the page: marks, claims, pending changes, cures and the other channel."""

import threading

import pytest
from streamlit.testing.v1 import AppTest

import store
from agent.models.scripted import Asked, Line, ScriptedModel, call, say
from assistant.bookshop import Bookshop
from assistant.settings import Settings
from tests.ui.conftest import JOB, PAGE, handle_of, open_steps, send, shown, until_idle
from ui.caveats import faded
from ui.safe import WORD_JOINER, safe_markdown

pytestmark = pytest.mark.usefixtures("surroundings")
TOTAL = "What is my cart total now?"
MARK = "cart read at v1 \\(turn 1, step 4\\), now v2\\: the total was \\$16.50, is \\$33.00"


def changed(shop: Bookshop, quantity: int = 2) -> None:
    store.set_quantity(shop.engine, 1, 7, quantity, by="website")


def warnings(at: AppTest) -> list[str]:
    return [warning.value for warning in at.warning]


def test_where_nothing_changed_there_is_no_mark(page: AppTest) -> None:
    send(page, JOB)
    send(page, TOTAL)
    assert warnings(page) == []
    assert "vertaken" not in shown(page)
    assert "Pending" not in shown(page)


def test_a_change_marks_what_was_read_with_both_versions_and_values(page: AppTest, shop: Bookshop) -> None:
    send(page, JOB)
    changed(shop)
    page.run()
    (warning,) = warnings(page)
    assert MARK in warning
    assert ":gray[~~\\$16.50~~]" in shown(page)
    assert [error.value for error in page.error] == []  # it was true when it was said


def test_the_next_answer_is_stale_is_marked_and_its_claim_does_not_hold(page: AppTest, shop: Bookshop) -> None:
    send(page, JOB)
    changed(shop)
    send(page, TOTAL)
    assert "\\$16.50" in [said.markdown[0].value for said in page.chat_message][-1]
    assert [MARK in warning for warning in warnings(page)] == [True]
    (error,) = [error.value for error in page.error]
    assert "Does not hold: total \\$16.50" in error
    quiet = [caption.value for caption in page.caption if "Overtaken" in caption.value]
    assert [MARK in caption for caption in quiet] == [True]  # under the answer before


def test_an_answer_that_does_not_speak_of_the_cart_gets_no_box_about_it(page: AppTest, shop: Bookshop) -> None:
    send(page, JOB)
    changed(shop)
    send(page, "Which mysteries do you have under $10?")
    assert warnings(page) == []
    quiet = [caption.value for caption in page.caption if "Overtaken" in caption.value]
    assert [MARK in caption for caption in quiet] == [True]  # under the answer that states the old total


def test_what_holds_is_told_on_demand(page: AppTest) -> None:
    send(page, JOB)
    (claims,) = [box.label for box in page.expander if box.label.startswith("Claims")]
    assert claims == "Claims: 2 hold"


def test_a_change_is_pending_until_the_model_hears_of_it(page: AppTest, shop: Bookshop) -> None:
    send(page, JOB)
    changed(shop)
    page.run()
    (pending,) = [info.value for info in page.info if "Pending" in info.value]
    assert "cart v1 → v2: 2 × The Quiet Orchard (by website" in pending
    send(page, TOTAL)
    assert [info.value for info in page.info if "Pending" in info.value] == []
    open_steps(page)
    assert any("The shop changed: cart v1 → v2" in info.value for info in page.info)  # in the trace


def test_a_change_is_pending_while_the_model_writes(page: AppTest, shop: Bookshop) -> None:
    over, writing = threading.Event(), threading.Event()

    def play(asked: Asked) -> Line:
        if asked.number == 1:
            return call("add_to_cart", book_id=7)
        writing.set()
        over.wait(30)
        return say("It is in your cart.")

    conversation = shop.archive.start("1")
    agent = shop.agent(ScriptedModel("slow", play), 1, conversation, Settings())
    shop.runs.start(agent, conversation, "Add The Quiet Orchard.", "message")
    try:
        assert writing.wait(30)
        page.session_state["handle"] = conversation.handle
        page.run()
        assert "Pending" not in shown(page)
        changed(shop)
        page.run()
        assert ["cart v1 → v2" in info.value for info in page.info if "Pending" in info.value] == [True]
    finally:
        over.set()
    until_idle(page)


@pytest.mark.parametrize(
    ("cure", "answer"), [("snapshot", "\\$33.00"), ("verify", "\\$33.00"), ("history", "\\$16.50")]
)
def test_a_cure_is_chosen_in_the_sidebar(page: AppTest, shop: Bookshop, cure: str, answer: str) -> None:
    page.selectbox(key="freshness").set_value(cure).run()
    send(page, JOB)
    changed(shop)
    send(page, TOTAL)
    assert answer in [said.markdown[0].value for said in page.chat_message][-1]
    assert (
        shop.archive.listing.run_events("1", shop.archive.listing.runs("1")[0].run_id)[0].settings[  # type: ignore[union-attr]
            "freshness"
        ]
        == cure
    )


def test_a_cure_in_the_address_is_taken_and_nonsense_is_not(surroundings: None) -> None:
    for given, taken in (("verify", "verify"), ("magic", "history")):
        at = AppTest.from_file(str(PAGE), default_timeout=60)
        at.query_params["freshness"] = given
        at.run()
        assert at.selectbox(key="freshness").value == taken


def opened(at: AppTest) -> AppTest:
    at.session_state["other-channel"] = True
    return at.run()


def test_the_website_acts_now(page: AppTest, shop: Bookshop) -> None:
    opened(page).number_input(key="deed_copies_cart").set_value(3).run()
    page.button(key="deed_do").click().run()
    assert store.view_cart(shop.engine, 1).lines[0].quantity == 3
    (change,) = store.changes_since(shop.engine, 0)
    assert change.by.startswith("website")


def test_what_the_shop_refuses_is_said(page: AppTest, shop: Bookshop) -> None:
    opened(page).number_input(key="deed_cart").set_value(2).run()
    page.button(key="deed_do").click().run()
    assert "out of stock" in page.toast[0].value
    assert store.view_cart(shop.engine, 1).lines == ()


@pytest.mark.parametrize(
    ("kind", "resource"), [("stock", "stock:7"), ("price", "price:7"), ("order", "order:1001")]
)
def test_the_warehouse_acts_too(page: AppTest, shop: Bookshop, kind: str, resource: str) -> None:
    opened(page).selectbox(key="deed_kind").set_value(kind).run()
    page.button(key="deed_do").click().run()
    assert not page.exception
    assert [change.resource for change in store.changes_since(shop.engine, 0)] == [resource]


def test_a_plan_is_carried_out_between_two_steps_of_the_next_run_and_only_then(
    page: AppTest, shop: Bookshop
) -> None:
    opened(page).selectbox(key="deed_kind").set_value("stock").run()
    page.selectbox(key="deed_when").set_value(4).run()
    page.button(key="deed_do").click().run()
    assert store.changes_since(shop.engine, 0) == []
    assert any("Planned before step 4" in info.value for info in page.info)
    send(page, JOB)
    assert "meanwhile" not in page.session_state
    events = shop.archive.listing.run_events("1", shop.archive.listing.runs("1")[0].run_id)
    heard = [event for event in events if event.kind == "shop_changed"]
    assert [(event.resource, event.step) for event in heard] == [("stock:7", 3)]


def test_a_plan_can_be_dropped(page: AppTest) -> None:
    opened(page).selectbox(key="deed_when").set_value(3).run()
    page.button(key="deed_do").click().run()
    page.button(key="deed_drop").click().run()
    assert "meanwhile" not in page.session_state


def test_only_the_places_that_are_overtaken_fade() -> None:
    text = "The book is $16.50, the total: $16.50."
    assert faded(text, [(31, 37)]) == f"The book is \\$16.50, the total: {WORD_JOINER}:gray[~~\\$16.50~~]."
    assert faded(text, []) == safe_markdown(text)


def test_another_conversation_has_caveats_of_its_own(page: AppTest, shop: Bookshop) -> None:
    send(page, JOB)
    first = handle_of(page)
    changed(shop)
    next(button for button in page.button if button.label == "New conversation").click().run()
    send(page, "hello")
    assert handle_of(page) != first
    assert warnings(page) == []
