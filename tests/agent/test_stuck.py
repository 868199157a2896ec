"""Runs that get nowhere: circles, results without news, failures in a row; nudged first, then ended."""

from collections.abc import Sequence
from typing import Annotated, Any

import pytest

from agent.guards.guard import AfterTool, BeforeTool, Decision, Guard, Moment
from agent.guards.limits import Limits
from agent.guards.stuck import ErrorStreak, NoNews, PingPong
from agent.loop.agent import Agent
from agent.models.scripted import Line, ScriptedModel, call, say
from agent.tools import Arg, FunctionTools, Tool, ToolError, ToolOutcome, ToolRefusal
from agent.trace import AnyEvent, Change, Fact, ShopChanged, ToolFinished
from agent.views.conversation import Conversation
from agent.views.run import Tally
from tests.agent.playing import ASK, END, LEFT, OPEN, RUN, Played, Shelf, assert_paired, calls, made, play
from tests.agent.test_guards import LOOK, decided, tally

A, B, C = (call("look", what=what) for what in "abc")
DONE = say("There.")
BY_HAND = ShopChanged(resource="a", version_before=0, version_after=1, by="somebody else", value="x")


class Desk:
    """Tools that say what the model tells them to say."""

    def read(
        self, text: str = "", names: str = "", seen: Annotated[str, Arg("Fact, as resource=value.")] = ""
    ) -> ToolOutcome:
        """Answer with a text, the things it names and the fact it saw."""
        resource, _, value = seen.partition("=")
        reads = [Fact(resource=resource, version=1, value=value)] if seen else []
        return ToolOutcome(result=text, found=names.split(), reads=reads)

    def refuse(self, number: int = 0) -> ToolOutcome:
        """Say no."""
        raise ToolRefusal("there is no such thing")

    def fail(self, number: int = 0) -> ToolOutcome:
        """Break."""
        raise ToolError("the warehouse does not answer")

    def write(self, key: str, number: int = 0) -> ToolOutcome:
        """Change something."""
        change = Change(resource="cart", version_before=0, version=1, value="x", effect=f"wrote {number}")
        return ToolOutcome(result=f"wrote {number}", changes=[change])

    def tools(self) -> FunctionTools:
        reading = [Tool.of(tool) for tool in (self.read, self.refuse, self.fail)]
        return FunctionTools(*reading, Tool.of(self.write, side_effecting=True))


def at_the_desk(*lines: Line, **limits: Any) -> Played:
    return play(*lines, toolbox=Desk().tools(), **({"max_steps": None, "max_tokens": None} | limits))


def actions(played: Played) -> list[tuple[str, str, float]]:
    return [(each.guard, each.action, each.value) for each in played.of("guard_decision")]


def ended(mark: str, *, result: str = "", found: Sequence[str] = (), **more: Any) -> ToolFinished:
    known: dict[str, Any] = {"ran": True, "ok": True, "raw_arguments": {}, "call": made()} | more
    return ToolFinished(fingerprint=mark, result=result or mark, found=list(found), **known)


# Circles


def circling(calls_made: str, then: str) -> Decision | None:
    """What PingPong says of the next call after these, each letter a call of its own."""
    run = tally(*[BY_HAND if mark == "!" else ended(mark) for mark in calls_made])
    return decided(PingPong(4, 5), BeforeTool(0.0, made(), then, LOOK), run)


@pytest.mark.parametrize(
    ("before", "then", "action"),
    [
        ("ab", "a", None),
        ("aba", "b", "nudge"),
        ("abab", "a", "stop"),
        ("ababa", "b", "stop"),
        ("xyaba", "b", "nudge"),
        ("aba", "c", None),
        ("abab", "c", None),
        ("abcab", "c", "nudge"),
        ("abcabc", "a", "stop"),
        ("abcab", "d", None),
        ("abcdabcd", "a", None),
        ("aabaa", "b", "nudge"),
        ("aabaab", "a", "stop"),
        ("aaa", "a", None),
        ("aaaaaaa", "a", None),
        ("", "a", None),
        ("aab", "b", None),
        ("ab!a", "b", None),
        ("aba!", "b", None),
        ("!aba", "b", "nudge"),
        ("abba", "b", None),
        ("abcb", "a", None),
    ],
)
def test_a_circle_is_seen_at_its_exact_call(before: str, then: str, action: str | None) -> None:
    found = circling(before, then)
    assert (found and found.action) == action


