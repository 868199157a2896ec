"""The guards of a run: small policies in a list, asked at four moments; silent, or deciding."""

from collections.abc import Sequence

from agent.guards.before_answer import Correct, FreshAnswer, UnusableReply
from agent.guards.budgets import Backstop, MaxCost, MaxSeconds, MaxSteps, MaxToolCalls, TokenBudget, ToolCap
from agent.guards.context import ContextWindow
from agent.guards.guard import Guard
from agent.guards.limits import Limits
from agent.guards.stuck import ErrorStreak, NoNews, PingPong, RepeatedCall, ReplayWrites


def guards_for(
    limits: Limits, num_ctx: int, correct: Correct | None = None, extra: Sequence[Guard] = ()
) -> list[Guard]:
    """The guards that hold a run to its limits and its context, in the order they are asked.

    A limit that is off has no guard. ``correct`` finds what an answer states that is true no more. Policies of
    somebody else, ``extra``, come after ours, so that none of them can hide a budget; the backstop is the last.
    """
    kept = limits
    repeat, circle = (kept.repeat_nudge_at, kept.repeat_stop_at), (kept.ping_pong_nudge_at, kept.ping_pong_stop_at)
    no_news = (kept.no_news_nudge_at, kept.no_news_stop_at)
    guards: list[Guard | None] = [
        MaxSteps(kept.max_steps, kept.wrap_up) if kept.max_steps is not None else None,
        MaxSeconds(kept.max_seconds) if kept.max_seconds is not None else None,
        TokenBudget(kept.max_tokens, counts_output=True) if kept.max_tokens is not None else None,
        TokenBudget(kept.max_input_tokens, counts_output=False) if kept.max_input_tokens is not None else None,
        MaxCost(kept.max_cost) if kept.max_cost is not None else None,
        MaxToolCalls(kept.max_tool_calls) if kept.max_tool_calls is not None else None,
        ToolCap(),
        PingPong(*circle) if any(circle) else None,
        RepeatedCall(*repeat) if any(repeat) else None,
        ReplayWrites() if kept.replay_writes else None,
        ErrorStreak(kept.error_streak) if kept.error_streak is not None else None,
        NoNews(*no_news) if any(no_news) else None,
        UnusableReply(kept.max_corrections),
        ContextWindow(num_ctx),
        FreshAnswer(correct) if correct else None,
        *extra,
        Backstop(kept.max_steps) if kept.max_steps is not None else None,
    ]
    return [guard for guard in guards if guard is not None]
