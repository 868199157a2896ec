"""A call that waits for a person: what it would do, why somebody has to look at it, and yes or no."""

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from agent.trace import ApprovalRequested
from ui.panels.timeline import call_text
from ui.safe import plain, safe_label

Say = Callable[[bool, Mapping[str, str] | None], None]
"""Takes a person's yes or no, and the other arguments as they were typed, if any."""


def draw_approval(request: ApprovalRequested, rules: Mapping[str, str], say: Say, error: str) -> None:
    """Draw what waits, and the ways to answer.

    ``rules`` says of each argument what a right value is; ``error`` what was wrong with those typed before.
    """
    call = request.call
    key = f"approval-{call.id}"
    with st.chat_message("assistant"), st.container(border=True, key=key):
        st.subheader("May this call run?")
        st.code(call_text(call.name, call.arguments), language="python", wrap_lines=True)
        st.markdown(safe_label(request.reason, 300))
        with st.container(horizontal=True):
            st.button("Yes", on_click=say, args=(True, None), key=f"{key}-yes")
            st.button("No", on_click=say, args=(False, None), key=f"{key}-no")
        with st.expander("Yes, with other arguments", expanded=bool(error), key=f"{key}-other"):
            if error:
                st.error(safe_label(error, 300))
            _draw_form(call.arguments, rules, say, key)


def _draw_form(arguments: Mapping[str, Any], rules: Mapping[str, str], say: Say, key: str) -> None:
    names = list(dict.fromkeys([*arguments, *rules]))

    def send() -> None:
        say(True, {name: st.session_state[f"{key}-{name}"] for name in names})

    with st.form(key=f"{key}-form", border=False):
        for name in names:
            value = plain(str(arguments.get(name, "")))
            st.text_input(safe_label(name), value, key=f"{key}-{name}", help=safe_label(rules.get(name, "")))
        st.form_submit_button("Run it with these", on_click=send)
