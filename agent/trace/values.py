"""The small frozen data that events are made of."""

from decimal import Decimal
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Shape(BaseModel):
    """A frozen piece of data; unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ToolCall(Shape):
    """One call the model asks for; ``id`` is ours, since servers repeat or omit theirs."""

    id: str
    name: str
    arguments: dict[str, Any]


class Usage(Shape):
    """Tokens of one model call; unknown is None, never 0. ``estimated``: counted by us, not by the model."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    estimated: bool = False


class Timings(Shape):
    """Milliseconds of one model call, as far as they are known."""

    load: float | None = None
    prompt: float | None = None
    generation: float | None = None
    first_token: float | None = None
    total: float | None = None


class Prices(Shape):
    """What a model takes, in dollars per million tokens."""

    input_per_million: Decimal = Field(ge=0, le=1_000_000)
    output_per_million: Decimal = Field(ge=0, le=1_000_000)

    def cost(self, input_tokens: int, output_tokens: int = 0) -> Decimal:
        """Dollars for so many tokens, exactly."""
        spent = input_tokens * self.input_per_million + output_tokens * self.output_per_million
        return spent / 1_000_000


class ModelInfo(Shape):
    """Which model answers: its name, the digest of its weights, and a label for people.

    ``prices`` is None for a model that runs here and takes no money.
    """

    name: str
    digest: str | None = None
    label: str
    garbles_tools: bool = False
    """Whether the server's template prints tool schemas in a way that models misread."""
    prices: Prices | None = None


class ModelOptions(Shape):
    """How a model is asked: ``num_ctx`` and ``num_predict`` in tokens; ``think`` None is not to speak of thinking.

    A run changes no more of them than it must, as another context makes a server load the model anew.
    """

    num_ctx: int = 16_384
    num_predict: int = 4_096
    temperature: float = 0.0
    seed: int = 42
    think: bool | None = True
    keep_alive: str = "10m"


class ModelFault(Shape):
    """Why a model call failed: the stop reason it leads to, one line for people, and whether to try again.

    ``retry``: "changed" where the same request would fail the same way, "later" where the server needs a pause.
    """

    stop_reason: Literal["model_unavailable", "model_error", "max_seconds", "cancelled", "context_window"]
    message: str
    retry: Literal["never", "changed", "later"] = "never"


Unusable = Literal["empty", "cut_by_length", "only_thinking", "call_as_text", "call_in_thinking"]
"""Why a whole reply is neither an answer nor a call that can run."""


NotRun = Literal["guard", "unknown_tool", "bad_arguments", "prompt_cut", "declined", "run_ended"]
"""Why a call was not run: a guard or a person said no, it could not run, or the run was over."""


class Fact(Shape):
    """What a tool read: a resource (``cart``, ``stock:7``, ``order:1001``), its version, its value in words.

    ``name`` is what people call the resource, where that is more than its kind and number.
    """

    resource: str
    version: int
    value: str
    name: str = ""


class Overtaken(Shape):
    """A fact that was read or changed in some turn and step, and what is known to be true of its resource now."""

    seen: Fact
    turn: int
    step: int
    now: Fact


class Change(Shape):
    """What a tool changed: a resource, its versions before and after, its new value, the effect in words."""

    resource: str
    version_before: int
    version: int
    value: str
    effect: str
