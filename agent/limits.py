"""The numbers a run must keep to, and their presets; None switches a limit off."""

from typing import Any

from pydantic import Field

from agent.shapes import Shape


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
    max_seconds: float | None = Field(600.0, gt=0)
    """A hard deadline for the whole run; waiting for the server counts."""
    max_result_chars: int | None = Field(2_000, ge=1)
    """Characters of a tool result the model gets to read."""
    repeat_nudge_at: int | None = Field(3, ge=2)
    """The identical call that is not run; the model is told so."""
    repeat_stop_at: int | None = Field(4, ge=2)
    """The identical call that ends the run."""
    same_write_once: bool = True
    """Whether a write that stands twice in one reply runs once."""
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
}
_GUARDED: dict[str, Any] = {
    "max_steps": 12,
    "max_tokens": None,
    "max_input_tokens": 60_000,
    "max_seconds": 90.0,
    "max_result_chars": 4_000,
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
    same_write_once=False,
    max_corrections=0,
)
"""No guards but a cap of 40 steps, as frameworks have it."""
