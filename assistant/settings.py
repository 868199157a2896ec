"""What a person may set for a run, and what the surroundings set."""

import os
from dataclasses import dataclass, field
from importlib.resources import files

from agent.limits import Limits
from agent.models import ModelOptions

PREFERRED_MODEL = "qwen3:4b"
DEMO_CUSTOMER = 1
LONGEST_MESSAGE = 4_000
INSTRUCTIONS = "instructions.md"


@dataclass(frozen=True)
class Settings:
    """The settings of one run; ``search_size`` is how many books a search returns if the model does not say."""

    limits: Limits = field(default_factory=Limits)
    options: ModelOptions = field(default_factory=ModelOptions)
    search_size: int = 5


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


def instructions() -> str:
    """The manual of the assistant, as the model reads it."""
    return files("assistant").joinpath(INSTRUCTIONS).read_text(encoding="utf-8")
