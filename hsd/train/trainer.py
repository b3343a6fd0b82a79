"""The training loop: two single-thread processes that share gradients, checkpoints, and a movable end.

Two processes of one thread each are faster here than one of two threads. Each takes every second row of a batch; the
gradients are averaged, so that both hold the same weights. A batch depends on (seed, step) only, and a checkpoint
holds weights, optimiser state and step: a resumed run ends with the weights of an uninterrupted one.

While the learning rate is constant the number of steps may still be changed: write it into ``steps`` in the run's
folder. ``0`` there stops the run after a last checkpoint.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import Tensor, nn

from hsd.train.checkpoint import model_from, path_of, read, write
from hsd.train.measure import nats_per_token, repeated_names
from hsd.train.mixture import Mixture
from hsd.train.network import SHAPES, DistillLoss, Shape, TargetLoss, build_model
from hsd.train.optimiser import Optimiser, rate_factor
from hsd.train.tokenizer import load_tokenizer

# Let glibc keep large freed blocks: giving them back costs a fifth of the time in page faults.
KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(2**30), "MALLOC_TRIM_THRESHOLD_": str(2**30)}
LONG_ROWS_FROM = 0.7  # share of the steps after which rows are twice as long


@dataclass(frozen=True)
class Job:
    """One training run. Everything in it can be pickled, so that each process can be handed a copy."""

    model: str  # a key of ``shapes``
    out: Path  # holds tokenizer/, corpus.npz and names.json; the run writes into out/<model>
    steps: int
    seed: int = 0
    resume: bool = False
    until: int | None = None  # stop here, as if interrupted; the learning rate still follows ``steps``
    teacher: str | None = None  # the trained model to distil from
    corpus: str = "corpus.npz"
    processes: int = 2
    tokens_per_step: int = 4096
    length: int = 256
    bf16: bool = True
    compile: bool = True
    rate: float = 1.0
    save_every: float = 300.0  # seconds
    measure_every: int = 500  # steps
    shape: Shape | None = None  # default: SHAPES[model]
    teacher_shape: Shape | None = None

    @property
    def folder(self) -> Path:
        """Where checkpoint, log and the ``steps`` file lie."""
        return self.out / self.model


def train(job: Job) -> Path:
    """Run ``job`` to its end and return the path of its last checkpoint."""
    job.folder.mkdir(parents=True, exist_ok=True)
    (job.folder / "steps").write_text(f"{job.steps}\n")
    os.environ.update(KEEP_MEMORY)
    if job.processes == 1:
        _work(0, job, "")
    else:
        with tempfile.TemporaryDirectory() as folder:
            mp.start_processes(_work, (job, f"{folder}/meeting"), nprocs=job.processes, start_method="spawn")
    return path_of(job.out, job.model)


def _work(rank: int, job: Job, meeting: str) -> None:
    torch.set_num_threads(1)
    if meeting:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=job.processes)
    try:
        Trainer(job, rank).run()
    finally:
        if meeting:
            dist.destroy_process_group()


class Trainer:
    """One process's share of a run."""

    def __init__(self, job: Job, rank: int) -> None:
        self.job, self.rank = job, rank
        self.mixture = Mixture.load(job.out / job.corpus)
        self.tokenizer = load_tokenizer(job.out / "tokenizer")
        self.shape = job.shape or SHAPES[job.model]
        self.model = build_model(self.shape, self.tokenizer.eos_token_id, job.seed, len(self.tokenizer))
        self.loss = self._make_loss()
        self.optimiser = Optimiser(self.model, job.rate)
        self.step, self.plain_steps, self.tokens, self.seconds = 0, 0, 0, 0.0
        if job.resume:
            self._load()
        self.began = time.monotonic() - self.seconds
        self.log = Log(job.folder / "log.jsonl") if rank == 0 else None

    def _make_loss(self) -> nn.Module:
        if self.job.teacher:
            teacher = model_from(self.job.out, self.job.teacher, self.job.teacher_shape).requires_grad_(False)
            loss: nn.Module = DistillLoss(self.model, teacher)
        else:
            loss = TargetLoss(self.model, self.shape.exits)
        if self.job.compile and shutil.which("g++"):
            torch._dynamo.config.cache_size_limit = 16
            loss.compile(dynamic=False)
        return loss

    def run(self) -> None:
        """Train until the number of steps in the ``steps`` file is reached."""
        saved = time.monotonic()
        steps = self._agreed_steps()
        while self.step < min(steps, self.job.until or steps):
            self._one_step(steps)
            if self.step % 20 == 0:
                steps = self._agreed_steps()
                due = self._agree(time.monotonic() - saved > self.job.save_every)
                if due and self.step < steps:
                    self._save()
                    saved = time.monotonic()
            if self.step % self.job.measure_every == 0 and self.step < steps:
                self._measure()
        self._save()
        self._measure()

    def _one_step(self, steps: int) -> None:
        job = self.job
        length = job.length * (2 if self.step >= LONG_ROWS_FROM * steps else 1)
        ids, names = self.mixture.batch(job.seed, self.step, job.tokens_per_step // length, length + 1)
        mine = slice(self.rank, None, job.processes)
        turn = torch.zeros(len(self.shape.exits))
        if self.shape.exits:
            turn[self.step % len(self.shape.exits)] = 1.0
        self.optimiser.zero()
        with torch.autocast("cpu", torch.bfloat16, enabled=job.bf16):
            loss, rows = self.loss(ids[mine], turn)
        loss.backward()
        self._average(self.optimiser.gradient)
        self.optimiser.step(rate_factor(self.step, steps))
        self.step += 1
        self.plain_steps += self.job.teacher is None
        self.tokens += ids[:, 1:].numel()
        if self.log:
            self.log.add(names[mine], rows)
            if self.step % 20 == 0:
                self.log.report(self.step, steps, self.tokens, time.monotonic() - self.began)

    def _average(self, values: Tensor) -> None:
        if self.job.processes > 1:
            dist.all_reduce(values)
            values /= self.job.processes

    def _agree(self, mine: bool) -> bool:
        """What the first process says."""
        answer = torch.tensor([int(mine)])
        if self.job.processes > 1:
            dist.broadcast(answer, 0)
        return bool(answer.item())

    def _agreed_steps(self) -> int:
        """The number in the ``steps`` file as the first process reads it; an unreadable file changes nothing."""
        try:
            number = int((self.job.folder / "steps").read_text())
        except (ValueError, FileNotFoundError):
            number = self.job.steps
        answer = torch.tensor([number])
        if self.job.processes > 1:
            dist.broadcast(answer, 0)
        return int(answer.item())

    @torch.no_grad()
    def _measure(self) -> None:
        """Log nats per held-out token by source, and repeated names. The processes share the work by source."""
        names = list(self.mixture.held_out)
        found = torch.zeros(len(names))
        with torch.autocast("cpu", torch.bfloat16, enabled=self.job.bf16):
            for i, name in enumerate(names):
                if i % self.job.processes == self.rank:
                    rows = self.mixture.validation_rows(name, 32, self.job.length + 1)
                    found[i] = nats_per_token(self.model, rows)
            if self.job.processes > 1:
                dist.all_reduce(found)
            if self.log:
                losses = {name: round(value, 4) for name, value in zip(names, found.tolist(), strict=True)}
                self.log.write({"step": self.step, "held_out": losses, "repeated_names": self._names()})

    def _names(self) -> dict[str, dict[str, float]]:
        held_out = json.loads((self.job.out / "held_out.json").read_text("utf-8"))
        names = json.loads((self.job.out / "names.json").read_text("utf-8"))
        scores = {}
        for source, documents in held_out.items():
            if source.startswith("stories"):
                score = repeated_names(self.model, self.tokenizer, documents[:60], names)
                scores[source] = {"top_1": round(score.top_1, 3), "among_names": round(score.among_names, 3)}
        return scores

    def _save(self) -> None:
        if self.rank == 0:
            state = {
                "model": self.model.state_dict(),
                "optimiser": self.optimiser.state(),
                "step": self.step,
                "plain_steps": self.plain_steps,  # those without a teacher
                "tokens": self.tokens,
                "seconds": time.monotonic() - self.began,
            }
            write(path_of(self.job.out, self.job.model), state)

    def _load(self) -> None:
        state = read(path_of(self.job.out, self.job.model))
        self.model.load_state_dict(state["model"])
        self.optimiser.load(state["optimiser"])
        self.step, self.plain_steps = state["step"], state["plain_steps"]
        self.tokens, self.seconds = state["tokens"], state["seconds"]


class Log:
    """Progress for a reader on standard error, and for the model card as one JSON object per line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.averages: dict[str, float] = defaultdict(float)
        self.last: tuple[float, int] | None = None

    def add(self, names: list[str], rows: Tensor) -> None:
        """Mix each row's loss into the moving average of its source."""
        for name, loss in zip(names, rows.tolist(), strict=True):
            self.averages[name] = 0.98 * self.averages[name] + 0.02 * loss if name in self.averages else loss

    def report(self, step: int, steps: int, tokens: int, seconds: float) -> None:
        """Write one line: step, loss by source, tokens per second since the last line, time left."""
        speed = (tokens - self.last[1]) / (seconds - self.last[0]) if self.last else tokens / seconds
        self.last = (seconds, tokens)
        left = (steps - step) * (tokens / step) / max(speed, 1.0)
        losses = "  ".join(f"{name} {loss:.2f}" for name, loss in sorted(self.averages.items()))
        print(f"step {step}/{steps}  {losses}  {speed:,.0f} tokens/s  {left / 60:.1f} min left", file=sys.stderr)
        self.write({"step": step, "steps": steps, "tokens": tokens, "seconds": round(seconds, 1),
                    "loss": {name: round(loss, 4) for name, loss in self.averages.items()}}, show=False)  # fmt: skip

    def write(self, record: dict, show: bool = True) -> None:
        """Append ``record``; print it too if ``show``."""
        line = json.dumps(record)
        if show:
            print(line, file=sys.stderr, flush=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
