"""The sidebar: limits, prices, approval, the fault switchboard, and the three questions beside them."""

from decimal import Decimal
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from agent.guards.limits import PRESETS, Limits
from assistant.bookshop import Bookshop
from assistant.faults import LEAK, Fault
from assistant.settings import TOOL_NAMES
from tests.ui.conftest import JOB, PAGE, send, shown
from ui.settings.choices import FAULT_TEXTS, OFF, SLIDERS, SWITCHES, values_of

pytestmark = pytest.mark.usefixtures("surroundings")

NOT_OFFERED = {"max_corrections", "tool_seconds"}
"""Limits that nobody needs to set from the page."""


def settings_of_the_run(shop: Bookshop) -> dict[str, Any]:
    run = shop.archive.listing.runs("1")[0]
    return dict(shop.archive.listing.run_events("1", run.run_id)[0].settings)


def at_address(**values: str) -> AppTest:
    at = AppTest.from_file(str(PAGE), default_timeout=60)
    for name, value in values.items():
        at.query_params[name] = value
    at.run()
    assert not at.exception
    return at


def questions(at: AppTest) -> str:
    """What the three questions say; opened first."""
    at.session_state["questions"] = True
    at.run()
    assert not at.exception
    (box,) = [each for each in at.expander if each.label == "The three questions"]
    return "\n".join(each.value for each in [*box.markdown, *box.caption]).replace("\\", "")


def test_every_limit_of_a_run_can_be_set_and_every_preset_is_on_the_sliders() -> None:
    assert Limits.model_fields.keys() - NOT_OFFERED == Limits.model_fields.keys() & (
        SLIDERS.keys() | SWITCHES.keys()
    )
    for limits in PRESETS.values():
        for name in Limits.model_fields.keys() & SLIDERS.keys():
            value = getattr(limits, name)
            assert (OFF if value is None else value) in values_of(name), name


@pytest.mark.parametrize("tool", TOOL_NAMES)
def test_a_cap_of_a_tool_is_what_the_run_is_held_to(page: AppTest, shop: Bookshop, tool: str) -> None:
    page.select_slider(key=f"cap_{tool}").set_value(1).run()
    send(page, JOB)
    assert settings_of_the_run(shop)["tool_caps"] == {tool: 1}


def test_a_tool_that_is_used_up_ends_the_run_in_words(page: AppTest) -> None:
    page.select_slider(key="cap_check_stock").set_value(1).run()
    send(page, JOB)
    assert any("it reached the limit of tool calls" in warning.value for warning in page.warning)


def test_settings_come_from_the_address(shop: Bookshop) -> None:
    at = at_address(max_cost="0.25", approve_above="50", fault_check_stock="always breaks", error_streak="off")
    send(at, JOB)
    settings = settings_of_the_run(shop)
    assert (settings["limits"]["max_cost"], settings["limits"]["error_streak"]) == ("0.25", None)
    assert settings["approve_above"] == "50"
    assert settings["faults"] == {"check_stock": "failing"}


def test_nonsense_in_the_address_is_the_default(shop: Bookshop) -> None:
    at = at_address(max_cost="a lot", approve_above="-1", fault_check_stock="failing; DROP", error_streak="")
    send(at, "hello")
    settings = settings_of_the_run(shop)
    assert (settings["limits"]["max_cost"], settings["limits"]["error_streak"]) == (None, 3)
    assert (settings["approve_above"], settings["faults"]) == (None, {})


def test_a_cost_limit_without_a_price_says_that_it_has_no_effect(page: AppTest, shop: Bookshop) -> None:
    page.select_slider(key="max_cost").set_value(Decimal("0.001")).run()
    assert "The cost limit has no effect" in shown(page)
    page.number_input(key="price_in-offline").set_value(2.5).run()
    page.number_input(key="price_out-offline").set_value(10.0).run()
    assert "The cost limit has no effect" not in shown(page)
    send(page, JOB)
    run = shop.archive.listing.runs("1")[0]
    started, *_, end = shop.archive.listing.run_events("1", run.run_id)
    assert started.prices.input_per_million == Decimal("2.5")
    assert run.stop_reason == "max_cost"
    assert any(f"\\${end.cost:.4f}" in caption.value for caption in page.caption)


def test_a_run_without_a_price_shows_no_money(page: AppTest) -> None:
    send(page, JOB)
    (facts,) = [caption.value for caption in page.caption if "tool calls ·" in caption.value]
    assert "$" not in facts


def test_one_step_without_wrap_up_is_one_model_call(page: AppTest) -> None:
    page.select_slider(key="max_steps").set_value(1).run()
    page.toggle(key="wrap_up").set_value(False).run()
    assert "a run ends after 1 model call, or" in shown(page)


@pytest.mark.parametrize("fault", Fault)
def test_a_fault_is_told_near_the_input_and_with_the_run(page: AppTest, shop: Bookshop, fault: Fault) -> None:
    page.selectbox(key="fault_get_order_status").set_value(fault).run()
    said = f"get\\_order\\_status\\: {FAULT_TEXTS[fault]}"
    assert f"Faults are on: {said}" in shown(page)
    send(page, "hello")
    assert settings_of_the_run(shop)["faults"] == {"get_order_status": fault}
    page.selectbox(key="fault_get_order_status").set_value(OFF).run()
    assert "Faults are on" not in shown(page)
    assert f"Faults were on in this run: {said}" in shown(page)


def test_a_tool_that_always_breaks_leaks_nothing_and_ends_the_run(page: AppTest) -> None:
    page.selectbox(key="fault_check_stock").set_value(Fault.FAILING).run()
    page.select_slider(key="error_streak").set_value(1).run()
    send(page, JOB)
    assert any("calls failed again and again" in warning.value for warning in page.warning)
    assert LEAK.partition("//")[2] not in shown(page)


def test_the_three_questions_follow_the_sliders(page: AppTest) -> None:
    page.select_slider(key="max_steps").set_value(5).run()
    before = questions(page)
    assert "after 5 steps" in before
    assert "No runs measured yet" in before
    page.select_slider(key="max_steps").set_value(8).run()
    page.select_slider(key="repeat_nudge_at").set_value(OFF).run()
    after = questions(page)
    assert "after 8 steps" in after
    assert "The same call once more" not in after


def test_the_worst_case_goes_by_the_runs_of_this_customer(page: AppTest) -> None:
    send(page, JOB)
    assert "Estimate: 7 model calls, stopped by steps" in questions(page)
    page.number_input(key="price_in-offline").set_value(2.0).run()
    assert "1,000 jobs a day cost $" in questions(page)
    page.selectbox(key="customer").set_value(2).run()
    assert "No runs measured yet" in questions(page)


def test_a_price_belongs_to_its_model_and_is_remembered(page: AppTest) -> None:
    page.number_input(key="price_in-offline").set_value(2.5).run()
    page.selectbox(key="model").set_value("qwen3:4b").run()
    assert page.number_input(key="price_in-qwen3:4b").value is None
    page.selectbox(key="model").set_value("offline").run()
    assert page.number_input(key="price_in-offline").value == 2.5
