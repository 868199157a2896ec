"""Which model answers: the one asked for by name, or the best there is, and why."""

from collections.abc import Mapping
from dataclasses import dataclass

from agent.models import ChatModel
from agent.models.ollama import OllamaModel
from agent.models.ollama_state import ServerState, find_server, has_model
from assistant.offline import OfflineModel
from assistant.settings import PREFERRED_MODEL, chosen_model

OFFLINE = "offline"
COMMANDS = ("ollama serve", f"ollama pull {PREFERRED_MODEL}")
"""What brings the real model, in two commands."""


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


def choose(
    name: str | None = None,
    *,
    server: ServerState | None = None,
    scripts: Mapping[str, ChatModel] | None = None,
    pause: float = 0.0,
) -> Choice:
    """Choose the model called ``name``, or of BOOKSHOP_MODEL, or the best that answers within a second.

    ``scripts`` holds the prepared models by name; ``pause`` is the stand-in's pause between words, in seconds.
    Raises UnknownModel for a script that is not there. A model of Ollama is taken at its word: whether the server
    has it shows when it is asked.
    """
    wanted = name or chosen_model()
    if wanted == OFFLINE:
        return _ours(OfflineModel(pause=pause), "The offline stand-in was asked for: rules, not a language model.")
    if wanted and wanted.startswith("script:"):
        script = (scripts or {}).get(wanted)
        if script is None:
            known = ", ".join(sorted(scripts or {})) or "none"
            raise UnknownModel(f'There is no script called "{wanted}". There are: {known}.')
        return _ours(script, f"{wanted} was asked for: prepared replies, not a language model.")
    if wanted:
        return _on_ollama(wanted, f"{wanted} was asked for.")
    state = server or find_server()
    if has_model(state, PREFERRED_MODEL):
        return _on_ollama(PREFERRED_MODEL, f"Ollama is running and has {PREFERRED_MODEL}.")
    missing = (
        f"Ollama is running but {PREFERRED_MODEL} is not pulled" if state.reachable else "Ollama is not running"
    )
    commands = COMMANDS[1:] if state.reachable else COMMANDS
    why = f"{missing}, so the offline stand-in answers: rules, not a language model."
    return _ours(OfflineModel(pause=pause), why, commands)


def _ours(model: ChatModel, why: str, commands: tuple[str, ...] = ()) -> Choice:
    return Choice(model, why, model.info.name, model.info.label, commands)


def _on_ollama(name: str, why: str) -> Choice:
    return Choice(OllamaModel(name), why, name, f"{name} on Ollama")
