"""One model call: the request with all messages, the deltas as they come, the reply."""

from contextlib import closing

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
        wrap_up=turn.wrapping_up,
        elapsed_ms=round(turn.elapsed * 1000, 1),
    )
    turn.conversation.commit()
    yield request
    reply = yield from _read(turn)
    turn.heed_cancel()
    return reply


def _read(turn: Turn) -> Yields[ModelReply]:
    schemas = [] if turn.wrapping_up else turn.schemas
    messages = turn.conversation.history.messages()
    stream = turn.model.stream(messages, schemas, turn.options, turn.deadline)
    with closing(stream), turn.cancel.ending(stream.close):
        for item in stream:
            if item.kind != "model_reply":
                yield item
                continue
            reply = turn.add(_as_ours(turn, item))
            yield reply
            return reply
    raise RuntimeError("a model must end its stream with a reply")


def _as_ours(turn: Turn, reply: ModelReply) -> ModelReply:
    """Make a reply fit to be kept: its texts cleaned, stamped with its step, its calls under ids of our own."""
    said = clean_json(reply.model_dump(exclude={"at"}))
    place = f"{turn.run.turn}.{turn.step or 'w'}"
    for number, call in enumerate(said["tool_calls"], start=1):
        call["id"] = f"call_{place}.{number}"
    return ModelReply.model_validate(said | {"step": turn.step})
