"""Middleware of the app: a limit on the size of requests, and errors reported in one line."""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hsd.app.page import POLICY
from hsd.app.replies import unexpected
from hsd.trace import MAX_BYTES

HEADER = POLICY.format(script="'self'")
"""Nothing is loaded from, or sent to, anywhere else. Who may embed the page is left open: papers and slides do."""

MOST = MAX_BYTES + 1_000_000  # a trace as a file of the visitor's, and what is wrapped around it


def guarded(app: ASGIApp) -> ASGIApp:
    """Refuse requests that are too large, before reading them, or unreadable; send the `POLICY` to browsers."""

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        size = Headers(scope=scope).get("Content-Length", "0")
        if not size.isdecimal() or int(size) > MOST:
            words = f"a request of at most {MOST / 1e6:.0f} MB can be read: send less"
            await PlainTextResponse(words, status_code=413)(scope, receive, send)
            return

        begun = False

        async def told(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                headers["X-Content-Type-Options"] = "nosniff"
                if headers.get("Content-Type", "").startswith("text/html"):
                    headers["Content-Security-Policy"] = HEADER
            await send(message)

        try:
            await app(scope, _limited(receive), told)
        except Exception as error:  # Gradio does not catch its own errors on malformed requests
            words = unexpected(error, "check what was sent, or reload the page", "this request is not understood")
            if not begun:
                await JSONResponse({"error": words}, status_code=400)(scope, receive, send)

    return answered


def _limited(receive: Receive) -> Receive:
    """The request, cut off at the limit, for one that does not declare its size."""
    read = 0

    async def next_part() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        return {"type": "http.disconnect"} if read > MOST else message

    return next_part
