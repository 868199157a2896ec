"""What ``streamlit run app.py`` starts: start-up work, the visitor's cookie, security headers, the page."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import streamlit as st
from starlette.middleware import Middleware

import store
from ui.headers import SecurityHeaders, VisitorCookie
from ui.opened import OPENED


@asynccontextmanager
async def start_up(_app: Any) -> AsyncIterator[None]:
    """Open the shop before the first visitor comes, and close it at the end."""
    try:
        OPENED.shop()
    except store.ShopUnavailable as error:
        logging.getLogger(__name__).error("The shop cannot open: %s", error)
    yield
    OPENED.close()


app = st.App("ui/page.py", lifespan=start_up, middleware=[Middleware(VisitorCookie), Middleware(SecurityHeaders)])
