"""The client's chat call, extended: asks the server not to cut the prompt silently, and reads within bounds."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any

import httpx
from ollama import AsyncClient

from agent.models import ModelOptions
from agent.models.ollama_errors import Refused, TooLong

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


def asking(model: str, options: ModelOptions) -> dict[str, Any]:
    """What every request says of the model, always the same: a change of options makes the server load it anew."""
    sent = {name: getattr(options, name) for name in SENT_OPTIONS}
    return {"model": model, "options": sent, "keep_alive": options.keep_alive}


def chat(client: AsyncClient, body: Mapping[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
    """Stream one reply, an object a line.

    Raises Refused for what the server refuses, before or in mid-answer, TooLong, and ValueError for lines that are
    no objects. The package's own ``chat()`` can send neither ``truncate`` nor ``shift``.
    """
    return post(client, "/api/chat", {**body, "truncate": False, "shift": False})


async def post(client: AsyncClient, path: str, body: Mapping[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
    """Stream what a server answers to a request, an object a line; raises what ``chat`` raises."""
    whole = {**body, "stream": True}
    # Raw, as httpx would unpack a thousandfold what a proxy packed unasked.
    async with (
        client._client.stream("POST", path, json=whole) as response,
        aclosing(response.aiter_raw()) as chunks,
    ):
        if not response.is_success or "html" in response.headers.get("content-type", ""):
            raise Refused(await _beginning(chunks), response.status_code)
        async with aclosing(_lines(chunks)) as lines:
            async for line in lines:
                if part := _part(line):
                    yield part


async def get(client: AsyncClient, path: str) -> dict[str, Any]:
    """What a server tells in one object; raises what ``post`` raises."""
    response = await client._client.get(path)
    return _told(response)


async def ask_for(client: AsyncClient, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """What a server tells in one object when asked about something; raises what ``post`` raises."""
    return _told(await client._client.post(path, json=body))


def _told(response: httpx.Response) -> dict[str, Any]:
    if not response.is_success:
        raise Refused(response.text[:LONGEST_ERROR], response.status_code)
    told = response.json()
    if not isinstance(told, dict):
        raise TypeError("an answer that is no object")
    return told


async def _beginning(chunks: AsyncIterator[bytes]) -> str:
    """As much of an error as anyone could want to read."""
    read = b""
    async for chunk in chunks:
        read += chunk[:LONGEST_ERROR]
        if len(read) >= LONGEST_ERROR:
            break
    return read.decode("utf-8", "replace")


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Cut at line feeds alone: the package also cuts at U+0085, which servers send inside texts."""
    line, read, lines = bytearray(), 0, 0
    async for chunk in chunks:
        read += len(chunk)
        rest, *further = chunk.split(b"\n")
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


_JSON = json.JSONDecoder(parse_constant=lambda _: None)
"""Reads NaN and Infinity, which are no JSON, as unknown."""