def test_a_circle_of_two_is_nudged_at_the_fourth_call_and_ended_at_the_fifth() -> None:
    played = play(A, B, A, B, A, say("x"), wrap_up=False)
    assert played.kinds == [*OPEN, *[*ASK, *RUN] * 3, *ASK, *LEFT, *ASK, *LEFT, *END]
    assert actions(played) == [("ping_pong", "nudge", 4), ("ping_pong", "stop", 5)]
    assert (played.result.stop_reason, played.result.tool_calls) == ("ping_pong", 3)
    assert played.results[3].startswith("GUARD: not run. Your last 4 calls go round in a circle")


def test_a_circle_of_three_is_nudged_at_the_sixth_call_and_ended_at_the_seventh() -> None:
    played = play(*[A, B, C] * 3, wrap_up=False, max_steps=None, max_tokens=None)
    assert actions(played) == [("ping_pong", "nudge", 6), ("ping_pong", "stop", 7)]
    assert (played.result.stop_reason, played.result.tool_calls) == ("ping_pong", 5)


def test_a_model_that_leaves_the_circle_goes_on() -> None:
    played = play(A, B, A, B, C, say("There."), max_tokens=None)
    assert (played.result.stop_reason, actions(played)) == ("done", [("ping_pong", "nudge", 4)])


def test_a_change_of_its_own_makes_the_circle_begin_anew() -> None:
    put = call("put", what="pen")
    played = play(A, B, A, put, B, A, B, say("There."), max_steps=None, max_tokens=None)
    assert (played.result.stop_reason, actions(played)) == ("done", [])


def test_the_same_call_again_and_again_is_no_circle_but_a_repetition() -> None:
    assert play(A, wrap_up=False).result.stop_reason == "repeated_call"


# Results without news


def read(text: str = "x", names: str = "", seen: str = "") -> Line:
    return call("read", text=text, names=names, seen=seen)


def test_the_same_result_from_other_arguments_is_no_news() -> None:
    words = [read(f"in other words {n}", names="book:7") for n in range(9)]
    played = at_the_desk(*words, wrap_up=False)
    assert actions(played) == [("no_new_information", "nudge", 3), ("no_new_information", "stop", 4)]
    assert (played.result.stop_reason, played.result.tool_calls) == ("no_new_information", 5)
    assert played.of("note")[0].purpose == "nudge"
    assert played.of("note")[0].text.startswith("GUARD: the last 3 results told you nothing new.")


@pytest.mark.parametrize(
    ("results", "stale"),
    [
        ([("7 2", ""), ("2 7", "")], 1),
        ([("7 2", ""), ("7", ""), ("2", "")], 2),
        ([("7", ""), ("7 2", "")], 0),
        ([("7", ""), ("7", ""), ("2", ""), ("7", "")], 1),
        ([("", "stock:2=0 copies"), ("", "stock:9=0 copies")], 0),
        ([("", "stock:2=0 copies"), ("", "stock:2=0 copies")], 1),
        ([("", "stock:2=0 copies"), ("", "stock:2=1 copy")], 0),
        ([("", ""), ("", "")], 1),
    ],
)
def test_news_is_what_was_read_and_not_how_it_was_worded(results: list[tuple[str, str]], stale: int) -> None:
    run = Tally()
    for number, (names, seen) in enumerate(results):
        resource, _, value = seen.partition("=")
        reads = [Fact(resource=resource, version=1, value=value)] if seen else []
        text = "0" if seen or not names else f"words {number}"
        run.add(ended(str(number), result=text, found=names.split(), reads=reads))
    assert run.progress.without_news == stale


