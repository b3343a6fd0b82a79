"""What stands before the app: how large a request may be, and what a browser may do with the answer."""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hsd.trace import MAX_BYTES

MOST = MAX_BYTES + 1_000_000  # a trace as a file of the visitor's, and what is wrapped around it
POLICY = "; ".join(
    [
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval'",  # Gradio makes functions of text, and its page has scripts
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "worker-src 'self' blob:",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
    ]
)
"""Nothing is loaded from, or sent to, anywhere else. Who may embed the page is left open: papers and slides do."""


def guarded(app: ASGIApp) -> ASGIApp:
    """Refuses requests that are too large before they are read, and tells browsers the `POLICY`."""

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        size = Headers(scope=scope).get("Content-Length", "0")
        if not size.isdecimal() or int(size) > MOST:
            words = f"a request of at most {MOST / 1e6:.0f} MB can be read: send less"
            await PlainTextResponse(words, status_code=413)(scope, receive, send)
            return

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["X-Content-Type-Options"] = "nosniff"
                if headers.get("Content-Type", "").startswith("text/html"):
                    headers["Content-Security-Policy"] = POLICY
            await send(message)

        await app(scope, _limited(receive), told)

    return answered


def _limited(receive: Receive) -> Receive:
    """The same request, cut off where it grows larger than it may and never said how large it is."""
    read = 0

    async def next_part() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        return {"type": "http.disconnect"} if read > MOST else message

    return next_part
