"""What a run has used and done so far, folded from its events: what limits and guards look at."""

from collections import Counter
from typing import Literal

from agent.history import UNCALIBRATED_CHARS_PER_TOKEN
from agent.shapes import StopReason, ToolCall, Usage
from agent.trace import AnyEvent, ModelReply, RunFinished, ToolFinished


class Tally:
    """The sums and open ends of one run; a conversation keeps that of its latest run."""

    def __init__(self) -> None:
        self.run_id = ""
        self.turn = 0
        self.message_id = ""
        self.finished = True
        self.steps = 0
        self.model_calls = 0
        self.tool_calls = 0
        self.input_tokens = 0
        self.output_tokens = 0
        self.spent_input_tokens = 0
        """Input tokens for budgets: where a reply told no count, what was estimated."""
        self.spent_tokens = 0
        """The same for input and output."""
        self._counted = 0
        self.usage_estimated = False
        self.corrections = 0
        self.repeats: Counter[str] = Counter()
        """How often a call (by fingerprint) was asked for; reads count from the last change of the shop."""
        self.runs_of: Counter[str] = Counter()
        """How often a call (by fingerprint) ran for this message: part of its idempotency key."""
        self.open_calls: dict[str, ToolCall] = {}
        """Calls of the last reply that have no result yet, by id."""
        self.effects: list[str] = []
        """What the run's calls changed, in words."""
        self.last_reply: ModelReply | None = None
        self.failures = 0
        """Failed model calls in a row."""
        self.writes_of_reply: dict[str, str] = {}
        """The results of the writes the last reply has made so far, by fingerprint."""
        self._writes: set[str] = set()
        self._asked = 0

    def add(self, event: AnyEvent) -> None:
        """Take one event of the run."""
        match event.kind:
            case "run_started":
                self.run_id, self.turn, self.finished = event.run_id, event.turn, False
            case "user_message":
                self.message_id = event.client_message_id
            case "note" if event.purpose == "corrective":
                self.corrections += 1
            case "model_request":
                self.model_calls += 1
                self.steps += not event.wrap_up
                self._asked = event.estimated_input_tokens
            case "model_reply":
                self._add_reply(event)
            case "tool_finished":
                self._add_result(event)
            case "shop_changed":
                self._forget_reads()
                self.effects += [event.effect] if event.effect else []
            case "run_finished":
                self.finished = True

    @property
    def usage_complete(self) -> bool:
        """Whether every model call told what it took."""
        return self._counted == self.model_calls

    @property
    def usage(self) -> Usage:
        """The sum over the run's replies; None where no reply told."""
        return Usage(
            input_tokens=self.input_tokens if self.usage_complete or self.input_tokens else None,
            output_tokens=self.output_tokens if self.usage_complete or self.output_tokens else None,
            estimated=self.usage_estimated,
        )

    def end(
        self, stop_reason: StopReason, answer: str, by: Literal["model", "program"], seconds: float | None
    ) -> RunFinished:
        """The event that ends the run, with its sums; ``seconds`` is None where no clock saw the whole of it."""
        return RunFinished(
            stop_reason=stop_reason,
            answer=answer,
            answer_by=by,
            steps=self.steps,
            model_calls=self.model_calls,
            tool_calls=self.tool_calls,
            usage=self.usage,
            usage_complete=self.usage_complete,
            seconds=seconds,
        )

    def _add_reply(self, reply: ModelReply) -> None:
        usage = reply.usage
        self.last_reply = reply
        self.failures = self.failures + 1 if reply.error else 0
        self.writes_of_reply = {}
        self.input_tokens += usage.input_tokens or 0
        self.output_tokens += usage.output_tokens or 0
        written = (len(reply.text) + len(reply.thinking)) / UNCALIBRATED_CHARS_PER_TOKEN
        sent = self._asked if usage.input_tokens is None else usage.input_tokens
        self.spent_input_tokens += sent
        self.spent_tokens += sent
        self.spent_tokens += round(written) if usage.output_tokens is None else usage.output_tokens
        self._counted += usage.input_tokens is not None and usage.output_tokens is not None
        self.usage_estimated |= usage.estimated
        self.open_calls = {call.id: call for call in reply.tool_calls}

    def _add_result(self, result: ToolFinished) -> None:
        self.open_calls.pop(result.call.id, None)
        self.tool_calls += result.ran
        if not result.fingerprint:
            return
        self.repeats[result.fingerprint] += 1
        if result.doubtful:
            return  # the same call again gets the same key, so that it cannot take effect twice
        self.runs_of[result.fingerprint] += result.ran
        if result.changes:
            self.effects += [change.effect for change in result.changes]
            self._writes.add(result.fingerprint)
            self.writes_of_reply[result.fingerprint] = result.result
            self._forget_reads()

    def _forget_reads(self) -> None:
        # After a change the same question may have a new answer, but the same write stays a repetition.
        self.repeats = Counter({mark: n for mark, n in self.repeats.items() if mark in self._writes})