@pytest.mark.parametrize("between", [call("fail", number=1), call("refuse", number=1), call("read", huh=1)])
def test_a_failure_is_neither_news_nor_the_lack_of_it(between: Line) -> None:
    same = [read(f"words {n}", names="book:7") for n in range(9)]
    with_failure = at_the_desk(*same[:3], between, *same[3:], wrap_up=False)
    assert actions(with_failure) == [("no_new_information", "nudge", 3), ("no_new_information", "stop", 4)]
    assert with_failure.result.tool_calls == 5 + with_failure.of("tool_finished")[3].ran


def test_a_call_that_a_guard_left_is_not_counted_as_a_result_without_news() -> None:
    once, again = read("a", names="book:1"), read("b", names="book:1")
    played = at_the_desk(once, again, once, once, read("c", names="book:1"), DONE)
    assert [each.not_run for each in played.of("tool_finished")] == [None, None, None, "guard", None]
    assert actions(played) == [("repeated_call", "nudge", 3), ("no_new_information", "nudge", 3)]


@pytest.mark.parametrize("change", [ended("w", side_effecting=True), BY_HAND])
def test_any_change_of_the_shop_makes_old_news_new(change: AnyEvent) -> None:
    run = tally(*[ended(str(n), found=["book:7"]) for n in range(3)])
    assert run.progress.without_news == 2
    run.add(change)
    assert run.progress.without_news == 0
    run.add(ended("again", found=["book:7"]))
    assert run.progress.without_news == 0


def test_a_nudge_comes_after_all_results_of_the_batch_and_is_said_once() -> None:
    batch = calls(*[("read", {"text": f"words {n}", "names": "book:7"}) for n in range(5)])
    played = at_the_desk(read("first", names="book:7"), batch, say("There."), no_news_stop_at=None)
    assert_paired(played)
    roles = [message["role"] for message in played.model.requests[-1][0]]
    said = [message["content"] for message in played.model.requests[-1][0] if message["role"] == "user"]
    assert roles == ["system", "user", "assistant", "tool", "assistant", *["tool"] * 5, *["user"] * 3]
    assert [words[:35] for words in said[1:]] == [
        f"GUARD: the last {n} results told you not"[:35] for n in (3, 4, 5)
    ]


# Failures in a row


def outcome_of(*lines: Line, **limits: Any) -> tuple[str, int, int]:
    """The stop reason, the steps, and the calls that ran."""
    played = at_the_desk(*lines, wrap_up=False, **limits)
    return played.result.stop_reason, played.result.steps, played.result.tool_calls


def fails(count: int) -> list[Line]:
    return [call("fail", number=number) for number in range(count)]


def refusals(count: int) -> list[Line]:
    return [call("refuse", number=number) for number in range(count)]


def unknown(count: int) -> list[Line]:
    return [call("buy_now", number=number) for number in range(count)]


def bad(count: int) -> list[Line]:
    return [call("read", text=number, names="x" * number) for number in range(count)]


