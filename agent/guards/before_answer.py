"""Guards that send an answer back: one that nobody can use, and one that states what is true no more."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent.guards.guard import BeforeAnswer, Decision, Ends, Moment
from agent.text import counted
from agent.trace import Fact, ModelReply, Overtaken, Unusable
from agent.views.run import Tally

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


@dataclass(frozen=True)
class UnusableReply:
    """Asks again, a bounded number of times, for a reply that is neither an answer nor a call that can run."""

    corrections: int
    name: str = "unusable_reply"

    @property
    def ends(self) -> Ends:
        return Ends("empty_answer", f"no usable answer, asked {counted(self.corrections + 1, 'time')}")

    def __call__(self, moment: Moment, run: Tally) -> Decision | None:
        if not isinstance(moment, BeforeAnswer):
            return None
        reply, tries = moment.reply, run.corrections + 1
        if reply.unusable is None:
            return Decision(self.name, "pass", run.corrections, self.corrections)
        if run.corrections >= self.corrections:
            asked = counted(tries, "time")
            why = f"the model gave no answer and no usable call, asked {asked}; {why_unusable(reply)}"
            return Decision(self.name, "stop", tries, self.corrections, why, stop_reason="empty_answer")
        return Decision(self.name, "nudge", tries, self.corrections, correction(reply, moment.tools))


Correct = Callable[[str, Sequence[Overtaken]], str]
"""Finds what an answer states that is true no more, and words the correction; empty where there is nothing."""


@dataclass(frozen=True)
class Freshness:
    """What a run does about facts that the world has overtaken: by itself nothing, the model answers from history.

    ``stamps``: results carry their version and are marked in place once they are overtaken. ``tell`` words for the
    model what is true now, whenever that changed. ``correct`` corrects an answer that is still wrong in the end.
    """

    stamps: bool = False
    tell: Callable[[Sequence[Fact]], str] | None = None
    correct: Correct | None = None


@dataclass(frozen=True)
class FreshAnswer:
    """Asks once again for an answer that states what is true no more."""

    correct: Correct
    name: str = "fresh_answer"

    def __call__(self, moment: Moment, run: Tally) -> Decision | None:
        if not isinstance(moment, BeforeAnswer):
            return None
        wrong = self.correct(moment.reply.text, moment.overtaken)
        tries = run.nudges_of[self.name]
        if not wrong or tries:
            return Decision(self.name, "pass", tries, 1)
        why = f"Your answer states what is true no more. {wrong} Answer again."
        return Decision(self.name, "nudge", 1, 1, why)
