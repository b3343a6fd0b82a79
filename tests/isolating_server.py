"""A plain file server that says what the Spacefile makes a static Space say: `isolating_server.py PORT FOLDER`."""

from __future__ import annotations

import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

from hsd.space import ISOLATED


class Isolating(SimpleHTTPRequestHandler):
    def end_headers(self) -> None:
        for name, value in ISOLATED.items():
            self.send_header(name, value)
        super().end_headers()


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), partial(Isolating, directory=sys.argv[2])).serve_forever()
