"""Lines to Ollama servers: an event loop and a client, used by one thread at a time and kept for the next."""

import asyncio
import atexit
import functools
import ipaddress
import os
import ssl
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import httpx
from ollama import AsyncClient
from ollama._client import _parse_host

T = TypeVar("T")

TIMEOUT = httpx.Timeout(None, connect=3.0)
"""Seconds; a model may be silent for minutes while it loads, so only connecting is timed here."""

PLAIN = {"Accept-Encoding": "identity"}
"""Nothing packed, so that what is read is what was counted."""

LIMITS = httpx.Limits(max_connections=None)
"""No cap: a request cancelled in the instant of connecting keeps its place in the pool (httpcore 1.0) for ever."""


NESTED = 20
"""Rounds of the loop; httpx and httpcore nest five generators."""


class BadAddress(ValueError):
    """OLLAMA_HOST is no address a server can be reached at."""


class Line:
    """A line to one server. Its loop runs in the thread that uses the line, so nothing is handed between threads;
    another thread can still end what goes on, with ``loop.call_soon_threadsafe``.
    """

    def __init__(self, address: str) -> None:
        self.client = _new_client(address)
        self.loop = asyncio.new_event_loop()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run work to its end; not from within an event loop."""
        return self.loop.run_until_complete(work)

    def hang_up(self) -> None:
        """Close the connections and the loop, once all that was begun in it has ended."""
        self.run(self._finish())
        self.loop.close()

    async def _finish(self) -> None:
        await self.client._client.aclose()
        # Of an answer that was left in its middle, httpx's generators are closed by tasks, each begun by the last.
        for _ in range(NESTED):
            await asyncio.sleep(0)


class Switchboard:
    """The lines of this process that nobody uses; their connections stay open for the next request."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: dict[str, list[Line]] = {}

    @contextmanager
    def line(self, host: str | None) -> Iterator[Line]:
        """Hold a line to a server, OLLAMA_HOST's by default; raises BadAddress."""
        address = host or os.environ.get("OLLAMA_HOST") or ""
        with self._lock:
            idle = self._idle.setdefault(address, [])
            line = idle.pop() if idle else None
        line = line or Line(address)
        try:
            yield line
        finally:
            with self._lock:
                self._idle[address].append(line)

    def close(self) -> None:
        """Hang up all idle lines."""
        with self._lock:
            lines = [line for idle in self._idle.values() for line in idle]
            self._idle.clear()
        for line in lines:
            line.hang_up()


@functools.cache
def switchboard() -> Switchboard:
    """The switchboard of this process, made at the first call and closed at the end."""
    board = Switchboard()
    atexit.register(board.close)
    return board


@functools.cache
def _trust() -> ssl.SSLContext:
    """Whom to trust with https; made once, as that takes 20 ms."""
    return httpx.create_ssl_context()


def _new_client(address: str) -> AsyncClient:
    try:
        url = httpx.URL(_parse_host(address))
        return AsyncClient(
            address,
            timeout=TIMEOUT,
            limits=LIMITS,
            headers=PLAIN,
            verify=_trust(),
            trust_env=not _is_here(url.host),
        )
    except (ValueError, httpx.InvalidURL) as error:
        raise BadAddress(address) from error


def _is_here(host: str) -> bool:
    """Whether the server is on this machine: httpx would send even 127.0.0.1 through HTTP_PROXY."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    return address.is_loopback or address.is_unspecified
