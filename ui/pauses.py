"""Where a conversation stands still before it is done: a call waits for a person, or a run was stopped early."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import streamlit as st

from agent.guards.ledger import Entry
from agent.loop.tool_call import Approval
from agent.tools import BadArguments, NoTools
from agent.trace import ApprovalRequested
from agent.views.conversation import Conversation
from assistant.bookshop import Bookshop
from assistant.settings import ANSWER_NOW, CONTINUE, Settings
from assistant.stopping import StopCard, figures, label_of, share, stop_card
from ui.panels.approval import draw_approval
from ui.safe import safe_label
from ui.visit import Visit

SHOWN_AT_ONCE = 3


@dataclass(frozen=True)
class Nearness:
    """How near a limit was: its name, its figures in words, and the part of it that was used up (0 to 1)."""

    name: str
    figures: str
    share: float


@dataclass(frozen=True)
class WaysOn:
    """What a person may do after a stop."""

    more: Callable[[], None]
    answer_now: Callable[[], None]
    leave: Callable[[], None]


def draw_stop(title: str, decided: Nearness | None, others: Sequence[Nearness], ways: WaysOn, key: str) -> None:
    """Draw the card of a stopped run; ``title`` says what kind of stop it was."""
    with st.container(border=True, key=f"stop-card-{key}"):
        st.subheader("Why it stopped")
        st.markdown(safe_label(title))
        if decided:
            _draw_bar(decided)
        with st.container(horizontal=True):
            more = "A new run under the limits as they stand now; nothing is done twice."
            st.button("Continue with more", on_click=ways.more, key=f"more-{key}", help=more)
            st.button("Answer now, without tools", on_click=ways.answer_now, key=f"now-{key}")
            st.button("Leave it", on_click=ways.leave, key=f"leave-{key}", type="tertiary")
        if others:
            st.caption("How near the other limits were")
            for nearness in others[:SHOWN_AT_ONCE]:
                _draw_bar(nearness)
        if rest := others[SHOWN_AT_ONCE:]:
            st.caption(" · ".join(f"{safe_label(each.name)} {safe_label(each.figures)}" for each in rest))


def _draw_bar(nearness: Nearness) -> None:
    # The words say all the bar shows.
    st.progress(min(max(nearness.share, 0.0), 1.0), text=f"{safe_label(nearness.name)} · {nearness.figures}")


def draw_pause(visit: Visit, conversation: Conversation) -> None:
    """Draw what the latest run of a conversation needs of a person, if anything."""
    run = conversation.run
    if run.waiting:
        _draw_request(visit, run.waiting)
    elif run.finished and st.session_state.get("left_alone") != run.run_id:
        card = _card_of(visit.shop, conversation)
        if card:
            _draw_card(visit, card, run.run_id)


def answer_request(visit: Visit, call_id: str, *, approved: bool, typed: Mapping[str, str] | None = None) -> None:
    """Say yes or no to a call that waits, or yes with other arguments; wrong ones change nothing and are said."""
    conversation = visit.conversation()
    request = conversation.run.waiting if conversation else None
    if conversation is None or request is None or request.call.id != call_id:
        return  # it was answered already, here or in another tab
    agent = visit.shop.agent_of(visit.choice().model, visit.customer, conversation)
    tool = next(tool for tool in agent.toolbox.tools if tool.name == request.call.name)
    try:
        arguments = None if typed is None else tool.check(typed)[0]
    except BadArguments as error:
        st.session_state.approval_error = call_id, str(error)
        return
    visit.resume(agent, conversation, Approval(approved, visit.channel, arguments))


def go_on(visit: Visit, run_id: str, *, tools: bool) -> None:
    """Go on from a run that stopped early, under the settings as they stand; without tools it answers now."""
    conversation = visit.conversation()
    if conversation is None or conversation.run.run_id != run_id or visit.snapshot():
        return  # it has gone on already, here or in another tab
    agent = visit.agent(conversation)
    if tools:
        visit.start(agent, conversation, CONTINUE, continues=run_id)
    else:
        visit.start(replace(agent, toolbox=NoTools(agent.toolbox)), conversation, ANSWER_NOW, continues=run_id)


def _draw_request(visit: Visit, request: ApprovalRequested) -> None:
    call = request.call
    asked, error = st.session_state.get("approval_error", ("", ""))

    def say(approved: bool, typed: Mapping[str, str] | None) -> None:
        answer_request(visit, call.id, approved=approved, typed=typed)

    tools = visit.shop.toolbox(visit.customer, "page", Settings()).tools
    rules = {
        parameter.name: f"{parameter.description} {parameter.rule[0].upper()}{parameter.rule[1:]}."
        for tool in tools
        if tool.name == call.name
        for parameter in tool.parameters
    }
    draw_approval(request, rules, say, error if asked == call.id else "")


def _card_of(shop: Bookshop, conversation: Conversation) -> StopCard | None:
    """The card of the latest run, worked out once a run and not on every rerun."""
    known: tuple[str, StopCard | None] = st.session_state.get("stop_card", ("", None))
    run_id, card = known
    if run_id != conversation.run.run_id:
        card = stop_card(shop, conversation.run_events())
        st.session_state.stop_card = conversation.run.run_id, card
    return card


def _draw_card(visit: Visit, card: StopCard, run_id: str) -> None:
    ways = WaysOn(
        more=lambda: go_on(visit, run_id, tools=True),
        answer_now=lambda: go_on(visit, run_id, tools=False),
        leave=lambda: st.session_state.update(left_alone=run_id),
    )
    decided = _nearness(card.decided) if card.decided else None
    draw_stop(f"{card.ending.kind}.", decided, [_nearness(entry) for entry in card.others], ways, run_id)


def _nearness(entry: Entry) -> Nearness:
    return Nearness(label_of(entry.guard), figures(entry), share(entry))
