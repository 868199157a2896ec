"""The numbers a run must keep to, and their presets; None switches a limit off."""

from decimal import Decimal
from typing import Any

from pydantic import Field

from agent.trace import Shape


class Limits(Shape):
    """Budgets and thresholds of a run; the defaults are those of the page."""

    max_steps: int | None = Field(6, ge=1, le=1000)
    """Model calls, the wrap-up not counted."""
    max_tool_calls: int | None = Field(20, ge=0, le=10_000)
    """Calls that run."""
    max_tokens: int | None = Field(20_000, ge=1)
    """Input and output tokens of all steps."""
    max_input_tokens: int | None = Field(None, ge=1)
    """Input tokens of all steps."""
    max_cost: Decimal | None = Field(None, gt=0)
    """Dollars of all steps; holds where the model has a price."""
    max_seconds: float | None = Field(600.0, gt=0)
    """A hard deadline for the whole run; waiting for the server counts."""
    max_result_chars: int | None = Field(2_000, ge=1)
    """Characters of a tool result the model gets to read."""
    repeat_nudge_at: int | None = Field(3, ge=2)
    """The identical call that is not run; the model is told so."""
    repeat_stop_at: int | None = Field(4, ge=2)
    """The identical call that ends the run."""
    ping_pong_nudge_at: int | None = Field(4, ge=4)
    """The call of A B A B that is not run; two more for A B C A B C, where the circle is longer by one."""
    ping_pong_stop_at: int | None = Field(5, ge=4)
    """The call of A B A B A that ends the run."""
    no_news_nudge_at: int | None = Field(3, ge=1)
    """So many results in a row that tell nothing new, and the model is told so."""
    no_news_stop_at: int | None = Field(4, ge=1)
    """So many, and the run ends."""
    error_streak: int | None = Field(3, ge=1)
    """So many calls in a row that failed end the run; one more where they could not even run."""
    replay_writes: bool = True
    """Whether a write that was made already is answered with its result instead of being made again."""
    max_corrections: int = Field(2, ge=0, le=5)
    """Corrective turns after a reply without an answer."""
    tool_seconds: float | None = Field(30.0, gt=0)
    """How long one call may take."""
    wrap_up: bool = True
    """Whether a run that a limit stopped ends with one model call without tools."""


_FIRST_POST: dict[str, Any] = {
    "max_tool_calls": None,
    "max_seconds": 240.0,
    "max_result_chars": None,
    "repeat_stop_at": None,
    "ping_pong_nudge_at": None,
    "ping_pong_stop_at": None,
    "no_news_nudge_at": None,
    "no_news_stop_at": None,
    "error_streak": None,
}
_GUARDED: dict[str, Any] = {
    "max_steps": 12,
    "max_tokens": None,
    "max_input_tokens": 60_000,
    "max_cost": Decimal("0.25"),
    "max_seconds": 90.0,
    "max_result_chars": 4_000,
    "error_streak": 2,
}
PRESETS: dict[str, Limits] = {
    "default": Limits(),
    "first post": Limits(**_FIRST_POST),
    "guarded": Limits(**_GUARDED),
}
"""The named sets of limits: the page's own, and those of the two posts the shop is built after."""

UNGUARDED = Limits(
    max_steps=40,
    max_tool_calls=None,
    max_tokens=None,
    max_seconds=None,
    max_result_chars=None,
    repeat_nudge_at=None,
    repeat_stop_at=None,
    ping_pong_nudge_at=None,
    ping_pong_stop_at=None,
    no_news_nudge_at=None,
    no_news_stop_at=None,
    error_streak=None,
    replay_writes=False,
    max_corrections=0,
)
"""No guards but a cap of 40 steps, as frameworks have it."""
