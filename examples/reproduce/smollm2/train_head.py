"""Train a head that drafts from the target's hidden states: python
examples/reproduce/smollm2/train_head.py

It reads the shards of write_text.py, also while that is still writing them, for `--minutes`, and
writes the head to `--out` every few minutes, with how much of the target's distribution it meets on
text held out, by domain and by how many tokens it has drafted in a row. Started again on its own
output it goes on from there.

The head (Li et al., EAGLE-3, arXiv 2503.01840): the hidden states after three layers, each normed,
are joined by `fc`; with the embedding of the next token they enter one transformer layer, whose
output goes through a norm and a last matrix, which begins as the rows of the target's own embedding
that belong to the draft vocabulary. From the second drafted token on, the layer's own output stands
for the hidden states that only the target knows; training does the same (`--steps` tokens in a
row). The embedding enters the layer's sum as well, by `token_proj`, which the published form lacks:
the target's keys and values are few and narrow, and too little of the token came through them
alone.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from training import (
    Batch,
    Meeting,
    Training,
    arguments,
    begin,
    distance,
    draft_vocabulary,
    endless,
    held_out,
    shifted,
)
from write_text import TAPS, rope_rates, rotate

from hsd.models.loading.tensors import in_full

# root mean square of the deepest tap's states, and of what stands for them in the head
DEEPEST = 27.0
SCALE = 4.0


class Head(nn.Module):
    """The head with the names of its published form; training runs it on whole texts, the package
    token by token.
    """

    def __init__(
        self,
        hidden: int,
        inner: int,
        heads: int,
        groups: int,
        taps: int,
        theta: float,
        eps: float,
        vocab: int,
        norm_output: bool = False,
    ) -> None:
        """norm_output: the layer's output is normed before it is fed back, as EAGLE-3.1 does (arXiv
        2605.09992).
        """
        super().__init__()
        self.norm_output = norm_output
        self.heads = heads
        self.groups = groups
        self.width = hidden // heads
        self.eps = eps
        self.theta = theta
        linear = lambda i, o: nn.Linear(i, o, bias=False)  # noqa: E731
        self.taps_norm = nn.Parameter(torch.ones(taps, hidden))
        self.fc = linear(taps * hidden, hidden)
        self.token_proj = linear(hidden, hidden)
        kv = groups * self.width
        self.q_proj = linear(2 * hidden, hidden)
        self.k_proj = linear(2 * hidden, kv)
        self.v_proj = linear(2 * hidden, kv)
        self.o_proj = linear(hidden, hidden)
        self.gate_proj = linear(hidden, inner)
        self.up_proj = linear(hidden, inner)
        self.down_proj = linear(inner, hidden)
        self.lm_head = nn.Parameter(torch.zeros(vocab, hidden))
        self.hidden_norm = nn.Parameter(torch.ones(hidden))
        self.input_layernorm = nn.Parameter(torch.ones(hidden))
        self.post_attention_layernorm = nn.Parameter(torch.ones(hidden))
        self.norm = nn.Parameter(torch.ones(hidden))

    def begin_with(self, target: nn.Module, vocab: Tensor) -> None:
        """The last layer of the target is where the head begins: it reads the deepest tap as that
        layer does.
        """
        last = target.model.layers[-1]
        hidden = self.o_proj.weight.shape[0]
        with torch.no_grad():
            for mine, theirs in (
                (self.q_proj, "q_proj"),
                (self.k_proj, "k_proj"),
                (self.v_proj, "v_proj"),
            ):
                mine.weight.zero_()
                mine.weight[:, hidden:] = getattr(last.self_attn, theirs).weight
            self.gate_proj.weight.copy_(last.mlp.gate_proj.weight)
            self.up_proj.weight.copy_(last.mlp.up_proj.weight)
            # All norms that follow forget the scale, so the whole sum of layers is made smaller,
            # down to where the numbers of `fc` are of the size that the learning rate is for.
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
        angles = torch.outer(torch.arange(float(n)), rope_rates(self.theta, self.width)).to(
            x.device
        )
        cos = angles.cos().repeat(1, 2)
        sin = angles.sin().repeat(1, 2)
        q, k, v = (
            p(x).view(b, n, -1, self.width).transpose(1, 2)
            for p in (self.q_proj, self.k_proj, self.v_proj)
        )
        return rotate(q, cos, sin), rotate(k, cos, sin), v

    def after(self, hidden: Tensor, mixed: Tensor) -> Tensor:
        """The rest of the layer: (b, heads, n, width) mixed values to its output (b, n, hidden)."""
        x = hidden + self.o_proj(mixed.transpose(1, 2).flatten(-2))
        y = self.rms(x, self.post_attention_layernorm)
        return x + self.down_proj(F.silu(self.gate_proj(y)) * self.up_proj(y))

    def logits(self, rows: Tensor) -> Tensor:
        """(n, hidden), what came out of the layer, to (n, draft vocabulary)."""
        return self.rms(rows, self.norm) @ self.lm_head.T

    def unroll(self, embedded: Tensor, states: Tensor, steps: int) -> list[Tensor]:
        """Outputs (b, n, hidden) after each token, when it is the first, second, … that the target
        has not read.

        embedded (b, n, hidden): of the tokens; states (b, n, taps, hidden): what the target knew
        one token before, 0 before the first.
        """
        hidden = self.joined(states)
        outputs = []
        token = self.rms(embedded, self.input_layernorm)
        straight = self.token_proj(token).float()
        n = embedded.shape[1]
        repeat = self.heads // self.groups
        past: list[tuple[Tensor, Tensor]] = []
        for step in range(steps):
            hidden = hidden + straight
            q, k, v = self.keys(token, hidden)
            k = k.repeat_interleave(repeat, 1)
            v = v.repeat_interleave(repeat, 1)
            past.append((k, v))
            whole = torch.ones(n, n, dtype=torch.bool, device=embedded.device).tril(-step)
            scores = [(q @ past[0][0].transpose(-1, -2)).masked_fill(~whole, -1e30)]
            values = [past[0][1]]
            # this step's own first, then one place back, …
            for back, (key, value) in enumerate(reversed(past[1:])):
                scores.append((q * shifted(key, back)).sum(-1, keepdim=True))
                values.append(shifted(value, back))
            weights = (torch.cat(scores, -1).float() * self.width**-0.5).softmax(-1)
            mixed = weights[..., :n] @ values[0]
            for place, value in enumerate(values[1:]):
                mixed = mixed + weights[..., n + place, None] * value
            hidden_out = self.after(hidden, mixed)
            outputs.append(hidden_out)
            hidden = shifted(
                self.rms(hidden_out, self.norm) if self.norm_output else hidden_out, 1, dim=1
            )
        return outputs


def narrow(head: Head, vocab: Tensor, args: argparse.Namespace) -> Tensor:
    """Keep the tokens that the target wrote most often; ends of texts and turns always."""
    counts = sum(
        torch.bincount(load_file(file)["tokens"].long(), minlength=int(vocab.max()) + 1)[
            : int(vocab.max()) + 1
        ]
        for file in args.shards.glob("*.safetensors")
    )
    order = (counts[vocab] + (vocab < 3) * 1_000_000).argsort(descending=True, stable=True)
    kept = order[: args.vocab].sort().values
    head.lm_head = nn.Parameter(head.lm_head.detach()[kept])
    return vocab[kept]


ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
FEED = ("gate_proj", "up_proj", "down_proj")
PUBLISHED = {  # names of the numbers here, and in the published form of such heads
    "taps_norm": "taps_norm.weight",
    "fc.weight": "fc.weight",
    "token_proj.weight": "midlayer.token_proj.weight",
    "norm": "norm.weight",
    "lm_head": "lm_head.weight",
    **{f"{name}.weight": f"midlayer.self_attn.{name}.weight" for name in ATTENTION},
    **{f"{name}.weight": f"midlayer.mlp.{name}.weight" for name in FEED},
    **{
        name: f"midlayer.{name}.weight"
        for name in ("hidden_norm", "input_layernorm", "post_attention_layernorm")
    },
}


def save(head: Head, vocab: Tensor, config: Any, folder: Path) -> None:
    """The head in 16 bits, with the table of its vocabulary: what to add to its ids, which of the
    target's it has.
    """
    weights = {PUBLISHED[name]: number.half() for name, number in head.state_dict().items()}
    drafted = torch.zeros(config.vocab_size, dtype=torch.bool)
    drafted[vocab] = True
    save_file(
        weights | {"d2t": vocab - torch.arange(len(vocab)), "t2d": drafted},
        folder / "model.safetensors",
    )
    kept = (
        "hidden_size",
        "intermediate_size",
        "num_attention_heads",
        "num_key_value_heads",
        "vocab_size",
    )
    described = {
        "architectures": ["LlamaForCausalLMEagle3"],
        "draft_vocab_size": len(vocab),
        "target_layers": TAPS,
    }
    described |= {name: getattr(config, name) for name in (*kept, "rms_norm_eps")}
    described |= {"rope_theta": config.rope_parameters["rope_theta"], "num_hidden_layers": 1}
    described |= {"norm_output": True} if head.norm_output else {}
    (folder / "config.json").write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")


def load(head: Head, folder: Path) -> None:
    """Load the weights of a saved head; parameters that it lacks keep their values."""
    content = in_full(load_file(folder / "model.safetensors"))
    known = {
        name: content[published].float()
        for name, published in PUBLISHED.items()
        if published in content
    }
    head.load_state_dict(known, strict=False)


def vocabulary_of(folder: Path) -> Tensor:
    """The target's ids of the tokens that a saved head can draft."""
    offsets = load_file(folder / "model.safetensors")["d2t"]
    return offsets + torch.arange(len(offsets))


