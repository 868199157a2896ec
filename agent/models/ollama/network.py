"""Blocking connections to servers: kept for the next request, and shut from any thread at any moment.

They speak HTTP by h11, which does no reading of its own: so who reads is told when nothing more is at hand, and
decides how long to wait. An asynchronous client can be broken off as well, but takes seven times as long.
"""

import base64
import functools
import ipaddress
import math
import os
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import h11

from agent.cancel import Cancel, Cancelled, Runner
from agent.models.ollama.refusals import BadAddress, BrokeOff, ProxyRefused, Unreachable

CONNECT_SECONDS = 3.0
"""A model may be silent for minutes while it loads, but a server takes a connection at once."""
PIECE_BYTES = 65_536
OLLAMA_PORT = 11_434
PORTS = {"http": 80, "https": 443}


class Address(NamedTuple):
    """Where a server, or a proxy, is; ``path`` comes before the paths of its interface."""

    scheme: str
    host: str
    port: int
    path: str = ""
    login: str = ""
    """Name and password, of a proxy."""

    @classmethod
    def read(cls, text: str, port: int = OLLAMA_PORT) -> "Address":
        """Read an address as Ollama's own client does: ``port`` is for one without a scheme; raises BadAddress."""
        scheme, _, rest = text.strip().rpartition("://")
        scheme = scheme.lower() or "http"
        if scheme not in PORTS or re.search(r"[\s\x00-\x1f\x7f]", rest):
            raise BadAddress(text)
        try:
            parts = urlsplit(f"{scheme}://{rest}")
            host = (parts.hostname or "127.0.0.1").encode("idna").decode()
            port = parts.port or (PORTS[scheme] if "://" in text else port)
        except ValueError as error:
            raise BadAddress(text) from error
        path = parts.path.strip("/")
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else ""
        return cls(scheme, host, port, f"/{quote(path, safe='/%:@')}" if path else "", login)

    @property
    def place(self) -> str:
        """Host and port, as requests name them."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_here(self) -> bool:
        """Whether this is our own machine, which no proxy can lead to."""
        try:
            address = ipaddress.ip_address(self.host)
        except ValueError:
            return self.host == "localhost"
        return address.is_loopback or address.is_unspecified

    def proxy(self) -> "Address | None":
        """The proxy that the environment wants to be asked for this address; raises ProxyRefused."""
        if self.is_here or proxy_bypass(self.place):
            return None
        known = getproxies()
        named = known.get(self.scheme) or known.get("all")
        if not named:
            return None
        try:
            proxy = Address.read(named, PORTS["http"])
        except BadAddress as error:
            raise ProxyRefused from error
        if proxy.scheme != "http":  # nobody encrypts twice
            raise ProxyRefused
        return proxy


class Connection:
    """A connection to a server, used by one thread at a time; raises BrokeOff where it ends too early.

    ``status`` and ``is_page`` tell of the answer that is being read; ``notes`` keeps what the server has told of
    itself, as long as it is surely the same.
    """

    def __init__(self, address: Address) -> None:
        proxy = address.proxy()
        self._socket = _dial(address, proxy)
        self._http = h11.Connection(h11.CLIENT)
        self._before_path = address.path
        self._headers = {
            "Host": address.place.removesuffix(f":{PORTS[address.scheme]}"),
            "User-Agent": "glass-bookshop",
            "Accept": "application/json",
            "Accept-Encoding": "identity",  # so that what is read is what was counted
        }
        if key := os.environ.get("OLLAMA_API_KEY"):
            self._headers["Authorization"] = f"Bearer {key}"
        if proxy and address.scheme == "http":  # else there is a tunnel through it
            self._before_path = f"http://{address.place}{address.path}"
            self._headers |= _login(proxy)
        self.status, self.is_page = 0, False
        self.notes: dict[str, Any] = {}

    def send(self, method: str, path: str, body: bytes, until: float) -> None:
        """Send a request, by ``until`` on the monotonic clock; raises TimeoutError."""
        sized = {"Content-Type": "application/json", "Content-Length": str(len(body))} if body else {}
        headers = list((self._headers | sized).items())
        try:
            request = h11.Request(method=method, target=self._before_path + path, headers=headers)
            if self._http.our_state is h11.DONE:
                self._http.start_next_cycle()
            parts = [self._http.send(event) for event in (request, h11.Data(data=body), h11.EndOfMessage())]
        except h11.LocalProtocolError as error:  # as the last answer was not read to its end
            raise BrokeOff from error
        self._wait_until(until)
        try:
            self._socket.sendall(b"".join(part for part in parts if part))
        except TimeoutError:
            raise
        except OSError:
            pass  # what the server has answered before it hung up says more

    def answer(self) -> Iterator[bytes | None]:
        """The answer as it comes; None where nothing more is at hand, before which the reader has to ``wait``."""
        while True:
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as error:
                raise BrokeOff from error
            match event:
                case h11.NEED_DATA:
                    yield None
                case h11.Response():
                    self.status = event.status_code
                    self.is_page = any(name == b"content-type" and b"html" in kind for name, kind in event.headers)
                case h11.Data():
                    yield bytes(event.data)
                case h11.EndOfMessage():
                    return

    def wait(self, until: float) -> None:
        """Wait for more of the answer; raises TimeoutError where none has come by then, on the monotonic clock."""
        self._wait_until(until)
        try:
            data = self._socket.recv(PIECE_BYTES)
        except TimeoutError:
            raise
        except OSError:
            data = b""
        self._http.receive_data(data)

    @property
    def is_idle(self) -> bool:
        """Whether the last answer was read to its end and another may be asked for."""
        return {self._http.our_state, self._http.their_state} <= {h11.IDLE, h11.DONE}

    @property
    def is_open(self) -> bool:
        """Whether the server has neither hung up nor said anything unasked."""
        self._socket.settimeout(0)
        try:
            self._socket.recv(1)
        except (BlockingIOError, ssl.SSLWantReadError):
            return True
        except OSError:
            pass
        return False

    def shut(self) -> None:
        """End whatever goes on, from any thread: who waits for the server wakes up at once."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection, in the thread that uses it."""
        self._socket.close()

    def _wait_until(self, until: float) -> None:
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._socket.settimeout(None if left == math.inf else left)


