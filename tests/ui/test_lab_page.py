"""The lab page: choosing models and modes, the experiment in its thread, and the runs it leaves."""

import threading
from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from assistant.bookshop import Bookshop
from assistant.settings import LAB_OWNER
from lab.guarding import Row
from lab.misbehaving import MISBEHAVERS
from tests.ui.conftest import PATIENCE, shown
from ui.lab.experiments import Experiments
from ui.opened import OPENED

pytestmark = pytest.mark.usefixtures("surroundings")

SCRIPT = """
from ui.lab.lab_page import draw_lab
from ui.opened import OPENED
draw_lab(OPENED.shop())
"""


@pytest.fixture
def lab() -> Iterator[AppTest]:
    """The lab as a visitor finds it; no experiment is left running."""
    at = AppTest.from_string(SCRIPT, default_timeout=60)
    at.run()
    assert not at.exception
    yield at
    OPENED.experiments.stop()
    assert OPENED.experiments.wait(PATIENCE)


def run(at: AppTest) -> list[dict[str, object]]:
    """Press the button, wait for the experiment, and read the table."""
    at.button(key="lab_start").click().run()
    assert OPENED.experiments.wait(PATIENCE)
    at.run()
    assert not at.exception
    return [dict(row) for row in at.dataframe[0].value.to_dict("records")]


def row(name: str) -> Row:
    return Row(name, "on", 1, 0, 10, 1, None, 0, "done", None, 0, "Fine.", f"run-{name}")


def test_every_model_is_named_with_what_it_does(lab: AppTest) -> None:
    assert len(MISBEHAVERS) == 13
    for each in MISBEHAVERS:
        assert f"**{each.name}** {each.what}" in shown(lab)
    assert lab.button(key="lab_start").label == "Run the experiment: 26 runs"


def test_chosen_models_run_in_both_modes_side_by_side(lab: AppTest, shop: Bookshop) -> None:
    lab.multiselect(key="lab_models").set_value(["doublebuyer", "stubborn"]).run()
    rows = run(lab)
    assert [(row["Model"], row["Guards"]) for row in rows] == [
        ("doublebuyer", "off"),
        ("doublebuyer", "on"),
        ("stubborn", "off"),
        ("stubborn", "on"),
    ]
    effects = {(row["Model"], row["Guards"]): row["Effects"] for row in rows}
    assert (effects["doublebuyer", "off"], effects["doublebuyer", "on"]) == (2, 1)
    assert len(shop.archive.listing.runs(LAB_OWNER)) == 4
    assert shop.archive.listing.runs("1") == []


def test_a_run_is_opened_with_its_answer_its_steps_and_its_guards(lab: AppTest, shop: Bookshop) -> None:
    lab.multiselect(key="lab_models").set_value(["stubborn", "mute"]).run()
    run(lab)
    lab.selectbox(key="lab_close").set_value("mute").run()
    headings = [heading.value for heading in lab.subheader]
    assert headings == ["Guards off", "Guards on"]
    assert "the model gave no answer" in shown(lab)
    steps = [box.label for box in lab.expander if box.label.startswith("Step")]
    assert any("empty reply" in label for label in steps)
    newest = shop.archive.listing.runs(LAB_OWNER)[0].run_id
    lab.session_state[f"guards-{newest}"] = True
    lab.run()
    assert lab.table.len == 1


def test_one_mode_alone_is_half_the_runs(lab: AppTest) -> None:
    (mode,) = [group for group in lab.get("button_group") if group.label == "Guards"]
    mode.set_value("on").run()
    assert lab.button(key="lab_start").label == "Run the experiment: 13 runs"
    lab.multiselect(key="lab_models").set_value(["mute"]).run()
    (only,) = run(lab)
    assert (only["Guards"], only["Outcome"]) == ("on", "empty_answer")


def test_another_visitor_sees_the_experiment_and_cannot_start_a_second(lab: AppTest) -> None:
    go_on = threading.Event()

    def rows() -> Iterator[Row]:
        yield row("stubborn")
        go_on.wait(PATIENCE)
        yield row("mute")

    assert OPENED.experiments.start(rows, 2)
    try:
        other = AppTest.from_string(SCRIPT, default_timeout=60)
        other.run()
        assert other.button(key="lab_start").disabled
        assert other.get("progress")[0].proto.text.endswith("of 2 runs are done.")
        assert not OPENED.experiments.start(rows, 2)
    finally:
        go_on.set()


def test_stop_ends_an_experiment_after_the_run_it_is_at() -> None:
    experiments, go_on = Experiments(), threading.Event()

    def rows() -> Iterator[Row]:
        yield row("stubborn")
        go_on.wait(PATIENCE)
        yield row("mute")
        yield row("liar")

    experiments.start(rows, 3)
    experiments.stop()
    go_on.set()
    assert experiments.wait(PATIENCE)
    last = experiments.snapshot()
    assert last
    assert (last.running, last.error) == (False, "")
    assert 1 <= len(last.rows) < 3


def test_an_experiment_that_breaks_says_so_in_words_and_keeps_its_rows(lab: AppTest) -> None:
    def rows() -> Iterator[Row]:
        yield row("stubborn")
        raise RuntimeError("postgresql://shop:s3cret@db")

    OPENED.experiments.start(rows, 2)
    assert OPENED.experiments.wait(PATIENCE)
    lab.run()
    assert not lab.exception
    assert lab.error[0].value.startswith("Something of ours broke")
    assert "s3cret" not in shown(lab)
    assert lab.dataframe[0].value["Model"].tolist() == ["stubborn"]
