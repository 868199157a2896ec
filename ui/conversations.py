"""A customer's conversations in the sidebar: opened, renamed, exported and deleted."""

import streamlit as st

from agent.archive import ConversationSummary, NameTaken
from agent.text import counted
from agent.trace.documents import dump_events
from ui.safe import safe_label
from ui.visit import Visit

MOST_SHOWN = 50
LIST_HEIGHT = 240


def draw_conversations(visit: Visit) -> None:
    """Draw the list, closed at first; the one that is open can be managed."""
    found = visit.shop.archive.listing.conversations(str(visit.customer), MOST_SHOWN)
    if not found:
        return
    box = st.expander(f"Conversations · {len(found)}", key="conversations", on_change="rerun")
    if box.open:
        with box:
            _draw_list(visit, found)


def _draw_list(visit: Visit, found: list[ConversationSummary]) -> None:
    with st.container(height=LIST_HEIGHT if len(found) > 5 else "content", border=False):
        for one in found:
            here = one.handle == visit.handle
            note = "live, " if one.live else ""
            st.button(
                safe_label(one.title, 60),
                key=f"open-{one.handle}",
                on_click=visit.open,
                args=(one.handle,),
                disabled=here,
                type="tertiary",
                width="stretch",
                icon=":material/chat:" if here else None,
                help=f"{note}{counted(one.turns, 'turn')}{', open now' if here else ''}",
            )
    current = next((one for one in found if one.handle == visit.handle), None)
    if current:
        _draw_management(visit, current)


def _draw_management(visit: Visit, one: ConversationSummary) -> None:
    key = f"name-{one.handle}"

    def rename() -> None:
        try:
            visit.shop.archive.rename(str(visit.customer), one.handle, st.session_state[key])
        except NameTaken as error:
            st.session_state.notice = str(error)

    def delete() -> None:
        visit.begin_anew()  # before it is gone: a callback may be broken off and called again
        if not visit.shop.archive.delete(str(visit.customer), one.handle):
            visit.open(one.handle)
            st.session_state.notice = "This conversation is answering: wait for it, or press Stop."

    st.text_input("Name of this conversation", one.name or "", 100, key=key, on_change=rename)
    with st.container(horizontal=True):
        st.download_button(
            "Export",
            lambda: _export(visit, one.handle),
            file_name="conversation.json",
            mime="application/json",
            key=f"export-{one.handle}",
            icon=":material/download:",
            on_click="ignore",
        )
        with st.popover("Delete", icon=":material/delete:", key=f"delete-{one.handle}"):
            st.caption("It is deleted with all its runs, for good. What it did to the cart stays.")
            st.button("Delete it", on_click=delete, key=f"really-{one.handle}")


def _export(visit: Visit, handle: str) -> bytes:
    conversation = visit.shop.archive.find(str(visit.customer), handle)
    return dump_events(conversation.events if conversation else ()).encode()
