"""The limits a run must keep to, each declared once: its range, its words, its presets, its values to choose from.

The page's sliders and switches, the terminal's flags and the presets are made from what stands here. A new limit
is a field here, a guard, and the guard's line in the list of ``agent.guards``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from agent.trace import Shape
from agent.trace.stop_reasons import STOPS

FIRST_POST, GUARDED = "first post", "guarded"
"""The presets beside the page's own: the limits of the two posts that the shop is built after."""
_OFF_THEN = {FIRST_POST: None}
"""The first post had but one of the guards against runs that get nowhere."""


@dataclass(frozen=True)
class Dial:
    """How a person sets something: what it does, the values to choose from, low to high, and what it is called.

    Without values it is a switch; ``off`` says whether one with values can be switched off as well. ``presets``
    are its values in the presets where they are not the default, None for off; ``group`` is its place on the page.
    """

    text: str
    values: tuple[Any, ...] = ()
    group: Literal["first", "budgets", "stuck"] = "budgets"
    presets: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""
    off: bool = True


def dials_of(model: type[BaseModel]) -> dict[str, Dial]:
    """The fields of a model that a person may set, by name; one without a label has that of its stop reason."""
    fields = model.model_fields.items()
    found = {name: dial for name, kept in fields for dial in kept.metadata if isinstance(dial, Dial)}
    labels = {str(reason): stop.limit for reason, stop in STOPS.items()}
    return {name: replace(dial, label=dial.label or labels[name]) for name, dial in found.items()}


def dollars(*amounts: str) -> tuple[Decimal, ...]:
    """Amounts of money to choose from."""
    return tuple(map(Decimal, amounts))


def _stuck(text: str, values: tuple[int, ...], label: str = "", presets: Mapping[str, Any] = _OFF_THEN) -> Dial:
    """A threshold for runs that get nowhere."""
    return Dial(text, values, "stuck", presets, label)


class Limits(Shape):
    """The budgets and thresholds of a run; None switches one off. The defaults are those of the page."""

    max_steps: Annotated[
        int | None,
        Field(ge=1, le=1000),
        Dial("Model calls of one run.", (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 30, 40), "first", {GUARDED: 12}),
    ] = 6
    max_tokens: Annotated[
        int | None,
        Field(ge=1),
        Dial(
            "Input and output of all steps, looked at before each request.",
            (1_000, 2_000, 4_000, 6_000, 8_000, 10_000, 15_000, 20_000, 30_000, 50_000, 100_000),
            "first",
            {GUARDED: None},
        ),
    ] = 20_000
    max_seconds: Annotated[
        float | None,
        Field(gt=0),
        Dial(
            "A hard deadline for a run; waiting for the server counts.",
            (5, 10, 30, 60, 90, 120, 240, 600, 1_800),
            "first",
            {FIRST_POST: 240, GUARDED: 90},
        ),
    ] = 600.0
    max_tool_calls: Annotated[
        int | None,
        Field(ge=0, le=10_000),
        Dial("Calls that run.", (0, 1, 2, 3, 4, 5, 8, 10, 15, 20, 30, 50), "first", {FIRST_POST: None}),
    ] = 20
    max_input_tokens: Annotated[
        int | None,
        Field(ge=1),
        Dial(
            "Input tokens of all steps.",
            (1_000, 2_000, 4_000, 8_000, 15_000, 30_000, 60_000, 100_000),
            presets={GUARDED: 60_000},
        ),
    ] = None
    max_cost: Annotated[
        Decimal | None,
        Field(gt=0),
        Dial(
            "Dollars of all steps, looked at before each request; holds where the model has a price.",
            dollars("0.001", "0.005", "0.01", "0.05", "0.1", "0.25", "0.5", "1", "5"),
            presets={GUARDED: Decimal("0.25")},
        ),
    ] = None
    max_result_chars: Annotated[
        int | None,
        Field(ge=1),
        Dial(
            "Longer results are cut before the model reads them, and say so.",
            (200, 500, 1_000, 2_000, 4_000, 8_000, 16_000),
            presets={FIRST_POST: None, GUARDED: 4_000},
            label="Result length, characters",
        ),
    ] = 2_000
    repeat_nudge_at: Annotated[
        int | None,
        Field(ge=2),
        _stuck("The repetition that is not run; the model is told.", (2, 3, 4, 5), "Same call: hint at the", {}),
    ] = 3
    repeat_stop_at: Annotated[
        int | None,
        Field(ge=2),
        _stuck("The repetition that ends the run.", (2, 3, 4, 5, 6), "Same call: stop at the"),
    ] = 4
    ping_pong_nudge_at: Annotated[
        int | None,
        Field(ge=4),
        _stuck(
            "The call that is not run. A circle of three: two more.", (4, 5, 6, 8), "Circle A B A B: hint at call"
        ),
    ] = 4
    ping_pong_stop_at: Annotated[
        int | None,
        Field(ge=4),
        _stuck("The call that ends the run.", (4, 5, 6, 7, 8), "Circle A B A B: stop at call"),
    ] = 5
    no_news_nudge_at: Annotated[
        int | None,
        Field(ge=1),
        _stuck("So many results, and the model is told.", (1, 2, 3, 4, 5), "No news: hint after"),
    ] = 3
    no_news_stop_at: Annotated[
        int | None,
        Field(ge=1),
        _stuck("So many results end the run.", (1, 2, 3, 4, 5, 6), "No news: stop after"),
    ] = 4
    error_streak: Annotated[
        int | None,
        Field(ge=1),
        _stuck(
            "So many end the run; if they could not even run, one more.",
            (1, 2, 3, 4, 5),
            presets=_OFF_THEN | {GUARDED: 2},
        ),
    ] = 3
    replay_writes: Annotated[
        bool, Dial("A write made already is answered with its result.", group="stuck", label="Replay writes")
    ] = True
    wrap_up: Annotated[bool, Dial("After a limit, one last model call without tools.", label="Wrap-up")] = True
    max_corrections: Annotated[int, Field(ge=0, le=5)] = 2
    """Corrective turns after a reply without an answer."""
    tool_seconds: Annotated[float | None, Field(gt=0)] = 30.0
    """How long one call may take."""


LIMIT_DIALS = dials_of(Limits)
PRESETS: dict[str, Limits] = {
    preset: Limits(**{name: dial.presets[preset] for name, dial in LIMIT_DIALS.items() if preset in dial.presets})
    for preset in ("default", FIRST_POST, GUARDED)
}
"""The named sets of limits."""
UNGUARDED = Limits(
    **dict.fromkeys(name for name, dial in LIMIT_DIALS.items() if dial.values)
    | {"max_steps": 40, "replay_writes": False, "max_corrections": 0}
)
"""No guards but a cap of 40 steps, as frameworks have it."""
