"""The browser of the tests, which lends pages, and pages of a test's own with the files of
`hsd/web` beside them.
"""

from __future__ import annotations

import hashlib
import json
import threading
from functools import cache
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from hsd.app.page import template
from hsd.facts import facts_json
from hsd.paths import WEB

WHOLE = "try { localStorage.setItem('hsd-board', 'full') } catch {}"
WAIT = 120_000  # milliseconds until a page counts as broken: a machine may be slow or busy


class Browser:
    """Chromium, whose pages are lent and taken back: one that has been used opens the next test
    much faster.
    """

    def __init__(self, chromium: Any) -> None:
        self.chromium = chromium
        self.profiles: dict[str, Any] = {}
        self.free: dict[str, list[Any]] = {}

    def lend(self, width: int = 1280, height: int = 800, **options: object) -> Any:
        """A page with this size and these options of a Playwright context."""
        kind = repr((width, height, sorted(options.items())))
        if kind not in self.profiles:
            self.profiles[kind] = self.profile(width, height, **options)
            self.free[kind] = []
        page = self.free[kind].pop() if self.free[kind] else self.profiles[kind].new_page()
        page.kind = kind
        return page

    def profile(
        self, width: int = 1280, height: int = 800, brief: bool = False, **options: object
    ) -> Any:
        """A Playwright context that nobody has used. brief: it was never told to show the whole
        board.
        """
        made = self.chromium.new_context(viewport={"width": width, "height": height}, **options)
        if not brief:
            made.add_init_script(WHOLE)
        made.set_default_timeout(WAIT)
        return made

    def take_back(self, page: Any) -> None:
        if page.is_closed():
            return
        page.unroute_all()
        page.goto("about:blank")
        page.mouse.move(0, 0)
        self.free[page.kind].append(page)


class Guest:
    """A page on loan, and everything that goes wrong on it.

    `own` are the starts of addresses that it may ask for, `serious` the kinds of messages that are
    problems.
    """

    def __init__(
        self,
        browser: Browser,
        *own: str,
        serious: tuple[str, ...] = ("error", "warning"),
        **options: object,
    ):
        self.browser = browser
        self.page = browser.lend(**options)
        self.problems: list[str] = []
        own = (*own, "data:", "blob:", "about:")
        self._heard = {
            "pageerror": lambda error: self.problems.append(f"page error: {error}"),
            "console": lambda told: (
                self.problems.append(f"console: {told.text}") if told.type in serious else None
            ),
            "request": lambda asked: (
                None if asked.url.startswith(own) else self.problems.append(f"asks {asked.url}")
            ),
        }
        for event, note in self._heard.items():
            self.page.on(event, note)

    def close(self) -> None:
        """Give the page back; nothing may have gone wrong on it."""
        for event, note in self._heard.items():
            self.page.remove_listener(event, note)
        self.browser.take_back(self.page)
        assert not self.problems, self.problems


class _Files(SimpleHTTPRequestHandler):
    """Answers with the files of `hsd/web`, facts.json, and the pages that tests show."""

    protocol_version = "HTTP/1.1"
    pages: dict[str, bytes] = {}

    def __init__(self, *given: Any) -> None:
        super().__init__(*given, directory=str(WEB))

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path.endswith("/facts.json"):
            self._answer(facts_json().encode(), "application/json")
        elif path.endswith("/single.html"):
            self._answer(template().encode(), "text/html")
        elif path == "/favicon.ico":
            self._answer(b"", "image/x-icon")
        elif path in self.pages:
            self._answer(self.pages[path], "text/html")
        else:
            super().do_GET()

    def _answer(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "max-age=3600")
        super().end_headers()

    def log_message(self, *_: object) -> None:
        pass


@cache
def address() -> str:
    """Where pages of a test's own are served, to the end of all tests."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Files)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/"


def show(page: Any, html: str, query: str = "") -> None:
    """Open `html` in a Playwright page; what it imports comes from `hsd/web`."""
    name = f"{hashlib.sha256(html.encode()).hexdigest()[:16]}.html"
    _Files.pages[f"/{name}"] = html.encode()
    page.goto(address() + name + query)


def answer(page: Any, answers: dict[str, Any]) -> None:
    """Let pages of a test's own get these answers, plain data by the ends of their addresses; None:
    none comes.
    """
    for path, data in answers.items():
        given = {"body": json.dumps(data), "content_type": "application/json"}
        page.route(
            f"**/{path}",
            lambda route, d=data, g=given: route.abort() if d is None else route.fulfill(**g),
        )
