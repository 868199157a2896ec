"""A scripted Ollama server on a real socket: for tests, the bench, and trying things by hand.

    with OllamaServer([reply("Hello")]) as server:
        ...  # server.url answers like Ollama; server.requests holds what it was asked

A wire is a list of steps, one for each POST /api/chat, the last one for ever, or a function that makes the step
from the request's body. A step is a dict in the format of the recordings, keys absent where they say nothing:

    status, headers   of the answer
    lines             sent as NDJSON, a dict or a string (as it is) each; joined where no stream was asked for
    body              instead of lines: a dict or a string, with a Content-Length
    delay_s           silence before the status line; line_delay_s: before each line
    then              after the lines: end, close (no last chunk), reset, hang
    behaviour         instead of an answer: close-, reset- or hang-before-response, refuse (nothing listens)
    no_newline, byte_by_byte

By hand: ``python -m tests.ollama_server --port 11434 --script lighthouse``.
"""

import argparse
import asyncio
import hashlib
import json
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

Step = dict[str, Any]
Body = dict[str, Any]
Wire = Sequence[Step] | Callable[[Body], Step]

MODEL = "qwen3:4b"
AT = "2026-01-01T00:00:00.123456789Z"
TEMPLATE = (
    '{{ range .Messages }}{{ if eq .Role "tool" }}<tool_response>{{ .Content }}</tool_response>{{ end }}{{ end }}'
)


