"""Whatever a model does in the real shop: a run keeps its promises, and the ledger tells them."""

import random
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import store
from agent.guards.guard import name_of
from agent.guards.limits import PRESETS, UNGUARDED, Limits
from agent.loop.tool_call import Approval
from agent.models.scripted import Line, ScriptedModel, say
from agent.trace import Prices, StopReason, Usage
from agent.trace.documents import dump_events, load_events
from agent.views.conversation import Conversation
from agent.views.result import AgentResult
from assistant.bookshop import Bookshop
from assistant.faults import Fault
from assistant.settings import TOOL_NAMES, Settings
from assistant.stopping import run_ledger, stop_card
from tests.agent.playing import calls, of

BOOKS = st.sampled_from([2, 7, 7, 4, 9, 13, 10**6])
GOOD = (
    st.tuples(
        st.just("add_to_cart"),
        st.fixed_dictionaries({"book_id": BOOKS}, optional={"quantity": st.sampled_from([1, "1", 2, 3.0, 20])}),
    )
    | st.tuples(st.just("check_stock"), st.fixed_dictionaries({"book_id": BOOKS}))
    | st.tuples(
        st.just("search_books"),
        st.fixed_dictionaries({"query": st.sampled_from(["orchard", " Orchard", "quiet orchard", "holt", "zzz"])}),
    )
    | st.tuples(
        st.just("get_order_status"), st.fixed_dictionaries({"order_id": st.sampled_from([1001, "O-1001", 9])})
    )
)
BAD = st.tuples(
    st.sampled_from([*TOOL_NAMES, "buy_now", "", "Add_To_Cart"]),
    st.dictionaries(st.sampled_from(["book_id", "query", "huh"]), st.sampled_from([None, True, -1, "x", [1], {}])),
)
PROSE = '<tool_call>{"name": "add_to_cart", "arguments": {"book_id": 7}}</tool_call>'
COUNTS = st.none() | st.sampled_from([0, 1, 100, 5_000, 10**9])
USAGES = st.none() | st.builds(
    lambda read, written: Usage(input_tokens=read, output_tokens=written), COUNTS, COUNTS
)
BATCHES = st.lists(GOOD | GOOD | GOOD | BAD, min_size=1, max_size=4)
REPEATED = st.builds(lambda made, times: [made] * times, GOOD, st.integers(2, 4))
LINES = st.builds(lambda made, usage: calls(*made, usage=usage), BATCHES | REPEATED, USAGES) | st.builds(
    lambda text, usage: say(text, usage=usage),
    st.sampled_from(["", " ", PROSE, f"I add it. {PROSE} Done.", "Here."]),
    USAGES,
)
"""One reply in two or three calls something that can run."""
SCRIPTS = st.lists(LINES, min_size=1, max_size=5).flatmap(
    lambda lines: st.integers(1, 4).map(lambda times: (lines * times)[:14])
)
"""Lines, and often the same ones again and again."""
SMALL = {
    "max_steps": st.integers(1, 8),
    "max_tool_calls": st.integers(0, 6),
    "max_tokens": st.sampled_from([None, 1, 3_000, 20_000]),
    "max_input_tokens": st.sampled_from([None, 3_000]),
    "max_cost": st.sampled_from([None, Decimal("0.004"), Decimal("0.01")]),
    "no_news_nudge_at": st.sampled_from([None, 1, 2]),
    "no_news_stop_at": st.sampled_from([None, 1, 2]),
    "error_streak": st.sampled_from([None, 1, 2]),
    "replay_writes": st.booleans(),
    "wrap_up": st.booleans(),
    "max_result_chars": st.sampled_from([None, 50]),
}
LIMITS = st.sampled_from([*PRESETS.values(), UNGUARDED]).flatmap(
    lambda base: st.fixed_dictionaries({}, optional=SMALL).map(lambda changed: base.model_copy(update=changed))
)
PRICES = Prices(input_per_million=Decimal("2.50"), output_per_million=Decimal(10))
SETTINGS = st.builds(
    Settings,
    limits=LIMITS,
    prices=st.sampled_from([None, PRICES]),
    tool_caps=st.dictionaries(st.sampled_from(TOOL_NAMES), st.integers(0, 3), max_size=2),
    approve_above=st.sampled_from([None, None, Decimal(0), Decimal(20)]),
    faults=st.dictionaries(
        st.sampled_from(TOOL_NAMES), st.sampled_from([fault for fault in Fault if fault != Fault.SLOW]), max_size=1
    ),
)
SAID = (
    None,
    Approval(approved=True, by="test"),
    Approval(approved=False, by="test"),
    Approval(approved=True, by="test", arguments={"book_id": 7, "quantity": 1}),
    Approval(approved=True, by="test", arguments={"book_id": "x"}),
)


@dataclass
class Ran:
    """One run in the shop: what it came to, the model it had, and the cart before and after."""

    result: AgentResult
    model: ScriptedModel
    settings: Settings
    conversation: Conversation
    cart: Counter[int]


@pytest.fixture(scope="module")
def shop(seed_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bookshop]:
    path = shutil.copy(seed_file, tmp_path_factory.mktemp("any") / "shop.db")
    opened = Bookshop(store.open_shop(f"sqlite:///{path}"))
    yield opened
    opened.close()