def loss_of(
    head: Head,
    batch: Batch,
    embedding: Tensor,
    rows: Tensor,
    steps: int,
    measured: Callable[[Tensor, Tensor], Tensor] = distance,
    heat: float = 1.0,
) -> Tensor:
    """The distance from the target's distribution over the draft vocabulary; later steps count
    less.

    measured: of the draft's logits from the target's, (n, draft vocabulary) each. heat: temperature
    of both.
    """
    outputs = head.unroll(embedding[batch.tokens], batch.before, steps)
    loss = torch.zeros(())
    for step, output in enumerate(outputs):
        judged = batch.judged.clone()
        judged[:, :step] = False
        if step:  # half the places are enough for what comes later in a row
            judged &= torch.rand(judged.shape) < 0.5
        with torch.no_grad():
            theirs = batch.last[judged] @ rows.T
        loss = loss + 0.8**step * measured(head.logits(output[judged]) / heat, theirs / heat)
    return loss


@torch.no_grad()
def measure(
    head: Head, held: list[Batch], embedding: Tensor, vocab: Tensor, steps: int
) -> dict[str, Any]:
    """See `Meeting.report`."""
    meeting = Meeting(steps)
    for batch in held:
        for step, output in enumerate(head.unroll(embedding[batch.tokens], batch.before, steps)):
            judged = batch.judged.clone()
            judged[:, :step] = False
            domains = batch.domains[:, None].expand(judged.shape)[judged]
            meeting.add(
                step, domains, head.logits(output[judged]), batch.last[judged] @ embedding.T, vocab
            )
    return meeting.report()


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder of the head")
    parser.add_argument(
        "--minutes", type=float, default=60, help="0 measures a saved head, cut to --vocab"
    )
    parser.add_argument(
        "--start", type=Path, help="folder of another head whose numbers a new one begins with"
    )
    parser.add_argument(
        "--steps", type=int, default=3, help="at most so many drafted tokens in a row (default 3)"
    )
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    model = begin(args)
    head, vocab, log = begin_head(model, args)
    embedding = model.model.embed_tokens.weight.detach()
    config = model.config
    del model
    rows = embedding[vocab].contiguous()
    held = held_out(args.shards)
    training = Training(head, head.lm_head, args.rate, args.bfloat16)
    seen = log[-1]["tokens"] if log else 0

    def keep(**line: Any) -> None:
        log.append({"tokens": seen, **line, **measure(head, held, embedding, vocab, args.steps)})
        save(head, vocab, config, args.out)
        (args.out / "log.json").write_text(json.dumps(log, indent=1), encoding="utf-8")
        print(json.dumps(log[-1]), flush=True)

    if args.minutes <= 0:
        keep(vocabulary=len(vocab))
        return
    started = time.time()
    told = 0.0
    for epoch, batch in endless(args.shards, args.batch):
        minutes = (time.time() - started) / 60
        share = minutes / args.minutes
        steps = random.randint(1, args.steps)
        loss, rate = training.step(partial(loss_of, head, batch, embedding, rows, steps), share)
        seen += int(batch.judged.sum())
        if time.time() - told > 300 or share >= 1.0:
            told = time.time()
            with training.averaged():
                keep(minutes=round(minutes, 1), epochs=epoch, loss=round(loss, 3), rate=rate)
        if share >= 1.0:
            return


