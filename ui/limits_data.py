"""The settings as the page offers them, by group: what each is called, the values to choose from, what it does."""

from decimal import Decimal
from typing import Any, NamedTuple

from agent.limits import Limits
from agent.models import ModelOptions
from assistant.faults import Fault
from assistant.settings import TOOL_NAMES, Settings

OFF = "off"


class Slider(NamedTuple):
    """The slider of one setting: what people call it, its values from low to high, and what it does."""

    label: str
    options: list[Any]
    text: str


def _dollars(*amounts: str) -> list[Any]:
    return [*map(Decimal, amounts), OFF]


FIRST: dict[str, Slider] = {
    "max_steps": Slider("Steps", [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 30, 40, OFF], "Model calls of one run."),
    "max_tokens": Slider(
        "Tokens",
        [1_000, 2_000, 4_000, 6_000, 8_000, 10_000, 15_000, 20_000, 30_000, 50_000, 100_000, OFF],
        "Input and output of all steps, looked at before each request.",
    ),
    "max_seconds": Slider("Seconds", [5, 10, 30, 60, 90, 120, 240, 600, 1_800, OFF], "A hard deadline for a run."),
    "max_tool_calls": Slider("Tool calls", [0, 1, 2, 3, 4, 5, 8, 10, 15, 20, 30, 50, OFF], "Calls that run."),
}
"""Shown without opening anything."""
BUDGETS: dict[str, Slider] = {
    "max_input_tokens": Slider(
        "Input tokens", [1_000, 2_000, 4_000, 8_000, 15_000, 30_000, 60_000, 100_000, OFF], "Sent in all steps."
    ),
    "max_cost": Slider(
        "Cost, dollars",
        _dollars("0.001", "0.005", "0.01", "0.05", "0.1", "0.25", "0.5", "1", "5"),
        "Dollars of all steps, looked at before each request; holds where the model has a price.",
    ),
    "max_result_chars": Slider(
        "Result length, characters",
        [200, 500, 1_000, 2_000, 4_000, 8_000, 16_000, OFF],
        "Longer results are cut before the model reads them, and say so.",
    ),
    "search_size": Slider(
        "Search size",
        [1, 2, 3, 5, 8, 10, 15, 20, 30, 40, 50],
        "Books a search returns if the model does not say.",
    ),
}
CAPS: dict[str, Slider] = {
    f"cap_{name}": Slider(
        f"Calls of {name}", [1, 2, 3, 5, 8, 10, OFF], "The call after the last one ends the run."
    )
    for name in TOOL_NAMES
}
"""The most calls of each tool, by ``cap_`` and its name."""
STUCK: dict[str, Slider] = {
    "repeat_nudge_at": Slider("Same call: hint at the", [2, 3, 4, 5, OFF], "Not run; the model is told."),
    "repeat_stop_at": Slider("Same call: stop at the", [2, 3, 4, 5, 6, OFF], "This call ends the run."),
    "ping_pong_nudge_at": Slider(
        "Circle A B A B: hint at call",
        [4, 5, 6, 8, OFF],
        "Not run; the model is told. A circle of three: two more.",
    ),
    "ping_pong_stop_at": Slider("Circle A B A B: stop at call", [4, 5, 6, 7, 8, OFF], "This call ends the run."),
    "no_news_nudge_at": Slider(
        "No news: hint after", [1, 2, 3, 4, 5, OFF], "So many results in a row that tell nothing new."
    ),
    "no_news_stop_at": Slider("No news: stop after", [1, 2, 3, 4, 5, 6, OFF], "So many, and the run ends."),
    "error_streak": Slider(
        "Failures in a row", [1, 2, 3, 4, 5, OFF], "So many end the run; calls that could not even run, one more."
    ),
}
APPROVAL: dict[str, Slider] = {
    "approve_above": Slider(
        "Ask me when the cart passes, dollars",
        _dollars("0", "10", "20", "30", "50", "100", "200"),
        "The run waits for your yes before a book is added that would bring the cart above this.",
    )
}
CONTEXT: dict[str, Slider] = {
    "num_ctx": Slider(
        "Context, tokens",
        [2_048, 4_096, 8_192, 16_384, 32_768, 65_536, 131_072],
        "The room for prompt and answer to ask for. More takes more memory; a change loads the model anew.",
    )
}
SLIDERS = FIRST | BUDGETS | CAPS | STUCK | APPROVAL | CONTEXT
LIMIT_NAMES = SLIDERS.keys() & Limits.model_fields.keys()
"""The sliders that presets set."""
SWITCHES = {
    "wrap_up": ("Wrap-up", "After a limit, one last model call without tools."),
    "replay_writes": ("Replay writes", "A write made already is answered with its result instead of made again."),
    "think": ("Thinking", "Let the model think before it answers."),
}
FAULT_TEXTS: dict[str, str] = {
    OFF: "works",
    Fault.TIMEOUT: "first call times out",
    Fault.ONCE: "first call breaks",
    Fault.FAILING: "always breaks",
    Fault.SLOW: "slow",
    Fault.EMPTY: "answers nothing",
    Fault.HUGE: "answers 8,000 characters",
    Fault.WRONG_TYPE: "answers a number",
}
"""The positions of the fault switchboard, in words."""
FAULTS = {f"fault_{name}": name for name in TOOL_NAMES}
"""The tools of the switchboard, by the name of their setting."""


def slider_values(limits: Limits) -> dict[str, Any]:
    """Where the sliders stand for these limits."""
    return {name: OFF if (value := getattr(limits, name)) is None else _plain(value) for name in LIMIT_NAMES}


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, float) else value


def shown(option: Any) -> str:
    """A value as slider and address show it: ``20,000``, ``0.25``, ``off``."""
    return option if option == OFF else f"{option:,}"


DEFAULTS: dict[str, Any] = (
    dict.fromkeys([*CAPS, *APPROVAL], OFF)
    | slider_values(Limits())
    | {"search_size": Settings().search_size, "num_ctx": ModelOptions().num_ctx}
)
