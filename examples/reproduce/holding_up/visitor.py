"""The app in a process of its own, and visitors that ask it what pages and programs ask, without a
browser.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import httpx
import psutil

ROOT = Path(__file__).resolve().parents[3]
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
            encoding="utf-8",
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
        """Count the tracebacks that the app has printed."""
        return sum(line.startswith("Traceback") for line in self.lines)

    def memory(self) -> float:
        """Return the app's resident memory in MB."""
        return psutil.Process(self._process.pid).memory_info().rss / 1e6

    def stop(self, how: int = signal.SIGTERM) -> None:
        """End it; SIGKILL gives it no time to tidy up."""
        os.killpg(self._process.pid, how)
        self._process.wait(30)


class Run:
    """A run as its page sees it. state: "waiting", "running", or one of `FINISHED`; place: number
    in the line; steps: so far; text: of the whole, once it is there; message: why it ended early.
    """

    def __init__(self, visitor: Visitor, asked: Values) -> None:
        self.session = secrets.token_hex(6)
        self._http = visitor.http
        self._api = visitor.api
        self.state = "waiting"
        self.place = 0
        self.message = ""
        self.text = ""
        self.places: list[int] = []
        self.steps: list[Values] = []
        self._last = ""
        body = {"data": [asked], "fn_index": visitor.decode, "session_hash": self.session}
        begun = self._http.post(
            f"{self._api}/queue/join", json=body, headers={"x-hsd-visitor": visitor.name}
        )
        self._event = begun.json().get("event_id") if begun.status_code == 200 else None
        if self._event is None:
            self.state = "failed"
            self.message = begun.text
            return
        self._following = threading.Thread(target=self._follow, daemon=True)
        self._following.start()

    def _follow(self) -> None:
        try:
            path = f"{self._api}/queue/data"
            with self._http.stream(
                "GET", path, params={"session_hash": self.session}, timeout=180
            ) as answer:
                for line in answer.iter_lines():
                    if line.startswith("data: "):
                        self._take(json.loads(line.removeprefix("data: ")))
        except httpx.HTTPError as error:
            self.state = "failed"
            self.message = type(error).__name__
        if self.state not in FINISHED:
            self.state = "cancelled"

    def _take(self, told: Values) -> None:
        if told["msg"] == "estimation":
            self.place = told["rank"] + 1
            self.places.append(self.place)
        elif told["msg"] == "process_starts":
            self.state = "running"
            self.place = 0
        elif told["msg"] == "process_generating" and told["success"]:
            for kind, _, text in _changes(told["output"]["data"][0]):
                self._last = text if kind == "replace" else self._last + text
            message = json.loads(self._last)
            self.steps += message.get("steps", ())
            self.text = message.get("result", {}).get("text", self.text)
            self.message = message.get("message", self.message)
        elif told["msg"] == "process_completed":
            ended = "done" if "key" in json.loads(self._last or "{}") else "cancelled"
            self.state = ended if told["success"] else "failed"
            self.message = self.message if told["success"] else str(told["output"].get("error"))

    def cancel(self) -> None:
        """End it after its current step."""
        ended = {"session_hash": self.session, "event_id": self._event, "fn_index": 0}
        self._http.post(f"{self._api}/cancel", json=ended)

    def wait(self) -> Run:
        """Wait until the run has ended."""
        if self.state not in FINISHED:
            self._following.join(180)
        return self


def _changes(data: Any) -> list[list[Any]]:
    """What Gradio sends of a new value: the value itself at first, then how it differs from the
    last.
    """
    return [["replace", [], data]] if isinstance(data, str) else data


class Visitor:
    """What a page's script does, or a program: one run at a time, each in a session of its own."""

    def __init__(self, url: str) -> None:
        self.name = secrets.token_hex(6)
        self.http = httpx.Client(base_url=url, timeout=60, trust_env=False)
        config = self.http.get("/config").json()
        self.api = config["api_prefix"]
        self.decode = next(
            each["id"] for each in config["dependencies"] if each["api_name"] == "decode"
        )

    def ask(self, name: str, argument: Any) -> httpx.Response:
        """Ask a question as the page does and return the answer."""
        return self.http.post(f"/answers/{name}", json=argument)

    def begin(self, **asked: Any) -> Run:
        """Ask for a run as a page does."""
        return Run(self, asked)

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
