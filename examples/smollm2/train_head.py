"""Train a head that drafts from the target's hidden states: python examples/smollm2/train_head.py

It reads the shards of write_text.py, also while that is still writing them, for `--minutes`, and writes the head to
`--out` every few minutes, with how much of the target's distribution it meets on text held out, by domain and by how
many tokens it has drafted in a row. Started again on its own output it goes on from there.

The head (Li et al., EAGLE-3, arXiv 2503.01840): the hidden states after three layers, each normed, are joined by `fc`;
with the embedding of the next token they enter one transformer layer, whose output goes through a norm and a last
matrix, which begins as the rows of the target's own embedding that belong to the draft vocabulary. From the second
drafted token on, the layer's own output stands for the hidden states that only the target knows; training does the
same (`--steps` tokens in a row). The embedding enters the layer's sum as well, by `token_proj`, which the published
form lacks: the target's keys and values are few and narrow, and too little of the token came through them alone.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, AutoTokenizer
from write_text import DOMAINS, TAPS, rope_rates, rotate

DEEPEST, SCALE = 27.0, 4.0  # root mean square of the deepest tap's states, and of what stands for them in the head
HELD_OUT = 1  # shards that are not trained on


class Head(nn.Module):
    """The head with the names of its published form; training runs it on whole texts, the package token by token."""

    def __init__(
        self, hidden: int, inner: int, heads: int, groups: int, taps: int, theta: float, eps: float, vocab: int
    ) -> None:
        super().__init__()
        self.heads, self.groups, self.width, self.eps = heads, groups, hidden // heads, eps
        self.theta = theta
        linear = lambda i, o: nn.Linear(i, o, bias=False)  # noqa: E731
        self.taps_norm = nn.Parameter(torch.ones(taps, hidden))
        self.fc, self.token_proj = linear(taps * hidden, hidden), linear(hidden, hidden)
        kv = groups * self.width
        self.q_proj, self.k_proj, self.v_proj = (
            linear(2 * hidden, hidden),
            linear(2 * hidden, kv),
            linear(2 * hidden, kv),
        )
        self.o_proj = linear(hidden, hidden)
        self.gate_proj, self.up_proj, self.down_proj = (
            linear(hidden, inner),
            linear(hidden, inner),
            linear(inner, hidden),
        )
        self.lm_head = nn.Parameter(torch.zeros(vocab, hidden))
        self.hidden_norm, self.input_layernorm = nn.Parameter(torch.ones(hidden)), nn.Parameter(torch.ones(hidden))
        self.post_attention_layernorm, self.norm = nn.Parameter(torch.ones(hidden)), nn.Parameter(torch.ones(hidden))

    def begin_with(self, target: nn.Module, vocab: Tensor) -> None:
        """The last layer of the target is where the head begins: it reads the deepest tap as that layer does."""
        last, hidden = target.model.layers[-1], self.o_proj.weight.shape[0]
        with torch.no_grad():
            for mine, theirs in ((self.q_proj, "q_proj"), (self.k_proj, "k_proj"), (self.v_proj, "v_proj")):
                mine.weight.zero_()
                mine.weight[:, hidden:] = getattr(last.self_attn, theirs).weight
            self.gate_proj.weight.copy_(last.mlp.gate_proj.weight)
            self.up_proj.weight.copy_(last.mlp.up_proj.weight)
            # All norms that follow forget the scale, so the whole sum of layers is made smaller, down to where the
            # numbers of `fc` are of the size that the learning rate is for.
            self.o_proj.weight.copy_(last.self_attn.o_proj.weight * (SCALE / DEEPEST))
            self.down_proj.weight.copy_(last.mlp.down_proj.weight * (SCALE / DEEPEST))
            self.token_proj.weight.zero_()
            self.fc.weight.zero_()
            self.fc.weight[:, -hidden:] = SCALE * torch.eye(hidden)
            self.hidden_norm.copy_(last.input_layernorm.weight)
            self.post_attention_layernorm.copy_(last.post_attention_layernorm.weight)
            self.norm.copy_(target.model.norm.weight)
            self.lm_head.copy_(target.model.embed_tokens.weight[vocab])

    def rms(self, x: Tensor, weight: Tensor) -> Tensor:
        return F.rms_norm(x, (x.shape[-1],), weight, self.eps)

    def joined(self, states: Tensor) -> Tensor:
        """(b, n, taps, hidden) to (b, n, hidden)."""
        normed = F.rms_norm(states, (states.shape[-1],), None, self.eps) * self.taps_norm
        return self.fc(normed.flatten(-2)).float()

    def keys(self, token: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values, turned by their places: (b, heads or groups, n, width)."""
        x = torch.cat([token, self.rms(hidden, self.hidden_norm)], -1)
        b, n, _ = x.shape
        angles = torch.outer(torch.arange(float(n)), rope_rates(self.theta, self.width))
        cos, sin = angles.cos().repeat(1, 2), angles.sin().repeat(1, 2)
        q, k, v = (p(x).view(b, n, -1, self.width).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        return rotate(q, cos, sin), rotate(k, cos, sin), v

    def after(self, hidden: Tensor, mixed: Tensor) -> Tensor:
        """The rest of the layer: (b, heads, n, width) mixed values to its output (b, n, hidden)."""
        x = hidden + self.o_proj(mixed.transpose(1, 2).flatten(-2))
        y = self.rms(x, self.post_attention_layernorm)
        return x + self.down_proj(F.silu(self.gate_proj(y)) * self.up_proj(y))

    def unroll(self, embedded: Tensor, states: Tensor, steps: int) -> list[Tensor]:
        """Outputs (b, n, hidden) after each token, when it is the first, second, … that the target has not read.

        embedded (b, n, hidden): of the tokens; states (b, n, taps, hidden): what the target knew one token before, 0
        before the first.
        """
        hidden, outputs = self.joined(states), []
        token = self.rms(embedded, self.input_layernorm)
        straight = self.token_proj(token).float()
        n, repeat = embedded.shape[1], self.heads // self.groups
        past: list[tuple[Tensor, Tensor]] = []
        for step in range(steps):
            hidden = hidden + straight
            q, k, v = self.keys(token, hidden)
            k, v = k.repeat_interleave(repeat, 1), v.repeat_interleave(repeat, 1)
            past.append((k, v))
            whole = torch.ones(n, n, dtype=torch.bool).tril(-step)
            scores = [(q @ past[0][0].transpose(-1, -2)).masked_fill(~whole, -1e30)]
            values = [past[0][1]]
            for back, (key, value) in enumerate(reversed(past[1:])):  # this step's own first, then one place back, …
                scores.append((q * shifted(key, back)).sum(-1, keepdim=True))
                values.append(shifted(value, back))
            weights = (torch.cat(scores, -1).float() * self.width**-0.5).softmax(-1)
            mixed = weights[..., :n] @ values[0]
            for place, value in enumerate(values[1:]):
                mixed = mixed + weights[..., n + place, None] * value
            hidden_out = self.after(hidden, mixed)
            outputs.append(hidden_out)
            hidden = shifted(hidden_out, 1, dim=1)
        return outputs


def shifted(x: Tensor, back: int, dim: int = 2) -> Tensor:
    """Every place gets what stood `back` places before it; the first get zeros."""
    if not back:
        return x
    kept = x.narrow(dim, 0, x.shape[dim] - back)
    return torch.cat([torch.zeros_like(x.narrow(dim, 0, back)), kept], dim)


class Batch:
    """Texts of one shard side by side, padded at the end.

    before: the target's states one token before each. last: its last state at each, which tells what follows. judged:
    places whose next token the target wrote.
    """

    def __init__(self, shard: dict[str, Tensor], texts: list[int]) -> None:
        begins, prompts = shard["begins"].tolist(), shard["prompts"].tolist()
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


def vocabulary(shards: list[Path], given: list[list[int]], size: int, known: int) -> Tensor:
    """The tokens out of `known` that are used most, in order of their ids; the target's own use counts ten times.

    What neither text has is ranked by its id: the tokenizer took in first what its makers' text had most of.
    """
    counts = (3e5 / torch.arange(1, known + 1)).long()
    for ids in given:
        counts += torch.bincount(torch.tensor(ids, dtype=torch.int64), minlength=known)
    for file in shards:
        counts += 10 * torch.bincount(load_file(file)["tokens"].long(), minlength=known)
    counts[:3] += 1_000_000  # the ends of texts and turns
    return counts.argsort(descending=True)[:size].sort().values


def narrow(head: Head, vocab: Tensor, args: argparse.Namespace) -> Tensor:
    """Keep the tokens that the target wrote most often; ends of texts and turns always."""
    counts = sum(
        torch.bincount(load_file(file)["tokens"].long(), minlength=int(vocab.max()) + 1)[: int(vocab.max()) + 1]
        for file in args.shards.glob("*.safetensors")
    )
    order = (counts[vocab] + (vocab < 3) * 1_000_000).argsort(descending=True, stable=True)
    kept = order[: args.vocab].sort().values
    head.lm_head = nn.Parameter(head.lm_head.detach()[kept])
    return vocab[kept]


def texts_in(data: Path) -> list[str]:
    """The public texts, answers included."""
    sums = [json.loads(line) for line in (data / "gsm8k/train.jsonl").read_text().splitlines()]
    code = [json.loads(line) for line in (data / "thealgorithms_python/functions.jsonl").read_text().splitlines()]
    stories = (data / "tinystories_cased/tiny_stories.txt").read_text(errors="replace").split("\n")
    return [r["question"] + r["answer"] for r in sums] + [r["source"] for r in code] + stories


ATTENTION, FEED = ("q_proj", "k_proj", "v_proj", "o_proj"), ("gate_proj", "up_proj", "down_proj")
PUBLISHED = {  # names of the numbers here, and in the published form of such heads
    "taps_norm": "taps_norm.weight",
    "fc.weight": "fc.weight",
    "token_proj.weight": "midlayer.token_proj.weight",
    "norm": "norm.weight",
    "lm_head": "lm_head.weight",
    **{f"{name}.weight": f"midlayer.self_attn.{name}.weight" for name in ATTENTION},
    **{f"{name}.weight": f"midlayer.mlp.{name}.weight" for name in FEED},
    **{name: f"midlayer.{name}.weight" for name in ("hidden_norm", "input_layernorm", "post_attention_layernorm")},
}


def save(head: Head, vocab: Tensor, config: Any, folder: Path) -> None:
    """The head in 16 bits, with the table of its vocabulary: what to add to its ids, which of the target's it has."""
    weights = {PUBLISHED[name]: number.half() for name, number in head.state_dict().items()}
    drafted = torch.zeros(config.vocab_size, dtype=torch.bool)
    drafted[vocab] = True
    save_file(weights | {"d2t": vocab - torch.arange(len(vocab)), "t2d": drafted}, folder / "model.safetensors")
    kept = ("hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads", "vocab_size")
    described = {"architectures": ["LlamaForCausalLMEagle3"], "draft_vocab_size": len(vocab), "target_layers": TAPS}
    described |= {name: getattr(config, name) for name in (*kept, "rms_norm_eps")}
    described |= {"rope_theta": config.rope_parameters["rope_theta"], "num_hidden_layers": 1}
    (folder / "config.json").write_text(json.dumps(described, indent=2) + "\n")


def load(head: Head, folder: Path) -> None:
    """Take up the numbers of a head that was saved; what it lacks stays as it was."""
    content = load_file(folder / "model.safetensors")
    known = {name: content[published].float() for name, published in PUBLISHED.items() if published in content}
    head.load_state_dict(known, strict=False)


def vocabulary_of(folder: Path) -> Tensor:
    """The target's ids of the tokens that a saved head can draft."""
    offsets = load_file(folder / "model.safetensors")["d2t"]
    return offsets + torch.arange(len(offsets))


class Muon(torch.optim.Optimizer):
    """Momentum whose matrices are made orthogonal before each step (Jordan, 2024), as large as Adam's steps."""

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


def loss_of(head: Head, batch: Batch, embedding: Tensor, rows: Tensor, steps: int) -> Tensor:
    """How far the head is from the target's distribution over the draft vocabulary; later steps count less.

    The cross-entropy and the total variation, which is what gets rejected: the first leads there, the second is meant.
    """
    outputs = head.unroll(embedding[batch.tokens], batch.before, steps)
    loss = torch.zeros(())
    for step, output in enumerate(outputs):
        judged = batch.judged.clone()
        judged[:, :step] = False
        if step:  # half the places are enough for what comes later in a row
            judged &= torch.rand(judged.shape) < 0.5
        with torch.no_grad():
            p = (batch.last[judged] @ rows.T).float().softmax(-1)
        scores = (head.rms(output[judged], head.norm) @ head.lm_head.T).float().log_softmax(-1)
        meets = torch.minimum(p, scores.exp()).sum(-1)
        loss = loss + 0.8**step * (1 - meets - (p * scores).sum(-1)).mean()
    return loss


@torch.no_grad()
def measure(head: Head, held: list[Batch], embedding: Tensor, vocab: Tensor, steps: int) -> dict[str, Any]:
    """Σ min(p, q) at temperatures 0.7 and 1, and how often both have the same likeliest token, by step and domain."""
    found: dict[str, Any] = {}
    sums = torch.zeros(len(DOMAINS), steps, 3)
    counts = torch.zeros(len(DOMAINS), steps)
    for batch in held:
        outputs = head.unroll(embedding[batch.tokens], batch.before, steps)
        for step, output in enumerate(outputs):
            judged = batch.judged.clone()
            judged[:, :step] = False
            full = batch.last[judged] @ embedding.T
            logits = head.rms(output[judged], head.norm) @ head.lm_head.T
            same = (vocab[logits.argmax(-1)] == full.argmax(-1)).float()
            meets = []
            for heat in (0.7, 1.0):
                p, q = (full / heat).softmax(-1)[:, vocab], (logits / heat).softmax(-1)
                meets.append(torch.minimum(p, q).sum(-1))
            domain = batch.domains[:, None].expand(judged.shape)[judged]
            for d in range(len(DOMAINS)):
                here = domain == d
                sums[d, step] += torch.stack([m[here].sum() for m in (*meets, same)])
                counts[d, step] += here.sum()
    for place, name in enumerate(("T=0.7", "T=1", "T=0")):
        by = sums[:, :, place]
        found[name] = {d: [round(x, 3) for x in (by[i] / counts[i]).tolist()] for i, d in enumerate(DOMAINS)}
        found[name]["all"] = [round(x, 3) for x in (by.sum(0) / counts.sum(0)).tolist()]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--target", required=True, help="folder of the target, as `python -m hsd fetch smollm2` prints it"
    )
    parser.add_argument("--shards", type=Path, required=True, help="what write_text.py writes")
    parser.add_argument("--data", type=Path, required=True, help="the same public files as for write_text.py")
    parser.add_argument("--out", type=Path, required=True, help="folder of the head")
    parser.add_argument("--minutes", type=float, default=60, help="0 measures a saved head, cut to --vocab")
    parser.add_argument("--vocab", type=int, default=6144, help="size of the draft vocabulary (default 6144)")
    parser.add_argument(
        "--steps", type=int, default=3, help="at most so many drafted tokens in a row are trained (default 3)"
    )
    parser.add_argument("--rate", type=float, default=8e-4, help="highest learning rate, then run down to a twentieth")
    parser.add_argument("--batch", type=int, default=8, help="texts at once (default 8)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--bfloat16", action="store_true", help="compute in it: for processors with avx512_bf16")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    args.out.mkdir(parents=True, exist_ok=True)
    model = AutoModelForCausalLM.from_pretrained(args.target, dtype=torch.float32)
    config, embedding = model.config, model.model.embed_tokens.weight.detach()
    if (args.out / "model.safetensors").exists():
        vocab = vocabulary_of(args.out)
    else:
        given = AutoTokenizer.from_pretrained(args.target)(texts_in(args.data))["input_ids"]
        vocab = vocabulary(sorted(args.shards.glob("*.safetensors")), given, args.vocab, len(embedding))
    theta, heads, groups = config.rope_parameters["rope_theta"], config.num_attention_heads, config.num_key_value_heads
    sizes = (config.hidden_size, config.intermediate_size, heads, groups, len(TAPS), theta, config.rms_norm_eps)
    head, seen, log = Head(*sizes, len(vocab)), 0, []
    head.begin_with(model, vocab)
    if (args.out / "model.safetensors").exists():
        load(head, args.out)
        log = json.loads((args.out / "log.json").read_text())
        seen = log[-1]["tokens"]
        if len(vocab) > args.vocab:
            vocab = narrow(head, vocab, args)
    del model
    rows = embedding[vocab].contiguous()
    matrices = [p for p in head.parameters() if p.ndim == 2 and p is not head.taps_norm and p is not head.lm_head]
    norms = [p for p in head.parameters() if p.ndim == 1 or p is head.taps_norm]
    slow = torch.optim.AdamW([{"params": [head.lm_head], "share": 0.3}], lr=0.0, betas=(0.9, 0.98), weight_decay=0.0)
    optimizers = [Muon(matrices), torch.optim.AdamW(norms, lr=0.0, betas=(0.9, 0.98), weight_decay=0.0), slow]
    held = [b for f in sorted(args.shards.glob("*.safetensors"))[:HELD_OUT] for b in batches(load_file(f), 8)][::3]
    if args.minutes <= 0:
        line = {"tokens": seen, "vocabulary": len(vocab), **measure(head, held, embedding, vocab, args.steps)}
        save(head, vocab, config, args.out)
        (args.out / "log.json").write_text(json.dumps([*log, line], indent=1))
        print(json.dumps(line))
        return
    average = {name: p.detach().clone() for name, p in head.named_parameters()}
    begin, told, times, step = time.time(), 0.0, {}, 0
    share = 0.0
    while share < 1.0:
        files = sorted(args.shards.glob("*.safetensors"))[HELD_OUT:]
        fewest = min(times.get(f, 0) for f in files)
        file = random.choice([f for f in files if times.get(f, 0) == fewest])
        times[file] = fewest + 1
        parts = batches(load_file(file), args.batch)
        random.shuffle(parts)
        for batch in parts:
            share = (time.time() - begin) / 60 / args.minutes
            rate = args.rate * min(1.0, (step + 1) / 40) * max(0.05, 0.5 + 0.5 * math.cos(math.pi * min(share, 1.0)))
            for group in (group for optimizer in optimizers for group in optimizer.param_groups):
                group["lr"] = rate * group.get("share", 1.0)
            with torch.autocast("cpu", torch.bfloat16, enabled=args.bfloat16):
                loss = loss_of(head, batch, embedding, rows, random.randint(1, args.steps))
            head.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(head.parameters(), 1.0)
            with torch.autocast("cpu", torch.bfloat16, enabled=args.bfloat16):
                for optimizer in optimizers:
                    optimizer.step()
            step += 1
            seen += int(batch.judged.sum())
            keep = min(0.98, step / (step + 10))
            for name, p in head.named_parameters():
                average[name].lerp_(p.detach(), 1 - keep)
            if time.time() - told > 300 or share >= 1.0:
                told = time.time()
                own = {name: p.detach().clone() for name, p in head.named_parameters()}
                head.load_state_dict(average)
                line = {"tokens": seen, "minutes": round((told - begin) / 60, 1), "epochs": fewest}
                line |= {
                    "loss": round(float(loss), 3),
                    "rate": rate,
                    **measure(head, held, embedding, vocab, args.steps),
                }
                log.append(line)
                save(head, vocab, config, args.out)
                (args.out / "log.json").write_text(json.dumps(log, indent=1))
                head.load_state_dict(own)
                print(json.dumps(line), flush=True)
            if share >= 1.0:
                break


if __name__ == "__main__":
    main()
