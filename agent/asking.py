"""One model call: the request with all messages, the deltas as they come, the reply."""

from contextlib import closing
from dataclasses import replace

from agent.context import room_for_answer, was_cut
from agent.corrections import tokens_of
from agent.reading import read_reply
from agent.text import clean_json
from agent.trace import ModelReply, ModelRequest
from agent.turn import Turn, Yields


def ask(turn: Turn) -> Yields[ModelReply]:
    """Send the conversation and read one reply; whatever it builds on is kept for good before it is sent.

    Raises Cancelled when a person stops the run; a failure of the model is a reply with ``error`` set.
    """
    history, estimate = turn.conversation.history, turn.estimate()
    request = turn.write(
        ModelRequest,
        step=0 if turn.wrapping_up else turn.step + 1,
        new_messages=history.unsent(),
        digest=history.next_digest(),
        estimated_input_tokens=estimate.total,
        resent_tokens=estimate.resent,
        new_tokens=estimate.new,
        calibrated=estimate.calibrated,
        wrap_up=turn.wrapping_up,
        prefix_kept=not history.rewritten,
        elapsed_ms=round(turn.elapsed * 1000, 1),
    )
    turn.conversation.commit()
    yield request
    reply = yield from _read(turn, request)
    turn.heed_cancel()
    return reply


def _read(turn: Turn, request: ModelRequest) -> Yields[ModelReply]:
    schemas = [] if turn.wrapping_up else turn.schemas
    messages = turn.conversation.history.messages()
    options = replace(turn.options, num_predict=_room(turn, request))
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
    reply = _looked_at(turn, request, read_reply(cleaned, {} if turn.wrapping_up else turn.tools))
    place = f"{turn.run.turn}.{turn.step or 'w'}"
    calls = [
        call.model_copy(update={"id": f"call_{place}.{number}"})
        for number, call in enumerate(reply.tool_calls, start=1)
    ]
    return reply.model_copy(update={"tool_calls": calls})


def _looked_at(turn: Turn, request: ModelRequest, reply: ModelReply) -> ModelReply:
    """Add what the counts tell: that the server cut the prompt, or the limit of tokens the answer."""
    last, warnings = turn.run.last_reply, list(reply.warnings)
    before = last.usage.input_tokens if last and not turn.wrapping_up else None
    cut = was_cut(request, reply.usage.input_tokens, before, turn.options.num_ctx)
    if cut:
        warnings.append(
            f"The server cut the prompt: it read {reply.usage.input_tokens:,} tokens of about "
            f"{request.estimated_input_tokens:,}."
        )
    reply = reply.model_copy(update={"allowed_output_tokens": _room(turn, request)})
    if reply.done_reason == "length":
        warnings.append(f"The reply was cut off at the limit of output tokens: {tokens_of(reply)}.")
    trusted = turn.conversation.meter.calibrated
    return reply.model_copy(update={"warnings": warnings, "prompt_cut": cut and trusted})


def _room(turn: Turn, request: ModelRequest) -> int:
    return room_for_answer(request.estimated_input_tokens, turn.options.num_ctx, turn.options.num_predict)
