"""What a person may set for a run, and what the surroundings set."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from importlib.resources import files
from typing import Any

from agent.limits import Limits
from agent.models import ModelOptions
from agent.trace import Prices, RunStarted
from assistant.faults import Fault
from assistant.freshness import READ_AGAIN, Cure
from assistant.meanwhile import Plan

PREFERRED_MODEL = "qwen3:4b"
DEMO_CUSTOMER = 1
LAB_OWNER = "lab"
"""Whose the runs of experiments are: nobody's, so anybody may look at them."""
LONGEST_MESSAGE = 4_000
INSTRUCTIONS = "instructions.md"
TOOL_NAMES = ("search_books", "check_stock", "get_order_status", "add_to_cart", "view_cart")
CONTINUE = "Continue."
ANSWER_NOW = "Continue, but answer now, without tools."
"""What a person says who goes on from a run that was stopped."""


@dataclass(frozen=True)
class Settings:
    """The settings of one run.

    ``search_size`` is how many books a search returns if the model does not say; ``prices`` what the model takes,
    where it does not say so itself; ``tool_caps`` the most calls of each tool in a run. A person has to allow what
    would bring the cart above ``approve_above`` dollars. ``faults`` are those switched on, by tool; ``freshness``
    is the cure for stale facts, ``meanwhile`` what the other channel does between two steps.
    """

    limits: Limits = field(default_factory=Limits)
    options: ModelOptions = field(default_factory=ModelOptions)
    search_size: int = 5
    prices: Prices | None = None
    tool_caps: Mapping[str, int] = field(default_factory=dict)
    approve_above: Decimal | None = None
    faults: Mapping[str, Fault] = field(default_factory=dict)
    freshness: Cure = Cure.HISTORY
    meanwhile: Plan | None = None

    def record(self) -> dict[str, Any]:
        """What the trace keeps beside limits, options and prices."""
        return {
            "search_size": self.search_size,
            "tool_caps": dict(self.tool_caps),
            "approve_above": None if self.approve_above is None else str(self.approve_above),
            "faults": {tool: str(fault) for tool, fault in self.faults.items()},
            "freshness": str(self.freshness),
            "meanwhile": None if self.meanwhile is None else str(self.meanwhile),
        }

    @classmethod
    def of(cls, started: RunStarted) -> "Settings":
        """The settings a recorded run was made with; what an older record does not name is as usual."""
        kept = started.settings
        limits = {name: value for name, value in kept["limits"].items() if name in Limits.model_fields}
        above = kept.get("approve_above")
        return cls(
            limits=Limits(**limits),
            options=ModelOptions(**kept["options"]),
            search_size=kept.get("search_size", 5),
            prices=started.prices,
            tool_caps=kept.get("tool_caps", {}),
            approve_above=None if above is None else Decimal(above),
            faults={tool: Fault(fault) for tool, fault in kept.get("faults", {}).items()},
            freshness=Cure(kept.get("freshness", Cure.HISTORY)),
            meanwhile=Plan.read(kept["meanwhile"]) if kept.get("meanwhile") else None,
        )


class BadMessage(ValueError):
    """A message that is not sent to a model."""


def checked_message(text: str) -> str:
    """The message without white space around it; raises BadMessage if nothing is left, or too much."""
    text = text.strip()
    if not text:
        raise BadMessage("The message is empty; say what you are looking for.")
    if len(text) > LONGEST_MESSAGE:
        raise BadMessage(f"The message has {len(text):,} characters; at most {LONGEST_MESSAGE:,} are read.")
    return text


def database_url() -> str | None:
    """The database the surroundings name; None means the default one."""
    return os.environ.get("BOOKSHOP_DATABASE_URL") or None


def chosen_model() -> str | None:
    """The model the surroundings name; None means the best there is."""
    return os.environ.get("BOOKSHOP_MODEL") or None


def instructions(cure: Cure = Cure.HISTORY) -> str:
    """The manual of the assistant, as the model reads it."""
    manual = files("assistant").joinpath(INSTRUCTIONS).read_text(encoding="utf-8")
    return manual + (READ_AGAIN if cure is Cure.INSTRUCT else "")
