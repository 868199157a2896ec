"""What each request carried, rebuilt from the events alone."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agent.models import Message
from agent.trace import AnyEvent, ModelOptions, ModelRequest, RunStarted
from agent.views.history import History


@dataclass(frozen=True)
class Sent:
    """One request as a model got it: which model, all messages, the tools that went along, and the options."""

    run_id: str
    step: int
    model: str
    messages: Sequence[Message]
    tools: Sequence[dict[str, Any]]
    options: ModelOptions


class OlderRecord(ValueError):
    """This run was recorded before requests kept their options, so what was sent is not known."""

    def __str__(self) -> str:
        return str(self.__doc__)


def requests_sent(events: Iterable[AnyEvent]) -> Iterator[Sent]:
    """Every request of a conversation's events, in order; two where the server refused to let the model think.

    A model that failed before it was reached counts, too: the request was made. Raises OlderRecord.
    """
    history, started, request = History(), None, None
    for event in events:
        match event.kind:
            case "run_started":
                started = event
            case "model_request" if started:
                request = _sent(event, started, history)
                yield request
            case "model_reply" if request and event.without_thinking:
                yield replace(request, options=request.options.model_copy(update={"think": None}))
        history.add(event)


def _sent(event: ModelRequest, started: RunStarted, history: History) -> Sent:
    if event.options is None:
        raise OlderRecord
    tools = started.tools if event.with_tools else []
    return Sent(started.run_id, event.step, started.model.name, history.messages(), tools, event.options)
