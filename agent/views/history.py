"""The messages a model gets, folded from the events as they come."""

import hashlib
import json
from collections.abc import Mapping
from typing import cast

from agent.models.protocol import Message, MessageCall
from agent.trace import AnyEvent, ModelReply, ShopChanged, ToolCall, ToolFinished
from agent.views.knowledge import told

UNCALIBRATED_CHARS_PER_TOKEN = 4.0
CORRECTED = "Corrected by the program:"
MESSAGE_OVERHEAD_CHARS = 16  # role marks and separators of the chat template
CALL_OVERHEAD_CHARS = 14  # templates print a call within its function


class History:
    """The chat as the model sees it, append-only within a run; the system message comes first."""

    def __init__(self) -> None:
        self._system: Message | None = None
        self._messages: list[Message] = []
        self._unsent: list[Message] = []
        self._wrapping_up = False
        self._called: set[str] = set()
        self._stamps = False
        self._stamped: dict[int, Mapping[str, int]] = {}
        """The versions that the tool message at a place was stamped with."""
        self._changed: dict[str, ShopChanged] = {}
        """The latest change of each resource: runs without stamps hear of changes, but mark nothing."""
        self.size = 0
        """Characters of all messages, to estimate tokens from."""
        self.digest = ""
        self.rewritten = False
        """Whether what an earlier request carried was changed since, so that the server's cache of it is lost."""

    def add(self, event: AnyEvent) -> None:
        """Take one event; those that the model does not read change nothing."""
        match event.kind:
            case "run_started":
                self._stamps = event.stamps
                self._instruct(event.instructions)
                for change in self._changed.values() if self._stamps else ():
                    self._mark_overtaken(change)
            case "user_message":
                self._forget_thinking()
                self._append({"role": "user", "content": event.text})
            case "note":
                self._append({"role": "user", "content": event.text})
            case "model_request":
                self._unsent, self.rewritten = [], False
                self._wrapping_up = event.wrap_up
                self.digest = event.digest
            case "model_reply":
                self._add_reply(event)
            case "tool_finished" if event.call.id in self._called:
                if self._stamps:
                    self._stamped[len(self._messages)] = _versions(event)
                self._append(_tool_message(event, _stamped(event) if self._stamps else event.result))
            case "guard_decision" if event.action == "correct":
                # The user read it above the answer; unless the model reads it too, it builds on what was wrong.
                self._append({"role": "assistant", "content": f"{CORRECTED} {event.reason}"})
            case "shop_changed":
                self._changed[event.resource] = event
                if self._stamps:
                    self._mark_overtaken(event)
            case "run_finished":
                self._wrapping_up = False
                if event.answer_by == "program" and not self._ends_with_assistant():
                    self._append({"role": "assistant", "content": event.answer})

    def messages(self) -> list[Message]:
        """All messages of the next request, oldest first."""
        return [self._system, *self._messages] if self._system else list(self._messages)

    def unsent(self) -> list[Message]:
        """The messages no request has carried yet."""
        return list(self._unsent)

    def next_digest(self) -> str:
        """The digest of the next request: of the last one's digest and the messages that are new."""
        text = json.dumps(self._unsent, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256((self.digest + text).encode()).hexdigest()[:32]

    def _instruct(self, instructions: str) -> None:
        system: Message = {"role": "system", "content": instructions}
        if system == self._system:
            return
        self.size += message_size(system) - (message_size(self._system) if self._system else 0)
        self.rewritten |= self._system is not None
        self._system = system
        self._unsent.append(system)

    def _forget_thinking(self) -> None:
        # The templates of thinking models drop the thoughts of earlier turns; so do we, or sizes would lie.
        forgotten = sum(len(message.get("thinking", "")) for message in self._messages)
        self.size -= forgotten
        self.rewritten |= forgotten > 0
        self._messages = [
            cast("Message", {name: value for name, value in message.items() if name != "thinking"})
            for message in self._messages
        ]

    def _add_reply(self, reply: ModelReply) -> None:
        if reply.error or reply.incomplete:
            return
        if reply.tool_calls and self._wrapping_up:
            return  # not taken for the answer: the program's follows
        if reply.tool_calls:
            self._called = {call.id for call in reply.tool_calls}
            # Content beside calls makes qwen3's template leave the calls out, so only the page shows it.
            self._append(_with_thinking(reply, "", [_call(call) for call in reply.tool_calls]))
        elif reply.text.strip():
            self._append(_with_thinking(reply, reply.text, []))

    def _mark_overtaken(self, event: ShopChanged) -> None:
        for place, versions in list(self._stamped.items()):
            if versions.get(event.resource, event.version_after) >= event.version_after:
                continue
            old = self._messages[place]
            new: Message = {**old, "content": old["content"] + _overtaken_mark(event)}
            self._messages[place] = new
            self._stamped[place] = {name: seen for name, seen in versions.items() if name != event.resource}
            self.size += message_size(new) - message_size(old)
            if old in self._unsent:
                self._unsent[self._unsent.index(old)] = new
            else:
                self.rewritten = True
                self.digest = hashlib.sha256((self.digest + new["content"]).encode()).hexdigest()[:32]

    def _append(self, message: Message) -> None:
        self._messages.append(message)
        self._unsent.append(message)
        self.size += message_size(message)

    def _ends_with_assistant(self) -> bool:
        return bool(self._messages) and self._messages[-1]["role"] == "assistant"


def message_size(message: Message) -> int:
    """Characters a message adds to a prompt, marks of the template included."""
    calls = message.get("tool_calls")
    written = len(message["content"]) + len(message.get("thinking", "")) + MESSAGE_OVERHEAD_CHARS
    if calls:
        written += len(json.dumps(calls, ensure_ascii=False)) + CALL_OVERHEAD_CHARS * len(calls)
    return written


def _with_thinking(reply: ModelReply, content: str, calls: list[MessageCall]) -> Message:
    message: Message = {"role": "assistant", "content": content}
    if reply.thinking:
        message["thinking"] = reply.thinking
    if calls:
        message["tool_calls"] = calls
    return message


def _call(call: ToolCall) -> MessageCall:
    return {"id": call.id, "name": call.name, "arguments": call.arguments}


def _tool_message(event: ToolFinished, content: str) -> Message:
    return {"role": "tool", "content": content, "tool_name": event.call.name, "tool_call_id": event.call.id}


def _versions(result: ToolFinished) -> dict[str, int]:
    """The versions a result tells of, by resource."""
    return {fact.resource: fact.version for fact in told(result)}


def _stamped(result: ToolFinished) -> str:
    """The text of a result with its stamp below it: when it was read, and at which versions."""
    versions = "".join(f", {resource} v{version}" for resource, version in _versions(result).items())
    return f"{result.result}\n[as of {result.at:%H:%M:%S} UTC{versions}]"


def _overtaken_mark(change: ShopChanged) -> str:
    """What is added below a stamped result that no longer holds; what it tells of may have changed again."""
    return f"\n[OVERTAKEN: {change.resource} has changed since, with v{change.version_after}]"
