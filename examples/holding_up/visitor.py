"""The app in a process of its own, and visitors that ask it what pages and programs ask, without a browser."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil

ROOT = Path(__file__).resolve().parents[2]
READY = 180.0  # seconds for the app to start
FINISHED = ("done", "cancelled", "failed")

Values = dict[str, Any]


class App:
    """`python -m hsd app`; what it prints is kept."""

    def __init__(self, **environment: str) -> None:
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.lines: list[str] = []
        command = [sys.executable, "-m", "hsd", "app", "--port", str(self.port), "--no-download"]
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=os.environ | {"PYTHONUNBUFFERED": "1", **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._ready = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()
        if not self._ready.wait(READY) or self._process.poll() is not None:
            raise SystemExit(f"the app did not start:\n{''.join(self.lines)}")

    def _read(self) -> None:
        for line in self._process.stdout or ():
            self.lines.append(line)
            if line.startswith("The app is ready"):
                self._ready.set()
        self._ready.set()

    @property
    def tracebacks(self) -> int:
        """How often one was printed."""
        return sum(line.startswith("Traceback") for line in self.lines)

    def memory(self) -> float:
        """MB that it holds now."""
        return psutil.Process(self._process.pid).memory_info().rss / 1e6

    def stop(self, how: int = signal.SIGTERM) -> None:
        """End it; SIGKILL gives it no time to tidy up."""
        os.killpg(self._process.pid, how)
        self._process.wait(30)


class Visitor:
    """What a page's script does, or a program: a session of its own, one run at a time."""

    def __init__(self, url: str) -> None:
        self.session = secrets.token_hex(6)
        self.http = httpx.Client(base_url=url, timeout=60)
        config = self.http.get("/config").json()
        self.api = config["api_prefix"]
        names = {part["props"].get("elem_id"): part["id"] for part in config["components"]}
        self.stage, ticket = names["hsd-stage"], names["hsd-ticket"]
        self._follow = next(each["id"] for each in config["dependencies"] if [ticket, "change"] in each["targets"])

    def ask(self, name: str, argument: Any) -> httpx.Response:
        """Call a function of the page."""
        body = {"session_hash": self.session, "component_id": self.stage, "fn_name": name, "data": argument}
        return self.http.post(f"{self.api}/component_server", json=body)

    def begin(self, **asked: Any) -> Values:
        """Put a run into the line as a page does: {"key"}, or {"error"}."""
        reply: Values = self.ask("begin_job", asked).json()
        if "key" in reply:
            event = {"data": [reply["key"]], "fn_index": self._follow, "session_hash": self.session}
            self.http.post(f"{self.api}/queue/join", json=event).raise_for_status()
            threading.Thread(target=self._hear, daemon=True).start()
        return reply

    def _hear(self) -> None:
        """Take what Gradio sends of a run, as a page does, until it says that there is no more."""
        with self.http.stream("GET", f"{self.api}/queue/data", params={"session_hash": self.session}) as answer:
            for line in answer.iter_lines():
                if '"close_stream"' in line:
                    return

    def read(self, key: str, start: int = 0) -> Values:
        reply: Values = self.ask("read_job", {"key": key, "start": start}).json()
        return reply

    def watch(self, key: str, every: float = 0.2) -> Iterator[Values]:
        """What the page is told until the run has ended."""
        start, ended = 0, False
        while not ended:
            reply = self.read(key, start)
            yield reply
            start += len(reply.get("items", ()))
            ended = "error" in reply or reply["state"] in FINISHED
            time.sleep(0 if ended else every)

    def call(self, name: str, **values: Any) -> tuple[str, Any]:
        """Call an endpoint for programs: ("complete", its answer) or ("error", what it says)."""
        begun = self.http.post(f"{self.api}/call/v2/{name}", json=values)
        if begun.status_code != 200:
            return "error", begun.text
        return self.answer(f"call/{name}/{begun.json()['event_id']}")

    def answer(self, path: str) -> tuple[str, Any]:
        """What has become of a call that was begun."""
        with self.http.stream("GET", f"{self.api}/{path}", timeout=180) as answer:
            kind = ""
            for line in answer.iter_lines():
                if line.startswith("event: "):
                    kind = line.removeprefix("event: ")
                elif line.startswith("data: ") and kind in ("complete", "error"):
                    return kind, json.loads(line.removeprefix("data: "))
        return "error", "no answer"


def _free_port() -> int:
    with socket.socket() as each:
        each.bind(("127.0.0.1", 0))
        return int(each.getsockname()[1])
