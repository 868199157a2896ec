"""The page without a browser: what is drawn, and what a person's acts come to."""

import json
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import store
from agent.guards.limits import PRESETS, Limits
from assistant.bookshop import Bookshop
from tests.ui.conftest import JOB, PAGE, handle_of, send, shown, until_idle
from ui.opened import OPENED
from ui.safe import WORD_JOINER
from ui.settings.choices import OFF, SLIDERS

pytestmark = pytest.mark.usefixtures("surroundings")


def answers(at: AppTest) -> list[str]:
    return [
        "\n".join(part.value for part in said.markdown) for said in at.chat_message if said.name == "assistant"
    ]


def step_labels(at: AppTest) -> list[str]:
    return [found.label for found in at.expander if found.label.startswith(("Step ", "Wrap-up"))]


def chart(at: AppTest) -> dict[str, Any]:
    drawn = at.get("vega_lite_chart")[0]
    return json.loads(drawn.proto.spec)


def suggestions(at: AppTest) -> list[Any]:
    return [button for button in at.main.button if button.label not in ("Stop", "Remove")]


def test_an_empty_page_offers_the_lighthouse_job_first_and_the_three_panels(page: AppTest) -> None:
    assert not page.exception
    assert "Lighthouse" in suggestions(page)[0].label
    headings = [heading.value for heading in page.header]
    assert {"Cart", "Steps", "Tokens"} <= set(headings)
    assert "The cart is empty." in shown(page)
    assert page.chat_message.len == 0


def test_nothing_is_kept_of_a_visitor_who_only_looks(page: AppTest, shop: Bookshop) -> None:
    assert shop.archive.listing.runs("1") == []
    assert "c" not in page.query_params


def test_the_stand_in_is_labelled_as_no_language_model(page: AppTest) -> None:
    assert "not a language model" in shown(page)


def test_the_lighthouse_job_shows_its_answer_five_steps_and_the_cart(page: AppTest) -> None:
    send(page, JOB)
    (answer,) = answers(page)
    assert "The Quiet Orchard" in answer
    assert "\\$16.50" in answer
    assert len(step_labels(page)) == 5
    assert "add\\_to\\_cart" in step_labels(page)[3]
    assert "**Total \\$16.50**" in shown(page)
    (copies,) = page.main.number_input
    assert (copies.label, copies.value) == ("Copies of The Quiet Orchard", 1)
    assert any("5 steps · 4 tool calls" in caption.value for caption in page.caption)


def test_the_chart_has_five_bars_and_the_words_below_say_the_same(page: AppTest) -> None:
    send(page, JOB)
    bars = chart(page)
    assert bars["mark"]["type"] == "bar"
    assert "tokens in 5 model calls" in shown(page)


def test_a_suggestion_is_a_message(page: AppTest) -> None:
    suggestions(page)[0].click().run()
    until_idle(page)
    assert len(step_labels(page)) == 5
    assert "**Total \\$16.50**" in shown(page)


def test_the_address_names_the_conversation_from_the_first_message_on(page: AppTest, shop: Bookshop) -> None:
    send(page, "hello")
    (handle,) = page.query_params["c"] if isinstance(page.query_params["c"], list) else [page.query_params["c"]]
    assert shop.archive.length("1", handle)
    again = AppTest.from_file(str(PAGE), default_timeout=60)
    again.query_params["c"] = handle
    again.run()
    assert [said.name for said in again.chat_message] == ["user", "assistant"]


def test_a_cart_is_changed_by_hand(page: AppTest, shop: Bookshop) -> None:
    store.add_to_cart(shop.engine, 1, 7, by="test")
    page.run()
    page.main.number_input[0].set_value(3).run()
    assert not page.exception
    assert store.view_cart(shop.engine, 1).lines[0].quantity == 3
    assert "**Total \\$49.50**" in shown(page)
    (remove,) = [button for button in page.button if button.label == "Remove"]
    remove.click().run()
    assert store.view_cart(shop.engine, 1).lines == ()
    assert "The cart is empty." in shown(page)


def test_a_change_the_shop_refuses_is_said_and_loses_nothing(page: AppTest, shop: Bookshop) -> None:
    store.add_to_cart(shop.engine, 1, 7, 2, by="test")
    page.run()
    page.main.number_input[0].set_value(20).run()
    assert not page.exception
    assert any("in stock" in toast.value for toast in page.toast)
    assert page.main.number_input[0].value == 2
    assert store.view_cart(shop.engine, 1).lines[0].quantity == 2
    assert "**Total \\$33.00**" in shown(page)


def test_a_change_refused_twice_is_said_twice(page: AppTest, shop: Bookshop) -> None:
    store.add_to_cart(shop.engine, 1, 7, 2, by="test")
    page.run()
    for _ in range(2):
        page.main.number_input[0].set_value(20).run()
        assert any("in stock" in toast.value for toast in page.toast)
        assert page.main.number_input[0].value == 2


