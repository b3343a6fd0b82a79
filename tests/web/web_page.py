"""Pages of a test's own, with the files of `hsd/web` beside them."""

from __future__ import annotations

from urllib.parse import urlsplit

from hsd.facts import facts_json
from hsd.paths import WEB

WAIT = 120_000  # milliseconds until a page counts as broken: a machine may be slow or busy
ADDRESS = "http://page.test/"
TYPES = {".js": "text/javascript", ".css": "text/css"}


def show(page, html: str, query: str = "") -> None:
    """Open `html` in a Playwright page; what it imports comes from `hsd/web`."""

    def answer(route) -> None:
        file = WEB / urlsplit(route.request.url).path.lstrip("/")
        if file.name == "facts.json":
            route.fulfill(body=facts_json(), content_type="application/json")
        elif file.is_file():
            route.fulfill(body=file.read_bytes(), content_type=TYPES[file.suffix])
        else:
            route.fulfill(body=html, content_type="text/html")

    page.route("**/*", answer)
    page.goto(ADDRESS + query)
