"""One model call: the request with all messages, the deltas as they come, the reply; and trying again."""

import random
from contextlib import closing

from agent.guards.before_answer import tokens_of
from agent.guards.context import room_for_answer, was_cut
from agent.guards.guard import Stop
from agent.loop.reply_repair import read_reply
from agent.loop.turn import Turn, Yields
from agent.text import clean_json
from agent.trace import ModelFault, ModelReply, ModelRequest

MOST_RETRIES = {"never": 0, "changed": 1, "later": 2}
PAUSES = (1.0, 3.0)
"""Seconds before the first and the second try of a busy server, give or take a third."""


def ask(turn: Turn) -> Yields[ModelReply]:
    """Send the conversation and read one reply; whatever it builds on is kept for good before it is sent.

    Raises Cancelled when a person stops the run; a failure of the model is a reply with ``error`` set.
    """
    request = turn.add(_request(turn))
    turn.conversation.commit()
    yield request
    reply = yield from _read(turn, request)
    turn.heed_cancel()
    return reply


def try_again(turn: Turn, fault: ModelFault) -> None:
    """Wait where the next try needs it; raises Stop where there is none, or Cancelled when a person wants no more.

    What the next request does otherwise is folded from the trace: ``Tally.options``.
    """
    failures = turn.run.failures
    if failures > MOST_RETRIES[fault.retry]:
        raise Stop(fault.stop_reason, fault.message)
    if fault.retry == "later":
        turn.rest(PAUSES[failures - 1] * random.uniform(0.7, 1.3))


def _request(turn: Turn) -> ModelRequest:
    history, estimate, wrap_up = turn.conversation.history, turn.estimate(), turn.run.wrapping_up
    options = turn.run.options(turn.usual)
    room = room_for_answer(estimate.total, options.num_ctx, options.num_predict)
    return ModelRequest(
        step=0 if wrap_up else turn.step + 1,
        new_messages=history.unsent(),
        digest=history.next_digest(),
        options=options.model_copy(update={"num_predict": room}),
        with_tools=not wrap_up,
        estimated_input_tokens=estimate.total,
        resent_tokens=estimate.resent,
        new_tokens=estimate.new,
        calibrated=estimate.calibrated,
        wrap_up=wrap_up,
        prefix_kept=not history.rewritten,
        elapsed_ms=round(turn.elapsed * 1000, 1),
    )


def _read(turn: Turn, request: ModelRequest) -> Yields[ModelReply]:
    schemas = turn.schemas if request.with_tools else []
    messages, options = turn.conversation.history.messages(), request.options or turn.usual
    stream = turn.model.stream(messages, schemas, options, turn.deadline)
    with closing(stream), turn.cancel.ending(stream.close):
        for item in stream:
            if item.kind != "model_reply":
                yield item
                continue
            reply = turn.add(_as_ours(turn, request, item))
            yield reply
            return reply
    raise RuntimeError("a model must end its stream with a reply")


def _as_ours(turn: Turn, request: ModelRequest, raw: ModelReply) -> ModelReply:
    """Make a reply fit to be kept: cleaned, read for what it means, its calls under ids of our own."""
    cleaned = ModelReply.model_validate(clean_json(raw.model_dump(exclude={"at"})) | {"step": turn.step})
    reply = _looked_at(turn, request, read_reply(cleaned, turn.tools if request.with_tools else {}))
    place = f"{turn.run.turn}.{turn.step or 'w'}"
    calls = [
        call.model_copy(update={"id": f"call_{place}.{number}"})
        for number, call in enumerate(reply.tool_calls, start=1)
    ]
    return reply.model_copy(update={"tool_calls": calls})


def _looked_at(turn: Turn, request: ModelRequest, reply: ModelReply) -> ModelReply:
    """Add what the counts tell: that the server cut the prompt, or the limit of tokens the answer."""
    last, warnings, options = turn.run.last_reply, list(reply.warnings), request.options or turn.usual
    before = last.usage.input_tokens if last and not request.wrap_up else None
    cut = was_cut(request, reply.usage.input_tokens, before, options.num_ctx)
    if cut:
        warnings.append(
            f"The server cut the prompt: it read {reply.usage.input_tokens:,} tokens of about "
            f"{request.estimated_input_tokens:,}."
        )
    reply = reply.model_copy(update={"allowed_output_tokens": options.num_predict})
    if reply.done_reason == "length":
        warnings.append(f"The reply was cut off at the limit of output tokens: {tokens_of(reply)}.")
    trusted = turn.conversation.meter.calibrated
    return reply.model_copy(update={"warnings": warnings, "prompt_cut": cut and trusted})
