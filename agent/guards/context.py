"""The context window: stops before a request that cannot fit, and notices a server that cut the prompt."""

from dataclasses import dataclass

from agent.guards.guard import BeforeModel, Decision, Ends, Moment, stop
from agent.trace import ModelRequest, StopReason
from agent.views.run import Tally
from agent.views.tokens import counts_only_new

LEAST_ANSWER = 256
"""Tokens an answer needs at the least."""
FAR_BELOW = 0.75
NEAR_HALF = 0.02
"""Shares, of the estimate and of the context: a server that cuts keeps about half of its context."""


@dataclass(frozen=True)
class ContextWindow:
    """Stops before a request that cannot fit with its answer; silent until a count has calibrated the estimate."""

    num_ctx: int
    name: StopReason = "context_window"

    @property
    def ends(self) -> Ends:
        return Ends(self.name, f"its context of {self.num_ctx:,} tokens is full")

    def __call__(self, moment: Moment, run: Tally) -> Decision | None:  # noqa: ARG002
        if not isinstance(moment, BeforeModel) or not moment.estimate.calibrated:
            return None
        needed = moment.estimate.total + LEAST_ANSWER
        if needed <= self.num_ctx:
            return Decision(self.name, "pass", needed, self.num_ctx)
        why = f"the conversation needs about {needed:,} tokens and the context holds {self.num_ctx:,}"
        return stop(self.name, needed, self.num_ctx, why)


def room_for_answer(estimated_input: int, num_ctx: int, num_predict: int) -> int:
    """How many tokens a reply may have: what was asked for, cut to the room the prompt leaves."""
    return min(num_predict, max(num_ctx - estimated_input, LEAST_ANSWER))


def was_cut(request: ModelRequest, count: int | None, before: int | None, num_ctx: int) -> bool:
    """Whether the server's count of the prompt shows that it threw a part away.

    ``before`` is the count of the request before in the same run, whose prompt this one begins with. Some servers
    count only what is new; that is no sign.
    """
    if count is None:
        return False
    if counts_only_new(request.resent_tokens, request.new_tokens, count):
        return False
    # After a user message the templates of thinking models drop the thoughts before it, so the count may fall.
    spoken = any(message["role"] == "user" for message in request.new_messages)
    half = abs(count - num_ctx / 2) <= num_ctx * NEAR_HALF and count < request.estimated_input_tokens * FAR_BELOW
    return half or (before is not None and count < before and not spoken)
