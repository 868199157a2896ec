"""What goes over the wire: the bodies of requests in Ollama's shape, and answers read within bounds."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent.models.ollama.network import Connection
from agent.models.ollama.refusals import Refused, TooLong
from agent.models.protocol import Message
from agent.trace import ModelOptions

CHAT = "/api/chat"
LONGEST_LINE = 4_000_000
LONGEST_REPLY = 12_000_000
LONGEST_ERROR = 64_000
"""Bytes; a reply of a model is thousands of times smaller."""
MOST_LINES = 200_000
"""Of one reply: a line is a token, and a run asks for a few thousand."""

SENT_OPTIONS = ("num_ctx", "num_predict", "temperature", "seed")
"""Those of ModelOptions that Ollama takes under ``options``."""

_NO_DATA = (":", "event:", "id:", "retry:", "[DONE]")
"""How lines of server-sent events begin that hold no part of an answer."""
_JSON = json.JSONDecoder(parse_constant=lambda _: None)
"""Reads NaN and Infinity, which are no JSON, as unknown."""


def body_of(
    model: str, messages: Sequence[Message], tools: Sequence[dict[str, Any]], options: ModelOptions
) -> dict[str, Any]:
    """The body of a request for a reply, as it is sent; all of it follows from what it is given."""
    asked: dict[str, Any] = {"messages": [_as_theirs(message) for message in messages], "tools": list(tools)}
    if options.think is not None:
        asked["think"] = options.think
    return _body(model, options, asked)


def body_to_load(model: str, options: ModelOptions) -> dict[str, Any]:
    """The body of a request that only loads the model."""
    return _body(model, options, {"messages": []})


def encoded(body: Mapping[str, Any]) -> bytes:
    """A body as bytes; raises ValueError for what JSON cannot say."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def stream(
    connection: Connection, path: str, body: Mapping[str, Any], until: float
) -> Iterator[dict[str, Any] | None]:
    """Ask a server, and read what it answers: an object a line, and None where nothing more is at hand.

    After a None the reader has to ``wait`` on the connection. Raises Refused for what the server refuses, before
    or in mid-answer, TooLong, ValueError or TypeError for lines that are no objects, and what the connection
    raises.
    """
    connection.send("POST", path, encoded(body), until)
    for line in _lines(_granted(connection)):
        if line is None:
            yield None
        elif part := _part(line):
            yield part


def ask(connection: Connection, path: str, until: float, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What a server tells in one object, asked by POST where there is a body; raises what ``stream`` raises."""
    connection.send(*(("GET", path, b"") if body is None else ("POST", path, encoded(body))), until)
    whole = bytearray()
    for piece in _granted(connection):
        if piece is None:
            connection.wait(until)
            continue
        whole += piece
        if len(whole) > LONGEST_REPLY:
            raise TooLong
    told = json.loads(whole)
    if not isinstance(told, dict):
        raise TypeError("an answer that is no object")
    return told


def _body(model: str, options: ModelOptions, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The same frame for every request, as a change of options makes the server load the model anew.

    The last two switches ask the server not to cut the prompt silently.
    """
    sent = {name: getattr(options, name) for name in SENT_OPTIONS}
    begun = {"model": model, "options": sent, "keep_alive": options.keep_alive}
    return {**begun, **asked, "truncate": False, "shift": False, "stream": True}


def _as_theirs(message: Message) -> dict[str, Any]:
    theirs: dict[str, Any] = {**message}
    if calls := message.get("tool_calls"):
        theirs["tool_calls"] = [
            {"id": call["id"], "function": {"name": call["name"], "arguments": call["arguments"]}}
            for call in calls
        ]
    return theirs


def _granted(connection: Connection) -> Iterator[bytes | None]:
    """The answer as it comes, unless it is a refusal: of that, as much as anyone could want to read is raised."""
    said = b""
    for piece in connection.answer():
        if piece is None or _is_answer(connection):
            yield piece
            continue
        said += piece[:LONGEST_ERROR]
        if len(said) >= LONGEST_ERROR:
            break
    if not _is_answer(connection):
        raise Refused(said.decode("utf-8", "replace"), connection.status)


def _is_answer(connection: Connection) -> bool:
    return connection.status // 100 == 2 and not connection.is_page


def _lines(pieces: Iterator[bytes | None]) -> Iterator[bytes | None]:
    """Cut at line feeds alone: str.splitlines also cuts at U+0085, which servers send inside texts."""
    line, read, lines = bytearray(), 0, 0
    for piece in pieces:
        if piece is None:
            yield None
            continue
        read += len(piece)
        rest, *further = piece.split(b"\n")
        line += rest
        lines += len(further)
        if len(line) > LONGEST_LINE or read > LONGEST_REPLY or lines > MOST_LINES:
            raise TooLong
        for begun in further:
            yield bytes(line)
            line = bytearray(begun)
    if line:
        yield bytes(line)


def _part(line: bytes) -> dict[str, Any] | None:
    """What a line holds; nothing where it only keeps the connection alive, as blank lines do."""
    text = line.decode("utf-8", "replace").strip()
    if text.startswith("data:"):  # some proxies make server-sent events of the lines
        text = text[5:].lstrip()
    if not text or text.startswith(_NO_DATA):
        return None
    part = _JSON.decode(text)
    if not isinstance(part, dict):
        raise TypeError("a line that is no object")
    if "error" in part:
        raise Refused(part)
    return part
