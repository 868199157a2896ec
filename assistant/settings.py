"""What a person may set for a run, and what the surroundings set."""

import os
from collections.abc import Mapping
from decimal import Decimal
from importlib.resources import files
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer

from agent.guards import guards_for
from agent.guards.budgets import Backstop
from agent.guards.guard import Guard
from agent.guards.limits import Dial, Limits, dials_of, dollars
from agent.trace import ModelOptions, Prices, RunStarted, Shape
from agent.trace.stop_reasons import STOPS
from assistant.cures import READ_AGAIN, Cure, freshness_of
from assistant.faults import Fault
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

OPTION_DIALS = {
    "num_ctx": Dial(
        "The room for prompt and answer to ask for. More takes more memory; a change loads the model anew.",
        (2_048, 4_096, 8_192, 16_384, 32_768, 65_536, 131_072),
        label=STOPS["context_window"].limit,
        off=False,
    ),
    "think": Dial("Let the model think before it answers.", label="Thinking"),
}
"""What a person may set of how the model is asked."""
PlanText = Annotated[
    Plan,
    BeforeValidator(lambda plan: Plan.read(plan) if isinstance(plan, str) else plan),
    PlainSerializer(str, when_used="json"),
]
"""A plan, kept as the text that a person writes."""


class Settings(Shape):
    """The settings of one run, as a person sets them and as the trace keeps them.

    ``prices`` is what the model takes, where it does not say so itself. ``faults`` are those switched on, by tool;
    ``freshness`` is the cure for stale facts, ``meanwhile`` what the other channel does between two steps.
    """

    limits: Limits = Limits()
    options: ModelOptions = ModelOptions()
    search_size: Annotated[
        int,
        Dial(
            "Books a search returns if the model does not say.",
            (1, 2, 3, 5, 8, 10, 15, 20, 30, 40, 50),
            label="Search size",
            off=False,
        ),
    ] = 5
    prices: Prices | None = None
    tool_caps: Annotated[
        Mapping[str, int],
        Dial("The call after the last one ends the run.", (1, 2, 3, 5, 8, 10), label="Calls of one tool"),
    ] = {}
    approve_above: Annotated[
        Decimal | None,
        Dial(
            "The run waits for your yes before a book is added that would bring the cart above this.",
            dollars("0", "10", "20", "30", "50", "100", "200"),
            label="Ask me when the cart passes, dollars",
        ),
    ] = None
    faults: Mapping[str, Fault] = {}
    freshness: Cure = Cure.HISTORY
    meanwhile: PlanText | None = None

    @property
    def guards(self) -> list[Guard]:
        """The guards that decide in a run under these settings, in the order they are asked."""
        correct = freshness_of(self.freshness).correct
        every = guards_for(self.limits, self.options.num_ctx, correct)
        return [guard for guard in every if not isinstance(guard, Backstop)]

    def record(self) -> dict[str, Any]:
        """What the trace keeps beside limits, options and prices."""
        return self.model_dump(mode="json", exclude={"limits", "options", "prices"})

    @classmethod
    def of(cls, started: RunStarted) -> "Settings":
        """The settings a recorded run was made with; what an older record does not name is as usual."""
        return cls.model_validate(started.settings | {"prices": started.prices}, extra="ignore")


SETTING_DIALS = dials_of(Settings)
"""What a person may set of a run beside its limits."""


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
