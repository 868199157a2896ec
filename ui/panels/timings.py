"""Where the time of a step went, and how fast the model read and wrote; what is not known is left out."""

from collections.abc import Sequence
from dataclasses import dataclass

from agent.trace import ModelReply, ModelRequest
from agent.views.steps import Step

FASTEST_READING = 4_000.0
"""Tokens a second; a prompt that seems to be read faster than that lay in the server's cache in part."""
BOTH = "thinking and writing"
LEAST_SHOWN = 50.0
"""Milliseconds; a shorter rest is the noise of two clocks."""
CACHE_LOST = (
    "The beginning of the prompt changed: the server's cache of it was lost, all of it had to be read again."
)


@dataclass(frozen=True)
class Part:
    """A part of a step's time: its name, milliseconds, and tokens a second where those mean something."""

    name: str
    ms: float
    speed: float | None = None


def step_parts(step: Step) -> list[Part]:
    """The parts of a step, in the order they happen: of the model as far as told or measured, and of its tools.

    A server that tells no times leaves what we measured: the time before the first token, and after it.
    """
    parts = _model_parts(step.request, step.reply) if step.reply else []
    return parts if step.tools_ms is None else [*parts, Part("tools", step.tools_ms)]


def _model_parts(request: ModelRequest, reply: ModelReply) -> list[Part]:
    times = reply.timings_ms
    reading = [("load", times.load, None), ("prompt", times.prompt, reading_speed(request, reply))]
    told = [*reading, *_generation(reply)]
    parts = [Part(name, ms, speed) for name, ms, speed in told if ms is not None]
    if not parts:
        return _measured(reply)
    if times.total is not None:
        rest = times.total - sum(part.ms for part in parts)
        if rest >= LEAST_SHOWN:
            parts.append(Part("waiting" if len(parts) == len(told) else "other", rest))
    return parts


def writing_speed(reply: ModelReply) -> float | None:
    """Tokens the model wrote a second, as the server counted and timed them."""
    usage, spent = reply.usage, reply.timings_ms.generation
    if usage.estimated or not usage.output_tokens or not spent:
        return None
    return usage.output_tokens / (spent / 1000)


def reading_speed(request: ModelRequest, reply: ModelReply) -> float | None:
    """Tokens of the prompt read a second; None where part of it may have come from the server's cache.

    The server times only what it reads anew, but counts the whole: without the number of cached tokens the two fit
    together only if nothing of the prompt was sent before, or its beginning changed.
    """
    usage, spent = reply.usage, reply.timings_ms.prompt
    if usage.estimated or usage.input_tokens is None or not spent:
        return None
    if usage.cached_tokens is None and request.resent_tokens and request.prefix_kept:
        return None
    read = usage.input_tokens - (usage.cached_tokens or 0)
    speed = read / (spent / 1000)
    return speed if read > 0 and (usage.cached_tokens is not None or speed <= FASTEST_READING) else None


def parts_line(parts: Sequence[Part]) -> str:
    """The parts in one line: "load 0.1 s · prompt 1.2 s (1,870 tokens/s) · writing 8.0 s (9.1 tokens/s)"."""
    return " · ".join(f"{part.name} {spoken(part.ms)}{_speed(part.speed)}" for part in parts)


def spoken(ms: float) -> str:
    """A duration as people read it: "2 ms", "1.2 s", "2 min 5 s"."""
    if ms < 99.5:
        return f"{ms:.0f} ms" if ms >= 0.95 else "under 1 ms"
    if ms < 99_950:
        return f"{ms / 1000:.1f} s"
    minutes, seconds = divmod(round(ms / 1000), 60)
    return f"{minutes} min {seconds} s"


def _speed(speed: float | None) -> str:
    if speed is None:
        return ""
    return f" ({speed:,.0f} tokens/s)" if speed >= 99.5 else f" ({speed:.1f} tokens/s)"


def _generation(reply: ModelReply) -> list[tuple[str, float | None, float | None]]:
    """Thinking and answer apart, where our clock and the server's agree; the speed is that of both together."""
    times, thought = reply.timings_ms, reply.thinking_ms
    spent, first, total, name = times.generation, times.first_token, times.total, _writing_name(reply)
    if spent is None or thought is None or first is None or total is None or name != BOTH:
        return [(name, spent, writing_speed(reply))]
    if thought > spent or total - first < spent / 2:
        return [(name, spent, writing_speed(reply))]
    return [("thinking", thought, None), ("answer", spent - thought, writing_speed(reply))]


def _writing_name(reply: ModelReply) -> str:
    """The server times thinking and answer as one, so they have names of their own only where one is alone."""
    said = bool(reply.text.strip() or reply.tool_calls)
    if reply.thinking.strip():
        return BOTH if said else "thinking"
    return "writing"


def _measured(reply: ModelReply) -> list[Part]:
    first, total = reply.timings_ms.first_token, reply.timings_ms.total
    if total is None:
        return [] if first is None else [Part("first token after", first)]
    if first is None:
        return [Part("model", total)]
    return [Part("first token after", first), Part(_writing_name(reply), max(total - first, 0.0))]
