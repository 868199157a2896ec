"""The client's chat call, extended: asks the server not to cut the prompt silently, and reads within bounds."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any

from ollama import AsyncClient, ResponseError

LONGEST_LINE = 4_000_000
LONGEST_REPLY = 32_000_000
"""Bytes; a reply of a model is thousands of times smaller."""


class TooLong(ValueError):
    """The server sent more than any answer can have."""


async def chat(client: AsyncClient, body: Mapping[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
    """Stream one reply, an object a line.

    Raises ollama.ResponseError for what the server refuses, before or in mid-answer, and ValueError for lines
    that are no objects. The package's own ``chat()`` can send neither ``truncate`` nor ``shift``.
    """
    whole = {**body, "stream": True, "truncate": False, "shift": False}
    async with client._client.stream("POST", "/api/chat", json=whole) as response:
        if response.is_error:
            words = (await response.aread())[:LONGEST_LINE].decode("utf-8", "replace")
            raise ResponseError(words, response.status_code)
        async with aclosing(_lines(response.aiter_bytes())) as lines:
            async for line in lines:
                yield _part(line)


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Cut at line feeds alone: the package also cuts at U+0085, which servers send inside texts."""
    rest, read = b"", 0
    async for chunk in chunks:
        read += len(chunk)
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > LONGEST_LINE or read > LONGEST_REPLY:
            raise TooLong
        for line in lines:
            yield line
    if rest:
        yield rest


def _part(line: bytes) -> dict[str, Any]:
    part = json.loads(line)
    if not isinstance(part, dict):
        raise TypeError("a line that is no object")
    if "error" in part:
        error = part["error"]
        raise ResponseError(error if isinstance(error, str) else json.dumps(error))
    return part