def begin_head(model: Any, args: argparse.Namespace) -> tuple[Head, Tensor, list[dict[str, Any]]]:
    """The head in `--out`, or a new one; its vocabulary; and the log of its training so far."""
    saved = (args.out / "model.safetensors").exists()
    vocab = vocabulary_of(args.out) if saved else draft_vocabulary(args, model.config.vocab_size)
    fed_normed = not saved or json.loads(
        (args.out / "config.json").read_text(encoding="utf-8")
    ).get("norm_output", False)
    head = new_head(model, vocab, fed_normed)
    if not saved:
        if args.start:
            start_from(head, vocab, args.start)
        return head, vocab, []
    load(head, args.out)
    if len(vocab) > args.vocab:
        vocab = narrow(head, vocab, args)
    return head, vocab, json.loads((args.out / "log.json").read_text(encoding="utf-8"))


def new_head(target: Any, vocab: Tensor, norm_output: bool = False) -> Head:
    """A head of the target's sizes, before its first step."""
    config = target.config
    sizes = (
        config.hidden_size,
        config.intermediate_size,
        config.num_attention_heads,
        config.num_key_value_heads,
    )
    head = Head(
        *sizes,
        len(TAPS),
        config.rope_parameters["rope_theta"],
        config.rms_norm_eps,
        len(vocab),
        norm_output,
    )
    head.begin_with(target, vocab)
    return head