def ran(shop: Bookshop, lines: list[Line], chosen: Settings, answers: random.Random) -> Ran:
    if store.view_cart(shop.engine, 1).lines:
        store.clear_cart(shop.engine, 1, by="test")
    conversation, model = Conversation(), ScriptedModel("any", lines)
    agent = shop.agent(model, 1, conversation, chosen)
    result = agent.run(conversation, "Hello", approve=lambda request: answers.choice(SAID))
    cart = Counter({line.book_id: line.quantity for line in store.view_cart(shop.engine, 1).lines})
    return Ran(result, model, chosen, conversation, cart)


ANY = settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
RANDOM = st.integers(0, 10**6).map(random.Random)


@ANY
@given(SCRIPTS, SETTINGS, RANDOM)
def test_any_run_ends_once_within_its_limits_and_the_cart_is_what_was_recorded(
    shop: Bookshop, lines: list[Line], chosen: Settings, answers: random.Random
) -> None:
    run = ran(shop, lines, chosen, answers)
    events, end, limits = run.result.trace, run.result.trace[-1], chosen.limits
    assert end.kind == "run_finished"
    assert len(of(events, "run_finished")) == 1
    assert end.stop_reason in get_args(StopReason)
    assert end.stop_reason not in ("internal_error", "interrupted", "cancelled", "max_seconds")
    assert end.answer.strip()
    assert_within(run, limits)

    asked = [part.id for reply in of(events, "model_reply") for part in reply.tool_calls]
    finished = of(events, "tool_finished")
    assert [each.call.id for each in finished] == asked
    assert len(set(asked)) == len(asked)

    recorded: Counter[int] = Counter()
    for each in finished:
        assert bool(each.changes) <= (each.ran and each.call.name == "add_to_cart")
        if each.changes:
            recorded[each.call.arguments["book_id"]] += each.call.arguments["quantity"]
    assert recorded == run.cart

    replies = of(events, "model_reply")
    assert (end.steps, end.model_calls) == (sum(reply.step > 0 for reply in replies), len(run.model.requests))
    assert end.tool_calls == sum(each.ran for each in finished) == len(of(events, "tool_started"))
    for name in ("input_tokens", "output_tokens"):
        told = [count for reply in replies if (count := getattr(reply.usage, name)) is not None]
        assert (getattr(end.usage, name) or 0) == sum(told)
    assert end.usage_complete == all(None not in (r.usage.input_tokens, r.usage.output_tokens) for r in replies)
    assert load_events(dump_events(events)) == list(events)


def assert_within(run: Ran, limits: Limits) -> None:
    """Steps, calls, tokens and money: nothing is begun that would pass a limit, so a reply is all that can."""
    events, result = run.result.trace, run.result
    assert limits.max_steps is None or result.steps <= limits.max_steps
    assert result.model_calls - result.steps in ((0, 1) if limits.wrap_up else (0,))
    assert limits.max_tool_calls is None or result.tool_calls <= limits.max_tool_calls
    made = Counter(each.call.name for each in of(events, "tool_finished") if each.ran)
    assert all(made[tool] <= cap for tool, cap in run.settings.tool_caps.items())
    spent = [0, 0]
    asked = 0
    for event in events:
        if event.kind == "model_request":
            asked = event.estimated_input_tokens
            if event.wrap_up:
                continue
            assert limits.max_input_tokens is None or spent[0] + asked <= limits.max_input_tokens
            assert limits.max_tokens is None or sum(spent) + asked <= limits.max_tokens
            if run.settings.prices and limits.max_cost is not None and result.usage_complete:
                assert run.settings.prices.cost(spent[0] + asked, spent[1]) <= limits.max_cost
        elif event.kind == "model_reply":
            read, written = event.usage.input_tokens, event.usage.output_tokens
            spent[0] += asked if read is None else read
            spent[1] += round((len(event.text) + len(event.thinking)) / 4) if written is None else written


@ANY
@given(SCRIPTS, SETTINGS, RANDOM)
def test_the_ledger_tells_of_any_run_what_its_guards_decided(
    shop: Bookshop, lines: list[Line], chosen: Settings, answers: random.Random
) -> None:
    events = ran(shop, lines, chosen, answers).result.trace
    steps = run_ledger(shop, load_events(dump_events(events)))
    assert steps == run_ledger(shop, events)
    names = [name_of(guard) for guard in chosen.guards]
    found = {(step.step, entry.guard): entry for step in steps for entry in step.entries}
    assert all([entry.guard for entry in step.entries] == names for step in steps)

    decisions = {(event.step, event.guard): event for event in of(events, "guard_decision")}  # the last of each
    for place, event in decisions.items():
        entry = found[place]
        assert (entry.state, entry.action) == ("acted", event.action)
        assert (entry.value, entry.threshold) == (event.value, event.threshold)
    for place, entry in found.items():
        assert (entry.state == "acted") == (place in decisions)
        if entry.state == "silent":
            assert entry.value is not None
            assert entry.threshold is not None
            exact = entry.guard.startswith("max_") or entry.guard in ("context_window", "unusable_reply")
            assert entry.value <= entry.threshold if exact else entry.value < entry.threshold

    card = stop_card(shop, events)
    end = events[-1]
    assert end.kind == "run_finished"
    assert (card is None) == (end.stop_reason == "done")
    if card:
        stops = [event for event in of(events, "guard_decision") if event.action == "stop"]
        assert (card.decided.guard if card.decided else None) == (stops[-1].guard if stops else None)
        assert card.decided not in card.others
