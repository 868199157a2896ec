"""Connections to servers: where an address leads, proxies, idle connections that were closed, and stopping."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from agent.models.ollama import OllamaModel
from agent.models.ollama.network import Address
from agent.models.ollama.refusals import BadAddress
from agent.trace import ModelOptions, ModelReply
from tests.ollama_server import MODEL, OllamaServer, Step, reply

ASKED = [{"role": "user", "content": "Is there a copy?"}]
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A socket that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


def answer(host: str) -> ModelReply:
    deadline = time.monotonic() + 10  # so that no test hangs
    *_, whole = OllamaModel(MODEL, host, digest="known").stream(ASKED, [], ModelOptions(), deadline)
    return whole


def url(listening: socket.socket) -> str:
    return f"http://127.0.0.1:{listening.getsockname()[1]}"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", "http://127.0.0.1:11434"),
        ("1.2.3.4", "http://1.2.3.4:11434"),
        (":56789", "http://127.0.0.1:56789"),
        ("0.0.0.0", "http://0.0.0.0:11434"),
        ("example", "http://example:11434"),
        ("http://example", "http://example:80"),
        ("https://example", "https://example:443"),
        ("https://Example:1", "https://example:1"),
        ("example:1/a/b/", "http://example:1/a/b"),
        ("http://example/ä", "http://example:80/%C3%A4"),
        ("user:secret@example", "http://example:11434"),
        ("[::1]", "http://[::1]:11434"),
        ("https://[::1]:1/a", "https://[::1]:1/a"),
        ("bücher", "http://xn--bcher-kva:11434"),
    ],
)
def test_an_address_is_read_as_ollamas_own_client_reads_it(text: str, place: str) -> None:
    address = Address.read(text)
    assert f"{address.scheme}://{address.place}{address.path}" == place


@pytest.mark.parametrize(
    "text", ["http://[bad", "localhost:99999", "ftp://localhost", "a b", "x\r\nHost: y", "::1"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(BadAddress):
        Address.read(text)


def test_a_server_elsewhere_is_asked_through_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    paths: list[str] = []

    def relay(path: str, body: dict[str, object]) -> Step:
        paths.append(path)
        return reply("By proxy.")

    with OllamaServer() as proxy:
        monkeypatch.setattr(proxy, "step", relay)
        monkeypatch.setenv("http_proxy", f"127.0.0.1:{proxy.port}")
        assert answer("http://shop.invalid/base").text == "By proxy."
        monkeypatch.setenv("no_proxy", ".invalid")
        assert answer("http://other.invalid").error.message.startswith("Ollama is not running.")
    assert paths == ["http://shop.invalid:80/base/api/chat"]


@pytest.mark.parametrize("proxy", ["{server}", "socks5://127.0.0.1:1", "https://127.0.0.1:1"])
def test_a_proxy_that_leads_nowhere_is_told_in_words(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with OllamaServer() as server:  # which knows no CONNECT
        monkeypatch.setenv("https_proxy", proxy.format(server=server.url))
        fault = answer("https://shop.invalid").error
    assert fault.stop_reason == "model_unavailable"
    assert fault.message.startswith("A proxy answered in Ollama's place.")


def test_a_stop_while_connecting_ends_it(silent: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", url(silent))
    stream = OllamaModel(MODEL, "https://shop.invalid", digest="known").stream(ASKED, [], ModelOptions(), None)
    items: list[object] = []
    reader = threading.Thread(target=lambda: items.extend(stream))
    reader.start()
    taken, _ = silent.accept()
    with taken:
        stream.close()
        reader.join(10)
        assert not reader.is_alive()
    (whole,) = items
    assert (whole.error.stop_reason, whole.incomplete) == ("cancelled", True)


def test_after_a_restart_of_the_server_the_idle_connection_is_made_anew_and_the_request_sent_once() -> None:
    with OllamaServer([reply("One."), reply("Two.")]) as first:
        assert [answer(first.url).text for _ in range(2)] == ["One.", "Two."]
    assert (len(first.requests), first.connections) == (2, 1)
    with OllamaServer([reply("Three.")], port=first.port) as second:
        assert answer(second.url).text == "Three."
    assert (len(second.requests), second.connections) == (1, 1)


def test_a_request_that_may_have_been_received_is_not_sent_again() -> None:
    with OllamaServer([reply("One."), {"behaviour": "close-before-response"}]) as server:
        assert answer(server.url).text == "One."
        assert answer(server.url).error.retry == "later"
    assert len(server.requests) == 2
