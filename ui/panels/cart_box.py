"""The cart: its lines, the total, and a way to change and remove what is in it."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from ui.safe import safe_label

MOST_COPIES = 20

Change = Callable[[int, int], bool]
"""Sets the copies of a book at a person's wish; False if the shop refuses."""


def draw_cart(cart: dict[str, Any], change: Change, key: str) -> None:
    """Draw a cart in the shape of the JSON contract; ``change(book_id, quantity)`` does what a person wants."""
    if not cart["lines"]:
        st.caption("The cart is empty.")
        return
    for line in cart["lines"]:
        _draw_line(line, change, f"{key}-{line['book_id']}-{cart['version']}")
    st.markdown(f"**Total \\${cart['total']}**")


def _draw_line(line: dict[str, Any], change: Change, key: str) -> None:
    title = safe_label(line["title"])
    with st.container(horizontal=True, vertical_alignment="center", key=f"line-{key}"):
        st.markdown(f"{title}  \n\\${line['price']} each, \\${line['line_total']} together", width="stretch")
        st.number_input(
            f"Copies of {title}",
            1,
            max(MOST_COPIES, line["quantity"]),
            line["quantity"],
            key=f"copies-{key}",
            on_change=_set_copies,
            args=(change, line, f"copies-{key}"),
            label_visibility="collapsed",
            width=120,
        )
        st.button(
            "Remove",
            key=f"remove-{key}",
            help=f"Take {title} out of the cart",
            on_click=_remove,
            args=(change, line["book_id"]),
        )


def _remove(change: Change, book_id: int) -> None:
    change(book_id, 0)


def _set_copies(change: Change, line: dict[str, Any], key: str) -> None:
    # Streamlit calls this once more for a box that a fragment has drawn anew, with what it told before: no wish.
    told, wanted = st.session_state.setdefault("copies-told", {}), st.session_state[key]
    if wanted == told.get(key, line["quantity"]):
        return
    if change(line["book_id"], wanted):
        told[key] = wanted
    else:
        st.session_state[key] = told.get(key, line["quantity"])
