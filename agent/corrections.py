"""What the model is told after a reply that is neither an answer nor a call, and what people are told of it."""

from collections.abc import Sequence

from agent.trace import ModelReply, Unusable

_TO_PEOPLE: dict[Unusable, str] = {
    "empty": "its last reply was empty",
    "cut_by_length": "its last reply was cut off at the limit of output tokens",
    "only_thinking": "it only thought",
    "call_as_text": "it wrote its call as text",
    "call_in_thinking": "it made its call inside its thinking only",
}
_TO_THE_MODEL: dict[Unusable, str] = {
    "empty": "Your last reply was empty.",
    "cut_by_length": "Your last reply was cut off before it said anything. Think less and keep it short.",
    "only_thinking": "You only thought; nobody can read that.",
    "call_as_text": "Your last reply held a tool call as text, which is not run.",
    "call_in_thinking": "You made a tool call inside your thinking, which is not run.",
}


def correction(reply: ModelReply, tools: Sequence[str]) -> str:
    """The corrective turn: what was wrong, and what to do next, with the names of the tools."""
    wrong = [_TO_THE_MODEL[reply.unusable or "empty"], *reply.warnings[:1]]
    names = ", ".join(tools) or "none"
    what_now = f"Call a tool through the tool interface ({names}), or answer the user in plain words."
    return " ".join([*wrong, what_now])


def why_unusable(reply: ModelReply) -> str:
    """Why a reply was no answer, for people; with the count where a limit of tokens cut it."""
    words = _TO_PEOPLE[reply.unusable or "empty"]
    return f"{words} ({tokens_of(reply)})" if reply.unusable == "cut_by_length" else words


def tokens_of(reply: ModelReply) -> str:
    """The output tokens of a reply and how many it was allowed; unknown is said to be unknown."""
    written, allowed = (
        "unknown" if count is None else f"{count:,}"
        for count in (reply.usage.output_tokens, reply.allowed_output_tokens)
    )
    return f"{written} written, {allowed} allowed"
