"""A shelf to look at and put things on, and agents that a script drives."""

import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from agent.cancel import Cancel
from agent.guards.limits import Limits
from agent.loop.agent import Agent
from agent.models.scripted import Line, ScriptedModel
from agent.tools import Arg, FunctionTools, Tool, Toolbox, ToolOutcome
from agent.trace import AnyEvent, Change, Fact, ModelReply, ToolCall
from agent.views.conversation import Conversation
from agent.views.result import AgentResult

SECRET = "postgresql://admin:hunter2@db7.internal.example:5432/shop"
OPEN, ASK, END = ["run_started", "user_message"], ["model_request", "model_reply"], ["run_finished"]
RUN, LEFT = ["tool_started", "tool_finished"], ["guard_decision", "tool_finished"]
CALL, WRAP_UP = [*ASK, *RUN], ["guard_decision", "note", *ASK, *END]
"""The kinds of events that come together; LEFT is a call that a guard refused."""
ASKED = "Add The Last Lighthouse to my cart. If it is not available, add another novel by the same author."


@dataclass
class Shelf:
    """Five plain tools; ``held`` is what ``hang`` waits for, ``broken`` what ``fail`` raises."""

    things: Counter[str] = field(default_factory=Counter)
    keys: list[str] = field(default_factory=list)
    held: threading.Event = field(default_factory=threading.Event)
    hanging: threading.Event = field(default_factory=threading.Event)
    answered: threading.Event = field(default_factory=threading.Event)
    broken: BaseException = field(default_factory=lambda: RuntimeError(f"cannot reach {SECRET}"))

    def look(self, what: Annotated[str, Arg("What to look for.", 1, 80)] = "all") -> ToolOutcome:
        """Tell how many there are."""
        read = Fact(resource=what, version=sum(self.things.values()), value=str(self.things[what]))
        return ToolOutcome(result=f"{what}: {self.things[what]}", reads=[read])

    def put(
        self,
        key: str,
        what: Annotated[str, Arg("What to put there.", 1, 80)],
        count: Annotated[int, Arg("How many.", 1, 20)] = 1,
    ) -> ToolOutcome:
        """Put things on the shelf."""
        before = sum(self.things.values())
        self.keys.append(key)
        self.things[what] += count
        effect = f"put {count} × {what} on the shelf"
        change = Change(resource=what, version_before=before, version=before + count, value="more", effect=effect)
        return ToolOutcome(result=f"there are {self.things[what]} now", changes=[change])

    def fail(self, again: int = 0) -> ToolOutcome:
        """Fail."""
        raise self.broken

    def hang(self) -> ToolOutcome:
        """Answer when the test lets it."""
        self.hanging.set()
        self.held.wait(20)
        self.answered.set()
        return ToolOutcome(result="at last")

    def tell(self, length: Annotated[int, Arg("How long.", 0, 5_000_000)]) -> ToolOutcome:
        """Tell a long story."""
        return ToolOutcome(result="é" * length)

    def tools(self) -> FunctionTools:
        reading = [Tool.of(tool) for tool in (self.look, self.fail, self.hang, self.tell)]
        return FunctionTools(*reading, Tool.of(self.put, side_effecting=True))


Lines = Sequence[Line | ModelReply]


def agent_for(model: Any, toolbox: Toolbox | None = None, **limits: Any) -> Agent:
    """An agent under the default limits but for those given."""
    kept = Limits(**limits)
    return Agent(model, toolbox or Shelf().tools(), "Be brief.", kept)


@dataclass
class Played:
    """A run that a script drove to its end."""

    result: AgentResult
    model: ScriptedModel
    conversation: Conversation

    @property
    def events(self) -> Sequence[AnyEvent]:
        return self.result.trace

    @property
    def kinds(self) -> list[str]:
        return kinds(self.events)

    @property
    def results(self) -> list[str]:
        return [event.result for event in self.of("tool_finished")]

    def of(self, kind: str) -> list[Any]:
        return of(self.events, kind)


def play(
    *lines: Line | ModelReply,
    toolbox: Toolbox | None = None,
    conversation: Conversation | None = None,
    text: str = "Hello",
    message_id: str = "",
    cancel: Cancel | None = None,
    **limits: Any,
) -> Played:
    """Run one turn of a script to its end."""
    model = ScriptedModel("test", lines)
    conversation = conversation or Conversation()
    agent = agent_for(model, toolbox, **limits)
    result = agent.run(conversation, text, message_id=message_id, cancel=cancel)
    return Played(result, model, conversation)


def calls(*made: tuple[str, dict[str, Any]], **more: Any) -> Line:
    """A line that makes several calls."""
    return Line(calls=made, **more)


def kinds(events: Iterable[Any]) -> list[str]:
    """The kinds of events (or deltas), in order."""
    return [event.kind for event in events]


def of(events: Iterable[AnyEvent], kind: str) -> list[Any]:
    """The events of one kind."""
    return [event for event in events if event.kind == kind]


def made(name: str = "look", call_id: str = "c1", **arguments: Any) -> ToolCall:
    """A call, as an event holds it."""
    return ToolCall(id=call_id, name=name, arguments=arguments)


def assert_paired(played: Played) -> None:
    """Every call of every request has one result right after it, and every result its call."""
    for messages, _ in played.model.requests:
        results = [message for message in messages if message["role"] == "tool"]
        assert len(results) == sum(len(message.get("tool_calls", [])) for message in messages)
        for place, message in enumerate(messages):
            asked = [part["id"] for part in message.get("tool_calls", [])]
            results = messages[place + 1 : place + 1 + len(asked)]
            assert [result.get("tool_call_id") for result in results] == asked
    assert_answered_once(played.conversation)


def assert_answered_once(conversation: Conversation) -> None:
    asked = [part.id for reply in of(conversation.events, "model_reply") for part in reply.tool_calls]
    answered = [finished.call.id for finished in of(conversation.events, "tool_finished")]
    assert sorted(answered) == sorted(asked)