@pytest.mark.parametrize(
    ("lines", "end"),
    [
        ([*fails(1), DONE], ("done", 2, 1)),
        ([*fails(9)], ("error_streak", 2, 2)),
        ([*fails(1), read("a"), *fails(9)], ("error_streak", 4, 4)),
        ([*fails(1), read("a"), *fails(1), DONE], ("done", 4, 3)),
        ([*fails(1), *refusals(1), *fails(1), DONE], ("done", 4, 3)),
        ([*refusals(2), DONE], ("done", 3, 2)),
        ([*refusals(9)], ("error_streak", 3, 3)),
        ([*unknown(2), DONE], ("done", 3, 0)),
        ([*unknown(9)], ("error_streak", 3, 0)),
        ([*unknown(2), read("a"), *unknown(2), DONE], ("done", 6, 1)),
        ([call("read", huh=1), call("buy_now"), *refusals(1), DONE], ("error_streak", 3, 1)),
        ([*fails(1), call("buy_now"), DONE], ("done", 3, 1)),
        ([*fails(1), call("buy_now"), *fails(2)[1:], DONE], ("error_streak", 3, 2)),
    ],
)
def test_failures_in_a_row_are_counted_exactly(lines: list[Line], end: tuple[str, int, int]) -> None:
    assert outcome_of(*lines, error_streak=2) == end


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_calls_that_cannot_run_are_allowed_one_more(limit: int) -> None:
    assert outcome_of(*fails(9), error_streak=limit) == ("error_streak", limit, limit)
    assert outcome_of(*unknown(9), error_streak=limit) == ("error_streak", limit + 1, 0)
    assert outcome_of(*refusals(9), error_streak=limit) == ("error_streak", limit + 1, limit + 1)


def test_a_streak_ends_the_run_in_the_middle_of_a_batch_and_the_rest_has_its_results() -> None:
    batch = calls(*[("fail", {"number": number}) for number in range(5)])
    played = at_the_desk(batch, say("So far."), error_streak=2)
    assert [each.not_run for each in played.of("tool_finished")] == [None, None, *["run_ended"] * 3]
    assert played.result.stop_reason == "error_streak"
    assert_paired(played)


# The same write again


def written(*lines: Line, shelf: Shelf | None = None, **more: Any) -> tuple[Played, Shelf]:
    shelf = shelf or Shelf()
    return play(*lines, toolbox=shelf.tools(), **more), shelf


PUT = call("put", what="pen", count=2)


# A hint is read before it counts


def test_a_hint_in_the_middle_of_a_reply_ends_no_run_before_the_model_has_read_it() -> None:
    same = calls(*[("look", {"what": "a"})] * 5)
    heard = play(same, DONE)
    assert [(each.action, each.value) for each in heard.of("guard_decision")] == [
        ("nudge", 3), ("nudge", 4), ("nudge", 5),
    ]  # fmt: skip
    assert (heard.result.stop_reason, heard.result.tool_calls) == ("done", 2)
    deaf = play(same, call("look", what="a"), say("So far."))
    assert deaf.result.stop_reason == "repeated_call"


def test_results_without_news_in_one_reply_are_told_before_they_end_a_run() -> None:
    batch = calls(*[("read", {"text": f"words {n}", "names": "book:7"}) for n in range(6)])
    heard = at_the_desk(read("first", names="book:7"), batch, DONE)
    assert (heard.result.stop_reason, heard.result.tool_calls) == ("done", 7)
    deaf = at_the_desk(read("first", names="book:7"), batch, read("again", names="book:7"), DONE)
    assert deaf.result.stop_reason == "no_new_information"


def test_the_same_write_is_answered_with_the_result_of_then() -> None:
    played, shelf = written(PUT, PUT, DONE)
    first, second = played.of("tool_finished")
    assert (first.ran, second.ran, second.ok, second.not_run) == (True, False, True, "guard")
    assert second.result.startswith(f"{first.result}\nGUARD: done already")
    assert (shelf.things["pen"], played.result.tool_calls) == (2, 1)
    assert actions(played) == [("replay_writes", "replay", 1)]
    assert played.kinds == [*OPEN, *ASK, *RUN, *ASK, *LEFT, *ASK, *END]


def test_two_same_writes_in_one_batch_are_one() -> None:
    played, shelf = written(calls(("put", {"what": "pen"}), ("put", {"what": " PEN "})), DONE)
    assert (shelf.things["pen"], played.result.tool_calls) == (1, 1)
    assert_paired(played)


def test_another_quantity_is_another_write() -> None:
    played, shelf = written(PUT, call("put", what="pen", count=3), DONE)
    assert (shelf.things["pen"], actions(played)) == (5, [])


