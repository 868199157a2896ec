"""Where a conversation stands still: a call that waits for a person, and a run that was stopped early."""

from decimal import Decimal
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import store
from assistant.bookshop import Bookshop
from assistant.settings import ANSWER_NOW, CONTINUE
from tests.ui.conftest import JOB, PAGE, handle_of, open_steps, send, shown, until_idle

pytestmark = pytest.mark.usefixtures("surroundings")


@pytest.fixture
def waiting(page: AppTest) -> AppTest:
    """The page with an add that waits for a person."""
    page.select_slider(key="approve_above").set_value(Decimal(0)).run()
    send(page, JOB)
    return page


@pytest.fixture
def stopped(page: AppTest) -> AppTest:
    """The page with a run that was stopped after two steps."""
    page.select_slider(key="max_steps").set_value(2).run()
    send(page, JOB)
    return page


def button(at: AppTest, label: str) -> Any:
    (found,) = [each for each in at.button if each.label == label]
    return found


def press(at: AppTest, label: str) -> None:
    button(at, label).click().run()
    until_idle(at)


def headings(at: AppTest) -> list[str]:
    return [heading.value for heading in at.subheader]


def kinds(shop: Bookshop, number: int = 0) -> list[str]:
    """The kinds of the events of a run, the latest by default."""
    run = shop.archive.listing.runs("1")[number]
    return [event.kind for event in shop.archive.listing.run_events("1", run.run_id)]


def in_cart(shop: Bookshop) -> list[tuple[int, int]]:
    return [(line.book_id, line.quantity) for line in store.view_cart(shop.engine, 1).lines]


def test_a_call_that_waits_is_shown_with_its_arguments_and_why(waiting: AppTest) -> None:
    assert "May this call run?" in headings(waiting)
    text = shown(waiting)
    assert "add_to_cart(book_id=7, quantity=1)" in text
    assert "above the limit of" in text
    assert "Another program is answering" not in text
    assert "The cart is empty." in text
    assert any("waits for a person" in box.label for box in waiting.expander)


def test_yes_runs_the_call_and_the_run_goes_on(waiting: AppTest, shop: Bookshop) -> None:
    press(waiting, "Yes")
    assert in_cart(shop) == [(7, 1)]
    assert "May this call run?" not in headings(waiting)
    assert kinds(shop)[-1] == "run_finished"
    open_steps(waiting)
    assert "A person said yes" in shown(waiting)
    assert waiting.chat_message.len == 2


def test_no_leaves_the_cart_and_the_model_reads_it(waiting: AppTest, shop: Bookshop) -> None:
    press(waiting, "No")
    assert in_cart(shop) == []
    assert kinds(shop)[-1] == "run_finished"
    open_steps(waiting)
    assert "not run: a person said no" in shown(waiting)


def test_yes_with_other_arguments_runs_those(waiting: AppTest, shop: Bookshop) -> None:
    (quantity,) = [box for box in waiting.text_input if box.label == "quantity"]
    assert quantity.value == "1"
    quantity.set_value("2")
    press(waiting, "Run it with these")
    assert in_cart(shop) == [(7, 2)]
    open_steps(waiting)
    assert "yes, with other arguments" in shown(waiting)


def test_wrong_arguments_are_said_and_nothing_typed_is_lost(waiting: AppTest, shop: Bookshop) -> None:
    (quantity,) = [box for box in waiting.text_input if box.label == "quantity"]
    quantity.set_value("many")
    press(waiting, "Run it with these")
    assert any("quantity" in error.value for error in waiting.error)
    (quantity,) = [box for box in waiting.text_input if box.label == "quantity"]
    assert quantity.value == "many"
    assert in_cart(shop) == []
    assert kinds(shop)[-1] == "approval_requested"


def test_a_request_survives_a_reload(waiting: AppTest, shop: Bookshop) -> None:
    again = AppTest.from_file(str(PAGE), default_timeout=60)
    again.query_params["c"] = handle_of(waiting)
    again.run()
    press(again, "Yes")
    assert in_cart(shop) == [(7, 1)]


def test_stop_ends_a_run_that_waits(waiting: AppTest, shop: Bookshop) -> None:
    press(waiting, "Stop")
    assert shop.archive.listing.runs("1")[0].stop_reason == "not_approved"
    assert in_cart(shop) == []


