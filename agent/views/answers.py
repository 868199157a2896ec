"""What the program says when a run ends without an answer of the model, written from the trace."""

from agent.trace import StopReason, ToolCall
from agent.trace.stop_reasons import STOPS
from agent.views.conversation import Conversation

MOST_NAMED = 5


def wrap_up_request(why: str) -> str:
    """What the model reads before its last reply, the one without tools."""
    return (
        f"The run ends here: {why}. Tools are no longer available. Answer the user now in plain words: say what "
        "was done, what was not done, and what they can do next. Claim nothing that no tool result shows."
    )


def program_answer(conversation: Conversation, stop_reason: StopReason, why: str) -> str:
    """Tell the user what was done, what was not and why, and what to do; never empty."""
    stop = STOPS[stop_reason]
    ended = "I could not finish your request" if stop.answerless else "I stopped before your request was finished"
    return " ".join(part for part in (f"{ended}: {why}.", account(conversation), stop.advice) if part)


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
