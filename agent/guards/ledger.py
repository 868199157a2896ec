"""The guard ledger: what every guard found in every step of a run, worked out anew from its events.

Guards are pure functions of the trace, so nothing of this is stored. A decision of the record stands as it is,
even where a clock would now say something else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from agent.guards.guard import AfterTool, BeforeAnswer, BeforeModel, BeforeTool, Guard, Moment, name_of
from agent.tools import Tool, prepare
from agent.trace import AnyEvent, GuardDecision
from agent.views.run import Tally
from agent.views.tokens import Estimate

State = Literal["not asked", "silent", "acted"]


@dataclass(frozen=True)
class Entry:
    """One guard in one step: its state, the last value it looked at against its threshold, and what it did."""

    guard: str
    state: State = "not asked"
    value: float | None = None
    threshold: float | None = None
    action: str = ""


@dataclass(frozen=True)
class StepLedger:
    """All guards in one step, in the order they are asked; step 0 is before the first request and the wrap-up."""

    step: int
    entries: tuple[Entry, ...]


def ledger(events: Sequence[AnyEvent], guards: Sequence[Guard], tools: Sequence[Tool]) -> list[StepLedger]:
    """The ledger of one run's events, step by step, under the guards and tools it was made with."""
    walk = _Walk(guards, {tool.name: tool for tool in tools})
    for event, following in zip(events, [*events[1:], None], strict=True):
        walk.pass_by(event, following)
    names = list(
        dict.fromkeys([*map(name_of, guards), *(name for found in walk.steps.values() for name in found)])
    )
    return [
        StepLedger(step, tuple(found.get(name, Entry(name)) for name in names))
        for step, found in sorted(walk.steps.items())
    ]


def nearness(ledgers: Sequence[StepLedger]) -> list[Entry]:
    """The last thing each guard found in a run, of those that were asked at all."""
    last: dict[str, Entry] = {}
    for step in ledgers:
        last |= {entry.guard: entry for entry in step.entries if entry.state != "not asked"}
    return list(last.values())


@dataclass
class _Walk:
    """A walk along the events of a run, with the tally and the clock as they stood at each of them."""

    guards: Sequence[Guard]
    tools: Mapping[str, Tool]
    run: Tally = field(default_factory=Tally)
    steps: dict[int, dict[str, Entry]] = field(default_factory=dict)
    _clock: tuple[float, float] = (0.0, 0.0)
    """A time of day, and the seconds the run had taken by then."""

    def pass_by(self, event: AnyEvent, following: AnyEvent | None) -> None:
        """Ask the guards at the moment before an event or after it, as the loop did."""
        decision = event if event.kind == "guard_decision" else None
        if moment := self._before(event):
            self._ask(event.step, moment, decision)
        elif decision and decision.moment is None:  # of an older record, which does not tell when it was asked
            self._acted(decision)
        self._set_clock(event)
        self.run.add(event)
        decision = following if following and following.kind == "guard_decision" else None
        if moment := self._after(event):
            self._ask(event.step, moment, decision if decision and decision.moment == moment.name else None)

    def _ask(self, step: int, moment: Moment, decision: GuardDecision | None) -> None:
        found = self.steps.setdefault(step, {})
        for guard in self.guards:
            name = name_of(guard)
            if decision and decision.guard == name:
                break
            looked = guard(moment, self.run)
            if looked and (name not in found or found[name].state != "acted"):
                found[name] = Entry(name, "silent", looked.value, looked.threshold)
        if decision:
            self._acted(decision)

    def _acted(self, decision: GuardDecision) -> None:
        figures = (decision.value, decision.threshold, decision.action)
        self.steps.setdefault(decision.step, {})[decision.guard] = Entry(decision.guard, "acted", *figures)

    def _before(self, event: AnyEvent) -> Moment | None:
        match event.kind:
            case "model_request" if not event.wrap_up:
                estimate = Estimate(event.resent_tokens, event.new_tokens, event.calibrated)
                return BeforeModel(event.elapsed_ms / 1000, estimate)
            case "approval_requested":
                return self._call_moment(event.call.id, event.elapsed_ms / 1000)
            case "tool_started" if event.call.id not in self.run.approvals:
                return self._call_moment(event.call.id, self._elapsed(event))
            case "guard_decision" if event.moment == "before_model":
                estimate = Estimate(0, event.estimated_input_tokens or 0, calibrated=True)
                return BeforeModel((event.elapsed_ms or 0.0) / 1000, estimate)
            case "guard_decision" if event.moment == "before_tool":
                return self._call_moment(event.call_id, (event.elapsed_ms or 0.0) / 1000)
        return None

    def _after(self, event: AnyEvent) -> Moment | None:
        match event.kind:
            case "tool_finished" if event.not_run != "run_ended":
                return AfterTool(self._elapsed(event), event)
            case "model_reply" if event.step and not (event.tool_calls or event.error or event.incomplete):
                return BeforeAnswer(self._elapsed(event), event, tuple(self.tools))
        return None

    def _call_moment(self, call_id: str | None, elapsed: float) -> Moment | None:
        call = self.run.open_calls.get(call_id or "")
        prepared = prepare(call, self.tools) if call else None
        if prepared is None or prepared.tool is None:
            return None
        return BeforeTool(elapsed, prepared.call, prepared.fingerprint, prepared.tool)

    def _set_clock(self, event: AnyEvent) -> None:
        match event.kind:
            case "model_request" | "approval_requested":
                self._clock = event.at.timestamp(), event.elapsed_ms / 1000
            case "approval_answered":
                self._clock = event.at.timestamp(), self._clock[1]

    def _elapsed(self, event: AnyEvent) -> float:
        at, elapsed = self._clock
        return elapsed + event.at.timestamp() - at
