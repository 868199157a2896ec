"""What the page keeps for a visitor between ticks: it is worked out once a change, not once a tick."""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import streamlit as st

T = TypeVar("T")


def kept(name: str, state: Hashable, work: Callable[[], T]) -> T:
    """What ``work`` came to under ``name``; it is done again only when ``state`` has become another."""
    held: tuple[Hashable, Any] = st.session_state.get(name, (None, None))
    if held[0] != state:
        held = st.session_state[name] = state, work()
    return held[1]  # type: ignore[no-any-return]
