"""Why a run ends: the closed list of stop reasons, and for each what follows from it and how it is told."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

StopReason = Literal[
    "done",
    "max_steps",
    "max_tool_calls",
    "max_tokens",
    "max_input_tokens",
    "max_cost",
    "repeated_call",
    "ping_pong",
    "no_new_information",
    "error_streak",
    "max_seconds",
    "context_window",
    "cancelled",
    "not_approved",
    "empty_answer",
    "model_unavailable",
    "model_error",
    "interrupted",
    "internal_error",
]
"""Why a run ended: a closed list, spelled out for the type checker; the table below has a row for each."""

ANSWERED = "The model answered"
BUDGET = "A budget was used up"
ROOM = "There was no room left"
STUCK = "It got nowhere"
PERSON = "A person ended it"
MODEL = "The model gave out"
OURS = "The program gave out"


@dataclass(frozen=True)
class Ending:
    """One way in which a run ends.

    ``because`` completes "it stopped because"; ``advice`` is what a person can do then; ``label`` and ``unit``
    name the limit that a guard held the run to. With ``wraps_up`` the model is asked once more, without tools.
    ``exit_status`` is that of a command whose run ended so.
    """

    kind: str
    because: str
    advice: str = ""
    label: str = ""
    unit: str = ""
    wraps_up: bool = False
    exit_status: int = 3

    @property
    def limit(self) -> str:
        """What people call the limit, with its unit."""
        return f"{self.label}, {self.unit}" if self.unit else self.label

    @property
    def answerless(self) -> bool:
        """Whether the model gave nothing that can be used."""
        return self.kind == MODEL


STOPS: Mapping[StopReason, Ending] = {
    "done": Ending(ANSWERED, "the model answered", exit_status=0),
    "max_steps": Ending(
        BUDGET,
        "it reached the limit of steps",
        "Raise the step limit, or ask for less at once.",
        "Steps",
        wraps_up=True,
    ),
    "max_tool_calls": Ending(
        BUDGET,
        "it reached the limit of tool calls",
        "Raise the limit of tool calls, or ask for less at once.",
        "Tool calls",
        wraps_up=True,
    ),
    "max_tokens": Ending(
        BUDGET,
        "the next step would have passed the token limit",
        "Raise the token limit, or start a new conversation.",
        "Tokens",
        wraps_up=True,
    ),
    "max_input_tokens": Ending(
        BUDGET,
        "the next step would have passed the limit of input tokens",
        "Raise the input token limit, or start a new conversation.",
        "Input tokens",
        wraps_up=True,
    ),
    "max_cost": Ending(
        BUDGET,
        "the next step would have passed the cost limit",
        "Raise the cost limit, or try a cheaper model.",
        "Cost",
        "dollars",
        wraps_up=True,
    ),
    "repeated_call": Ending(
        STUCK,
        "the model made the same call again and again",
        "Ask in other words.",
        "The same call",
        wraps_up=True,
    ),
    "ping_pong": Ending(
        STUCK,
        "the model went round in a circle of calls",
        "Ask in other words, or for one thing at a time.",
        "Calls in a circle",
        wraps_up=True,
    ),
    "no_new_information": Ending(
        STUCK,
        "the model learnt nothing new any more",
        "Ask in other words, or take what was found.",
        "Results without news",
        wraps_up=True,
    ),
    "error_streak": Ending(
        STUCK,
        "calls failed again and again",
        "Try again later, or ask for something else.",
        "Failures in a row",
        wraps_up=True,
    ),
    "max_seconds": Ending(BUDGET, "its time was up", "Raise the time limit, or try a smaller model.", "Seconds"),
    "context_window": Ending(
        ROOM,
        "the conversation no longer fits into the model's context",
        "Start a new conversation, or enlarge the context.",
        "Context",
        "tokens",
    ),
    "cancelled": Ending(PERSON, "you stopped it", "Ask again when you like."),
    "not_approved": Ending(
        PERSON, "nobody allowed the call it waited for", "Ask again, and allow the call when you are asked."
    ),
    "empty_answer": Ending(
        MODEL, "the model gave no answer", "Ask in other words, or try another model.", exit_status=4
    ),
    "model_unavailable": Ending(MODEL, "the model cannot be reached", exit_status=4),
    "model_error": Ending(MODEL, "the model's reply broke off or was unusable", exit_status=4),
    "interrupted": Ending(OURS, "the program ended in the middle of it", "Ask again."),
    "internal_error": Ending(
        OURS, "something of ours broke", "This is a bug of ours; the trace of this run shows where.", exit_status=1
    ),
}
"""What is to be known of each stop reason; whatever names one reads it here."""
