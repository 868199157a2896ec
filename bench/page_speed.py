"""Processor time of the page: a rerun with 50 messages, and a tick of its live parts, in a real server.

No browser is needed: a client on the websocket asks for reruns as a browser does, only without pauses.
"""

import multiprocessing
import os
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets import Subprotocol
from websockets.sync.client import ClientConnection, connect

from agent.archive import run_turn
from agent.guards.limits import Limits
from assistant.bookshop import open_bookshop
from assistant.offline import OfflineModel
from assistant.settings import Settings
from bench.report_table import Figure

APP = Path(__file__).resolve().parents[1] / "app.py"
REQUESTS = (
    "Add The Last Lighthouse to my cart. If it is not available, add another novel by the same author.",
    "Which mysteries do you have under $10?",
    "Where is my order O-1001?",
    "How many copies of The Quiet Orchard are there?",
    "What is my cart total now?",
)
TURNS, BATCHES, RERUNS, TICKS = 25, 7, 5, 10
PARTS = ("tick of the answer", "tick of steps, tokens and cart")
"""The page's live parts, the one first that is drawn more often."""
BOOT_SECONDS, IDLE_SECONDS = 30.0, 2.0


@dataclass
class PageServer:
    """The page in a process of its own, and one visitor's tab; ``cpu`` tells the seconds the process has used."""

    pipe: Connection
    socket: ClientConnection
    query: str

    def cpu(self) -> float:
        self.pipe.send(None)
        return float(self.pipe.recv())

    def rerun(self, *, fragment: str = "", said: tuple[str, str] | None = None) -> list[ForwardMsg]:
        """Run the page, or one fragment of it, and return what came until it was drawn."""
        asked = BackMsg()
        state = asked.rerun_script
        state.query_string, state.fragment_id, state.is_auto_rerun = self.query, fragment, bool(fragment)
        if said:
            widget = state.widget_states.widgets.add()
            widget.id, widget.chat_input_value.data = said
        self.socket.send(asked.SerializeToString())
        came: list[ForwardMsg] = []
        while not came or came[-1].WhichOneof("type") != "script_finished":
            came.append(ForwardMsg.FromString(self.socket.recv(timeout=BOOT_SECONDS)))
        return came

    def each(self, times: int, work: Callable[[], Any]) -> float:
        """Processor milliseconds of one piece of work, what follows it in the server included."""
        began = self.cpu()
        for _ in range(times):
            work()
        time.sleep(0.3)  # the last one's garbage is still to be collected
        return 1000 * (self.cpu() - began) / times


def measure(batches: int = BATCHES) -> dict[str, dict[str, float]]:
    """Medians over batches: as our settings have it, and with Streamlit's own collection after each run."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        servers = {}
        for name in ("ours", "collecting"):  # each with a database of its own: both go on with the conversation
            url = f"sqlite:///{Path(folder) / name}.db"
            servers[name] = stack.enter_context(_page(url, _talk(url), collect=name == "collecting"))
        found: dict[str, dict[str, list[float]]] = {"rerun": {name: [] for name in servers}}
        chats = {name: _chat_input(server) for name, server in servers.items()}
        for _ in range(batches):
            for name, server in servers.items():
                found["rerun"][name].append(server.each(RERUNS, server.rerun))
        for name, server in servers.items():
            for part, costs in _ticks(server, chats[name], batches).items():
                found.setdefault(part, {})[name] = costs
    return {what: {name: statistics.median(costs) for name, costs in row.items()} for what, row in found.items()}


def _talk(url: str) -> str:
    """Store a conversation of 50 messages; returns its handle."""
    shop = open_bookshop(url)
    conversation = shop.conversation(1)
    for turn in range(TURNS):
        agent = shop.agent(OfflineModel(), 1, conversation, Settings(limits=Limits(max_tokens=None)))
        run_turn(shop.archive, agent, conversation, REQUESTS[turn % len(REQUESTS)])
    shop.close()
    return conversation.handle


def _chat_input(server: PageServer) -> str:
    """Draw the page for the first time; returns the id of its input, and makes sure that all of it came."""
    drawn = [message.delta for message in server.rerun() if message.WhichOneof("type") == "delta"]
    messages = sum(delta.add_block.WhichOneof("type") == "chat_message" for delta in drawn)
    if messages != 2 * TURNS:
        raise RuntimeError(f"the page drew {messages} messages, not {2 * TURNS}")
    return next(delta.new_element.chat_input.id for delta in drawn if delta.new_element.HasField("chat_input"))


def _ticks(server: PageServer, chat_input: str, batches: int) -> dict[str, list[float]]:
    """Begin a slow run and draw its live parts again and again; what the run itself takes is left out."""
    came = server.rerun(said=(chat_input, "Tell me something long."))
    live = [message.auto_rerun for message in came if message.WhichOneof("type") == "auto_rerun"]
    in_order = sorted(live, key=lambda part: part.interval)
    parts = {name: part.fragment_id for name, part in zip(PARTS, in_order, strict=True)}
    idle = server.each(1, lambda: time.sleep(IDLE_SECONDS)) / (IDLE_SECONDS + 0.3)
    costs: dict[str, list[float]] = {part: [] for part in parts}
    for _ in range(batches):
        for part, fragment in parts.items():
            began = time.perf_counter()
            cost = server.each(TICKS, partial(server.rerun, fragment=fragment))
            costs[part].append(cost - idle * (time.perf_counter() - began) / TICKS)
    return costs


@contextmanager
def _page(url: str, handle: str, *, collect: bool) -> Iterator[PageServer]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, url, port, collect), daemon=True)
    process.start()
    try:
        _wait_for(port)
        address = f"ws://127.0.0.1:{port}/_stcore/stream"
        with connect(address, subprotocols=[Subprotocol("streamlit")], max_size=None, proxy=None) as tab:
            yield PageServer(ours, tab, f"c={handle}")
    finally:
        process.terminate()
        process.join()


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + BOOT_SECONDS
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def _serve(pipe: Connection, url: str, port: int, collect: bool) -> None:
    """Start the page as ``streamlit run app.py`` does, with a thread that tells the processor time."""
    nobody = "127.0.0.1:9"
    os.environ |= {"BOOKSHOP_DATABASE_URL": url, "BOOKSHOP_MODEL": "script:slow", "OLLAMA_HOST": nobody}
    sys.argv = ["streamlit", "run", str(APP), f"--server.port={port}", "--server.headless=true"]
    if collect:
        sys.argv.append("--runner.postScriptGC=true")
    from streamlit.web.cli import main

    threading.Thread(target=_tell_time, args=(pipe,), daemon=True).start()
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        main()


def _tell_time(pipe: Connection) -> None:
    while True:
        pipe.recv()
        pipe.send(time.process_time())


def figures() -> Iterator[Figure]:
    """The page beside the same page with Streamlit's own collection after each run; processor milliseconds."""
    for what, found in measure().items():
        target = 10.0 if what.startswith("tick") else None
        name = f"page, {what}: against collecting after each run"
        yield Figure(name, "ms", found["ours"], found["collecting"], target, of="ours")
