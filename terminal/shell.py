"""What every command does: open the shop, print, and fail in one readable line."""

import json
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from typer.exceptions import TyperException

import store
from agent.archive import ConversationBusy, NameTaken
from agent.trace.documents import UnreadableTrace
from assistant.bookshop import Bookshop, open_bookshop
from assistant.choose_model import UnknownModel
from assistant.settings import BadMessage

WRONG_USAGE, BUG, BROKEN_OFF = 2, 1, 3
BY = "terminal"
"""Who changes the shop, in its list of changes."""


@contextmanager
def shop_at(database: str | None) -> Iterator[Bookshop]:
    """Open the shop for one command."""
    shop = open_bookshop(database)
    try:
        yield shop
    finally:
        shop.close()


def out() -> Console:
    """Where results go."""
    return Console(highlight=False, soft_wrap=True)


def err() -> Console:
    """Where progress and errors go."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def print_json(value: Any) -> None:
    """Print one JSON object and nothing else; in plain ASCII where the terminal knows no more."""
    readable = sys.stdout.encoding.lower().startswith("utf")
    sys.stdout.write(json.dumps(value, ensure_ascii=not readable, indent=2) + "\n")


def run_program(app: typer.Typer, arguments: Sequence[str]) -> int:
    """Run a command line and return its exit status; whatever goes wrong becomes one line on stderr.

    ``--debug``, anywhere, adds the traceback.
    """
    debug = "--debug" in arguments
    try:
        status = app([word for word in arguments if word != "--debug"], standalone_mode=False)
        return status if isinstance(status, int) else 0
    except TyperException as error:
        words = str(error.format_message()) if hasattr(error, "format_message") else str(error)
        # Without words the help has been printed and says it all.
        return _fail(f"{words.rstrip('.')}. Try --help.", WRONG_USAGE, debug) if words else WRONG_USAGE
    except (store.ShopError, NameTaken, BadMessage, UnknownModel, ConversationBusy, UnreadableTrace) as error:
        return _fail(str(error), WRONG_USAGE, debug)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("Stopped.", BROKEN_OFF, debug)
    except Exception as error:  # noqa: BLE001  # the last place a bug can be told in words
        return _fail(f"Something of ours broke ({type(error).__name__}). See more with --debug.", BUG, debug)


def _fail(message: str, status: int, debug: bool) -> int:
    if debug:
        traceback.print_exc()
    err().print(f"{message[:1].upper()}{message[1:]}", markup=False)
    return status
