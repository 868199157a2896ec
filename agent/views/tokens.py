"""Estimates the tokens of the next request, calibrated on what the model counted before."""

from typing import NamedTuple

from agent.trace import AnyEvent
from agent.views.history import UNCALIBRATED_CHARS_PER_TOKEN, History


class Estimate(NamedTuple):
    """Input tokens of a request not yet sent: those sent before, and those that are new."""

    resent: int
    new: int
    calibrated: bool

    @property
    def total(self) -> int:
        return self.resent + self.new


def counts_only_new(resent: int, new: int, count: int) -> bool:
    """Whether a count of input tokens is that of the new part alone, as some servers report it."""
    return resent > 0 and abs(count - new) <= new / 2


class Meter:
    """Learns from each reply how many characters make a token, and counts on from the last known total."""

    def __init__(self) -> None:
        self._extra = 0
        self._sent_size = 0
        self._known_size = 0
        self._known_tokens = 0
        self._chars_per_token = UNCALIBRATED_CHARS_PER_TOKEN
        self.calibrated = False
        self._sent_tokens = 0
        self._new_tokens = 0

    def add(self, event: AnyEvent, history: History) -> None:
        """Take one event, before the history takes it."""
        match event.kind:
            case "run_started":
                self._extra = sum(len(repr(tool)) for tool in event.tools)
            case "model_request":
                self._sent_size = history.size + (0 if event.wrap_up else self._extra)
                self._sent_tokens, self._new_tokens = event.estimated_input_tokens, event.new_tokens
            case "model_reply" if event.usage.input_tokens and not event.prompt_cut:
                resent = self._sent_tokens - self._new_tokens
                if counts_only_new(resent, self._new_tokens, event.usage.input_tokens):
                    return
                self._known_size = self._sent_size
                self._known_tokens = self._sent_tokens = event.usage.input_tokens
                self._chars_per_token = max(self._sent_size / event.usage.input_tokens, 0.5)
                self.calibrated = True

    def estimate(self, history: History, *, with_tools: bool = True) -> Estimate:
        """Estimate the next request: exact counts of the last one plus characters of what is new."""
        size = history.size + (self._extra if with_tools else 0)
        grown = (size - self._known_size) / self._chars_per_token
        total = max(round(self._known_tokens + grown), 0)
        resent = min(self._sent_tokens, total)
        return Estimate(resent=resent, new=total - resent, calibrated=self.calibrated)