def test_a_line_that_is_gone_meanwhile_is_no_error(page: AppTest, shop: Bookshop) -> None:
    store.add_to_cart(shop.engine, 1, 7, 2, by="test")
    page.run()
    store.clear_cart(shop.engine, 1, by="somebody else")
    (remove,) = [button for button in page.button if button.label == "Remove"]
    remove.click().run()
    assert not page.exception
    assert "The cart is empty." in shown(page)


def test_a_run_cut_short_says_so_and_why_in_words(page: AppTest) -> None:
    page.select_slider(key="max_steps").set_value(2).run()
    send(page, JOB)
    (reason,) = [warning.value for warning in page.warning if warning.value.startswith("Not finished")]
    assert "it reached the limit of steps (max_steps)" in reason
    assert "The cart is empty." in shown(page)
    assert step_labels(page)[-1].startswith("Wrap-up")


def test_a_model_that_cannot_be_reached_is_said_with_what_to_do(
    page: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOOKSHOP_MODEL", "qwen3:4b")
    at = AppTest.from_file(str(PAGE), default_timeout=60)
    at.run()
    send(at, "hello")
    assert any("the model cannot be reached" in warning.value for warning in at.warning)
    assert "ollama serve" in "\n".join(answers(at))


def test_a_run_that_a_person_stopped_says_who_stopped_it(page: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOOKSHOP_MODEL", "script:slow")
    at = AppTest.from_file(str(PAGE), default_timeout=60)
    at.run()
    at.chat_input[0].set_value("hello").run()
    (stop,) = [button for button in at.button if button.label == "Stop"]
    stop.click().run()
    until_idle(at)
    assert any("you stopped it" in warning.value for warning in at.warning)
    assert not [button for button in at.button if button.label == "Stop"]


def test_a_message_typed_while_a_run_is_live_stays_in_the_box(
    page: AppTest, monkeypatch: pytest.MonkeyPatch, shop: Bookshop
) -> None:
    monkeypatch.setenv("BOOKSHOP_MODEL", "script:slow")
    at = AppTest.from_file(str(PAGE), default_timeout=60)
    at.run()
    at.chat_input[0].set_value("first").run()
    at.chat_input[0].set_value("second").run()
    assert not at.exception
    assert any("Still answering" in toast.value for toast in at.toast)
    assert at.chat_input[0].proto.value == "second"
    shop.runs.stop(handle_of(at))
    until_idle(at)
    assert [run.text for run in shop.archive.listing.runs("1")] == ["first"]


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_moves_every_slider(page: AppTest, preset: str) -> None:
    page.select_slider(key="max_steps").set_value(3).run()
    (presets,) = [group for group in page.get("button_group") if group.label == "Limits"]
    presets.set_value(preset).run()
    assert not page.exception
    for name in Limits.model_fields.keys() & SLIDERS.keys():
        wanted = getattr(PRESETS[preset], name)
        assert page.select_slider(key=name).value == (OFF if wanted is None else wanted), name


def test_the_default_sliders_are_the_default_limits(page: AppTest) -> None:
    for name in Limits.model_fields.keys() & SLIDERS.keys():
        wanted = getattr(PRESETS["default"], name)
        assert page.select_slider(key=name).value == (OFF if wanted is None else wanted), name


def test_the_sliders_are_what_the_run_is_held_to(page: AppTest, shop: Bookshop) -> None:
    page.select_slider(key="max_steps").set_value(4).run()
    page.select_slider(key="max_tokens").set_value(OFF).run()
    page.select_slider(key="search_size").set_value(3).run()
    page.toggle(key="wrap_up").set_value(False).run()
    send(page, "hello")
    (run,) = shop.archive.listing.runs("1")
    settings = shop.archive.listing.run_events("1", run.run_id)[0].settings
    assert (settings["limits"]["max_steps"], settings["limits"]["max_tokens"]) == (4, None)
    assert (settings["limits"]["wrap_up"], settings["search_size"]) == (False, 3)


@pytest.mark.parametrize("handle", ["made-up", "", "../../etc/passwd", "' OR 1=1 --", "x" * 5_000])
def test_a_foreign_address_shows_nothing_and_makes_nothing(shop: Bookshop, handle: str) -> None:
    theirs = shop.archive.start("2")
    for forged in (handle, theirs.handle):
        at = AppTest.from_file(str(PAGE), default_timeout=60)
        at.query_params["c"] = forged
        at.run()
        assert not at.exception
        assert at.chat_message.len == 0
        assert shop.archive.length("1", forged) is None
    assert shop.archive.listing.runs("1") == shop.archive.listing.runs("2") == []


def test_the_first_message_under_a_forged_address_begins_a_conversation_of_ones_own(shop: Bookshop) -> None:
    at = AppTest.from_file(str(PAGE), default_timeout=60)
    at.query_params["c"] = "made-up"
    at.run()
    send(at, "hello")
    assert shop.archive.length("1", "made-up") is None
    (run,) = shop.archive.listing.runs("1")
    assert run.handle == handle_of(at)


def test_another_customer_has_another_cart_and_sees_no_conversation(page: AppTest, shop: Bookshop) -> None:
    send(page, JOB)
    page.selectbox(key="customer").set_value(2).run()
    assert not page.exception
    assert page.chat_message.len == 0
    assert "The cart is empty." in shown(page)


def test_a_new_conversation_leaves_the_cart(page: AppTest) -> None:
    send(page, JOB)
    (anew,) = [button for button in page.button if button.label == "New conversation"]
    anew.click().run()
    assert page.chat_message.len == 0
    assert step_labels(page) == []
    assert "**Total \\$16.50**" in shown(page)


def test_earlier_turns_can_be_looked_at(page: AppTest, shop: Bookshop) -> None:
    send(page, JOB)
    send(page, "hello")
    (turn,) = [box for box in page.selectbox if box.label == "Turn"]
    assert len(turn.options) == 2
    assert len(step_labels(page)) == 1
    turn.set_value(shop.archive.listing.runs("1")[1].run_id).run()
    assert len(step_labels(page)) == 5


def test_markup_in_the_catalog_stays_text(page: AppTest, shop: Bookshop, tmp_path: Path) -> None:
    title = "![x](http://evil/) :red[sold] $5$ <b>"
    books = tmp_path / "books.csv"
    books.write_text(f"id,title,author,genre,price,stock\n900,{title},A,novel,1.00,9\n", encoding="utf-8")
    store.import_books(shop.engine, books)
    store.add_to_cart(shop.engine, 1, 900, by="test")
    page.run()
    (line,) = [text.value.replace(WORD_JOINER, "") for text in page.markdown if "each" in text.value]
    assert line.startswith("\\!\\[x\\]\\(http\\://evil/\\) \\:red\\[sold\\] \\$5\\$ \\<b\\>")
    assert not page.exception


def test_markup_in_a_message_stays_text(page: AppTest) -> None:
    send(page, "![x](http://evil/) $5$ :red[x]")
    question = page.chat_message[0].markdown[0].value
    assert "![" not in question
    assert "\\$5\\$" in question
    assert ":red[" not in question


def test_a_blank_message_is_no_message(page: AppTest, shop: Bookshop) -> None:
    page.chat_input[0].set_value("   ").run()
    assert not page.exception
    assert shop.archive.listing.runs("1") == []


def test_a_shop_that_cannot_open_is_said_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = tmp_path / "bad.db"
    bad.write_bytes(b"")
    monkeypatch.setenv("BOOKSHOP_DATABASE_URL", f"sqlite:///{bad}")
    OPENED.close()
    at = AppTest.from_file(str(PAGE), default_timeout=60)
    at.run()
    assert not at.exception
    (error,) = at.error
    assert error.value.startswith("The shop cannot open:")
    assert str(tmp_path) not in error.value


def test_a_model_that_does_not_exist_is_said_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOOKSHOP_MODEL", "script:no-such")
    at = AppTest.from_file(str(PAGE), default_timeout=60)
    at.run()
    assert not at.exception
    assert "script:no-such" in at.error[0].value


ASKS = """
import streamlit as st
from ui.opened import OPENED
from ui.visit import Visit
visit = Visit(OPENED.shop())
st.text("read" if visit.conversation() else "none")
visit.ask("hello")
st.text("kept" if "conversation" in st.session_state else "let go")
"""


def test_the_page_lets_go_of_the_conversation_that_a_worker_writes_to(page: AppTest, shop: Bookshop) -> None:
    send(page, "hello")
    asks = AppTest.from_string(ASKS, default_timeout=60)
    asks.session_state["handle"] = handle_of(page)
    asks.run()
    assert not asks.exception
    assert [text.value for text in asks.text] == ["read", "let go"]
    assert shop.runs.wait(handle_of(page), 30)


TWICE = """
from ui.opened import OPENED
from ui.visit import Visit
import streamlit as st
st.session_state["wanted_model"] = "script:slow"
visit = Visit(OPENED.shop())
for text in ("hello", "hello", "and more"):
    visit.ask(text)
st.text(st.session_state.pop("draft", ""))
"""


def test_a_message_that_comes_twice_is_answered_once_and_another_one_waits(shop: Bookshop) -> None:
    asks = AppTest.from_string(TWICE, default_timeout=60)
    asks.run()
    assert not asks.exception
    shop.runs.stop(asks.session_state["handle"])
    assert shop.runs.wait(asks.session_state["handle"], 30)
    assert [run.text for run in shop.archive.listing.runs("1")] == ["hello"]
    assert [text.value for text in asks.text] == ["and more"]