def test_a_message_typed_while_a_call_waits_stays_in_the_box(waiting: AppTest, shop: Bookshop) -> None:
    waiting.chat_input[0].set_value("And another").run()
    assert any("A call waits for you" in toast.value for toast in waiting.toast)
    assert waiting.chat_input[0].proto.value == "And another"
    assert len(shop.archive.listing.runs("1")) == 1


def test_an_answer_that_comes_too_late_does_nothing(waiting: AppTest, shop: Bookshop) -> None:
    again = AppTest.from_file(str(PAGE), default_timeout=60)
    again.query_params["c"] = handle_of(waiting)
    again.run()
    press(again, "No")
    press(waiting, "Yes")
    assert in_cart(shop) == []
    assert kinds(shop).count("approval_answered") == 1


def test_an_answer_to_an_older_request_is_none_to_the_one_that_waits_now(waiting: AppTest, shop: Bookshop) -> None:
    again = AppTest.from_file(str(PAGE), default_timeout=60)
    again.query_params["c"] = handle_of(waiting)
    again.run()
    press(again, "No")
    again.select_slider(key="approve_above").set_value(Decimal(0)).run()
    send(again, JOB)
    assert "May this call run?" in headings(again)
    press(waiting, "Yes")
    assert in_cart(shop) == []
    assert kinds(shop)[-1] == "approval_requested"
    assert "May this call run?" in headings(waiting)


def test_a_stopped_run_shows_its_limit_and_how_near_the_others_were(stopped: AppTest) -> None:
    assert "Why it stopped" in headings(stopped)
    assert "A budget was used up." in shown(stopped)
    bars = [bar.proto.text for bar in stopped.get("progress")]
    assert "Steps · 2 of 2" in bars
    assert len(bars) == 4


def test_continue_is_a_new_run_under_the_limits_as_they_stand(stopped: AppTest, shop: Bookshop) -> None:
    stopped.select_slider(key="max_steps").set_value(8).run()
    press(stopped, "Continue with more")
    newest, first = shop.archive.listing.runs("1")
    started = shop.archive.listing.run_events("1", newest.run_id)[0]
    assert (newest.text, started.continues) == (CONTINUE, first.run_id)
    assert started.settings["limits"]["max_steps"] == 8
    assert "This run goes on from the one before" in shown(stopped)


def test_answer_now_calls_no_tool(stopped: AppTest, shop: Bookshop) -> None:
    press(stopped, "Answer now, without tools")
    newest = shop.archive.listing.runs("1")[0]
    events = shop.archive.listing.run_events("1", newest.run_id)
    assert newest.text == ANSWER_NOW
    assert events[0].tools == []
    assert "tool_started" not in [event.kind for event in events]


def test_leave_it_takes_the_card_away_and_keeps_the_short_line(stopped: AppTest) -> None:
    press(stopped, "Leave it")
    assert "Why it stopped" not in headings(stopped)
    assert any(warning.value.startswith("Not finished") for warning in stopped.warning)


def test_only_the_latest_run_has_a_card(stopped: AppTest) -> None:
    send(stopped, JOB)
    assert headings(stopped).count("Why it stopped") == 1
    assert len([warning for warning in stopped.warning if warning.value.startswith("Not finished")]) == 2


def test_a_run_that_is_done_has_no_card(page: AppTest) -> None:
    send(page, JOB)
    assert "Why it stopped" not in headings(page)


def test_the_ledger_tells_for_each_step_what_every_guard_found(stopped: AppTest, shop: Bookshop) -> None:
    run_id = shop.archive.listing.runs("1")[0].run_id
    assert [box for box in stopped.expander if box.label == "Guards"]
    assert stopped.table.len == 0
    stopped.session_state[f"guards-{run_id}"] = True
    stopped.run()
    (table,) = stopped.table
    rows = {row["Guard"]: row for row in table.value.to_dict("records")}
    assert rows["Steps"]["Step 1"] == "0 of 2"
    assert rows["Steps"]["Step 2"] == "stop 2 of 2"
    assert rows["The same write"]["Step 1"] == "–"
