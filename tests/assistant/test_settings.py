"""Settings, kept by a run and read again from its trace."""

import json
from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from agent.guards.limits import Limits
from agent.trace import ModelInfo, ModelOptions, Prices, RunStarted
from assistant.cures import Cure
from assistant.faults import Fault
from assistant.meanwhile import Plan
from assistant.settings import Settings

PRICES = Prices(input_per_million=Decimal(1), output_per_million=Decimal("2.50"))
CHOSEN = Settings(
    limits=Limits(max_steps=None, max_cost=Decimal("0.25")),
    options=ModelOptions(num_ctx=4_096),
    search_size=3,
    prices=PRICES,
    tool_caps={"check_stock": 2},
    approve_above=Decimal("16.50"),
    faults={"check_stock": Fault.WRONG_TYPE},
    freshness=Cure.VERIFY,
    meanwhile=Plan.read("3:cart 7 2"),
)


def started(kept: dict[str, Any], prices: Prices | None = None) -> RunStarted:
    """The first event of a run as it comes out of the archive."""
    info = ModelInfo(name="m", label="m")
    event = RunStarted(run_id="r", turn=1, model=info, settings=kept, instructions="", tools=[], prices=prices)
    return RunStarted.model_validate_json(event.model_dump_json())


def kept_by_a_run(settings: Settings) -> dict[str, Any]:
    """What an agent records of its settings."""
    limits = settings.limits.model_dump(mode="json")
    return {"limits": limits, "options": vars(settings.options), **settings.record()}


@pytest.mark.parametrize("settings", [CHOSEN, Settings()], ids=["chosen", "usual"])
def test_the_settings_of_a_run_are_those_it_was_made_with(settings: Settings) -> None:
    assert Settings.of(started(kept_by_a_run(settings), settings.prices)) == settings


def test_what_a_trace_keeps_is_plain_text_and_numbers() -> None:
    assert json.loads(json.dumps(CHOSEN.record())) == {
        "search_size": 3,
        "tool_caps": {"check_stock": 2},
        "approve_above": "16.50",
        "faults": {"check_stock": "wrong-type"},
        "freshness": "verify",
        "meanwhile": "3:cart 7 2",
    }


def test_what_another_version_kept_or_did_not_keep_is_as_usual() -> None:
    kept = {"limits": {"max_steps": 3, "max_regrets": 1}, "options": {"seed": 7, "gone": True}, "more": 1}
    assert Settings.of(started(kept)) == Settings(limits=Limits(max_steps=3), options=ModelOptions(seed=7))


def test_settings_are_frozen_and_know_their_fields() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        CHOSEN.search_size = 4
    with pytest.raises(ValidationError, match="serch_size"):
        Settings.model_validate({"serch_size": 4})
