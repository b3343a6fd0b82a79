"""Whatever a page asks the model for: one line to wait in, one store, and one way to ask for news.

A job is a run, a race or a batch; its `Work` says which. The page's script knows three functions of every screen:

    begin_job(asked)         → {"key"}; asked is what the screen's own check takes
    read_job({"key", "start"}) → what a page that has `start` items is missing:
        {"state": "waiting" | "running" | "done" | "cancelled" | "failed",
         "place": in the line, 0 when there is no one ahead,    "wait": seconds that it will take, about,
         "message": why it ended early, or "",
         "header": what comes before the items; null if start > 0 or not known yet,
         "start", "items": those from `start` on,               "result": null until there is one,
         …and what the kind of work adds: link and telling (run), progress (batch)}
    cancel_job(key)          → {}; ends it after its current item, what there is stays

and each answers {"error": one line} instead where something is wrong. Items of a run are steps, its header and result
those of its trace; items of a race are events, its result the report; items of a batch are its runs. A trace never is
a component's value, which would slow down every later update of the page: the component's value is a small message,
{"serial", "key", "count", "state"} when there are `count` items to fetch, or {"serial", "alert"}. Serials grow with
every job and every other message, so that a page can tell an old one.
"""

from __future__ import annotations

import itertools
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from gradio.context import LocalContext

from hsd.errors import HsdError
from hsd.space import Limits
from hsd.ui import machine, pairs
from hsd.ui.fetch import NOT_UNDERSTOOD, answered, unexpected
from hsd.ui.line import Line

Values = dict[str, Any]
Function = Callable[[Any], Values]
FINISHED = ("done", "cancelled", "failed")
LOAD_SECONDS = 40  # asked of ZeroGPU on top of the work itself: moving a pair to the GPU
TOKEN_SECONDS = 0.15  # asked of ZeroGPU for each new token

QUIET: Values = {"show_progress": "hidden", "api_visibility": "private"}
QUICK: Values = {**QUIET, "queue": False}
MODEL: Values = {**QUIET, "concurrency_id": "model", "concurrency_limit": None}
"""How events of the page are heard: any; those that take no time; those that wait for the model, in our own line."""


class Work(Protocol):
    """What a job does, checked before it waits."""

    @property
    def pair(self) -> pairs.PairChoice:
        """The models that it needs."""

    def pieces(self, lent: bool) -> Iterator[Values]:
        """Do it and yield plain data: {"header": …} first, then {"items": […]}, with "result" where there is one.

        lent: on a GPU that is lent for it, in another process. Closing the iterator ends the work.
        """

    def told(self, job: Job, start: int, fresh: list[Any]) -> Values:
        """What the page is told besides state, header and items. fresh: the items from `start` on."""


@dataclass
class Job:
    """Work under way or ended, as its page sees it. began: when its turn came; stop: set to end it."""

    key: str
    work: Any
    serial: int
    state: str = "waiting"
    header: Values | None = None
    items: list[Any] = field(default_factory=list)
    result: Values | None = None
    message: str = ""
    began: float = 0.0
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def finished(self) -> bool:
        return self.state in FINISHED

    def add(self, piece: Values) -> None:
        """Take in what the work yielded."""
        self.header = piece.get("header", self.header)
        self.items.extend(piece.get("items", ()))
        self.result = piece.get("result", self.result)

    def since(self, start: int) -> Values:
        """What a page that has `start` items is missing."""
        state = self.state  # read first: what is added after this line is fetched next time
        fresh = self.items[start:]
        header = self.header if start == 0 else None
        told = {"state": state, "message": self.message, "header": header, "start": start, "items": fresh}
        return {**told, "result": self.result if state in FINISHED else None, **self.work.told(self, start, fresh)}

    def news(self) -> Values:
        """The message to its page: there is something to fetch."""
        return {"serial": self.serial, "key": self.key, "count": len(self.items), "state": self.state}


def visitor() -> str:
    """Whose request is being answered: a page, or a program's client; "" outside of any."""
    request = LocalContext.request.get(None)
    return str(getattr(request, "session_hash", None) or "")


