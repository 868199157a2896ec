"""The loop: ask the model, run the calls it makes, until it answers or a guard says stop."""

from contextlib import suppress

from agent.cancel import Cancelled
from agent.guards.before_answer import why_unusable
from agent.guards.guard import BeforeAnswer, BeforeModel, Paused, Stop
from agent.loop.changes import hear_changes, hear_late_effects, hear_news
from agent.loop.model_call import ask, try_again
from agent.loop.tool_call import act_on, leave_open_calls
from agent.loop.turn import Turn, Yields
from agent.trace import Note
from agent.trace.stop_reasons import STOPS
from agent.views.answers import wrap_up_request, wrapped_up


def to_an_end(turn: Turn) -> Yields[None]:
    """Take the steps, and end the run in words where they end early, unless it waits for a person."""
    try:
        yield from steps(turn)
    except Paused:
        return
    except Stop as stop:
        if turn.run.sent_back:  # an answer that can be corrected is better than none
            yield from turn.finish_by_model("done", turn.run.sent_back)
        else:
            yield from end_early(turn, stop)
    except Cancelled:
        yield from end_early(turn, Stop("cancelled", "you stopped it"))


def steps(turn: Turn) -> Yields[None]:
    """Ask, act, repeat, until the model answers; raises Stop where a guard or the model ends the run."""
    yield from act_on(turn, list(turn.run.open_calls.values()))  # of a run that waited for a person
    while True:
        turn.heed_cancel()
        yield from hear_news(turn)
        yield from turn.consult(BeforeModel(turn.elapsed, turn.estimate()))
        reply = yield from ask(turn)
        if reply.error:
            try_again(turn, reply.error)
            continue
        if reply.incomplete:
            raise Stop("model_error", "the model's reply broke off")
        if reply.tool_calls:
            yield from act_on(turn, reply.tool_calls)
            continue
        if turn.freshness.correct:
            yield from hear_changes(turn)  # what changed while the model wrote counts, too
        overtaken = tuple(turn.conversation.knowledge.overtaken())
        objection = yield from turn.consult(BeforeAnswer(turn.elapsed, reply, tuple(turn.tools), overtaken))
        if objection:
            yield turn.add(Note(step=turn.step, purpose="corrective", text=objection.reason))
        elif reply.text.strip():
            yield from turn.finish_by_model("done", reply.text)
            return
        else:
            raise Stop("empty_answer", f"the model gave no answer: {why_unusable(reply)}")


def end_early(turn: Turn, stop: Stop) -> Yields[None]:
    """Answer the open calls, let the model wrap up without tools where that is due, and finish with words."""
    yield from leave_open_calls(turn, stop.why)
    if STOPS[stop.reason].wraps_up and turn.limits.wrap_up:
        yield turn.add(Note(purpose="wrap_up", text=wrap_up_request(stop.why)))
        with suppress(Cancelled):
            reply = yield from ask(turn)
            yield from leave_open_calls(turn, "tools are no longer available")
            if reply.text.strip() and not (reply.tool_calls or reply.error or reply.incomplete):
                yield from hear_late_effects(turn)
                yield from turn.finish_by_model(stop.reason, wrapped_up(turn.conversation, reply.text))
                return
    yield from hear_late_effects(turn)
    yield turn.finish_by_program(stop)


def break_off(turn: Turn, stop: Stop) -> None:
    """Close the record of a run that nobody drives any more."""
    if turn.run.finished:
        return
    for _ in leave_open_calls(turn, stop.why):
        pass
    turn.finish_by_program(stop)
