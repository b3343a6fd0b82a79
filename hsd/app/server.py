"""The app, put together and served.

It serves the files of its site, questions of its page, and endpoints on Gradio's queue.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from mimetypes import guess_type
from typing import Any

import brotli  # Gradio brings it
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from hsd.app import device, downloads, pairs, race
from hsd.app.endpoints import endpoints
from hsd.app.middleware import guarded
from hsd.app.page import CARD, reference
from hsd.app.presets import player_data
from hsd.app.queue import QueuedServer
from hsd.app.replies import NOT_UNDERSTOOD, Answer, answer
from hsd.app.runs import Decoder, Watched
from hsd.app.site import Site, folder_of_modules, presets_of, site
from hsd.app.systems import planner
from hsd.errors import HsdError
from hsd.space import Space
from hsd.trace import Trace


def build(
    space: Space,
    opened: Trace | None = None,
    decode: Decoder | None = None,
    watched: Watched | None = None,
) -> QueuedServer:
    """Return the server.

    opened: a trace to show first, not a preset. decode, watched: see `hsd.app.launch`.
    """
    files = Files(site(space, "server", opened, device.public_address()), folder_of_modules())
    # what Gradio sends as it is; the site packs its own files
    packed = Middleware(GZipMiddleware, minimum_size=1000)
    before = [Middleware(guarded), packed]
    functions = endpoints(space, presets_of(space), decode, watched)
    # Gradio's pages load from elsewhere
    own = {"title": space.title, "docs_url": None, "redoc_url": None}
    server = QueuedServer(functions, space.limits.queue_size, middleware=before, **own)
    for path in ("/", "/index.html", f"/{CARD.name}", "/data/{path:path}", "/web/{path:path}"):
        server.add_api_route(path, files.serve, methods=["GET", "HEAD"], include_in_schema=False)
    questions = Questions(space, opened, watched)
    server.add_api_route(
        "/answers/{name}", questions.serve, methods=["POST"], include_in_schema=False
    )
    docs = reference(space, functions, f"{folder_of_modules()}docs/programs.md")
    server.add_api_route("/docs", lambda: HTMLResponse(docs), include_in_schema=False)
    return server


def preload(space: Space) -> None:
    """Load the pairs that the manifest marks `preload`, unless they need a lent GPU.

    Errors are shown when a pair is run.
    """
    for pair in downloads.available(space):
        with suppress(HsdError):  # whoever runs it is told why
            if pair.preload and not pairs.needs_lent_gpu(pairs.choose(space, pair.name)):
                pairs.describe(space, pair.name)


# ---- what the page asks besides runs


class Questions:
    """Answers POST answers/NAME. An error is an answer too: {"error": one line}."""

    def __init__(self, space: Space, opened: Trace | None, watched: Watched | None = None) -> None:
        def name_of(given: Answer) -> str:
            return str(given.get("name") or downloads.first(space).name)

        self.functions: dict[str, Callable[[Answer], Any]] = {
            "pair": lambda given: pairs.describe(space, name_of(given)),
            "downloads": lambda _: downloads.offers(space),
            "fetch": lambda given: downloads.start(space, name_of(given)).name,
            "requests": lambda _: watched.runs() if watched else None,
            "opened": lambda _: player_data(opened) if opened else None,
            "check": lambda given: player_data(Trace.from_json(str(given.get("text") or ""))),
            "plan_stack": planner.plan_stack,
            "race_plan": lambda given: race.read_plan(space, given).as_data(),
        }

    async def serve(self, request: Request) -> Response:
        """Return the answer to a request."""
        try:
            values = await request.json()
        except (ValueError, RecursionError):
            values = None
        function = self.functions.get(request.path_params["name"])
        if function is None or not isinstance(values, dict):
            return JSONResponse({"error": NOT_UNDERSTOOD}, 400)
        return JSONResponse(await run_in_threadpool(answer, function, values))


# ---- files

FOREVER = "public, max-age=31536000, immutable"
LARGE = 1_000_000  # bytes from which the strongest compression takes seconds
TYPES = {
    ".js": "text/javascript",
    ".json": "application/json",
    ".md": "text/plain",
    ".html": "text/html",
}
"""Media types that operating systems disagree about.

A browser refuses a module that is served under a wrong one.
"""


class Files:
    """Answers GET with the files of a site.

    lasting: the prefix of the paths whose contents never change.
    """

    def __init__(self, site: Site, lasting: str) -> None:
        self._site = site
        self._lasting = lasting
        self.read = cache(lambda path: site[path]())
        self.packed = cache(self._packed)

    def _packed(self, path: str) -> bytes:
        """Return the contents of a file, compressed by brotli."""
        content = self.read(path)
        return bytes(brotli.compress(content, quality=11 if len(content) < LARGE else 9))

    def serve(self, request: Request) -> Response:
        """Return the file at a request's path, or status 304 if it has not changed."""
        root = request.scope.get("root_path", "")
        path = request.url.path.removeprefix(root).lstrip("/") or "index.html"
        if path not in self._site:
            return Response("no such file", 404, media_type="text/plain")
        content = self.read(path)
        known = TYPES.get(path[path.rfind(".") :]) or guess_type(path)[0]
        kind = known or "application/octet-stream"
        headers = {"Vary": "Accept-Encoding", "Cache-Control": FOREVER}
        if not path.startswith(self._lasting):  # else nobody asks again
            mark = sha256(content).hexdigest()[:16]
            headers |= {"Cache-Control": "no-cache", "ETag": f'"{mark}"'}
            if request.headers.get("If-None-Match") == headers["ETag"]:
                return Response(status_code=304, headers=headers)
        if "br" in request.headers.get("Accept-Encoding", ""):
            content = self.packed(path)
            headers["Content-Encoding"] = "br"
        words = "" if kind.startswith("image/") else "; charset=utf-8"
        return Response(content, media_type=f"{kind}{words}", headers=headers)
