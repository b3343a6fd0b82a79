"""Measure the memory of the page's process while it decodes, with no debugger attached.

    python examples/reproduce/engines/page_memory.py SITE

SITE is what `python -m hsd space export --static SITE --weights` writes. A debugger keeps what a
page downloads, and so a first load would seem to need some 150 MB more; here a script in the page
types, runs and tells when it is done. The first visit loads the model, the second takes it from the
browser's store. Prints megabytes, now and at most so far.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any

# so that this runs without installing the package
sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from browser import FLAGS, Isolating, Quiet, memory

DRIVER = Path(__file__).with_suffix(".js")
VISITS = ("first visit", "next visit")
PATIENCE = 180.0  # seconds for a visit
INSERTED = '<script type="module" src="drive.js"></script></body>'


def served(site: Path, threads: int, notes: Queue[str]) -> type[BaseHTTPRequestHandler]:
    """Serve the page with a script that drives it and posts a note after each part."""

    class Handler(Isolating if threads > 1 else Quiet):  # type: ignore[misc]
        def do_POST(self) -> None:
            notes.put(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self.send_response(204)
            self.end_headers()

        def do_GET(self) -> None:
            if self.path == "/":
                page = (site / "index.html").read_text(encoding="utf-8")
                self.answer(page.replace("</body>", INSERTED), "html")
            elif self.path == "/drive.js":
                self.answer(DRIVER.read_text(encoding="utf-8"), "javascript")
            else:
                super().do_GET()

        def answer(self, body: str, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", f"text/{kind}; charset=utf-8")
            self.end_headers()
            self.wfile.write(body.encode())

    return Handler


def visit(name: str, chromium: str, profile: str, port: int, notes: Queue[str]) -> None:
    """Open the page, and print the memory of its process at every note."""
    own = [
        "--headless=new",
        "--no-first-run",
        f"--user-data-dir={profile}",
        f"http://127.0.0.1:{port}/",
    ]
    browser = subprocess.Popen([chromium, *FLAGS, *own], stderr=subprocess.DEVNULL)
    try:
        while (note := notes.get(timeout=PATIENCE)) != "end":
            now, most = (memory(os.getpid(), field) for field in ("VmRSS", "VmHWM"))
            print(f"{name}, {note}: {now} MB, at most {most} MB so far", flush=True)
    except Empty:
        print(
            f"{name}: the page has not gone on for {PATIENCE:.0f} s: open it by hand and look at "
            "its console"
        )
    finally:
        browser.terminate()
        browser.wait()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("site", type=Path)
    parser.add_argument(
        "--threads", type=int, default=1, help="2: as where the server isolates the page"
    )
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    given = parser.parse_args()
    notes: Queue[str] = Queue()
    handler: Any = partial(served(given.site, given.threads, notes), directory=str(given.site))
    with (
        ThreadingHTTPServer(("127.0.0.1", 0), handler) as server,
        tempfile.TemporaryDirectory() as profile,
    ):
        Thread(target=server.serve_forever, daemon=True).start()
        for name in VISITS:
            visit(name, given.chromium, profile, server.server_port, notes)
        server.shutdown()


if __name__ == "__main__":
    main()
