"""What the program says when a run ends without an answer of the model, written from the trace."""

from agent.conversation import Conversation
from agent.shapes import StopReason

WRAPPED_UP: frozenset[StopReason] = frozenset(
    {
        "max_steps",
        "max_tool_calls",
        "max_tokens",
        "max_input_tokens",
        "max_cost",
        "repeated_call",
        "ping_pong",
        "no_new_information",
        "error_streak",
    }
)
"""The stops after which the model is asked once more, without tools."""

ANSWERLESS: frozenset[StopReason] = frozenset({"empty_answer", "model_unavailable", "model_error"})
"""The ends where the model gave nothing usable."""

_ADVICE: dict[StopReason, str] = {
    "max_steps": "Raise the step limit, or ask for less at once.",
    "max_tool_calls": "Raise the limit of tool calls, or ask for less at once.",
    "max_tokens": "Raise the token limit, or start a new conversation.",
    "max_input_tokens": "Raise the input token limit, or start a new conversation.",
    "max_seconds": "Raise the time limit, or try a smaller model.",
    "repeated_call": "Ask in other words.",
    "context_window": "Start a new conversation, or enlarge the context.",
    "cancelled": "Ask again when you like.",
    "empty_answer": "Ask in other words, or try another model.",
    "interrupted": "Ask again.",
    "internal_error": "This is a bug of ours; the trace of this run shows where.",
}


def wrap_up_request(why: str) -> str:
    """What the model reads before its last reply, the one without tools."""
    return (
        f"The run ends here: {why}. Tools are no longer available. Answer the user now in plain words: say what "
        "was done, what was not done, and what they can do next. Claim nothing that no tool result shows."
    )


def program_answer(conversation: Conversation, stop_reason: StopReason, why: str) -> str:
    """Tell the user what was done, what was not and why, and what to do; never empty."""
    run = conversation.run
    doubtful = sorted({result.call.name for result in conversation.doubtful.values()})
    done = f"Done: {'; '.join(run.effects)}." if run.effects else "" if doubtful else "Nothing was changed."
    named = ", ".join(doubtful)
    unknown = f"Not known: whether {named} took effect; look before you ask again." if doubtful else ""
    parts = [f"I stopped before your request was finished: {why}.", done, unknown, _ADVICE.get(stop_reason, "")]
    if stop_reason in ANSWERLESS:
        parts[0] = f"I could not finish your request: {why}."
    return " ".join(part for part in parts if part)
