"""Training for drafts of any design: batches of the target's text, the draft vocabulary, the
optimiser.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, AutoTokenizer
from write_text import DOMAINS

HELD_OUT = 1  # shards that are not trained on


class Batch:
    """Texts of one shard side by side, padded at the end.

    before: the target's states one token before each. last: its last state at each, which tells
    what follows. judged: places whose next token the target wrote.
    """

    def __init__(self, shard: dict[str, Tensor], texts: list[int]) -> None:
        begins = shard["begins"].tolist()
        prompts = shard["prompts"].tolist()
        sizes = [begins[i + 1] - begins[i] for i in texts]
        longest = max(sizes)
        self.tokens = torch.zeros(len(texts), longest, dtype=torch.int64)
        self.states = torch.zeros(len(texts), longest, *shard["states"].shape[1:])
        self.judged = torch.zeros(len(texts), longest, dtype=torch.bool)
        self.domains = shard["domains"][texts]
        for row, (i, size) in enumerate(zip(texts, sizes, strict=True)):
            part = slice(begins[i], begins[i] + size)
            self.tokens[row, :size] = shard["tokens"][part].long()
            self.states[row, :size] = shard["states"][part].float()
            self.judged[row, prompts[i] - 1 : size - 1] = True
        self.before = shifted(self.states[:, :, :-1], 1, dim=1)
        self.last = self.states[:, :, -1]


def batches(shard: dict[str, Tensor], size: int) -> list[Batch]:
    begins = shard["begins"]
    order = (begins[1:] - begins[:-1]).argsort().tolist()
    return [Batch(shard, order[i : i + size]) for i in range(0, len(order), size)]


def shifted(x: Tensor, back: int, dim: int = 2) -> Tensor:
    """Every place gets what stood `back` places before it; the first get zeros."""
    if not back:
        return x
    kept = x.narrow(dim, 0, x.shape[dim] - back)
    return torch.cat([torch.zeros_like(x.narrow(dim, 0, back)), kept], dim)


def vocabulary(shards: list[Path], given: list[list[int]], size: int, known: int) -> Tensor:
    """The tokens out of `known` that are used most, in order of their ids; the target's own use
    counts ten times.

    What neither text has is ranked by its id: the tokenizer took in first what its makers' text had
    most of.
    """
    counts = (3e5 / torch.arange(1, known + 1)).long()
    for ids in given:
        counts += torch.bincount(torch.tensor(ids, dtype=torch.int64), minlength=known)
    for file in shards:
        counts += 10 * torch.bincount(load_file(file)["tokens"].long(), minlength=known)
    counts[:3] += 1_000_000  # the ends of texts and turns
    return counts.argsort(descending=True)[:size].sort().values


def texts_in(data: Path) -> list[str]:
    """The public texts, answers included."""
    sums = [
        json.loads(line)
        for line in (data / "gsm8k/train.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    code = [
        json.loads(line)
        for line in (data / "thealgorithms_python/functions.jsonl")
        .read_text(encoding="utf-8")
        .splitlines()
    ]
    book = data / "tinystories_cased/tiny_stories.txt"
    stories = book.read_text(encoding="utf-8", errors="replace").split("\n")
    return [r["question"] + r["answer"] for r in sums] + [r["source"] for r in code] + stories


class Muon(torch.optim.Optimizer):
    """Momentum whose matrices are made orthogonal before each step (Jordan, 2024), as large as
    Adam's steps.
    """

    def __init__(self, matrices: list[Tensor], momentum: float = 0.95) -> None:
        super().__init__(matrices, {"lr": 0.0})
        self._momentum = momentum

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for weight in group["params"]:
                kept = self.state[weight].setdefault("momentum", torch.zeros_like(weight))
                kept.lerp_(weight.grad, 1 - self._momentum)
                ahead = weight.grad.lerp(kept, self._momentum)
                weight.mul_(1 - 0.01 * group["lr"])
                weight.add_(orthogonal(ahead), alpha=-0.2 * max(weight.shape) ** 0.5 * group["lr"])


def orthogonal(x: Tensor) -> Tensor:
    """Nearly the closest matrix whose singular values are 1, by five steps of Newton and Schulz."""
    tall = x.shape[0] > x.shape[1]
    x = x.T if tall else x
    x = x / (x.norm() + 1e-7)
    for _ in range(5):
        square = x @ x.T
        x = 3.4445 * x + (-4.7750 * square + 2.0315 * square @ square) @ x
    return x.T if tall else x


class Training:
    """Steps of a model down a loss: Muon for its matrices, Adam for the rest, and more slowly for
    `slow`.

    What is kept of it is the average of its last numbers. rate: the highest; it rises in 40 steps,
    and runs down with the share of training that is done, to a twentieth. bfloat16: compute in it.
    """

    def __init__(self, model: nn.Module, slow: nn.Parameter, rate: float, bfloat16: bool) -> None:
        self._model = model
        self._rate = rate
        self._bfloat16 = bfloat16
        self._steps = 0
        self._device = slow.device.type
        learned = [p for p in model.parameters() if p.requires_grad and p is not slow]
        matrices = [p for p in learned if p.ndim == 2 and min(p.shape) > 8]
        rest = [p for p in learned if p.ndim == 1 or min(p.shape) <= 8]
        groups = [{"params": rest}, {"params": [slow], "share": 0.3}]
        adam = torch.optim.AdamW(groups, lr=0.0, betas=(0.9, 0.98), weight_decay=0.0)
        self._optimizers = [Muon(matrices), adam]
        self._average = {
            name: p.detach().clone() for name, p in model.named_parameters() if p.requires_grad
        }

    def step(self, loss_of: Callable[[], Tensor], share: float) -> tuple[float, float]:
        """One step; share: how much of the training is done. Returns the loss before it, and the
        rate.
        """
        self._steps += 1
        rate = (
            self._rate
            * min(1.0, self._steps / 40)
            * max(0.05, 0.5 + 0.5 * math.cos(math.pi * min(share, 1.0)))
        )
        for group in (group for optimizer in self._optimizers for group in optimizer.param_groups):
            group["lr"] = rate * group.get("share", 1.0)
        self._model.zero_grad()
        with torch.autocast(self._device, torch.bfloat16, enabled=self._bfloat16):
            loss = loss_of()
        loss.backward()
        nn.utils.clip_grad_norm_(self._model.parameters(), 1.0)
        with torch.autocast(self._device, torch.bfloat16, enabled=self._bfloat16):
            for optimizer in self._optimizers:
                optimizer.step()
        keep = min(0.98, self._steps / (self._steps + 10))
        for name, p in self._model.named_parameters():
            if name in self._average:
                self._average[name].lerp_(p.detach(), 1 - keep)
        return float(loss.detach()), rate

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Give the model its averaged weights inside the `with` block."""
        own = {
            name: p.detach().clone()
            for name, p in self._model.named_parameters()
            if name in self._average
        }
        self._model.load_state_dict(self._average, strict=False)
        try:
            yield
        finally:
            self._model.load_state_dict(own, strict=False)


