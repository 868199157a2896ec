"""What a run has used and done so far, folded from its events: what limits and guards look at."""

from collections import Counter
from decimal import Decimal
from typing import Any, Literal

from agent.trace import (
    AnyEvent,
    ApprovalAnswered,
    ApprovalRequested,
    ModelOptions,
    ModelReply,
    Note,
    Prices,
    RunFinished,
    StopReason,
    ToolCall,
    ToolFinished,
    Usage,
)
from agent.views.history import UNCALIBRATED_CHARS_PER_TOKEN
from agent.views.progress import Progress


class Tally:
    """The sums and open ends of one run; a conversation keeps that of its latest run.

    A run that continues ``before`` has a new allowance, but does not forget what was written in that.
    """

    def __init__(self, before: "Tally | None" = None) -> None:
        self.run_id = ""
        self.turn = 0
        self.message_id = ""
        self.finished = True
        self.steps = 0
        self.model_calls = 0
        self.tool_calls = 0
        self.calls_of: Counter[str] = Counter()
        """Calls that ran, by tool."""
        self.input_tokens = 0
        self.output_tokens = 0
        self.spent_input_tokens = 0
        """Input tokens for budgets: where a reply told no count, what was estimated."""
        self.spent_tokens = 0
        """The same for input and output."""
        self._counted = 0
        self.usage_estimated = False
        self.corrections = 0
        self.progress: Progress = Progress(dict(before.progress.written) if before else {})
        self.runs_of: Counter[str] = Counter()
        """How often a call (by fingerprint) ran for this message: part of its idempotency key."""
        self.open_calls: dict[str, ToolCall] = {}
        """Calls of the last reply that have no result yet, by id."""
        self.nudges_of: Counter[str] = Counter()
        """How often each guard has told the model something."""
        self.just_told: set[str] = set()
        """Guards that have told the model something it has not read yet."""
        self.hints: dict[str, None] = {}
        """What guards have to say once all calls of the last reply have their results; each thing once."""
        self.effects: list[str] = []
        """What the run's calls changed, in words."""
        self.last_reply: ModelReply | None = None
        self.failures = 0
        """Failed model calls in a row."""
        self.prices: Prices | None = None
        self.waiting: ApprovalRequested | None = None
        """The request a person has not answered yet: while there is one, the run waits and nobody works on it."""
        self.approvals: dict[str, ApprovalAnswered] = {}
        """What people said of calls, by the id of the call."""
        self.wrapping_up = False
        """Whether the steps are over and the model is asked one last time, without tools."""
        self.sent_back = ""
        """An answer that a guard wants to have anew: it is the answer after all if no other comes."""
        self._asked = 0
        self._reseeded = 0
        self._enlarged = False
        self._without_thinking = False

    def add(self, event: AnyEvent) -> None:
        """Take one event of the run."""
        match event.kind:
            case "run_started":
                self.run_id, self.turn, self.finished = event.run_id, event.turn, False
                self.prices = event.prices
            case "user_message":
                self.message_id = event.client_message_id
            case "note":
                self._add_note(event)
            case "guard_decision" if event.action == "nudge":
                self.nudges_of[event.guard] += 1
                self.just_told.add(event.guard)
                if event.moment == "after_tool":
                    self.hints[event.reason] = None
            case "model_request":
                self.hints, self.just_told = {}, set()
                self.model_calls += 1
                self.steps += not event.wrap_up
                self._asked = event.estimated_input_tokens
            case "model_reply":
                self._add_reply(event)
            case "tool_finished":
                self._add_result(event)
            case "approval_requested":
                self.waiting = event
            case "approval_answered":
                self.waiting, self.approvals[event.call_id] = None, event
            case "shop_changed":
                if event.effect:  # of a call of this run that was cut off
                    self.effects.append(event.effect)
                    self.progress.forget_reads()
                else:
                    self.progress.shop_changed(event.resource)
            case "run_finished":
                self.finished, self.waiting = True, None

    def options(self, usual: ModelOptions) -> ModelOptions:
        """Those of the next request: the usual ones, but for what the run has to do otherwise by now.

        Where the same request would fail the same way again it has another seed; after an answer that was cut off
        before it said anything there is double the room, once in a run; what the server refused is not sent.
        """
        changed: dict[str, Any] = {}
        if self._reseeded:
            changed["seed"] = usual.seed + self._reseeded
        if self._enlarged:
            changed["num_predict"] = 2 * usual.num_predict
        if self._without_thinking:
            changed["think"] = None
        return usual.model_copy(update=changed) if changed else usual

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

    @property
    def cost(self) -> Decimal | None:
        """Dollars so far; None where the model has no price. What nobody counted is estimated in it."""
        spent_output = self.spent_tokens - self.spent_input_tokens
        return self.prices.cost(self.spent_input_tokens, spent_output) if self.prices else None

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
            cost=self.cost,
            seconds=seconds,
        )

    def _add_note(self, note: Note) -> None:
        last = self.last_reply
        if note.purpose == "wrap_up":
            self.wrapping_up = True
        elif note.purpose == "corrective":
            self.corrections += 1
            if last and not last.unusable:
                self.sent_back = last.text
            self._enlarged |= last is not None and last.unusable == "cut_by_length"

    def _add_reply(self, reply: ModelReply) -> None:
        usage = reply.usage
        self.last_reply = reply
        self.failures = self.failures + 1 if reply.error else 0
        self._reseeded += reply.error is not None and reply.error.retry == "changed"
        self._without_thinking |= reply.without_thinking
        if reply.tool_calls:
            self.sent_back = ""
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
        self.calls_of[result.call.name] += result.ran
        self.effects += [change.effect for change in result.changes]
        if not result.doubtful:  # the same call again gets the same key, so that it cannot take effect twice
            self.runs_of[result.fingerprint] += result.ran
        self.progress.add(result)
