"""A customer's conversations in the sidebar."""

import pytest
from streamlit.testing.v1 import AppTest

from agent.archive import lease
from agent.trace.documents import load_events
from assistant.bookshop import Bookshop
from tests.ui.conftest import handle_of, send, shown
from ui.conversations import _export
from ui.visit import Visit

pytestmark = pytest.mark.usefixtures("surroundings")


def opened(at: AppTest) -> AppTest:
    at.session_state["conversations"] = True
    return at.run()


def two(at: AppTest) -> tuple[str, str]:
    """Hold two conversations; returns their handles, the second one open."""
    send(at, "Where is my order O-1001?")
    first = handle_of(at)
    new = next(button for button in at.button if button.label == "New conversation")
    new.click().run()
    send(at, "hello")
    return first, handle_of(at)


def test_they_are_listed_by_what_was_asked_first_and_opened_with_a_click(page: AppTest) -> None:
    first, second = two(page)
    opened(page)
    labels = {button.key: button.label for button in page.sidebar.button if (button.key or "").startswith("open-")}
    assert list(labels) == [f"open-{second}", f"open-{first}"]
    assert labels[f"open-{first}"].startswith("Where is my order")
    page.button(key=f"open-{first}").click().run()
    assert handle_of(page) == first
    assert "O-1001" in shown(page)


def test_one_is_renamed_and_a_taken_name_is_refused_in_words(page: AppTest, shop: Bookshop) -> None:
    first, second = two(page)
    opened(page).text_input(key=f"name-{second}").set_value("greetings").run()
    assert [one.name for one in shop.archive.listing.conversations("1")] == ["greetings", None]
    page.button(key=f"open-{first}").click().run()
    page.text_input(key=f"name-{first}").set_value("greetings").run()
    assert "already" in page.toast[0].value
    assert [one.name for one in shop.archive.listing.conversations("1")] == ["greetings", None]


def test_one_is_deleted_and_the_page_goes_on_with_a_new_one(page: AppTest, shop: Bookshop) -> None:
    first, second = two(page)
    opened(page).button(key=f"really-{second}").click().run()
    assert [one.handle for one in shop.archive.listing.conversations("1")] == [first]
    assert (handle_of(page), page.exception.len) == ("", 0)


def test_one_that_is_answering_is_not_deleted(page: AppTest, shop: Bookshop) -> None:
    _, second = two(page)
    conversation = shop.archive.find("1", second)
    assert conversation
    opened(page)
    with lease(shop.archive, conversation):
        page.button(key=f"really-{second}").click().run()
    assert "answering" in page.toast[0].value
    assert shop.archive.find("1", second)


def test_an_export_loads_again_event_for_event(page: AppTest, shop: Bookshop) -> None:
    _, second = two(page)
    conversation = shop.archive.find("1", second)
    assert conversation
    assert load_events(_export(Visit(shop), second).decode()) == list(conversation.events)


def test_another_customer_sees_none_of_them(page: AppTest) -> None:
    two(page)
    page.selectbox(key="customer").set_value(2).run()
    assert [box.label for box in page.expander if box.label.startswith("Conversations")] == []