def endless(shards: Path, size: int) -> Iterator[tuple[int, Batch]]:
    """Batches of so many texts for as long as they are asked for, and how often their shard was
    read before.

    Shards that are written meanwhile come first.
    """
    times: dict[Path, int] = {}
    while True:
        files = sorted(shards.glob("*.safetensors"))[HELD_OUT:]
        fewest = min(times.get(f, 0) for f in files)
        file = random.choice([f for f in files if times.get(f, 0) == fewest])
        times[file] = fewest + 1
        parts = batches(load_file(file), size)
        random.shuffle(parts)
        yield from ((fewest, batch) for batch in parts)


def held_out(shards: Path) -> list[Batch]:
    """A third of the texts of the shards that are not trained on."""
    return [
        b for f in sorted(shards.glob("*.safetensors"))[:HELD_OUT] for b in batches(load_file(f), 8)
    ][::3]


def distance(scores: Tensor, logits: Tensor) -> Tensor:
    """How far drafts are from the target: cross-entropy and total variation, which is what gets
    rejected.

    The first leads to where the second is small. scores (n, vocab): the draft's logits; logits: the
    target's.
    """
    p = logits.float().softmax(-1)
    scores = scores.float().log_softmax(-1)
    meets = torch.minimum(p, scores.exp()).sum(-1)
    return (1 - meets - (p * scores).sum(-1)).mean()


