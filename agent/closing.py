"""What the program says when a run ends without an answer of the model, written from the trace."""

from agent.trace import StopReason, ToolCall
from agent.views.conversation import Conversation

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
    "max_cost": "Raise the cost limit, or try a cheaper model.",
    "max_seconds": "Raise the time limit, or try a smaller model.",
    "repeated_call": "Ask in other words.",
    "ping_pong": "Ask in other words, or for one thing at a time.",
    "no_new_information": "Ask in other words, or take what was found.",
    "error_streak": "Try again later, or ask for something else.",
    "not_approved": "Ask again, and allow the call when you are asked.",
    "context_window": "Start a new conversation, or enlarge the context.",
    "cancelled": "Ask again when you like.",
    "empty_answer": "Ask in other words, or try another model.",
    "interrupted": "Ask again.",
    "internal_error": "This is a bug of ours; the trace of this run shows where.",
}
MOST_NAMED = 5
_LOOK = " took effect; look before you ask again"


def wrap_up_request(why: str) -> str:
    """What the model reads before its last reply, the one without tools."""
    return (
        f"The run ends here: {why}. Tools are no longer available. Answer the user now in plain words: say what "
        "was done, what was not done, and what they can do next. Claim nothing that no tool result shows."
    )


def program_answer(conversation: Conversation, stop_reason: StopReason, why: str) -> str:
    """Tell the user what was done, what was not and why, and what to do; never empty."""
    parts = [f"I stopped before your request was finished: {why}.", account(conversation)]
    if stop_reason in ANSWERLESS:
        parts[0] = f"I could not finish your request: {why}."
    return " ".join(part for part in [*parts, _ADVICE.get(stop_reason, "")] if part)


def wrapped_up(conversation: Conversation, words: str) -> str:
    """What the model said in the wrap-up, and below it what the trace says, since a model may be wrong or lie."""
    record = f"By the record of this run: {account(conversation)} The run was stopped before it was done."
    return f"{words.strip()}\n\n{record}"


def account(conversation: Conversation) -> str:
    """What the trace says was done, what was not run, and what nobody knows."""
    effects, doubtful = conversation.run.effects, conversation.knowledge.doubtful.values()
    sentences = [
        f"Done: {'; '.join(effects)}." if effects else "" if doubtful else "Nothing was changed.",
        _named("Not run:", [called(call) for call in _left(conversation)], ""),
        _named(
            "Not known: whether",
            sorted({call.call.name for call in doubtful}),
            " took effect; look before you ask again",
        ),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def called(call: ToolCall) -> str:
    """A call as it is written: ``check_stock(book_id=7)``."""
    return f"{call.name}({', '.join(f'{name}={value!r}' for name, value in call.arguments.items())})"[:120]


def _left(conversation: Conversation) -> list[ToolCall]:
    """The calls of the run that its end, a person or a cut prompt kept from running."""
    kept_out = ("run_ended", "declined", "prompt_cut")
    return [
        event.call
        for event in conversation.run_events()
        if event.kind == "tool_finished" and event.not_run in kept_out and event.call.name
    ]


def _named(before: str, names: list[str], after: str) -> str:
    named = ", ".join(names[:MOST_NAMED]) + (" and more" if len(names) > MOST_NAMED else "")
    return f"{before} {named}{after}." if names else ""
