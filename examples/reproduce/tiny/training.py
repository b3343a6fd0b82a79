"""The training loop: processes of one thread each that share gradients, and checkpoints to go on
from.

Two processes of one thread each are faster on two cores than one of two threads. Each takes every
second row of a batch; the gradients are averaged, so that all hold the same weights. A batch
depends on (seed, step) only, and a checkpoint holds weights, optimiser state and step: a resumed
run ends with the weights of an uninterrupted one.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import Tensor, nn
from transformers import LlamaForCausalLM

from hsd.errors import HsdError
from tiny.network import SHAPES, DistillLoss, TargetLoss, build_model, nats_per_token
from tiny.tokens import Corpus, load_tokenizer

MUON_RATE = 0.008
ADAM_RATE = 0.004
MOMENTUM = 0.95
WEIGHT_DECAY = 0.05  # of Muon
WARM_UP = 100  # steps
DECAY_SHARE = 0.25  # the last quarter of the steps
LONG_ROWS_FROM = 0.7  # share of the steps after which rows are twice as long
REPORT_EVERY = 20
SAVE_EVERY = 500  # steps
# elsewhere it is emulated, ten times slower than float32
FAST_BFLOAT16 = torch.cpu._is_avx512_bf16_supported()
# Let glibc keep large freed blocks: giving them back costs a fifth of the time in page faults.
KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(2**30), "MALLOC_TRIM_THRESHOLD_": str(2**30)}


@dataclass(frozen=True)
class Job:
    """One training run. All of it can be pickled, so that each process can be handed a copy."""

    model: str  # a key of SHAPES
    out: Path  # holds tokenizer/ and corpus.npz; the run writes out/<model>.pt
    steps: int
    seed: int = 0
    resume: bool = False
    until: int | None = None  # stop here; the learning rate still follows `steps`
    teacher: str | None = None  # the trained model to distil from
    corpus: str = "corpus.npz"
    processes: int = 2
    tokens_per_step: int = 4096
    length: int = 256
    compile: bool = True


def train(job: Job) -> None:
    """Run ``job`` to its end and save the model."""
    os.environ.update(KEEP_MEMORY)
    if job.processes == 1:
        Trainer(job, 0).run()
        return
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(
            _work, (job, f"{folder}/meeting"), nprocs=job.processes, start_method="spawn"
        )


def _work(rank: int, job: Job, meeting: str) -> None:
    torch.set_num_threads(1)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group(
        "gloo", init_method=f"file://{meeting}", rank=rank, world_size=job.processes
    )
    try:
        Trainer(job, rank).run()
    finally:
        dist.destroy_process_group()


class Trainer:
    """One process's share of a run."""

    def __init__(self, job: Job, rank: int) -> None:
        self.job = job
        self.rank = rank
        self.corpus = Corpus.load(job.out / job.corpus)
        tokenizer = load_tokenizer(job.out)
        self.exits = SHAPES[job.model].exits
        self.model = build_model(
            SHAPES[job.model], tokenizer.eos_token_id, job.seed, len(tokenizer)
        )
        self.loss = self._make_loss()
        self.optimiser = Optimiser(self.model)
        self.step = 0
        self.plain_steps = 0
        self.tokens = 0
        self.seconds = 0.0
        if job.resume:
            self._load()

    def _make_loss(self) -> nn.Module:
        loss: nn.Module = TargetLoss(self.model, self.exits)
        if self.job.teacher:
            loss = DistillLoss(
                self.model, model_from(self.job.out, self.job.teacher).requires_grad_(False)
            )
        if self.job.compile and shutil.which("g++"):
            torch._dynamo.config.cache_size_limit = 16
            loss.compile(dynamic=False)
        return loss

    def run(self) -> None:
        """Train until the last step; report, save and measure on the way."""
        job = self.job
        last = min(self.job.steps, self.job.until or self.job.steps)
        began = shown = time.monotonic() - self.seconds
        nats = 0.0
        while self.step < last:
            nats += self._one_step()
            self.seconds = time.monotonic() - began
            if self.step % REPORT_EVERY == 0:
                now = time.monotonic()
                each = (now - shown) / REPORT_EVERY
                shown = now
                left = (job.steps - self.step) * each / 60
                self._say(
                    f"{nats / REPORT_EVERY:.3f} nats, {each:.2f} s a step, {left:.0f} min left"
                )
                nats = 0.0
            if self.rank == 0 and (self.step % SAVE_EVERY == 0 or self.step == last):
                self._save()
                self._say(f"held out: {self._held_out()}")

    def _one_step(self) -> float:
        job = self.job
        length = job.length * (2 if self.step >= LONG_ROWS_FROM * job.steps else 1)
        ids = self.corpus.batch(job.seed, self.step, job.tokens_per_step // length, length + 1)
        turn = torch.zeros(len(self.exits))
        if self.exits:
            turn[self.step % len(self.exits)] = 1.0
        self.optimiser.gradient.zero_()
        with torch.autocast("cpu", torch.bfloat16, enabled=FAST_BFLOAT16):
            loss, nats = self.loss(ids[self.rank :: job.processes], turn)
        loss.backward()
        if job.processes > 1:
            dist.all_reduce(self.optimiser.gradient)
            self.optimiser.gradient /= job.processes
        self.optimiser.step(rate_factor(self.step, job.steps))
        self.step += 1
        self.plain_steps += job.teacher is None
        self.tokens += ids[:, 1:].numel()
        return nats.item()

    def _held_out(self) -> str:
        with torch.autocast("cpu", torch.bfloat16, enabled=FAST_BFLOAT16):
            rows = {
                name: text.rows(32, self.job.length + 1)
                for name, text in self.corpus.held_out.items()
            }
            return ", ".join(
                f"{name} {nats_per_token(self.model, ids):.3f}" for name, ids in rows.items()
            )

    def _say(self, text: str) -> None:
        if self.rank == 0:
            print(
                f"{self.job.model} {self.step}/{self.job.steps}: {text}",
                file=sys.stderr,
                flush=True,
            )

    def _save(self) -> None:
        """Write the checkpoint so that its file always holds a whole one, the old one or the new
        one.
        """
        state = {name: getattr(self, name) for name in ("step", "plain_steps", "tokens", "seconds")}
        state |= {"model": self.model.state_dict(), "optimiser": self.optimiser.state()}
        part = checkpoint(self.job.out, self.job.model).with_suffix(".part")
        torch.save(state, part)
        part.replace(checkpoint(self.job.out, self.job.model))

    def _load(self) -> None:
        state = saved(self.job.out, self.job.model)
        self.model.load_state_dict(state.pop("model"))
        self.optimiser.load(state.pop("optimiser"))
        vars(self).update(state)


def checkpoint(out: Path, name: str) -> Path:
    """Where model ``name`` is saved in training folder ``out``."""
    return out / f"{name}.pt"


def saved(out: Path, name: str) -> dict[str, Any]:
    """The last checkpoint of model ``name``. Raises HsdError if there is none."""
    if not checkpoint(out, name).exists():
        raise HsdError(f"no checkpoint of {name} in {out}: run the stage `{name}` first")
    return torch.load(checkpoint(out, name), weights_only=True)


def model_from(out: Path, name: str) -> LlamaForCausalLM:
    """The model ``name`` as last saved, float32, ready to predict."""
    state = saved(out, name)
    tokenizer = load_tokenizer(out)
    model = build_model(SHAPES[name], tokenizer.eos_token_id, seed=0, vocabulary=len(tokenizer))
    model.load_state_dict(state["model"])
    return model.eval()


def rate_factor(step: int, steps: int) -> float:
    """Trapezoid: warm-up, constant, then linear to 2 % at the end."""
    warm = min(1.0, (step + 1) / min(WARM_UP, max(1, steps // 10)))
    left = (steps - step) / max(1.0, DECAY_SHARE * steps)
    return min(warm, max(0.02, min(1.0, left)))


class Optimiser:
    """Muon (kellerjordan.github.io/posts/muon) for the matrices, AdamW for embedding and norms,
    over one flat gradient buffer, so that gradients are averaged and clipped in one go.
    """

    def __init__(self, model: LlamaForCausalLM) -> None:
        parameters = list(model.parameters())
        self.gradient = torch.zeros(sum(p.numel() for p in parameters))
        for p, part in zip(
            parameters, self.gradient.split([p.numel() for p in parameters]), strict=True
        ):
            p.grad = part.view_as(p)
        embedding = model.get_input_embeddings().weight
        self.matrices = [p for p in parameters if p.ndim == 2 and p is not embedding]
        self.momentum = [torch.zeros_like(p) for p in self.matrices]
        others = [p for p in parameters if p.ndim != 2 or p is embedding]
        self.adam = torch.optim.AdamW(others, lr=ADAM_RATE, betas=(0.9, 0.95), weight_decay=0.0)

    @torch.no_grad()
    def step(self, factor: float) -> None:
        """Clip the gradient to norm 1 and update with both rates times ``factor``."""
        self.gradient.mul_(torch.clamp(1 / (self.gradient.norm() + 1e-6), max=1.0))
        rate = MUON_RATE * factor
        for p, mean in zip(self.matrices, self.momentum, strict=True):
            mean.lerp_(p.grad, 1 - MOMENTUM)
            update = orthogonal(p.grad.lerp(mean, MOMENTUM))
            p.mul_(1 - rate * WEIGHT_DECAY).add_(
                update, alpha=-rate * max(1.0, p.shape[0] / p.shape[1]) ** 0.5
            )
        for group in self.adam.param_groups:
            group["lr"] = ADAM_RATE * factor
        self.adam.step()

    def state(self) -> dict[str, Any]:
        """What ``load`` needs to go on."""
        return {"momentum": self.momentum, "adam": self.adam.state_dict()}

    def load(self, state: dict[str, Any]) -> None:
        """Continue from ``state()``."""
        self.momentum = state["momentum"]
        self.adam.load_state_dict(state["adam"])


def orthogonal(matrix: Tensor) -> Tensor:
    """Nearly the closest matrix with singular values 1: five Newton-Schulz steps, in bfloat16 where
    that is fast.
    """
    wide = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    x = (wide / (wide.norm() + 1e-7)).to(torch.bfloat16 if FAST_BFLOAT16 else torch.float32)
    for _ in range(5):
        square = x @ x.T
        x = 3.4445 * x + (-4.7750 * square + 2.0315 * square @ square) @ x
    return (x if wide is matrix else x.T).to(matrix.dtype)
