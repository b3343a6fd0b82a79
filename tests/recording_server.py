"""A vLLM server for tests, with the steps that this project's plugin records of its requests."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlsplit

from hsd.trace import Trace

Entry = dict[str, object]


def entries(trace: Trace, name: str = "cmpl-1") -> list[Entry]:
    """What the plugin records of a request: its beginning, every step, and its result."""
    data = json.loads(trace.to_json())
    beginning = {**data, "steps": [], "result": {"text": "", "finish": "cancelled", "seconds": 0}}
    news = [
        ("beginning", beginning),
        *(("step", step) for step in data["steps"]),
        ("result", data["result"]),
    ]
    return [{"request": name, "kind": kind, "data": value} for kind, value in news]


class RecordingServer(ThreadingHTTPServer):
    """A server that hands out what a test has put into `entries`, three at a time."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.entries: list[Entry] = []
        self.url = f"http://127.0.0.1:{self.server_port}"
        Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    server: RecordingServer

    def do_GET(self) -> None:
        query = parse_qs(urlsplit(self.path).query)
        after = int(query["after"][0])
        news = self.server.entries[after : after + 3]
        answer = {"next": after + len(news), "dropped": 0, "entries": news}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing on the screen."""