class Jobs:
    """The last jobs, and their way from waiting to done; `follow` waits for its turn in a thread of Gradio's."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.line = Line(limits.queue_size)
        self._jobs: OrderedDict[str, Job] = OrderedDict()  # the one that was not looked at for longest goes first
        self._lock = threading.Lock()
        self._serial = itertools.count(1)

    def message(self, **content: Any) -> Values:
        """A message to a page, newer than all before."""
        return {"serial": next(self._serial), **content}

    def submit(self, work: Work, lasting: bool = False) -> Job:
        """Put it into the line. Raises HsdError when the line is full. One job too many ends and forgets the oldest.

        lasting: it waits although no page asks how far it is.
        """
        job = Job(secrets.token_urlsafe(16), work, next(self._serial))  # a key that nobody can guess
        self.line.join(job.key, lasting)
        with self._lock:
            self._jobs[job.key] = job
            while len(self._jobs) > self.limits.stored_traces:
                _, oldest = self._jobs.popitem(last=False)
                oldest.stop.set()
        return job

    def get(self, key: Any) -> Job:
        """Raises HsdError when there is no such job (any more)."""
        with self._lock:
            if str(key) not in self._jobs:
                raise HsdError("this run is no longer kept on the server: run it again")
            self._jobs.move_to_end(str(key))
            return self._jobs[str(key)]

    def cancel(self, key: Any) -> None:
        """End the job after its current item, or before it starts. A key that is not known is no error."""
        try:
            job = self.get(key)
        except HsdError:
            return
        job.stop.set()
        if job.state == "waiting":
            self.line.leave(job.key)
            job.state = "cancelled"

    def follow(self, job: Job) -> Iterator[int]:
        """Wait for its turn and do the work, yielding the number of its items each time there is more.

        Ends with a finished job. Nothing is raised: what went wrong is the job's `message`, and what was made before it
        stays.
        """
        if job.state != "waiting":
            return
        ending = "cancelled"
        try:
            if self.line.turn(job.key, visitor()) and not job.stop.is_set():
                job.state, job.began = "running", time.monotonic()
                ending = yield from self._do(job)
        except HsdError as error:
            ending, job.message = "failed", str(error)
        except Exception as error:
            ending, job.message = "failed", unexpected(error, "try again, or with other options")
        finally:
            job.state = ending  # set last: whoever reads it finds the rest in place
            self.line.leave(job.key)

    def _do(self, job: Job) -> Generator[int, None, str]:
        """Take in the pieces until the work ends or is ended; returns the state in which it ends."""
        lent = machine.zero_gpu() and job.work.pair.from_hub
        if lent:
            pairs.bring(job.work.pair)
        pieces = job.work.pieces(lent)
        try:
            for piece in pieces:
                job.add(piece)
                yield len(job.items)
                if job.stop.is_set():
                    return "cancelled"
                if time.monotonic() - job.began > self.limits.run_seconds and (job.items or job.result):
                    job.message = f"stopped after {self.limits.run_seconds} s, the longest time here: ask for less"
                    return "cancelled"
        finally:
            close = getattr(pieces, "close", None)
            if close:
                close()
        return "done"

    def finish(self, work: Work) -> Job:
        """Do it to its end, for callers that want all of it at once. Raises HsdError when it fails."""
        job = self.submit(work, lasting=True)
        for _ in self.follow(job):
            pass
        if job.state == "failed":
            raise HsdError(job.message)
        return job

    # ---- what pages ask

    def messages(self, key: Any) -> Iterator[Values]:
        """Do what `begin_job` put into the line, as messages to its page."""
        try:
            job = self.get(key)
            for _ in self.follow(job):
                yield job.news()
            yield job.news()
        except HsdError as error:
            yield self.message(key=str(key), alert=str(error))

    def read(self, asked: Any) -> Values:
        """`read_job`. Raises HsdError."""
        start = asked.get("start") if isinstance(asked, dict) else None
        if not isinstance(start, int) or start < 0:
            raise HsdError(NOT_UNDERSTOOD)
        job = self.get(asked.get("key"))
        place = self.line.place(job.key)
        return {**job.since(start), "place": place, "wait": self.line.seconds(place)}

    def functions(self, begin: Callable[[Values], Work]) -> list[Function]:
        """The functions that a screen's script can call. begin: checks what it asks for. Raises HsdError."""

        @answered
        def begin_job(asked: Any) -> Values:
            if not isinstance(asked, dict):
                raise HsdError(NOT_UNDERSTOOD)
            return {"key": self.submit(begin(asked)).key}

        @answered
        def read_job(asked: Any) -> Values:
            return self.read(asked)

        @answered
        def cancel_job(key: Any) -> Values:
            self.cancel(key)
            return {}

        return [begin_job, read_job, cancel_job]
