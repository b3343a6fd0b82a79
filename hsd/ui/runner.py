"""Runs for the page: decoding as plain data, piece by piece, and the run's way from waiting to done."""

from __future__ import annotations

import logging
import time
from collections.abc import Generator, Iterator
from typing import Any

from hsd.decoding.loop import Decoding
from hsd.decoding.options import Options
from hsd.errors import HsdError
from hsd.space import Space
from hsd.trace import Trace
from hsd.ui import machine, pairs
from hsd.ui.line import Line
from hsd.ui.request import Request
from hsd.ui.store import Run, RunStore

log = logging.getLogger("hsd.ui")

UPDATE_SECONDS = 0.05  # at most 20 updates a second
LOAD_SECONDS = 40  # asked of ZeroGPU on top of decoding: moving a pair to the GPU
TOKEN_SECONDS = 0.15  # asked of ZeroGPU for each new token


def deltas(pair: dict[str, Any], prompt: str, options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Decode and yield plain data: first {"header": …}, then {"steps": […], "result": …}, at most 20 times a second.

    The arguments are plain data as well, because on ZeroGPU this runs in another process. Closing the iterator
    ends the run and frees its caches.
    """
    decoding = Decoding(pairs.load(pairs.PairChoice(**pair)), prompt, Options(**options))
    try:
        yield {"header": decoding.trace().model_dump(mode="json", exclude={"steps", "result"})}
        batch: list[dict[str, Any]] = []
        sent = time.monotonic()
        failure: HsdError | None = None
        try:
            for step in decoding:
                batch.append(step.model_dump(mode="json"))
                if time.monotonic() - sent >= UPDATE_SECONDS:
                    yield {"steps": batch, "result": _result(decoding)}
                    batch, sent = [], time.monotonic()
        except HsdError as error:
            failure = error  # what was decoded before it goes out first
        yield {"steps": batch, "result": _result(decoding)}
        if failure:
            raise failure
    finally:
        decoding.close()


def _result(decoding: Decoding) -> dict[str, Any]:
    return decoding.trace().result.model_dump(mode="json")


def gpu_seconds(pair: dict[str, Any], prompt: str, options: dict[str, Any]) -> int:
    """How long a GPU is needed for this run, at most."""
    return LOAD_SECONDS + round(TOKEN_SECONDS * options["max_new_tokens"])


deltas_on_lent_gpu = machine.lent_gpu(gpu_seconds)(deltas)


class Runner:
    """Turns requests into stored runs, one at a time; Gradio's queue calls `follow` when a run's turn has come."""

    def __init__(self, space: Space) -> None:
        self.limits = space.limits
        self.store = RunStore(space.limits.stored_traces)
        self.line = Line(space.limits.queue_size)

    def submit(self, request: Request) -> Run:
        """Put a run into the line. Raises HsdError when the line is full."""
        run = self.store.new(request)
        self.line.join(run.key)
        return run

    def follow(self, run: Run) -> Iterator[int]:
        """Decode `run`, yielding the number of its steps each time there are more. Ends with a finished run.

        Nothing is raised: what went wrong is the run's `message`, and what was decoded stays.
        """
        if run.state != "waiting":
            return
        self.line.start(run.key)
        ending = "cancelled"
        try:
            if not run.stop.is_set():
                run.state = "running"
                ending = yield from self._decode(run)
        except HsdError as error:
            ending, run.message = "failed", str(error)
        except Exception as error:
            log.exception("a run failed")
            ending = "failed"
            run.message = f"the run failed on the server ({type(error).__name__}): try again, or with other options"
        finally:
            run.end(ending)
            self.line.leave(run.key)

    def _decode(self, run: Run) -> Generator[int, None, str]:
        """Take in the pieces of `run` until it ends or is ended; returns the state in which it ends."""
        pieces = self.pieces(run)
        begin = time.monotonic()
        try:
            for piece in pieces:
                run.add(piece)
                yield run.progress
                if run.stop.is_set():
                    return "cancelled"
                if time.monotonic() - begin > self.limits.run_seconds and run.begun:
                    run.message = (
                        f"stopped after {self.limits.run_seconds} s, the longest run allowed here: ask for less"
                    )
                    return "cancelled"
        finally:
            close = getattr(pieces, "close", None)
            if close:
                close()
        return "done"

    def pieces(self, run: Run) -> Iterator[dict[str, Any]]:
        """Where a run's plain data comes from: this process, or one with a GPU that is lent for it."""
        request, decode = run.request, deltas
        if machine.zero_gpu() and not request.pair.embedded:
            pairs.load(request.pair)  # here, where it stays: the process with the GPU ends with the run
            decode = deltas_on_lent_gpu
        return decode(request.pair.as_dict(), request.prompt, request.option_dict())

    def cancel(self, key: str) -> None:
        """End the run after its current step, or before it starts. A key that is not known is no error."""
        try:
            run = self.store.get(key)
        except HsdError:
            return
        run.stop.set()
        if run.state == "waiting":
            self.line.leave(key)
            run.state = "cancelled"

    def finish(self, request: Request) -> Trace:
        """Run `request` to its end, for callers that want the whole trace at once. Raises HsdError."""
        run = self.submit(request)
        for _ in self.follow(run):
            pass
        if run.state == "failed":
            raise HsdError(run.message)
        return run.trace()
