"""Middleware of the app: who and what is answered, how large requests may be, errors in a line."""

import re
from pathlib import Path

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from hsd.app import trust
from hsd.app.page import POLICY
from hsd.app.replies import unexpected
from hsd.paths import read_yaml
from hsd.trace import MAX_BYTES

HEADER = POLICY.format(script="'self'")
"""Nothing is loaded from, or sent to, anywhere else.

Who may embed the page is left open: papers and slides do.
"""

MOST = MAX_BYTES + 1_000_000  # a trace as a file of the visitor's, and what is wrapped around it
NOTHING = "nothing is here: the page is at /, and what programs can ask at /docs"
NOT_JSON = "this asks for JSON: send the header Content-Type: application/json"
READING = ("GET", "HEAD")
LIST = read_yaml(Path(__file__).with_name("routes.yaml"))
ROUTES = [
    (re.escape(path).replace(r"\*\*", ".+").replace(r"\*", "[^/]+"), route["methods"])
    for route in LIST
    for path in route["paths"]
]


def admitted(app: ASGIApp, root: str = "") -> ASGIApp:
    """Wrap `app`: refuse requests that it should not see.

    These are websockets, untrusted hosts and pages, what is not in `ROUTES`, and POST bodies but
    JSON. root: the path that the app lies under.
    """

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        status, words = _refusal(scope, root) if scope["type"] == "http" else (0, "")
        if scope["type"] == "websocket":
            await WebSocketClose()(scope, receive, send)
        elif not status:
            await app(scope, receive, send)
        elif scope["method"] in READING:
            answer = PlainTextResponse(words, status, {"X-Content-Type-Options": "nosniff"})
            await answer(scope, receive, send)
        else:
            await JSONResponse({"error": words}, status)(scope, receive, send)

    return checked


def answers_at(method: str, path: str) -> bool:
    """Return whether `ROUTES` has this path with this method.

    HEAD counts as GET; OPTIONS fits any of its paths.
    """
    method = "GET" if method == "HEAD" else method
    return any(
        re.fullmatch(pattern, path) and method in (*methods, "OPTIONS")
        for pattern, methods in ROUTES
    )


def _refusal(scope: Scope, root: str) -> tuple[int, str]:
    """Return the status of a request that is refused, and why; 0 for one that is not."""
    headers = Headers(scope=scope)
    method = scope["method"]
    words = trust.current.refusal(headers, method not in READING)
    if words:
        return 403, words
    if not answers_at(method, scope["path"].removeprefix(root)):
        return 404, NOTHING
    kinds = headers.getlist("Content-Type") or [""]
    json = all(re.match(r"application/json\s*(;|$)", kind, re.IGNORECASE) for kind in kinds)
    return (0, "") if method != "POST" or json else (415, NOT_JSON)


def guarded(app: ASGIApp) -> ASGIApp:
    """Wrap `app`: answer 413 to requests over `MOST` bytes and 400 to those that make it fail.

    It also adds security headers.
    """

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        size = Headers(scope=scope).get("Content-Length", "0")
        if not size.isdecimal() or int(size) > MOST:
            words = f"a request of at most {MOST / 1e6:.0f} MB can be read: send less"
            await PlainTextResponse(words, status_code=413)(scope, receive, send)
            return

        started = False

        async def with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                headers["X-Content-Type-Options"] = "nosniff"
                if headers.get("Content-Type", "").startswith("text/html"):
                    headers["Content-Security-Policy"] = HEADER
            await send(message)

        try:
            await app(scope, _limited(receive), with_headers)
        except Exception as error:  # Gradio does not catch its own errors on malformed requests
            words = unexpected(
                error, "check what was sent, or reload the page", "this request is not understood"
            )
            if not started:
                await JSONResponse({"error": words}, status_code=400)(scope, receive, send)

    return answered


def _limited(receive: Receive) -> Receive:
    """Return a `receive` that disconnects a request after `MOST` bytes of body.

    It need not have declared its size.
    """
    read = 0

    async def next_part() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        return {"type": "http.disconnect"} if read > MOST else message

    return next_part
