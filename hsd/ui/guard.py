"""What stands before the app: how large a request may be, what a browser may do, and one line for what goes wrong."""

from __future__ import annotations

from typing import Any

import gradio as gr
from gradio.route_utils import API_PREFIX
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hsd.errors import HsdError
from hsd.trace import MAX_BYTES
from hsd.ui.fetch import brief, unexpected

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


class Page(gr.Blocks):
    """Blocks whose events tell in one line what goes wrong. Gradio prints it, with what was asked, and says nothing."""

    def validate_inputs(self, block_fn: Any, inputs: list[Any]) -> None:
        wanted = len(block_fn.inputs)
        if len(inputs) < wanted:
            how = f"give all, or name those that you give: POST to call/v2/{block_fn.api_name}"
            raise gr.Error(f"{len(inputs)} of {wanted} values came: {how}", print_exception=False)

    async def process_api(self, *arguments: Any, **more: Any) -> Any:
        try:
            return await super().process_api(*arguments, **more)
        except gr.Error:
            raise
        except HsdError as error:
            raise gr.Error(brief(error), print_exception=False) from None
        except Exception as error:
            raise gr.Error(unexpected(error, "try other input"), print_exception=False) from None


def guarded(app: ASGIApp) -> ASGIApp:
    """Refuses requests that are too large before they are read or that cannot be read; tells browsers the `POLICY`."""

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
                if API_PREFIX in scope["path"]:  # where a visitor's own files come back
                    headers["X-Content-Type-Options"] = "nosniff"
                if headers.get("Content-Type", "").startswith("text/html"):
                    headers["Content-Security-Policy"] = POLICY
            await send(message)

        try:
            await app(scope, _limited(receive), told)
        except Exception as error:  # what Gradio does not understand of a request it does not expect either
            words = unexpected(error, "check what was sent, or reload the page", "this request is not understood")
            if not begun:
                await JSONResponse({"error": words}, status_code=400)(scope, receive, send)

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
