"""Which model answers: the one asked for by name, or the best there is, and why."""

from collections.abc import Mapping
from dataclasses import dataclass

from agent.models import ChatModel
from agent.models.engine import Engine, ServerState
from agent.models.ollama import OllamaEngine
from assistant.offline import OfflineModel
from assistant.settings import PREFERRED_MODEL, chosen_model

OFFLINE = "offline"
ENGINES: Mapping[str, Engine] = {
    "ollama": OllamaEngine(),
}
"""Where models come from; a name without an engine before it, such as "qwen3:4b", is the first one's."""


class UnknownModel(ValueError):
    """There is no model of that name."""


@dataclass(frozen=True)
class Choice:
    """A model by its name, why it was chosen in one sentence, and the commands that would bring a better one.

    ``name`` and ``label`` say what ``model.info`` says, which asks the server for the rest.
    """

    model: ChatModel
    why: str
    name: str
    label: str
    commands: tuple[str, ...] = ()


def engine_of(name: str) -> tuple[Engine, str]:
    """The engine of a model, and the name it has there: "ENGINE:NAME", or a name of the first engine's."""
    first, _, rest = name.partition(":")
    if first in ENGINES and rest:
        return ENGINES[first], rest
    return next(iter(ENGINES.values())), name


def is_ours(name: str) -> bool:
    """Whether a name is the stand-in's or a script's, which no server holds."""
    return name == OFFLINE or name.startswith("script:")


def choose(
    name: str | None = None,
    *,
    server: ServerState | None = None,
    scripts: Mapping[str, ChatModel] | None = None,
    pause: float = 0.0,
) -> Choice:
    """Choose the model called ``name``, or of BOOKSHOP_MODEL, or the best that answers within a second.

    ``server`` is what the preferred model's server said of itself, if it was asked already; ``scripts`` holds the
    prepared models by name; ``pause`` is the stand-in's pause between words, in seconds. Raises UnknownModel for a
    script that is not there. A model of an engine is taken at its word: whether the server has it shows when it is
    asked.
    """
    wanted = name or chosen_model()
    if wanted == OFFLINE:
        return _ours(OfflineModel(pause=pause), "The offline stand-in was asked for: rules, not a language model.")
    if wanted and is_ours(wanted):
        script = (scripts or {}).get(wanted)
        if script is None:
            known = ", ".join(sorted(scripts or {})) or "none"
            raise UnknownModel(f'There is no script called "{wanted}". There are: {known}.')
        return _ours(script, f"{wanted} was asked for: prepared replies, not a language model.")
    if wanted:
        return _on_engine(wanted, f"{wanted} was asked for.")
    engine, preferred = engine_of(PREFERRED_MODEL)
    state = server or engine.find_server()
    if state.find(preferred):
        return _on_engine(PREFERRED_MODEL, f"{engine.label} is running and has {PREFERRED_MODEL}.")
    commands: tuple[str, ...] = (engine.pull_command(preferred),)
    missing = f"{engine.label} is running but {PREFERRED_MODEL} is not pulled"
    if not state.reachable:
        missing, commands = f"{engine.label} is not running", (engine.start_command, *commands)
    why = f"{missing}, so the offline stand-in answers: rules, not a language model."
    return _ours(OfflineModel(pause=pause), why, commands)


def _ours(model: ChatModel, why: str, commands: tuple[str, ...] = ()) -> Choice:
    return Choice(model, why, model.info.name, model.info.label, commands)


def _on_engine(name: str, why: str) -> Choice:
    engine, theirs = engine_of(name)
    return Choice(engine.model(theirs), why, name, f"{theirs} on {engine.label}")
