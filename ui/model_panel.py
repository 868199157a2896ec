"""The choice of models: what the chosen one can do, and getting and loading it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from agent.models.engine import ModelCard
from assistant.choose_model import Choice, engine_of, is_ours
from assistant.settings import PREFERRED_MODEL
from ui.chores import Chore
from ui.opened import LOOK_AGAIN_SECONDS, OPENED
from ui.panels.timings import spoken
from ui.safe import plain, safe_label
from ui.settings.choices import current_settings
from ui.settings.sidebar import draw_setting

TICK_SECONDS = 0.5
SHOWN_DIGEST = 12
STAYS_SECONDS = 600.0
"""How long a server keeps a model that nobody asks, as we ask it to."""
NOT_THINKING = "qwen3:4b-instruct"


def draw_models(choice: Choice, names: Sequence[str], choose: Callable[[str], None]) -> None:
    """Draw the choice of models, why this one answers, what it can do, and what brings a better one."""
    st.session_state.model = choice.name
    engine, _ = engine_of(choice.name)
    st.selectbox(
        "Model",
        names,
        key="model",
        format_func=lambda name: plain(name, 80),
        on_change=lambda: choose(st.session_state.model),
        help=f"Models of the {engine.label} server, and the offline stand-in: rules, not a language model.",
    )
    st.caption(safe_label(choice.why, 300))
    place = _look(choice)
    if choice.commands and not place.missing:  # else one button does it
        st.code("\n".join(choice.commands), language="bash")
        st.button(f"Look for {engine.label} again", on_click=OPENED.look_again, width="stretch")

    waits = place.missing or choice.commands
    every = TICK_SECONDS if place.moving else LOOK_AGAIN_SECONDS / 3 if waits else None

    @st.fragment(run_every=every)
    def tick() -> None:
        now = _look(choice)
        with st.container(key="model-place"):
            _draw_place(now)
        if now.state != place.state:
            if place.missing and not now.missing and now.reachable:
                st.session_state.notice = f"{place.missing} is there."
            st.rerun()

    tick()


@dataclass(frozen=True)
class _Place:
    """Where the chosen model stands: whether the server has it, what is known of it, what goes on with it."""

    name: str
    reachable: bool = True
    on_server: bool = False
    missing: str = ""
    card: ModelCard | None = None
    pull: Chore | None = None
    warm_up: Chore | None = None

    @property
    def moving(self) -> bool:
        """Whether something changes by itself, so that it is drawn again and again."""
        going = [work for work in (self.pull, self.warm_up) if work and work.running]
        return bool(going) or (self.on_server and not self.missing and self.card is None)

    @property
    def state(self) -> tuple[bool, str, bool]:
        """What the page around it was drawn for."""
        return self.reachable, self.missing, self.moving


def _look(choice: Choice) -> _Place:
    ours = is_ours(choice.name)
    wanted = PREFERRED_MODEL if ours else choice.name  # the stand-in stands in for the preferred one
    server = OPENED.server(wanted)
    if not server.reachable or (ours and not choice.commands):
        return _Place(choice.name, reachable=server.reachable)
    pull = OPENED.pull(wanted)
    if server.find(engine_of(wanted)[1]) is None or (pull and pull.running):
        return _Place(choice.name, on_server=not ours, missing=wanted, pull=pull)
    warm_up = OPENED.warm_up(wanted, current_settings().options.num_ctx)
    return _Place(choice.name, on_server=True, card=OPENED.card(wanted), warm_up=warm_up)


def _draw_place(place: _Place) -> None:
    options = current_settings().options
    if place.card:
        st.caption("  \n".join(card_lines(place.card, options.num_ctx)))
        for warning in card_warnings(place.card, think=options.think is not False, num_ctx=options.num_ctx):
            st.warning(warning)
    elif place.on_server and not place.missing:
        st.caption(":shimmer[Looking at what it can do …]")
    if place.missing:
        _draw_missing(place.missing, place.pull, stood_in_for=not place.on_server)
    elif place.on_server:
        _draw_warm_up(place.name, place.warm_up)
    thinking = "thinking" if options.think else "no thinking"
    with st.expander(f"Context {options.num_ctx:,} · {thinking}", key="model-settings"):
        draw_setting("think")
        draw_setting("num_ctx")


def card_lines(card: ModelCard, num_ctx: int) -> list[str]:
    """What a model can do, how large it is, and its context against ours; safe to show as Markdown."""
    thinks = "always" if card.thinking_only else _known(card.can_think)
    size = [f"{card.size / 1e9:.1f} GB"] if card.size else []
    digest = [f"digest {safe_label(card.digest.removeprefix('sha256:')[:SHOWN_DIGEST])}"] if card.digest else []
    most = f"{card.context_length:,}" if card.context_length else "unknown"
    lines = [
        f"Tools {_known(card.can_call_tools)} · thinking {thinks}",
        " · ".join([*size, *digest]),
        f"Context {num_ctx:,} of {most}",
    ]
    return [line for line in lines if line]


def card_warnings(card: ModelCard, *, think: bool, num_ctx: int) -> list[str]:
    """What about a model a person should know before asking it; safe to show as Markdown."""
    name, found = safe_label(card.name), []
    if card.can_call_tools is False:
        found.append(f"{name} cannot call tools: it cannot search, check stock or fill a cart. Choose another.")
    if card.thinking_only and not think:
        found.append(f"This tag always thinks; {safe_label(NOT_THINKING)} does not.")
    if card.context_length and num_ctx > card.context_length:
        found.append(
            f"{name} takes {card.context_length:,} tokens at most; the server will not give it {num_ctx:,}."
        )
    return found


def _known(fact: bool | None) -> str:
    return "unknown" if fact is None else "yes" if fact else "no"


def _draw_missing(name: str, pull: Chore | None, *, stood_in_for: bool) -> None:
    shown = safe_label(name)
    if pull and pull.running:
        status = "" if pull.status.startswith("pulling ") else f": {safe_label(pull.status)}"
        st.caption(f":shimmer[Getting {shown}{status} …]")
        for layer, part in pull.layers.items():
            label = safe_label(layer.removeprefix("sha256:")[:SHOWN_DIGEST])
            st.progress(part, text=f"{label} · {part:.0%}")
        st.button("Cancel", key="cancel-pull", on_click=OPENED.cancel_pull, args=(name,), width="stretch")
        return
    if pull and pull.cancelled:
        st.caption(f"{safe_label(pull.error, 300)}.")
    elif pull and pull.error:
        st.error(f"{safe_label(pull.error, 300)}.")
    elif not stood_in_for:
        st.caption(f"The server does not have {shown}.")
    st.button(f"Get {shown}", key="get-model", on_click=OPENED.start_pull, args=(name,), width="stretch")


def _draw_warm_up(name: str, warm_up: Chore | None) -> None:
    running = warm_up is not None and warm_up.running
    if warm_up and running:
        st.caption(f":shimmer[Loading the model …] {spoken((time.monotonic() - warm_up.began) * 1000)}")
    elif warm_up and warm_up.error:
        st.error(f"Not loaded: {safe_label(warm_up.error, 300)}")
    elif warm_up and warm_up.seconds is not None and time.monotonic() - warm_up.began < STAYS_SECONDS:
        st.caption(f":material/check: Loaded in {spoken(warm_up.seconds * 1000)}.")
    st.button(
        "Warm up",
        key="warm-up",
        disabled=running,
        on_click=lambda: OPENED.start_warm_up(name, current_settings().options),
        help="Loads the model now, with the same settings, so that the first answer need not wait for it.",
        width="stretch",
    )
