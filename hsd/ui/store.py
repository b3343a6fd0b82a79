"""Live runs, kept on the server for as long as there is room; the page fetches them piece by piece.

A trace never is a component's value: that would slow down every later update of the page. The page gets a key
that nobody can guess and a count, and asks here for the steps that it does not have yet.
"""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from hsd.errors import HsdError
from hsd.trace import Trace
from hsd.ui.presets import telling_step
from hsd.ui.request import Request

FINISHED = ("done", "cancelled", "failed")


@dataclass
class Run:
    """A run as its page sees it.

    header: a trace without steps and result. state: waiting, running, done, cancelled or failed.
    message: why it ended early, if it did. telling: the step to look at once it has ended. serial: the
    number of the message that told its page about it. stop: set to end it.
    """

    key: str
    request: Request
    state: str = "waiting"
    header: dict[str, Any] | None = None
    steps: list[dict[str, Any]] = field(default_factory=list)
    result: dict[str, Any] | None = None
    message: str = ""
    telling: int = 0
    serial: int = 0
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def finished(self) -> bool:
        return self.state in FINISHED

    @property
    def progress(self) -> int:
        """How much there is to fetch."""
        return len(self.steps)

    @property
    def begun(self) -> bool:
        """Whether there is something to keep if the run is ended now."""
        return self.result is not None

    def add(self, delta: dict[str, Any]) -> None:
        """Take in what the decoder yielded: a header, or steps with the result so far."""
        self.header = delta.get("header", self.header)
        self.steps.extend(delta.get("steps", ()))
        self.result = delta.get("result", self.result)

    def end(self, state: str) -> None:
        """Nothing more will come. The state is set last: whoever reads it finds the rest in place."""
        if self.steps:
            self.telling = telling_step(self.trace())
        self.state = state

    def trace(self) -> Trace:
        """The run as a trace. Raises HsdError when nothing was decoded."""
        if self.header is None or self.result is None:
            raise HsdError(self.message or "the run ended before its first step")
        return Trace.model_validate({**self.header, "steps": self.steps, "result": self.result})

    def since(self, start: int) -> dict[str, Any]:
        """What a page that has `start` steps is missing. The result comes last, when the run has ended."""
        finished = self.finished  # read first: what is appended after this line is fetched next time
        steps = self.steps[start:]
        return {
            "state": self.state if finished else "running" if self.header else self.state,
            "header": self.header if start == 0 else None,
            "start": start,
            "steps": steps,
            "result": self.result if finished else None,
            "link": self.request.query(),
            "message": self.message,
            "telling": self.telling,
        }


def new_key() -> str:
    """128 random bits that nobody can guess."""
    return secrets.token_urlsafe(16)


class RunStore:
    """The last `capacity` runs; the one that was not looked at for longest goes first."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._runs: OrderedDict[str, Run] = OrderedDict()
        self._lock = threading.Lock()

    def new(self, request: Request) -> Run:
        """An empty run under a fresh key."""
        run = Run(new_key(), request)
        self.add(run)
        return run

    def add(self, run: Run) -> None:
        """Keep `run`; one too many ends and forgets the oldest."""
        with self._lock:
            self._runs[run.key] = run
            while len(self._runs) > self._capacity:
                _, oldest = self._runs.popitem(last=False)
                oldest.stop.set()

    def get(self, key: str) -> Run:
        """Raises HsdError when there is no such run (any more)."""
        with self._lock:
            if key not in self._runs:
                raise HsdError("this run is no longer kept on the server: run it again")
            self._runs.move_to_end(key)
            return self._runs[key]

    def __len__(self) -> int:
        return len(self._runs)