def test_with_replay_off_a_doubled_write_is_doubled() -> None:
    _, shelf = written(PUT, PUT, DONE, replay_writes=False)
    assert shelf.things["pen"] == 4


def test_one_more_in_a_later_message_is_one_more() -> None:
    played, shelf = written(PUT, DONE)
    written(PUT, DONE, shelf=shelf, conversation=played.conversation, text="And once more.")
    assert shelf.things["pen"] == 4


def test_a_run_that_goes_on_from_a_stopped_one_does_nothing_again_over_the_whole_chain() -> None:
    shelf, conversation = Shelf(), Conversation()
    kept = Limits(max_steps=1, wrap_up=False)
    continues = None
    for number, line in enumerate([PUT, call("look"), PUT, PUT]):
        agent = Agent(ScriptedModel("t", [line]), shelf.tools(), "Be brief.", kept)
        result = agent.run(conversation, "Go on.", continues=continues)
        assert result.stop_reason == "max_steps"
        assert result.steps == 1
        continues = result.run_id
        assert shelf.things["pen"] == 2, number
    assert [event.guard for event in result.trace if event.kind == "guard_decision"] == [
        "replay_writes",
        "max_steps",
    ]


def test_a_write_that_failed_is_not_stored_and_a_real_retry_runs() -> None:
    tries: list[int] = []

    def put(key: str, what: str) -> ToolOutcome:
        tries.append(1)
        if len(tries) == 1:
            raise ToolError("the warehouse timed out")
        return ToolOutcome(result="there", changes=[])

    toolbox = FunctionTools(Tool.of(put, side_effecting=True))
    played = play(call("put", what="pen"), call("put", what="pen"), call("put", what="pen"), DONE, toolbox=toolbox)
    assert [each.ran for each in played.of("tool_finished")] == [True, True, False]
    assert len(tries) == 2


def test_a_write_that_was_cut_off_is_tried_again_under_its_own_key() -> None:
    keys: list[str] = []

    def put(key: str, what: str) -> ToolOutcome:
        keys.append(key)
        if len(keys) == 1:
            raise TimeoutError
        return ToolOutcome(result="there")

    toolbox = FunctionTools(Tool.of(put, side_effecting=True))
    played = play(call("put", what="pen"), call("put", what="pen"), DONE, toolbox=toolbox)
    assert [each.doubtful for each in played.of("tool_finished")] == [True, False]
    assert len(keys) == 2
    assert len(set(keys)) == 1


# Putting policies in the list


def test_a_new_policy_is_one_function_and_one_entry() -> None:
    def no_pens(moment: Moment, run: Tally) -> Decision | None:
        pens = isinstance(moment, BeforeTool) and moment.call.arguments.get("what") == "pen"
        return Decision("no_pens", "nudge", 1, 0, "Not run: no pens on Sundays.") if pens else None

    shelf = Shelf()
    agent = Agent(
        ScriptedModel("t", [PUT, call("put", what="ink"), DONE]),
        shelf.tools(),
        "x",
        extra_guards=[no_pens],
    )
    result = agent.run(Conversation(), "Hello")
    assert (result.stop_reason, dict(shelf.things)) == ("done", {"ink": 1})
    refused = [event for event in result.trace if event.kind == "guard_decision"]
    assert [(event.guard, event.action) for event in refused] == [("no_pens", "nudge")]


@pytest.mark.parametrize("guard", [PingPong(4, 5), NoNews(3, 4), ErrorStreak(2)])
def test_the_guards_of_stuck_runs_are_silent_at_every_moment_but_their_own(guard: Guard) -> None:
    run = tally(*[ended(mark, ok=False) for mark in "ababab"], *[ended(mark, found=["x"]) for mark in "ababab"])
    before, after = BeforeTool(0, made(), "a", LOOK), AfterTool(0, ended("b"))
    assert guard(before if isinstance(guard, PingPong) else after, run) is not None
    assert guard(after if isinstance(guard, PingPong) else before, run) is None
