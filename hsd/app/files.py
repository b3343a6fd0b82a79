"""Serves the site's files; each is made once, and compressed once for browsers that accept that."""

from functools import cache
from hashlib import sha256
from mimetypes import guess_type

import brotli  # Gradio brings it
from starlette.requests import Request
from starlette.responses import Response

from hsd.app.site import Site

FOREVER = "public, max-age=31536000, immutable"
LARGE = 1_000_000  # bytes from which the strongest compression takes seconds
TYPES = {".js": "text/javascript", ".json": "application/json", ".md": "text/plain", ".html": "text/html"}
"""Media types that operating systems disagree about; a browser refuses a module served under a wrong one."""


class Files:
    """The files of a site. lasting: the prefix of the paths whose contents never change."""

    def __init__(self, site: Site, lasting: str) -> None:
        self._site, self._lasting = site, lasting
        self.read = cache(lambda path: site[path]())
        self.packed = cache(self._packed)

    def _packed(self, path: str) -> bytes:
        """Return the contents of a file, compressed by brotli."""
        content = self.read(path)
        return bytes(brotli.compress(content, quality=11 if len(content) < LARGE else 9))

    def serve(self, request: Request) -> Response:
        """Return the file at a request's path, or status 304 if it has not changed."""
        path = request.url.path.removeprefix(request.scope.get("root_path", "")).lstrip("/") or "index.html"
        if path not in self._site:
            return Response("no such file", 404, media_type="text/plain")
        content = self.read(path)
        kind = TYPES.get(path[path.rfind(".") :]) or guess_type(path)[0] or "application/octet-stream"
        headers = {"Vary": "Accept-Encoding", "Cache-Control": FOREVER}
        if not path.startswith(self._lasting):  # else nobody asks again
            headers |= {"Cache-Control": "no-cache", "ETag": f'"{sha256(content).hexdigest()[:16]}"'}
            if request.headers.get("If-None-Match") == headers["ETag"]:
                return Response(status_code=304, headers=headers)
        if "br" in request.headers.get("Accept-Encoding", ""):
            content, headers["Content-Encoding"] = self.packed(path), "br"
        words = "" if kind.startswith("image/") else "; charset=utf-8"
        return Response(content, media_type=f"{kind}{words}", headers=headers)