@torch.no_grad()
def start_from(head: Head, vocab: Tensor, folder: Path) -> None:
    """Take up the numbers of a head in another folder, whose vocabulary may be another one.

    Rows of tokens that both know are kept. Where only the new head norms what it feeds back, the
    last norm grows and the last matrix shrinks by one factor: predictions stay, and what is fed
    back gets the size SCALE that it had.
    """
    own = head.lm_head.detach().clone()
    theirs = vocabulary_of(folder)
    rows = in_full(load_file(folder / "model.safetensors"))
    place = {token: row for row, token in enumerate(theirs.tolist())}
    shared = [(row, place[token]) for row, token in enumerate(vocab.tolist()) if token in place]
    mine, known = (torch.tensor(part) for part in zip(*shared, strict=True))
    kept = rows["lm_head.weight"].float()[known]
    # the rows of new tokens get the size that the others have after training
    own *= kept.norm() / own[mine].norm()
    own[mine] = kept
    head.lm_head = nn.Parameter(torch.zeros(len(theirs), own.shape[1]))
    load(head, folder)
    fed_normed = json.loads((folder / "config.json").read_text(encoding="utf-8")).get(
        "norm_output", False
    )
    larger = (
        SCALE / float(head.norm.square().mean().sqrt())
        if head.norm_output and not fed_normed
        else 1.0
    )
    head.norm.mul_(larger)
    head.lm_head = nn.Parameter(own / larger)


if __name__ == "__main__":
    main()