class OllamaServer:
    """Answers on a free port of 127.0.0.1, or on ``port``, until the block ends; keeps what it saw.

    Without a wire it cannot chat. ``models`` is what /api/tags lists, ``pull`` the wire of POST /api/pull; the
    rest is what /api/show tells.
    """

    def __init__(
        self,
        wire: Wire = (),
        *,
        port: int = 0,
        models: Sequence[str] = (MODEL,),
        capabilities: Sequence[str] = ("completion", "tools", "thinking"),
        context_length: int = 262_144,
        template: str = TEMPLATE,
        pull: Wire = ({"lines": [{"status": "pulling manifest"}, {"status": "success"}]},),
    ) -> None:
        self.models, self.capabilities = models, capabilities
        self.context_length, self.template = context_length, template
        self.wire, self.pull = wire, pull
        self.requests: list[Body] = []
        """The bodies of all POST /api/chat."""
        self.received: list[bytes] = []
        """The same, as they came."""
        self.pulls: list[Body] = []
        self.disconnects: list[float] = []
        """When a client went away in the middle of an answer, on the monotonic clock."""
        self.loading = False
        """While true, /api/ps lists no model: whatever was asked for is still being loaded."""
        self.connections = 0
        self._news = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="scripted ollama", daemon=True)
        self._open: set[_Connection] = set()
        self._joining: set[asyncio.Task[Any]] = set()
        self._socket = socket.create_server(("127.0.0.1", port), backlog=128)
        self._socket.setblocking(False)
        self.port: int = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> "OllamaServer":
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        return self

    def __exit__(self, *failure: object) -> None:
        asyncio.run_coroutine_threadsafe(self._hang_up(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def wait_until(self, seen: Callable[["OllamaServer"], bool], seconds: float = 20.0) -> bool:
        """Wait until the server has seen something, at most ``seconds``: ``lambda server: server.disconnects``."""
        with self._news:
            return self._news.wait_for(lambda: bool(seen(self)), seconds)

    def note(self, what: list[Any], item: Any) -> None:
        with self._news:
            what.append(item)
            self._news.notify_all()

    def joined(self, connection: "_Connection") -> None:
        self.connections += 1
        self._open.add(connection)

    def left(self, connection: "_Connection", *, answering: bool) -> None:
        self._open.discard(connection)
        if answering:
            self.note(self.disconnects, time.monotonic())

    def step(self, path: str, body: Body) -> Step:
        """The answer to a request, of the wire or of the server's own."""
        if path == "/api/chat":
            self.note(self.requests, body)
            return _step(self.wire, len(self.requests) - 1, body)
        if path == "/api/pull":
            self.note(self.pulls, body)
            return _step(self.pull, len(self.pulls) - 1, body)
        return self._plain(path, body)

    def heed_refusal(self) -> None:
        """Stop listening where the next answer would be a refused connection."""
        if callable(self.wire) or not self.wire:
            return
        if _step(self.wire, len(self.requests), {}).get("behaviour") == "refuse":
            self._stop_listening()
            for connection in list(self._open):
                connection.close()

    def _plain(self, path: str, body: Body) -> Step:
        match path:
            case "/":
                return {"body": "Ollama is running", "headers": {"Content-Type": "text/plain"}}
            case "/api/version":
                return {"body": {"version": "0.33.0"}}
            case "/api/tags":
                return {"body": {"models": [self._listed(name) for name in self.models]}}
            case "/api/ps":
                loaded = {} if self.loading else {str(asked.get("model")): asked for asked in self.requests}
                return {"body": {"models": [self._loaded(name) | self._listed(name) for name in loaded]}}
            case "/api/show" if body.get("model") in self.models:
                return {"body": self._shown()}
            case "/api/show":
                return {"status": 404, "body": {"error": f"model '{body.get('model')}' not found"}}
        return {"status": 404, "body": "404 page not found", "headers": {"Content-Type": "text/plain"}}

    def _listed(self, name: str) -> Body:
        digest = hashlib.sha256(name.encode()).hexdigest()
        details = {"format": "gguf", "family": "qwen3", "families": ["qwen3"], "parameter_size": "4.0B"}
        return {
            "name": name,
            "model": name,
            "modified_at": AT,
            "size": 2_497_293_931,
            "digest": digest,
            "details": details | {"quantization_level": "Q4_K_M"},
        }

    def _loaded(self, name: str) -> Body:
        options = next(asked.get("options", {}) for asked in self.requests if asked.get("model") == name)
        return {
            "expires_at": "2099-01-01T00:00:00Z",
            "size_vram": 2_497_293_931,
            "context_length": options.get("num_ctx", 4_096),
        }

    def _shown(self) -> Body:
        return {
            "template": self.template,
            "parameters": "temperature 0.6\ntop_k 20\ntop_p 0.95",
            "details": self._listed(MODEL)["details"],
            "model_info": {"general.architecture": "qwen3", "qwen3.context_length": self.context_length},
            "capabilities": list(self.capabilities),
            "modified_at": AT,
        }

    async def _listen(self) -> None:
        self._loop.add_reader(self._socket, self._accept)
        self.heed_refusal()

    def _accept(self) -> None:
        # By hand, as asyncio's own server loses connections that come while it is closed.
        with suppress(OSError):
            accepted = self._socket.accept()[0]
            joining = self._loop.connect_accepted_socket(lambda: _Connection(self), accepted)
            task = self._loop.create_task(joining)
            self._joining.add(task)
            task.add_done_callback(self._joining.discard)

    def _stop_listening(self) -> None:
        if self._socket.fileno() >= 0:
            self._loop.remove_reader(self._socket)
            self._socket.close()

    async def _hang_up(self) -> None:
        self._stop_listening()
        await asyncio.gather(*self._joining)
        for connection in list(self._open):
            connection.hang_up()
        await asyncio.sleep(0)  # transports close their sockets in the next round of the loop
        await asyncio.sleep(0)


class _Connection(asyncio.Protocol):
    """One connection: reads requests, answers them one after the other, notices when the client goes away."""

    def __init__(self, server: OllamaServer) -> None:
        self._server = server
        self._received = bytearray()
        self._answering: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._server.joined(self)

    def data_received(self, data: bytes) -> None:
        self._received += data
        self._next()

    def connection_lost(self, error: Exception | None) -> None:
        self._server.left(self, answering=self._answering is not None)
        if self._answering:
            self._answering.cancel()

    def close(self) -> None:
        self._transport.close()

    def hang_up(self) -> None:
        """The server's own end: nobody went away."""
        if self._answering:
            self._answering.cancel()
            self._answering = None
        self._transport.abort()

    def _next(self) -> None:
        end = self._received.find(b"\r\n\r\n")
        if self._answering or end < 0:
            return
        head = self._received[:end].decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        size = end + 4 + int(headers.get("content-length", 0))
        if len(self._received) < size:
            return
        raw = bytes(self._received[end + 4 : size])
        body, path = json.loads(raw or b"{}"), head[0].split(" ")[1]
        del self._received[:size]
        if path == "/api/chat":
            self._server.received.append(raw)
        step = self._server.step(path, body)
        pieces, slow = _pieces(step, body), _is_slow(step)
        if slow:
            self._answering = asyncio.get_running_loop().create_task(self._play(step, pieces))
        else:
            self._transport.write(b"".join(pieces))  # one write, as quick as it gets
            self._finish(step)

    async def _play(self, step: Step, pieces: list[bytes]) -> None:
        await asyncio.sleep(step.get("delay_s", 0))
        if step.get("behaviour") == "hang-before-response":
            await asyncio.Event().wait()
        for piece in pieces:
            await asyncio.sleep(step.get("line_delay_s", 0))
            self._transport.write(piece)
        if step.get("then") == "hang":
            await asyncio.Event().wait()
        self._answering = None
        self._finish(step)

    def _finish(self, step: Step) -> None:
        ending = step.get("behaviour") or step.get("then", "end")
        if ending.startswith("reset"):
            linger = struct.pack("ii", 1, 0)  # closing then sends a reset
            self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self._transport.abort()
        elif ending.startswith("close"):
            self._transport.close()
        else:
            self._server.heed_refusal()
            self._next()


def _step(wire: Wire, number: int, body: Body) -> Step:
    return wire(body) if callable(wire) else wire[min(number, len(wire) - 1)]


def _is_slow(step: Step) -> bool:
    hangs = step.get("then") == "hang" or step.get("behaviour") == "hang-before-response"
    return hangs or bool(step.get("delay_s") or step.get("line_delay_s"))


def _pieces(step: Step, body: Body) -> list[bytes]:
    """What goes over the wire for a step, one piece a line; like Ollama, the headers go with the first one."""
    if "behaviour" in step:
        return []
    lines = step.get("lines", [])
    if "body" in step or not body.get("stream", True):
        return [_whole(step, step["body"] if "body" in step else _joined(lines))]
    head = _head(step, "application/x-ndjson", "Transfer-Encoding: chunked")
    written = [_encoded(line) + b"\n" for line in lines]
    if step.get("no_newline") and written:
        written[-1] = written[-1][:-1]
    chunks = [_chunked(line, one_by_one=step.get("byte_by_byte", False)) for line in written]
    if step.get("then", "end") == "end":
        chunks.append(b"0\r\n\r\n")
    return [head + b"".join(chunks[:1]), *chunks[1:]]


def _whole(step: Step, content: Any) -> bytes:
    if isinstance(content, dict) and content.get("error") and "status" not in step:
        step = step | {"status": 500}
    encoded = _encoded(content)
    return _head(step, "application/json; charset=utf-8", f"Content-Length: {len(encoded)}") + encoded


def _head(step: Step, kind: str, length: str) -> bytes:
    headers = {"Content-Type": kind} | step.get("headers", {})
    lines = [f"HTTP/1.1 {step.get('status', 200)} Scripted", *(f"{k}: {v}" for k, v in headers.items()), length]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _chunked(data: bytes, *, one_by_one: bool) -> bytes:
    parts = [data[at : at + 1] for at in range(len(data))] if one_by_one else [data] if data else []
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts)


def _encoded(line: Any) -> bytes:
    """As Go's encoder writes it; a string goes as it is."""
    if isinstance(line, str):
        return line.encode()
    text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text.encode(errors="backslashreplace")  # which writes a lone surrogate as JSON does


def _joined(lines: Sequence[Any]) -> Any:
    """The lines of a stream as the one answer that is given where no stream was asked for."""
    if not lines or any(not isinstance(line, dict) or "message" not in line for line in lines):
        return lines[-1] if lines else ""
    messages = [line["message"] for line in lines]
    message: Body = {"role": "assistant"}
    for name in ("content", "thinking"):
        message[name] = "".join(part.get(name, "") for part in messages)
    message["tool_calls"] = [call for part in messages for call in part.get("tool_calls", [])]
    return lines[-1] | {"message": {name: value for name, value in message.items() if value or name == "content"}}


def chunk(**message: Any) -> Body:
    """One line of a stream that goes on."""
    return {
        "model": MODEL,
        "created_at": AT,
        "message": {"role": "assistant", "content": ""} | message,
        "done": False,
    }


def end(usage: tuple[int, int] | None = (120, 20), **more: Any) -> Body:
    """The last line of a stream: input and output tokens, and what else it is to hold."""
    counts = {} if usage is None else {"prompt_eval_count": usage[0], "eval_count": usage[1]}
    times = {"total_duration": 1_500_000_000, "load_duration": 90_000_000}
    spans = {"prompt_eval_duration": 200_000_000, "eval_duration": 900_000_000}
    return chunk() | {"done": True, "done_reason": "stop"} | times | counts | spans | more


def reply(
    text: str = "",
    thinking: str = "",
    calls: Sequence[tuple[str, dict[str, Any]]] = (),
    *,
    chunks: int | None = None,
    usage: tuple[int, int] | None = (120, 20),
    **step: Any,
) -> Step:
    """A step that thinks, speaks and calls; one chunk a word, or ``chunks`` chunks of text, and one a call."""
    words = _parts(text, chunks)
    called = [
        chunk(tool_calls=[{"id": f"call_{n:08x}", "function": {"index": n, "name": name, "arguments": arguments}}])
        for n, (name, arguments) in enumerate(calls)
    ]
    thought = [chunk(thinking=word) for word in _parts(thinking, None)]
    return {"lines": [*thought, *(chunk(content=word) for word in words), *called, end(usage)]} | step


def _parts(text: str, count: int | None) -> list[str]:
    if count is None:
        return [f"{word} " for word in text.split(" ")[:-1]] + [text.split(" ")[-1]] * bool(text)
    return [text[len(text) * n // count : len(text) * (n + 1) // count] for n in range(count)]


LIGHTHOUSE = (
    reply(
        thinking="I have to find the book first.",
        calls=[("search_books", {"query": "The Last Lighthouse"})],
        usage=(2196, 140),
    ),
    reply(thinking="Book 2 it is. Is there a copy?", calls=[("check_stock", {"book_id": 2})], usage=(2628, 118)),
    reply(
        thinking="None left. Another novel by Mira Holt, then.",
        calls=[("check_stock", {"book_id": 7})],
        usage=(3018, 97),
    ),
    reply(
        thinking="There are copies of book 7.",
        calls=[("add_to_cart", {"book_id": 7, "quantity": 1})],
        usage=(3283, 131),
    ),
    reply(
        "The Last Lighthouse is out of stock, so I added another novel by Mira Holt, The Quiet Orchard, "
        "to your cart. Your cart total is $16.50.",
        thinking="It was added. I tell them.",
        usage=(3594, 164),
    ),
)
"""The reference run, by the number of tool results that followed the last user message."""

_CUT_SHORT = reply(
    "I looked for The Last Lighthouse but had to stop before I could finish: nothing more was added to your cart.",
    thinking="I have no tools any more.",
    usage=(2800, 60),
)


def lighthouse(body: Body) -> Step:
    """The step of the reference run that comes next; without tools, the words of a run that was cut short."""
    if not body.get("tools"):
        return _CUT_SHORT
    roles = [message["role"] for message in body["messages"]]
    since = len(roles) - roles[::-1].index("user")
    return LIGHTHOUSE[min(roles[since:].count("tool"), len(LIGHTHOUSE) - 1)]


SCRIPTS: dict[str, Wire] = {
    "lighthouse": lighthouse,
    "slow": lambda body: lighthouse(body) | {"line_delay_s": 0.5},
    "hang": ({"behaviour": "hang-before-response"},),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.ollama_server", description="A scripted Ollama server.")
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    parser.add_argument("--script", choices=sorted(SCRIPTS), default="lighthouse")
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with OllamaServer(SCRIPTS[chosen.script], port=chosen.port) as server:
        print(server.url, flush=True)  # noqa: T201  # whoever started it reads the address here
        with suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
