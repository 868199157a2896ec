"""The network of the Ollama client: one event loop in a thread of its own, one client per server."""

import asyncio
import ipaddress
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

import httpx
from ollama import AsyncClient
from ollama._client import _parse_host

T = TypeVar("T")

TIMEOUT = httpx.Timeout(None, connect=3.0)
"""Seconds; a model may be silent for minutes while it loads, so only connecting is timed here."""

LIMITS = httpx.Limits(max_connections=None)
"""No cap: a request cancelled in the instant of connecting keeps its place in the pool (httpcore 1.0) for ever."""


class BadAddress(ValueError):
    """OLLAMA_HOST is no address a server can be reached at."""


class Network:
    """An event loop for all requests to model servers; its clients keep their connections alive."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._clients: dict[str, AsyncClient] = {}
        threading.Thread(target=self._loop.run_forever, name="ollama", daemon=True).start()

    def start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run work on the loop, from any other thread; cancelling the future closes its connection at once."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def client(self, host: str | None) -> AsyncClient:
        """The client of one server, OLLAMA_HOST's by default, made once; only for use on the loop.

        Raises BadAddress.
        """
        address = host or os.environ.get("OLLAMA_HOST") or ""
        if address not in self._clients:
            self._clients[address] = _new_client(address)
        return self._clients[address]


_network: Network | None = None
_starting = threading.Lock()


def network() -> Network:
    """The network of this process, started at the first call."""
    global _network
    with _starting:
        _network = _network or Network()
    return _network


def _new_client(address: str) -> AsyncClient:
    try:
        url = httpx.URL(_parse_host(address))
        return AsyncClient(address, timeout=TIMEOUT, limits=LIMITS, trust_env=not _is_here(url.host))
    except (ValueError, httpx.InvalidURL) as error:
        raise BadAddress(address) from error


def _is_here(host: str) -> bool:
    """Whether the server is on this machine: httpx would send even 127.0.0.1 through HTTP_PROXY."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    return address.is_loopback or address.is_unspecified
