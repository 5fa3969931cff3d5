"""Who may talk to the server: this machine, pages of this server, and those who know its token."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

__all__ = ["MOST_BYTES", "Guard"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

MOST_BYTES = 1 << 23  # of the body of a request: a lasso around a million rows
LONGEST = 20  # digits of a length that is read at all
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """ASGI middleware that lets only requests of our own page through.

    A page of another site cannot name our host (no DNS rebinding), has another origin, and does not have the cookie,
    which is set for whoever opens the address with the token.

    Parameters
    ----------
    app : ASGI application
        What is guarded.
    port : int
        Of the server.
    token : str
        What a browser has to know.
    """

    def __init__(self, app: Callable[..., Awaitable[None]], *, port: int, token: str) -> None:
        self.app, self.token, self.cookie = app, token, f"halfmoon-{port}"
        self.hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return  # there are no websockets
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _refuse(send, *refusal)
            return
        await self.app(scope, _limited(receive), self._hardened(send, self._opens(scope)))

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        host, origin = headers.get("host", ""), headers.get("origin")
        if host not in self.hosts:
            return 403, "This server answers to 127.0.0.1 and localhost only."
        if origin is not None and origin != f"http://{host}":
            return 403, "This request comes from another site."
        if origin is None and scope["method"] != "GET":
            return 403, "This request does not say which site it comes from."
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not self._opens(scope):
            return 403, "This request comes from another site."
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()) or len(length) > LONGEST or int(length) > MOST_BYTES:
            return 413, f"The body of a request may have {MOST_BYTES} bytes."
        if not self._opens(scope) and not self._knows(headers):
            return 401, "The token is missing or wrong. Open the address that 'halfmoon label' has printed."
        return None

    def _opens(self, scope: Scope) -> bool:
        """Return whether somebody opens the page with the token in the address."""
        if scope["path"] != "/" or scope["method"] != "GET":
            return False
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        return secrets.compare_digest(given.encode(), self.token.encode())

    def _knows(self, headers: dict[str, str]) -> bool:
        try:
            morsel = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return False
        return morsel is not None and secrets.compare_digest(morsel.value.encode(), self.token.encode())

    def _hardened(self, send: Send, opens: bool) -> Send:
        """Return `send` with headers that tell the browser to trust nobody else."""
        extra = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
        if opens:
            value = f"{self.cookie}={self.token}; HttpOnly; SameSite=Strict; Path=/"
            extra.append((b"set-cookie", value.encode()))

        async def hardened(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *extra]
            await send(message)

        return hardened


def _limited(receive: Receive) -> Receive:
    """Return `receive` that ends bodies which are longer than they said."""
    total = 0

    async def limited() -> MutableMapping[str, Any]:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        return {"type": "http.disconnect"} if total > MOST_BYTES else message

    return limited


async def _refuse(send: Send, status: int, text: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    headers += [(name.encode(), value.encode()) for name, value in HEADERS.items()]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})
