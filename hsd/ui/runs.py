"""Runs for the page: decoding as plain data, piece by piece, with every step in it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from hsd.decoding.loop import Decoding
from hsd.decoding.options import RunOptions
from hsd.errors import HsdError
from hsd.trace import Trace
from hsd.ui import machine, pairs
from hsd.ui.jobs import LOAD_SECONDS, TOKEN_SECONDS, Job
from hsd.ui.presets import telling_step
from hsd.ui.request import Request

Values = dict[str, Any]
UPDATE_SECONDS = 0.05  # at most 20 updates a second


@dataclass(frozen=True)
class Run:
    """A request as work."""

    request: Request

    @property
    def pair(self) -> pairs.PairChoice:
        return self.request.pair

    def pieces(self, lent: bool) -> Iterator[Values]:
        asked = asdict(self.pair), self.request.prompt, self.request.option_dict()
        return (decode_on_lent_gpu if lent else decode)(*asked)

    def told(self, job: Job, start: int, fresh: list[Any]) -> Values:
        """link: the parameters that ask for this run again; telling: the step to look at once it has ended."""
        telling = telling_step(trace(job)) if job.finished and job.items else 0
        return {"link": self.request.query(), "telling": telling}


def trace(job: Job) -> Trace:
    """A run as far as it came. Raises HsdError when nothing was decoded."""
    if job.header is None or job.result is None:
        raise HsdError(job.message or "the run ended before its first step")
    return Trace.model_validate({**job.header, "steps": job.items, "result": job.result})


def decode(pair: Values, prompt: str, options: Values) -> Iterator[Values]:
    """Decode and yield plain data: first {"header": …}, then {"items": steps, "result": …}, at most 20 times a second.

    The arguments are plain data as well, because on ZeroGPU this runs in another process. Closing the iterator
    ends the run and frees its caches.
    """
    decoding = Decoding(pairs.load(pairs.PairChoice(**pair)), prompt, RunOptions(**options))
    try:
        yield {"header": decoding.trace().model_dump(mode="json", exclude={"steps", "result"})}
        batch: list[Values] = []
        sent = time.monotonic()
        failure: HsdError | None = None
        try:
            for step in decoding:
                batch.append(step.model_dump(mode="json"))
                if time.monotonic() - sent >= UPDATE_SECONDS:
                    yield {"items": batch, "result": _result(decoding)}
                    batch, sent = [], time.monotonic()
        except HsdError as error:
            failure = error  # what was decoded before it goes out first
        yield {"items": batch, "result": _result(decoding)}
        if failure:
            raise failure
    finally:
        decoding.close()


def _result(decoding: Decoding) -> Values:
    return decoding.trace().result.model_dump(mode="json")


def gpu_seconds(pair: Values, prompt: str, options: Values) -> int:
    """How long a GPU is needed for this run, at most."""
    return LOAD_SECONDS + round(TOKEN_SECONDS * options["max_new_tokens"])


decode_on_lent_gpu = machine.lent_gpu(gpu_seconds)(decode)
