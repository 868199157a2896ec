"""What a run does about facts that the world has overtaken: nothing, or one of the cures it is given."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent.moments import BeforeAnswer, Decision, Moment
from agent.trace import Fact, Overtaken
from agent.views.run import Tally

Correct = Callable[[str, Sequence[Overtaken]], str]
"""Finds what an answer states that is true no more, and words the correction; empty where there is nothing."""


@dataclass(frozen=True)
class Freshness:
    """By itself nothing: the model answers from its history.

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
        return Decision(
            self.name, "nudge", 1, 1, f"Your answer states what is true no more. {wrong} Answer again."
        )
