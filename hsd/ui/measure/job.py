"""Batches on their way from waiting to done. They wait in the same line for the model as every other run."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from hsd.bench import Case, Record, measure, prompt_set
from hsd.bench.report import Benchmark, facts, header
from hsd.decoding.options import Options
from hsd.decoding.systems import levels_of
from hsd.errors import HsdError
from hsd.models import Codec, Pair
from hsd.ui import machine, pairs
from hsd.ui.measure.batch import Batch
from hsd.ui.runner import LOAD_SECONDS, Runner

log = logging.getLogger("hsd.ui")

KEPT_JOBS = 16
FINISHED = ("done", "cancelled", "stopped", "failed")


@dataclass
class Job:
    """A batch as its page sees it.

    state: waiting, running, done, cancelled, stopped (by the clock) or failed. begun: runs begun, those that warm up
    included; total: how many there will be. stop: set to end it before its next run.
    """

    key: str
    batch: Batch
    state: str = "waiting"
    header: dict[str, Any] | None = None
    records: list[Record] = field(default_factory=list)
    begun: int = 0
    warming: int = 0
    total: int = 0
    start: float = 0.0
    message: str = ""
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def finished(self) -> bool:
        return self.state in FINISHED

    def add(self, piece: dict[str, Any]) -> None:
        """Take in what `pieces` yielded."""
        if "header" in piece:
            self.header, self.total, self.warming = piece["header"], piece["total"], piece["warming"]
            self.start = time.monotonic()
        else:
            self.records.append(piece["record"])
            self.begun = max(self.begun, self.warming + len(self.records))

    def benchmark(self) -> Benchmark | None:
        """What has been measured; None before the first round of all cases."""
        if self.header is None:
            return None
        benchmark = Benchmark(self.header, list(self.records))
        cases = {case["name"] for case in self.header["cases"]}
        made: dict[tuple[int, int], set[str]] = {}
        for record in benchmark.records:
            made.setdefault((record["prompt"], record["repetition"]), set()).add(record["case"])
        return benchmark if any(found >= cases for found in made.values()) else None

    def progress(self) -> dict[str, Any]:
        """What the page tells of it. left: seconds at the pace so far, once there is one."""
        done, left = self.begun - 1, None
        if self.state == "running" and done > 2:
            left = round((time.monotonic() - self.start) / done * (self.total - done))
        return {
            "state": self.state,
            "finished": self.finished,
            "begun": self.begun,
            "warming": self.warming,
            "total": self.total,
            "counted": len(self.records),
            "left": left,
            "message": self.message,
            "complete": self.benchmark() is not None,
        }


class Stopped(Exception):
    """The batch is to end before its next run."""


class Watched:
    """A tokenizer that says when a run begins: each reads its prompt once, whatever its system.

    Everything else is the tokenizer's own.
    """

    def __init__(self, codec: Codec, begins: Callable[[], None]) -> None:
        self._codec, self._begins = codec, begins

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codec, name)

    def encode(self, text: str) -> list[int]:
        self._begins()
        return self._codec.encode(text)


def pieces(batch: dict[str, Any], seconds: float, begins: Callable[[], None] | None = None) -> Iterator[dict[str, Any]]:
    """Measure and yield plain data: first {"header", "total", "warming"}, then {"record"} after {"record"}.

    seconds: no run is begun after that time. begins: called before each run, may raise `Stopped`; None where this
    goes on in another process, to which only plain data can travel.
    """
    asked = Batch.from_dict(batch)
    pair, cases = pairs.load(asked.pair), asked.cases()
    check_levels(pair, cases)
    found = prompt_set(asked.set, None, asked.prompts)
    prompts = fitting(pair, found.prompts, asked.tokens)
    measured_on = facts(pair, found, asked.tokens, asked.repetitions)
    one_round = len(cases) * len(prompts)
    yield {"header": header(cases, measured_on), "total": one_round * (asked.repetitions + 1), "warming": one_round}
    deadline = time.monotonic() + seconds

    def check() -> None:
        if time.monotonic() > deadline:
            raise Stopped
        if begins:
            begins()

    watched = replace(pair, codec=cast(Codec, Watched(pair.codec, check)))
    try:
        for record in measure(watched, cases, prompts, asked.repetitions):
            yield {"record": record}
    except Stopped:
        return


def check_levels(pair: Pair, cases: Sequence[Case]) -> None:
    """Raise HsdError, before anything is measured, for the first case that the pair has no models for."""
    for case in cases:
        try:
            levels_of(pair, Options(**case.options))
        except HsdError as error:
            raise HsdError(f"{case.name}: {error}") from None


def fitting(pair: Pair, prompts: list[str], new_tokens: int) -> list[tuple[int, str]]:
    """The prompts that leave room for the new tokens, numbered. Raises HsdError when none does."""
    found = [(i, text) for i, text in enumerate(prompts) if len(pair.codec.encode(text)) + new_tokens <= pair.context]
    if not found:
        raise HsdError(
            f"no prompt leaves room for {new_tokens} new tokens in {pair.context:,}: choose fewer new tokens"
        )
    return found


def gpu_seconds(batch: dict[str, Any], seconds: float) -> int:
    """How long a GPU is needed for this batch, at most."""
    return LOAD_SECONDS + round(seconds)


pieces_on_lent_gpu = machine.lent_gpu(gpu_seconds)(pieces)


class Jobs:
    """The last batches, and how one is run; Gradio's queue calls `follow` when a batch's turn has come."""

    def __init__(self, runner: Runner) -> None:
        self.seconds, self.line = runner.limits.run_seconds, runner.line
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._lock = threading.Lock()

    def submit(self, batch: Batch) -> Job:
        """Put a batch into the line. Raises HsdError when the line is full."""
        job = Job(secrets.token_urlsafe(16), batch)
        self.line.join(job.key)
        with self._lock:
            self._jobs[job.key] = job
            while len(self._jobs) > KEPT_JOBS:
                _, oldest = self._jobs.popitem(last=False)
                oldest.stop.set()
        return job

    def get(self, key: str) -> Job:
        """Raises HsdError when there is no such batch (any more)."""
        with self._lock:
            if key not in self._jobs:
                raise HsdError("this batch is no longer kept on the server: measure again")
            return self._jobs[key]

    def cancel(self, key: str) -> None:
        """End the batch before its next run, or before it starts. A key that is not known is no error."""
        try:
            job = self.get(key)
        except HsdError:
            return
        job.stop.set()
        if job.state == "waiting":
            self.line.leave(key)
            job.state = "cancelled"

    def follow(self, job: Job) -> Iterator[None]:
        """Measure, yielding after every record. Ends with a finished job; what went wrong is its `message`."""
        if job.state != "waiting":
            return
        self.line.start(job.key)
        ending = "cancelled"
        try:
            job.state, job.start = "running", time.monotonic()
            yield from self._measure(job)
            ending = self._ending(job)
        except HsdError as error:
            ending, job.message = "failed", str(error)
        except Exception as error:
            log.exception("a batch failed")
            ending = "failed"
            job.message = f"the batch failed on the server ({type(error).__name__}): try again, or with other settings"
        finally:
            job.state = ending
            self.line.leave(job.key)

    def _measure(self, job: Job) -> Iterator[None]:
        def begins() -> None:
            if job.stop.is_set():
                raise Stopped
            job.begun += 1

        lent = machine.zero_gpu() and not job.batch.pair.embedded
        if lent:
            pairs.load(job.batch.pair)  # here, where it stays: the process with the GPU ends with the batch
        asked = (job.batch.as_dict(), self.seconds)
        found = pieces_on_lent_gpu(*asked) if lent else pieces(*asked, begins)
        try:
            for piece in found:
                job.add(piece)
                if "record" in piece:
                    yield
                if job.stop.is_set():
                    return
        finally:
            close = getattr(found, "close", None)
            if close:
                close()

    def _ending(self, job: Job) -> str:
        if job.total and len(job.records) == job.total - job.warming:
            return "done"
        if job.stop.is_set():
            return "cancelled"
        job.message = f"stopped after {self.seconds} s, the longest batch allowed here: choose less to measure"
        return "stopped"
