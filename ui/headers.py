"""What goes with every page: a cookie that tells one visitor from another, and what the browser may load."""

import base64
import hashlib
import re
import secrets
from pathlib import Path

import streamlit
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ui.visit import VISITOR_COOKIE

A_YEAR = 365 * 24 * 3600
# Even text that got past the escaping cannot make the browser fetch something from elsewhere.
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-eval' {inline}; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' ws: wss:; worker-src 'self' blob:; "
    "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'self'"
)


class SecurityHeaders:
    """Tells the browser what it may load and run: nothing from elsewhere, and no script but Streamlit's."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._headers = [
            (b"content-security-policy", POLICY.format(inline=_inline_scripts()).encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"same-origin"),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, _adding(self._headers, scope, send))


class VisitorCookie:
    """Gives a browser without one a random cookie that scripts cannot read."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and VISITOR_COOKIE not in Request(scope).cookies:
            value = (
                f"{VISITOR_COOKIE}={secrets.token_urlsafe(16)}; Path=/; Max-Age={A_YEAR}; HttpOnly; SameSite=Lax"
            )
            send = _adding([(b"set-cookie", value.encode())], scope, send)
        await self._app(scope, receive, send)


def _inline_scripts() -> str:
    """The hashes of the scripts inside Streamlit's own start page, as a policy names them."""
    page = (Path(streamlit.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    bodies = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(body.encode()).digest()).decode() for body in bodies]
    return " ".join(f"'sha256-{value}'" for value in hashes)


def _adding(headers: list[tuple[bytes, bytes]], scope: Scope, send: Send) -> Send:
    async def add(message: Message) -> None:
        if scope["type"] == "http" and message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", []), *headers]
        await send(message)

    return add
