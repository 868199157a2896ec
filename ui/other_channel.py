"""The website and the warehouse: the shop changed by hand, now or between two steps of the next run."""

import streamlit as st

import store
from assistant.meanwhile import KINDS, Deed, Kind, Plan
from ui.safe import safe_label
from ui.visit import Visit

WHAT: dict[Kind, str] = {
    "cart": "Copies in the cart",
    "stock": "Copies in stock",
    "price": "Price of a book",
    "order": "Status of an order",
}
NOW = 0
STEPS = (NOW, 2, 3, 4, 5, 6)


def draw_other_channel(visit: Visit) -> None:
    """Draw what can be changed through the other channel, and what is planned."""
    plan = st.session_state.get("meanwhile")
    title = "Website and warehouse"
    box = st.expander(f"{title} · 1 planned" if plan else title, key="other-channel", on_change="rerun")
    if box.open or plan:
        with box:
            _draw_form(visit)
            if plan:
                _draw_plan(plan)


def _draw_form(visit: Visit) -> None:
    st.caption("Change the shop behind the model's back, as a customer on the website or the warehouse would.")
    kind: Kind = st.selectbox("What", KINDS, format_func=WHAT.__getitem__, key="deed_kind")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        first, label = (1001, "Order number") if kind == "order" else (7, "Book id")
        number = st.number_input(label, 1, value=first, key=f"deed_{kind}")
        value = _draw_value(kind)
    st.caption(_named(visit, kind, number))
    when = st.selectbox("When", STEPS, format_func=_moment, key="deed_when")
    st.button("Change it", key="deed_do", on_click=_do, args=(visit, Deed(kind, number, value), when))


def _draw_value(kind: Kind) -> str:
    if kind == "order":
        return str(st.selectbox("Status", store.STATUSES, key="deed_status"))
    if kind == "price":
        return f"{st.number_input('Dollars', 0.0, 1_000.0, 17.25, 0.25, key='deed_dollars'):.2f}"
    return str(st.number_input("Copies", 0, 1_000, 2, key=f"deed_copies_{kind}"))


def _moment(step: int) -> str:
    return f"before step {step} of the next run" if step else "now"


def _named(visit: Visit, kind: Kind, number: int) -> str:
    if kind == "order":
        return f"Order O-{number}"
    try:
        return safe_label(store.get_book(visit.shop.engine, number).title)
    except store.NotFound:
        return "There is no such book."


def _do(visit: Visit, deed: Deed, when: int) -> None:
    if when != NOW:
        st.session_state.meanwhile = Plan(when, deed)
        st.session_state.notice = f"Planned before step {when} of the next run."
        return
    try:
        deed.do(visit.shop.engine, visit.customer, visit.channel)
        st.session_state.notice = "Changed."
    except store.ShopError as error:
        st.session_state.notice = str(error)


def _draw_plan(plan: Plan) -> None:
    words = f"{WHAT[plan.deed.kind]}: {plan.deed.number} becomes {plan.deed.value}"
    st.info(f"Planned before step {plan.before_step} of the next run. {safe_label(words)}")
    st.button("Drop the plan", key="deed_drop", on_click=lambda: st.session_state.pop("meanwhile", None))
