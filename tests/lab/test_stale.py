"""The experiment on stale facts: its plan, its classes, its scripts, and the rates they imply."""

import json
from typing import Any

import pytest

from agent.trace import Fact
from assistant.bookshop import Bookshop
from assistant.cures import Cure
from assistant.settings import LAB_OWNER
from lab.stale import CHANGES, NO_CHANGE, WORDINGS, Trial, classify, plan, try_cures
from lab.stale_models import SHARES, model_for
from lab.stale_rates import examples_of, handled, rates, rates_json, shown, wilson

THEN, NOW = (
    Fact(resource="cart", version=1, value="total $16.50"),
    Fact(resource="cart", version=2, value="total $33.00"),
)


def test_every_change_meets_every_wording_and_has_as_many_controls() -> None:
    trials = plan(2)
    assert (len(CHANGES), len(WORDINGS), len(set(WORDINGS))) == (5, 10, 10)
    assert len(trials) == 200
    assert sum(change == NO_CHANGE for change, _ in trials) == 100
    assert {(change, wording) for change, wording in trials if change != NO_CHANGE} == {
        (change, wording) for change in CHANGES for wording in WORDINGS
    }


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ("Your cart total is $33.00.", "fresh"),
        ("It was $16.50 and your cart total is $33.00 now.", "fresh"),
        ("Your cart total is $16.50.", "stale"),
        ("Your cart total was $16.50 when I last saw it; it may have changed.", "hedged"),
        ("I cannot tell.", "hedged"),
        ("Ask me something else.", "none"),
    ],
)
def test_answers_are_classified_by_the_amounts_they_give(answer: str, outcome: str) -> None:
    assert classify(answer, THEN, NOW) == outcome


def test_a_control_can_only_be_fresh_hedged_or_nothing() -> None:
    assert classify("Your cart total is $16.50.", THEN, THEN) == "fresh"
    assert classify("It was $16.50 when I last saw it.", THEN, THEN) == "hedged"


@pytest.mark.parametrize(
    ("hits", "trials", "low", "high"),
    [(0, 100, 0.0, 0.037), (100, 100, 0.963, 1.0), (50, 100, 0.404, 0.596), (0, 0, 0.0, 1.0)],
)
def test_the_interval_is_that_of_wilson(hits: int, trials: int, low: float, high: float) -> None:
    assert wilson(hits, trials) == pytest.approx((low, high), abs=0.001)


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> list[Trial]:
    """All 200 trials under the three cures that a control may not notice."""
    import store

    shop = Bookshop(store.open_shop(f"sqlite:///{tmp_path_factory.mktemp('stale') / 'shop.db'}"))
    shop.archive.create()
    found = list(try_cures(shop, model_for, 2, (Cure.HISTORY, Cure.SNAPSHOT, Cure.VERIFY)))
    kept = {run.run_id for run in shop.archive.listing.runs(LAB_OWNER, 1_000)}
    assert {trial.run_id for trial in examples_of(found)} <= kept
    shop.close()
    return found


def row(trials: list[Trial], cure: Cure, *, changed: bool) -> dict[str, Any]:
    return next(one for one in rates_json(rates(trials)) if (one["cure"], one["changed"]) == (cure, changed))


def test_verify_leaves_no_stale_answer_of_a_hundred_and_hedges_none(trials: list[Trial]) -> None:
    after, control = (row(trials, Cure.VERIFY, changed=changed) for changed in (True, False))
    assert (after["trials"], after["stale"], after["fresh"]) == (100, 0, 100)
    assert (control["trials"], control["hedged"], control["fresh"]) == (100, 0, 100)


def test_verify_reports_how_answers_were_handled_as_the_scripts_imply(trials: list[Trial]) -> None:
    told = row(trials, Cure.VERIFY, changed=True)
    shares = dict(zip(("untouched", "regenerated", "corrected"), (share for _, share in SHARES), strict=True))
    assert {name: told[name] for name in shares} == {name: share * 5 for name, share in shares.items()}
    assert handled(rates(trials)).endswith("60 untouched, 25 regenerated, 15 corrected.")


def test_history_is_as_stale_as_its_scripts_imply(trials: list[Trial]) -> None:
    assert row(trials, Cure.HISTORY, changed=True)["stale"] == 100
    deaf = sum(share for _, share in SHARES[1:]) * 5
    assert row(trials, Cure.SNAPSHOT, changed=True)["stale"] == deaf


@pytest.mark.parametrize("cure", [Cure.HISTORY, Cure.SNAPSHOT, Cure.VERIFY])
def test_where_nothing_changed_a_cure_adds_no_call_and_no_token(trials: list[Trial], cure: Cure) -> None:
    told = row(trials, cure, changed=False)
    assert (told["added_calls"], told["added_tokens"], told["prefix_lost"]) == (0, 0, 0)


def test_a_row_for_other_programs_has_its_rates_with_their_intervals(trials: list[Trial]) -> None:
    told = row(trials, Cure.SNAPSHOT, changed=True)
    assert set(told) == {
        *("cure", "changed", "trials", "fresh", "stale", "hedged", "none", "rates", "calls", "tokens", "seconds"),
        *("added_calls", "added_tokens", "added_prefix_lost", "prefix_lost"),
        *("untouched", "regenerated", "corrected"),
    }
    assert set(told["rates"]) == {"fresh", "stale", "hedged"}
    assert told["rates"]["stale"] == {"rate": told["stale"] / 100, "interval_95": list(wilson(told["stale"], 100))}
    assert json.loads(json.dumps(told)) == told


def test_an_experiment_that_was_stopped_early_sums_up_what_it_has(trials: list[Trial]) -> None:
    (only,) = rates_json(rates(trials[:1]))
    assert (only["cure"], only["trials"], only["added_calls"]) == ("history", 1, 0)
    assert handled(rates(trials[:1])) == ""
    assert [len(table) for table in shown(rates(trials)).values()] == [3, 3]
