"""The scripted Ollama server does what a wire says."""

import json
import subprocess
import sys

import httpx
import pytest

from agent.models.ollama import OllamaEngine
from tests.ollama_server import MODEL, OllamaServer, Step, chunk, end, lighthouse, reply

CHAT = {"model": MODEL, "messages": [{"role": "user", "content": "Hello"}], "options": {"num_ctx": 8_192}}


def post(step: Step, **body: object) -> httpx.Response:
    with OllamaServer([step]) as server:
        return httpx.post(f"{server.url}/api/chat", json=CHAT | body, trust_env=False)


@pytest.mark.parametrize("how", [{}, {"no_newline": True}, {"byte_by_byte": True}, {"line_delay_s": 0.001}])
def test_lines_arrive_whole_however_they_are_cut(how: Step) -> None:
    lines = post(reply("Two words", usage=None) | how).text.split("\n")
    assert [json.loads(line)["message"]["content"] for line in lines if line] == ["Two ", "words", ""]
    assert (lines[-1] == "") is not how.get("no_newline", False)


def test_without_a_stream_the_lines_are_one_answer() -> None:
    answer = post(reply("Two words", "Well, well", calls=[("view_cart", {})], usage=(7, 3)), stream=False).json()
    assert answer["message"]["content"] == "Two words"
    assert answer["message"]["thinking"] == "Well, well"
    assert [call["function"]["name"] for call in answer["message"]["tool_calls"]] == ["view_cart"]
    assert (answer["done"], answer["prompt_eval_count"], answer["eval_count"]) == (True, 7, 3)


def test_text_is_escaped_as_go_does_it() -> None:
    sent = post({"lines": [chunk(content="<b>&\u2028\x85\ud83d"), end()]}).content
    assert rb"\u003cb\u003e\u0026\u2028" + "\x85".encode() + rb"\ud83d" in sent


def test_the_last_step_repeats_and_other_paths_use_up_none() -> None:
    with OllamaServer([reply("one"), reply("two")]) as server, httpx.Client(trust_env=False) as client:
        texts = []
        for _ in range(3):
            client.get(f"{server.url}/api/tags")
            texts.append(client.post(f"{server.url}/api/chat", json=CHAT | {"stream": False}).json())
        loaded = client.get(f"{server.url}/api/ps").json()["models"]
        shown = client.post(f"{server.url}/api/show", json={"model": MODEL}).json()
        pulled = client.post(f"{server.url}/api/pull", json={"model": "gemma3"}).text
    assert [answer["message"]["content"] for answer in texts] == ["one", "two", "two"]
    assert [(model["name"], model["context_length"]) for model in loaded] == [(MODEL, 8_192)]
    assert shown["capabilities"] == ["completion", "tools", "thinking"]
    assert pulled.endswith('{"status":"success"}\n')


def test_a_server_that_is_to_refuse_stops_listening() -> None:
    with OllamaServer([reply("one"), {"behaviour": "refuse"}]) as server:
        assert httpx.post(f"{server.url}/api/chat", json=CHAT, trust_env=False).is_success
        with pytest.raises(httpx.ConnectError):
            httpx.post(f"{server.url}/api/chat", json=CHAT, trust_env=False)


def test_the_lighthouse_script_goes_by_the_results_since_the_last_user_message() -> None:
    messages = [{"role": "user"}, {"role": "assistant"}, {"role": "tool"}, {"role": "user"}]
    called = [{"role": "assistant"}, {"role": "tool"}]
    names = []
    for results in range(5):
        step = lighthouse({"messages": messages + called * results, "tools": [{}]})
        calls = [call for line in step["lines"] for call in line["message"].get("tool_calls", [])]
        names += [call["function"]["name"] for call in calls]
    assert names == ["search_books", "check_stock", "check_stock", "add_to_cart"]


def test_it_runs_as_a_process_that_tells_its_address() -> None:
    command = [sys.executable, "-m", "tests.ollama_server", "--script", "slow"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            assert OllamaEngine(process.stdout.readline().strip()).find_server().find(MODEL)
        finally:
            process.terminate()
    assert process.returncode == 0