def turning(scores: Tensor, logits: Tensor) -> Tensor:
    """λ·cross-entropy + (1 - λ)·total variation, λ = exp(-3 α), α the acceptance of this step
    (arXiv 2602.23881).

    The better a draft is, the more its loss is what gets rejected. Shapes as in `distance`.
    """
    p = logits.float().softmax(-1)
    scores = scores.float().log_softmax(-1)
    meets = torch.minimum(p, scores.exp()).sum(-1)
    share = torch.exp(-3 * meets.mean().detach())
    return (share * -(p * scores).sum(-1) + (1 - share) * (1 - meets)).mean()


class Meeting:
    """How much of the target's distribution drafts meet, summed over texts: by domain and by place
    in a draft.
    """

    def __init__(self, steps: int) -> None:
        self._sums = torch.zeros(len(DOMAINS), steps, 3)
        self._counts = torch.zeros(len(DOMAINS), steps)

    def add(self, step: int, domains: Tensor, logits: Tensor, full: Tensor, vocab: Tensor) -> None:
        """Drafts' logits (n, draft vocabulary) beside the target's (n, all tokens), of texts of
        these domains (n,).
        """
        meets = []
        for heat in (0.7, 1.0):
            p = (full / heat).softmax(-1)[:, vocab]
            q = (logits / heat).softmax(-1)
            meets.append(torch.minimum(p, q).sum(-1))
        meets.append((vocab[logits.argmax(-1)] == full.argmax(-1)).float())
        for d in range(len(DOMAINS)):
            here = domains == d
            self._sums[d, step] += torch.stack([m[here].sum() for m in meets])
            self._counts[d, step] += here.sum()

    def report(self) -> dict[str, Any]:
        """Return Σ min(p, q) at temperatures 0.7 and 1, and how often both are likeliest alike."""
        found: dict[str, Any] = {}
        for place, name in enumerate(("T=0.7", "T=1", "T=0")):
            by = self._sums[:, :, place]
            found[name] = {
                d: [round(x, 3) for x in (by[i] / self._counts[i]).tolist()]
                for i, d in enumerate(DOMAINS)
            }
            found[name]["all"] = [round(x, 3) for x in (by.sum(0) / self._counts.sum(0)).tolist()]
        return found


def arguments(description: str | None) -> argparse.ArgumentParser:
    """The options of every script that trains."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    fetched = "folder of the target, as `python -m hsd fetch smollm2` prints it"
    parser.add_argument("--target", required=True, help=fetched)
    parser.add_argument("--shards", type=Path, required=True, help="what write_text.py writes")
    parser.add_argument(
        "--data", type=Path, required=True, help="the same public files as for write_text.py"
    )
    parser.add_argument(
        "--vocab", type=int, default=6144, help="size of the draft vocabulary (default 6144)"
    )
    parser.add_argument(
        "--rate",
        type=float,
        default=8e-4,
        help="highest learning rate, then run down to a twentieth",
    )
    parser.add_argument("--batch", type=int, default=8, help="texts at once (default 8)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--bfloat16", action="store_true", help="compute in it: for processors with avx512_bf16"
    )
    return parser


def begin(args: argparse.Namespace) -> Any:
    """The target in float32, and everything set that makes a training repeatable."""
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    random.seed(0)
    return AutoModelForCausalLM.from_pretrained(args.target, dtype=torch.float32)


def draft_vocabulary(args: argparse.Namespace, known: int) -> Tensor:
    """The target's ids of the tokens that a new draft may know, out of `known`."""
    given = AutoTokenizer.from_pretrained(args.target)(texts_in(args.data))["input_ids"]
    return vocabulary(sorted(args.shards.glob("*.safetensors")), given, args.vocab, known)
