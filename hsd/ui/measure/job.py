"""A batch as work for the model: its cases measured run by run, in the line that every other use waits in."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hsd.bench import Case, measure, prompt_set
from hsd.bench.measure import fitting
from hsd.bench.report import Benchmark, facts, header
from hsd.bench.summary import complete
from hsd.decoding.options import RunOptions
from hsd.decoding.systems import levels_of
from hsd.errors import HsdError
from hsd.models import Pair
from hsd.ui import machine, pairs
from hsd.ui.jobs import LOAD_SECONDS, Job
from hsd.ui.measure.batch import Batch

Values = dict[str, Any]


@dataclass(frozen=True)
class Measuring:
    """A batch as work. seconds: no run is begun after that time."""

    batch: Batch
    seconds: float

    @property
    def pair(self) -> pairs.PairChoice:
        return self.batch.pair

    def pieces(self, lent: bool) -> Iterator[Values]:
        return (measured_on_lent_gpu if lent else measured)(self.batch.as_dict(), self.seconds)

    def told(self, job: Job, start: int, fresh: list[Values]) -> Values:
        """Of each run only what it was of. progress: see `progress`."""
        runs = [{name: item[name] for name in ("case", "prompt", "repetition")} for item in fresh]
        head = job.header and start == 0 and {name: job.header[name] for name in ("total", "warming")}
        return {"header": head or None, "items": runs, "result": None, "progress": progress(job)}


def benchmark(job: Job) -> Benchmark | None:
    """What has been measured; None before the first round of all cases."""
    if job.header is None:
        return None
    file = job.header["file"]
    records = [record for record in list(job.items) if record["repetition"]]
    found = complete(records, [case["name"] for case in file["cases"]])
    return Benchmark(file, records) if found else None


def progress(job: Job) -> Values:
    """How far it is. begun: runs begun, those that warm up included; total: how many there will be; warming: of them;
    counted: those that have ended and count; left: seconds at the pace so far, once there is one; complete: whether
    there is something to show.
    """
    head, done = job.header or {"total": 0, "warming": 0}, len(job.items)
    begun = min(done + (job.state == "running" and job.header is not None), head["total"])
    left = None
    if job.state == "running" and done > 1:
        left = round((time.monotonic() - job.began) / done * (head["total"] - done))
    counted = max(done - head["warming"], 0)
    told = {"begun": begun, "total": head["total"], "warming": head["warming"], "counted": counted, "left": left}
    return {**told, "complete": benchmark(job) is not None, "finished": job.finished}


def measured(batch: Values, seconds: float) -> Iterator[Values]:
    """Measure and yield plain data: {"header": {"file": first line of the file, "total", "warming"}}, then
    {"items": [record]} after every run, those that warm up among them as repetition 0.

    The arguments are plain data, because on ZeroGPU this runs in another process. seconds: asked of ZeroGPU.
    """
    asked = Batch.from_dict(batch)
    server = asked.address.reach() if asked.address else None
    pair, cases = pairs.load(asked.pair), asked.cases(server)
    check_levels(pair, cases)
    found = prompt_set(asked.set, None, asked.prompts)
    prompts = fitting(pair, found.prompts, asked.tokens)
    told = {"server": server.about} if server else {}
    first = header(cases, {**facts(pair, found, asked.tokens, asked.repetitions), **told})
    one_round = len(cases) * len(prompts)
    yield {"header": {"file": first, "total": one_round * (asked.repetitions + 1), "warming": one_round}}
    for record in measure(pair, cases, prompts, asked.repetitions, warm=True):
        yield {"items": [record]}


def check_levels(pair: Pair, cases: Sequence[Case]) -> None:
    """Raise HsdError, before anything is measured, for the first case that the pair has no models for."""
    for case in cases:
        try:
            levels_of(pair, RunOptions(**case.options))
        except HsdError as error:
            raise HsdError(f"{case.name}: {error}") from None


def gpu_seconds(batch: Values, seconds: float) -> int:
    """How long a GPU is needed for this batch, at most."""
    return LOAD_SECONDS + round(seconds)


measured_on_lent_gpu = machine.lent_gpu(gpu_seconds)(measured)
