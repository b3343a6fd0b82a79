"""The app, put together and served: the site, the questions of its page, and endpoints on Gradio's queue."""

from __future__ import annotations

import threading
from contextlib import suppress
from importlib.util import find_spec

import gradio as gr
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import HTMLResponse
from starlette.types import Receive, Scope, Send

from hsd.app import device, downloads, pairs, trust
from hsd.app.blocks import Endpoints
from hsd.app.endpoints import add_endpoints
from hsd.app.files import Files
from hsd.app.middleware import admitted, guarded
from hsd.app.page import CARD
from hsd.app.questions import Questions
from hsd.app.reference import reference
from hsd.app.site import folder_of_modules, presets_of, site
from hsd.bench import server as outside
from hsd.errors import HsdError
from hsd.space import Space
from hsd.trace import MAX_BYTES, Trace

THREADS = 40  # for all that is done at once
SESSIONS = 200  # that Gradio keeps; nothing of ours is in there


class Server(gr.Server):
    """Gradio's, behind what decides who and what is answered: even before the middleware that Gradio adds."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await admitted(super().__call__, self.root_path)(scope, receive, send)


def serve(
    space: Space,
    trace_file: str | None,
    host: str | None,
    port: int | None,
    open_browser: bool,
    download: bool,
    trusted: trust.Trust,
) -> None:
    """Build the app and serve it until interrupted. What it needs from the package index comes meanwhile."""
    trust.current = trusted
    if not trusted.local:
        outside.OPENER = outside.GUARDED
    server = build(space, Trace.from_file(trace_file) if trace_file else None)
    threading.Thread(target=_preload, args=[space], daemon=True).start()
    if download:
        downloads.begin(space, lambda name: pairs.describe(space, name))
    try:
        app, address, _ = server.launch(
            server_name=host,
            server_port=port,
            inbrowser=open_browser,
            prevent_thread_lock=True,
            quiet=True,
            ssr_mode=False,
            mcp_server=find_spec("mcp") is not None,  # the endpoints as tools of a language model
            run_history=False,
            max_file_size=MAX_BYTES,
            max_threads=THREADS,
            state_session_capacity=SESSIONS,
            _frontend=False,
        )
    except OSError:
        which = f"port {port} is taken" if port else "no free port was found"
        raise HsdError(f"{which}: choose another with --port") from None
    blocks = app.get_blocks()
    Endpoints.adopt(blocks, space.limits.queue_size)
    print(f"The app is ready: {address}", flush=True)
    blocks.block_thread()


def build(space: Space, opened: Trace | None = None) -> gr.Server:
    """The server. opened: a trace to show first instead of a preset."""
    files = Files(site(space, "server", opened, device.public_address()), folder_of_modules())
    packed = Middleware(GZipMiddleware, minimum_size=1000)  # what Gradio sends as it is; the site packs its own files
    before = [Middleware(guarded), packed]
    server = Server(title=space.title, middleware=before, docs_url=None, redoc_url=None)  # theirs load from elsewhere
    for path in ("/", "/index.html", f"/{CARD.name}", "/data/{path:path}", "/web/{path:path}"):
        server.add_api_route(path, files.serve, methods=["GET", "HEAD"], include_in_schema=False)
    server.add_api_route("/answers/{name}", Questions(space, opened).serve, methods=["POST"], include_in_schema=False)
    docs = reference(space, add_endpoints(server, space, presets_of(space)), f"{folder_of_modules()}docs/programs.md")
    server.add_api_route("/docs", lambda: HTMLResponse(docs), include_in_schema=False)
    return server


def _preload(space: Space) -> None:
    """Load what the manifest wants loaded; a pair that cannot be loaded says so in its chip."""
    for pair in downloads.available(space):
        if pair.preload and device.zero_gpu() and pair.from_hub:
            with suppress(HsdError):  # whoever runs it is told why
                pairs.bring(pairs.choose(space, pair.name))
        elif pair.preload:
            pairs.describe(space, pair.name)
