"""The app, put together and served: the site, the questions of its page, and endpoints on Gradio's queue."""

from __future__ import annotations

import threading
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import HTMLResponse

from hsd.app import device, downloads, pairs, trust
from hsd.app.endpoints import endpoints
from hsd.app.files import Files
from hsd.app.middleware import guarded
from hsd.app.page import CARD
from hsd.app.questions import Questions
from hsd.app.queue import Server
from hsd.app.reference import reference
from hsd.app.site import folder_of_modules, presets_of, site
from hsd.bench import server as outside
from hsd.errors import HsdError
from hsd.space import Space
from hsd.trace import MAX_BYTES, Trace

THREADS = 40  # for all that is done at once
SESSIONS = 200  # that Gradio keeps; nothing of ours is in there


def serve(
    space: Space, whom: trust.Trust, trace_file: str | None, download: bool, address: dict[str, Any], *instead: Any
) -> None:
    """Build the app and serve it until interrupted.

    whom: whom it answers; trace_file: a saved trace to show first; download: fetch missing models meanwhile; address:
    server_name, server_port and inbrowser of Gradio's `launch`; instead: decode and offers, see `hsd.app.launch`.
    Raises HsdError.
    """
    trust.current = whom
    if not whom.local:
        outside.OPENER = outside.GUARDED
    server = build(space, Trace.from_file(trace_file) if trace_file else None, *instead)
    threading.Thread(target=_preload, args=[space], daemon=True).start()
    if download:
        downloads.begin(space, lambda name: pairs.describe(space, name))
    try:
        app, url, _ = server.launch(
            **address,
            prevent_thread_lock=True,
            quiet=True,
            ssr_mode=False,
            mcp_server=find_spec("mcp") is not None,  # the endpoints as tools of a language model
            run_history=False,
            max_file_size=MAX_BYTES,
            max_threads=THREADS,
            state_session_capacity=SESSIONS,
        )
    except OSError:
        port = address["server_port"]
        which = f"port {port} is taken" if port else "no free port was found"
        raise HsdError(f"{which}: choose another with --port") from None
    print(f"The app is ready: {url}", flush=True)
    app.get_blocks().block_thread()


def build(space: Space, opened: Trace | None = None, decode: Any = None, offers: Any = None) -> Server:
    """Return the server.

    opened: a trace to show first instead of a preset. decode, offers: see `hsd.app.launch`.
    """
    files = Files(site(space, "server", opened, device.public_address()), folder_of_modules())
    packed = Middleware(GZipMiddleware, minimum_size=1000)  # what Gradio sends as it is; the site packs its own files
    before = [Middleware(guarded), packed]
    functions = endpoints(space, presets_of(space), decode)
    own = {"title": space.title, "docs_url": None, "redoc_url": None}  # Gradio's pages load from elsewhere
    server = Server(functions, space.limits.queue_size, middleware=before, **own)
    for path in ("/", "/index.html", f"/{CARD.name}", "/data/{path:path}", "/web/{path:path}"):
        server.add_api_route(path, files.serve, methods=["GET", "HEAD"], include_in_schema=False)
    questions = Questions(space, opened, offers)
    server.add_api_route("/answers/{name}", questions.serve, methods=["POST"], include_in_schema=False)
    docs = reference(space, functions, f"{folder_of_modules()}docs/programs.md")
    server.add_api_route("/docs", lambda: HTMLResponse(docs), include_in_schema=False)
    return server


def _preload(space: Space) -> None:
    """Load what the manifest wants loaded; a pair that cannot be loaded says so in its chip."""
    for pair in downloads.available(space):
        with suppress(HsdError):  # whoever runs it is told why
            if pair.preload and not pairs.needs_lent_gpu(pairs.choose(space, pair.name)):
                pairs.describe(space, pair.name)
