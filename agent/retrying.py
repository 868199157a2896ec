"""Trying again after a failed model call: a bounded number of times, and never the same thing again."""

import random
from dataclasses import replace

from agent.moments import Stop
from agent.shapes import ModelFault
from agent.turn import Turn

MOST_RETRIES = {"never": 0, "changed": 1, "later": 2}
PAUSES = (1.0, 3.0)
"""Seconds before the first and the second try of a busy server, give or take a third."""


def try_again(turn: Turn, fault: ModelFault) -> None:
    """Make the next try worth it; raises Stop where there is none, or Cancelled when a person wants no more."""
    failures = turn.run.failures
    if failures > MOST_RETRIES[fault.retry]:
        raise Stop(fault.stop_reason, fault.message)
    if fault.retry == "changed":
        # The same request at temperature 0 with the same seed would fail the same way.
        turn.options = replace(turn.options, seed=turn.options.seed + 1)
    else:
        turn.rest(PAUSES[failures - 1] * random.uniform(0.7, 1.3))


def allow_longer_answer(turn: Turn) -> None:
    """Double the room for an answer, once in a run, after one was cut off before it said anything."""
    if not turn.enlarged:
        turn.enlarged = True
        turn.options = replace(turn.options, num_predict=2 * turn.options.num_predict)