class Connections:
    """The connections of this process that nobody uses at the moment, by what their address was read from."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: dict[str, list[Connection]] = {}

    @contextmanager
    def to(self, host: str | None, cancel: Cancel, until: float) -> Iterator[Connection]:
        """Hold a connection to a server, OLLAMA_HOST's by default, which ``cancel`` shuts from any thread.

        Raises BadAddress, ProxyRefused or Unreachable, and TimeoutError where there is none by ``until``.
        """
        where = host or os.environ.get("OLLAMA_HOST") or ""
        connection = self._take(where) or _connect(Address.read(where), cancel, until)
        try:
            with cancel.ending(connection.shut):
                yield connection
        finally:
            # Asked only now: what was not shut by here can be shut no more.
            if connection.is_idle and not cancel.wanted:
                with self._lock:
                    self._idle.setdefault(where, []).append(connection)
            else:
                connection.close()

    def _take(self, where: str) -> Connection | None:
        while True:
            with self._lock:
                idle = self._idle.get(where)
                connection = idle.pop() if idle else None
            if connection is None or connection.is_open:
                return connection
            connection.close()


@functools.cache
def connections() -> Connections:
    """The connections of this process."""
    return Connections()


def _connect(address: Address, cancel: Cancel, until: float) -> Connection:
    """Connect, in a thread of its own: neither looking up a name nor shaking hands can be broken off."""
    runner, late = Runner(), threading.Event()

    def work() -> Connection:
        connection = Connection(address)
        if late.is_set():
            connection.close()
        return connection

    left = until - time.monotonic()
    try:
        return runner.run(work, max(min(left, CONNECT_SECONDS), 0), cancel)
    except Cancelled as error:
        raise BrokeOff from error
    except OSError as error:
        if isinstance(error, TimeoutError) and left <= CONNECT_SECONDS:
            raise
        raise Unreachable from error
    finally:
        late.set()
        runner.close()


def _dial(address: Address, proxy: Address | None) -> socket.socket:
    """A socket that leads to the address, through the proxy where there is one."""
    at = proxy or address
    dialled = socket.create_connection((at.host, at.port), CONNECT_SECONDS)
    dialled.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        if address.scheme == "https":
            if proxy:
                _tunnel(dialled, address, proxy)
            dialled = _trust().wrap_socket(dialled, server_hostname=address.host)
    except BaseException:
        dialled.close()
        raise
    return dialled


def _tunnel(dialled: socket.socket, address: Address, proxy: Address) -> None:
    """Have a proxy lead all that follows to the address."""
    http = h11.Connection(h11.CLIENT)
    headers = {"Host": address.place} | _login(proxy)
    request = h11.Request(method="CONNECT", target=address.place, headers=list(headers.items()))
    dialled.sendall((http.send(request) or b"") + (http.send(h11.EndOfMessage()) or b""))
    try:
        while (event := http.next_event()) is h11.NEED_DATA:
            http.receive_data(dialled.recv(PIECE_BYTES))
    except h11.RemoteProtocolError as error:
        raise ProxyRefused from error
    if not (isinstance(event, h11.Response) and event.status_code // 100 == 2):
        raise ProxyRefused


def _login(proxy: Address) -> dict[str, str]:
    if not proxy.login:
        return {}
    return {"Proxy-Authorization": f"Basic {base64.b64encode(proxy.login.encode()).decode()}"}


@functools.cache
def _trust() -> ssl.SSLContext:
    """Whom to trust with https: those of this computer and Mozilla's, as some computers name none."""
    import certifi  # read when it is needed: most servers are on this machine

    trust = ssl.create_default_context()
    trust.load_verify_locations(certifi.where())
    return trust
