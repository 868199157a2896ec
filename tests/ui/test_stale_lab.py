"""The second experiment of the lab page: every cure on the same conversation and change."""

import pytest
from streamlit.testing.v1 import AppTest

from assistant.bookshop import Bookshop
from assistant.settings import LAB_OWNER
from tests.ui.conftest import PATIENCE, shown
from tests.ui.test_lab_page import lab  # noqa: F401
from ui.opened import OPENED

pytestmark = pytest.mark.usefixtures("surroundings")


def test_one_click_shows_the_answers_of_all_cures_side_by_side(lab: AppTest, shop: Bookshop) -> None:  # noqa: F811
    lab.button(key="stale_one").click().run()
    assert OPENED.stale_experiments.wait(PATIENCE)
    lab.run()
    assert not lab.exception
    text = shown(lab)
    assert "What is my cart total now?" in text
    for words in ("**history**, stale", "**instruct**, fresh", "**stamp**, hedged", "**verify**, fresh"):
        assert words in text
    assert len(shop.archive.listing.runs(LAB_OWNER, 100)) == 10


def test_the_repeated_experiment_can_be_stopped_and_says_how_far_it_came(lab: AppTest) -> None:  # noqa: F811
    lab.button(key="stale_many").click().run()
    OPENED.stale_experiments.stop()
    assert OPENED.stale_experiments.wait(PATIENCE)
    lab.run()
    assert any("Stopped after" in caption.value for caption in lab.caption)
