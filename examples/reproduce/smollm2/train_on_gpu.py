"""Train the head on a GPU, on text that the target writes there.

    python examples/reproduce/smollm2/train_on_gpu.py

In minutes it does what write_text.py and train_head.py take days for on a processor, in four parts:

1. The target writes `--tokens` tokens from the prompts of `--prompts` (a file that `--make-prompts`
   makes, without a GPU), each text at its own temperature.
2. Losses are compared (`--compare` minutes): one head each, all from the numbers of `--start`, on
   the same texts in the same order. Their names: see LOSSES.
3. A head is trained for `--minutes` by the loss of `--loss`; `best` is the one whose head keeps the
   most in part 2.
4. Every head is measured on texts held out; `report.json` has the figures, `head/` the weights.

**What block verification keeps of a block**, which HSD keeps too, can be had from the target's own
text. Along a draft x₁ x₂ … let u_i = Π q/p and m_i = min(u_0, …, u_i), u_0 = 1. Block verification
keeps at least i tokens of a draft with the probability w_i = min(w_{i-1} p/q, 1), so over all
drafts E_q[w_i] = E_p[u_i w_i] = E_p[m_i], and the last token can be summed exactly:
E_p[Σ_x min(m_{i-1} p(x), u_{i-1} q(x))]. The loss `kept` is minus the sum of these over i.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor
from train_head import Head, load, new_head, save, start_from, vocabulary_of
from training import Training, shifted
from transformers import AutoModelForCausalLM, AutoTokenizer
from write_text import DOMAINS, TAPS, Prompts, rope_rates, rotate

DRAFTS = (2, 4, 6, 10)  # lengths of a draft whose kept tokens are measured
TEMPERATURES = (0.7, 1.0)


# ---- the target ----


class Target:
    """The target in bfloat16 for many texts side by side, all of which begin at position 0."""

    def __init__(self, model: Any, device: torch.device, longest: int) -> None:
        config = model.config
        body = model.model
        self.heads = config.num_attention_heads
        self.groups = config.num_key_value_heads
        self.width = config.hidden_size // self.heads
        self.eps = config.rms_norm_eps
        place = lambda x: x.detach().to(device, torch.bfloat16)  # noqa: E731
        self.embedding = place(body.embed_tokens.weight)
        self.norm = place(body.norm.weight)
        self.layers = [
            tuple(
                place(weight)
                for weight in (
                    layer.input_layernorm.weight,
                    layer.post_attention_layernorm.weight,
                    torch.cat([getattr(layer.self_attn, f"{name}_proj").weight for name in "qkv"]),
                    layer.self_attn.o_proj.weight,
                    torch.cat([layer.mlp.gate_proj.weight, layer.mlp.up_proj.weight]),
                    layer.mlp.down_proj.weight,
                )
            )
            for layer in body.layers
        ]
        angles = torch.outer(
            torch.arange(float(longest)),
            rope_rates(config.rope_parameters["rope_theta"], self.width),
        )
        self.cos, self.sin = (
            x.repeat(1, 2).to(device)[None, :, None] for x in (angles.cos(), angles.sin())
        )

    def _normed(self, x: Tensor, weight: Tensor) -> Tensor:
        return F.rms_norm(x, (x.shape[-1],), weight, self.eps)

    def read(
        self, tokens: Tensor, cache: Tensor | None = None, start: int = 0
    ) -> tuple[Tensor, Tensor]:
        """The states TAPS (b, n, taps, hidden) and the last, normed ones (b, n, hidden) of tokens
        (b, n).

        cache (layers, 2, b, groups, most, width): keys and values, with those of the tokens before
        `start`; the new ones, which are one a text then, are written to it. None: nothing stands
        before the tokens.
        """
        b, n = tokens.shape
        kept = []
        x = self.embedding[tokens]
        cos = self.cos[:, start : start + n]
        sin = self.sin[:, start : start + n]
        for index, (before, after, qkv, out, up, down) in enumerate(self.layers):
            if index in TAPS:
                kept.append(x)
            rows = (self._normed(x, before) @ qkv.T).view(b, n, -1, self.width)
            q, k, v = rows.split([self.heads, self.groups, self.groups], 2)
            q, k = (rotate(part.float(), cos, sin).bfloat16() for part in (q, k))
            if cache is None:
                k, v = (
                    part.repeat_interleave(self.heads // self.groups, 2).transpose(1, 2)
                    for part in (k, v)
                )
                mixed = F.scaled_dot_product_attention(
                    q.transpose(1, 2), k, v, is_causal=True
                ).transpose(1, 2)
            else:  # the queries of a group are rows over the group's keys
                cache[index, 0, :, :, start] = k[:, 0]
                cache[index, 1, :, :, start] = v[:, 0]
                keys, values = cache[index, :, :, :, : start + 1]
                mixed = F.scaled_dot_product_attention(
                    q.view(b, self.groups, -1, self.width), keys, values
                )
            x = x + mixed.reshape(b, n, -1) @ out.T
            gate, value = (self._normed(x, after) @ up.T).chunk(2, -1)
            x = x + (F.silu(gate) * value) @ down.T
        return torch.stack(kept, 2), self._normed(x, self.norm)

    def logits(self, last: Tensor, rows: Tensor | None = None) -> Tensor:
        """Single precision, of the last states, over `rows` of the embedding or all."""
        return (last @ (self.embedding if rows is None else rows).T).float()


# ---- its text ----


@dataclass
class Texts:
    """Texts of one length, side by side. tokens (n, length); the target wrote those at `prompts`
    and after, up to `ends` (n,), at `heats` (n,); domains (n,).
    """

    tokens: Tensor
    prompts: Tensor
    ends: Tensor
    heats: Tensor
    domains: Tensor

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, rows: Any) -> Texts:
        return Texts(
            *(
                getattr(self, name)[rows]
                for name in ("tokens", "prompts", "ends", "heats", "domains")
            )
        )

    def to(self, device: torch.device) -> Texts:
        return Texts(
            *(
                x.to(device)
                for x in (self.tokens, self.prompts, self.ends, self.heats, self.domains)
            )
        )

    def judged(self) -> Tensor:
        """(n, length) bool: places whose next token the target wrote."""
        places = torch.arange(self.tokens.shape[1], device=self.tokens.device)
        return (places >= self.prompts[:, None] - 1) & (places < self.ends[:, None] - 1)


def make_prompts(args: argparse.Namespace) -> None:
    """Write `--count` beginnings of texts to a file: ids of all tokens in a row, lengths, domains,
    temperatures.
    """
    source = iter(Prompts(args.data, AutoTokenizer.from_pretrained(args.target), args.seed))
    texts = [next(source) for _ in range(args.count)]
    content = {
        "tokens": torch.tensor([token for text in texts for token in text.ids], dtype=torch.uint16),
        "prompts": torch.tensor([text.prompt for text in texts]),
        "domains": torch.tensor([text.domain for text in texts]),
        "heats": torch.tensor([text.temperature for text in texts]),
    }
    save_file(content, args.prompts)


def read_prompts(file: Path, count: int) -> dict[str, Tensor]:
    """The first `count` beginnings of a file of `make_prompts`, with the tokens as rows with 0
    after their end.
    """
    content = load_file(file)
    kept = {name: content[name][:count] for name in ("prompts", "domains", "heats")}
    parts = content["tokens"].int()[: int(kept["prompts"].sum())].split(kept["prompts"].tolist())
    return kept | {"tokens": torch.nn.utils.rnn.pad_sequence(parts, batch_first=True)}


@torch.inference_mode()
def write(
    target: Target, begun: dict[str, Tensor], length: int, end: int, device: torch.device
) -> Texts:
    """Go on with the prompts up to `length` tokens, one token of every text at a time."""
    count = len(begun["tokens"])
    given = (
        F.pad(begun["tokens"], (0, max(0, length - begun["tokens"].shape[1])))
        .to(device)
        .long()[:, :length]
    )
    prompts = begun["prompts"].to(device).long()
    heats = begun["heats"].to(device)
    shape = (len(target.layers), 2, count, target.groups, length, target.width)
    cache = torch.zeros(shape, device=device, dtype=torch.bfloat16)
    for place in range(length - 1):
        _, last = target.read(given[:, place : place + 1], cache, place)
        scores = target.logits(last[:, 0]) / heats[:, None]
        race = torch.empty_like(scores).exponential_()
        drawn = (scores - race.log_()).argmax(-1)
        given[:, place + 1] = torch.where(place + 1 < prompts, given[:, place + 1], drawn)
    domains = begun["domains"].to(device).long()
    places = torch.arange(length, device=device)
    marks = ((given == end) & (places >= prompts[:, None])).cumsum(1)
    # chats whose question the target wrote end twice
    wanted = torch.where(domains == DOMAINS.index("chat"), 2, 1)
    before = (marks < wanted[:, None]).sum(1)
    return Texts(given, prompts, (before + 1).clamp(max=length), heats, domains)


# ---- losses ----


class Known:
    """What the target knows of some texts, for heads of one draft vocabulary.

    embedded (b, n, hidden) and before (b, n, taps, hidden): what `Head.unroll` takes. place (b, n):
    the row of each judged place in p (rows, draft vocabulary), the target's law at the text's
    temperature, which need not sum to 1, and in likeliest (rows,); chosen (b, n): the next token as
    a row of the draft vocabulary, or -1.
    """

    @torch.no_grad()
    def __init__(self, target: Target, texts: Texts, vocab: Tensor, table: Tensor) -> None:
        """table (all tokens,): rows of the draft vocabulary or -1."""
        states, last = target.read(texts.tokens)
        self.embedded = target.embedding[texts.tokens].float()
        self.before = shifted(states.float(), 1, dim=1)
        judged = texts.judged()
        self.place = (judged.flatten().cumsum(0) - 1).clamp(min=0).view(judged.shape)
        self.chosen = table[F.pad(texts.tokens[:, 1:], (0, 1))]
        heats = texts.heats[:, None].expand(judged.shape)[judged]
        laws = []
        likeliest = []
        for rows, heat in zip(last[judged].split(2048), heats.split(2048), strict=True):
            scores = target.logits(rows)
            likeliest.append(scores.argmax(-1))
            scores.div_(heat[:, None])
            laws.append((scores[:, vocab] - scores.logsumexp(-1, keepdim=True)).exp_())
        self.p = torch.cat(laws)
        self.likeliest = torch.cat(likeliest)


@dataclass
class Depth:
    """One depth of drafts. live (n,): 1 where the target wrote the token. p (n, draft vocabulary),
    its log q, the ratio q/p of the text's token, (n,), 0 where the head does not know it; likeliest
    (n,) of the target.
    """

    live: Tensor
    p: Tensor
    log_q: Tensor
    ratio: Tensor
    likeliest: Tensor


def depths(head: Head, known: Known, texts: Texts, starts: Tensor, steps: int) -> Iterator[Depth]:
    """Depth after depth of the drafts that begin at `starts` (b, length) bool."""
    text, place = starts.nonzero(as_tuple=True)
    heats = texts.heats[text, None]
    ends = texts.ends[text]
    for depth, output in enumerate(head.unroll(known.embedded, known.before, steps)):
        live = (place + depth < ends - 1).float()
        at = torch.minimum(place + depth, ends - 2)
        p = known.p[known.place[text, at]]
        chosen = known.chosen[text, at]
        log_q = (head.logits(output[text, at]).float() / heats).log_softmax(-1)
        rows = chosen.clamp(min=0)[:, None]
        ratio = (
            (log_q.gather(1, rows) - p.gather(1, rows).clamp(min=1e-30).log())[:, 0]
            .clamp(max=20)
            .exp()
        )
        ratio = torch.where(chosen >= 0, ratio, torch.zeros_like(ratio))
        yield Depth(live, p, log_q, ratio, known.likeliest[known.place[text, at]])


def loss_of(
    head: Head, known: Known, texts: Texts, starts: Tensor, steps: int, loss: str
) -> Tensor:
    """The mean over drafts of a loss of LOSSES; what judges places alone counts .8^depth."""
    parts = LOSSES[loss]
    total = torch.zeros((), device=starts.device)
    u = m = torch.ones(int(starts.sum()), device=starts.device)
    for depth, at in enumerate(depths(head, known, texts, starts, steps)):
        q = at.log_q.exp()
        count = at.live.sum().clamp(min=1)
        judged = torch.zeros_like(at.live)
        if "cross" in parts:
            judged = judged - parts["cross"] * (at.p * at.log_q).sum(-1)
        if "overlap" in parts:
            judged = judged - parts["overlap"] * torch.minimum(at.p, q).sum(-1)
        if judged.requires_grad:
            total = total + 0.8**depth * (at.live * judged).sum() / count
        if "kept" in parts:
            kept = torch.minimum(m[:, None] * at.p, u[:, None] * q).sum(-1)
            total = total - parts["kept"] * (at.live * kept).sum() / count
            u = u * at.ratio
            m = torch.minimum(m, u)
    return total


LOSSES: dict[str, dict[str, float]] = {
    "cross": {"cross": 1.0},  # cross-entropy from the target's law to the draft's
    "both": {"cross": 1.0, "overlap": 1.0},  # with total variation, as the head was trained before
    "overlap": {"cross": 0.1, "overlap": 1.0},  # Σ min(p, q) at each place
    "kept": {"cross": 0.1, "kept": 1.0},  # what block verification keeps of the whole draft
    "kept alone": {"kept": 1.0},
}


# ---- measuring ----


@torch.no_grad()
def measure(
    head: Head, target: Target, texts: Texts, vocab: Tensor, table: Tensor, size: int, heat: float
) -> dict[str, Any]:
    """On texts written at this temperature: Σ min(p, q) by place, how often both have the same
    likeliest token, and the tokens that token-wise and block verification keep of drafts of DRAFTS;
    all by kind of text.

    What is kept is exact over the last token of a draft and weighted over the ones before.
    """
    here = texts[(texts.heats == heat).nonzero()[:, 0]]
    most = max(DRAFTS)
    sums = torch.zeros(len(DOMAINS), most, 5, device=texts.tokens.device, dtype=torch.float64)
    for first in range(0, len(here), size):
        part = here[slice(first, first + size)]
        known = Known(target, part, vocab, table)
        starts = part.judged()
        kinds = part.domains[starts.nonzero(as_tuple=True)[0]]
        u = m = alone = torch.ones(len(kinds), device=starts.device)
        for depth, at in enumerate(depths(head, known, part, starts, most)):
            q = at.log_q.exp()
            overlap = torch.minimum(at.p, q).sum(-1)
            kept = torch.minimum(m[:, None] * at.p, u[:, None] * q).sum(-1)
            same = (vocab[at.log_q.argmax(-1)] == at.likeliest).float()
            rows = torch.stack([overlap, same, alone * overlap, kept, torch.ones_like(kept)], -1)
            sums[:, depth].index_add_(0, kinds, (rows * at.live[:, None]).double())
            u = u * at.ratio
            alone = alone * at.ratio.clamp(max=1)
            m = torch.minimum(m, u)
    return {
        name: _figures(part)
        for name, part in (*zip(DOMAINS, sums, strict=True), ("all", sums.sum(0)))
    }


def _figures(sums: Tensor) -> dict[str, Any]:
    means = (sums[:, :4] / sums[:, 4:].clamp(min=1)).T.tolist()
    rounded = [[round(x, 4) for x in row] for row in means]
    return {
        "overlap": rounded[0],
        "likeliest": rounded[1],
        "tokenwise": {n: round(sum(means[2][:n]), 4) for n in DRAFTS},
        "block": {n: round(sum(means[3][:n]), 4) for n in DRAFTS},
    }


# ---- the parts ----


class Course:
    """One head on its way: what it learns by, and its optimiser."""

    def __init__(self, head: Head, loss: str, rate: float) -> None:
        self.head = head
        self.loss = loss
        self.training = Training(head, head.lm_head, rate, bfloat16=True)


def begin_head(model: Any, vocab: Tensor, start: Path, device: torch.device) -> Head:
    """A head with this vocabulary and the numbers of the one in `start`."""
    head = new_head(model, vocab, norm_output=True)
    if torch.equal(vocab, vocabulary_of(start)):
        load(head, start)
    else:
        start_from(head, vocab, start)
    return head.to(device)


def train(
    courses: list[Course],
    target: Target,
    texts: Texts,
    vocab: Tensor,
    table: Tensor,
    args: argparse.Namespace,
    minutes: float,
    tell: Callable[[dict[str, Any]], None],
) -> int:
    """Train all heads on the same texts for so many minutes; return how many tokens each saw."""
    started = time.time()
    last = 0.0
    seen = 0
    epoch = 0
    steps = 0
    while True:
        order = torch.randperm(len(texts)).split(args.batch)
        for rows in order:
            share = (time.time() - started) / 60 / minutes
            part = texts[rows.to(texts.tokens.device)]
            longest = int(part.ends.max())
            part = Texts(
                part.tokens[:, :longest], part.prompts, part.ends, part.heats, part.domains
            )
            starts = part.judged()
            seen += int(starts.sum())
            starts &= torch.rand(starts.shape, device=starts.device) < args.share
            losses = {}
            known = Known(target, part, vocab, table)
            for course in courses:
                step = partial(loss_of, course.head, known, part, starts, args.steps, course.loss)
                loss, _ = course.training.step(step, share)
                losses[course.loss] = round(loss, 4)
            steps += 1
            if time.time() - last > 20 or share >= 1:
                last = time.time()
                tell(
                    {
                        "minutes": round(share * minutes, 2),
                        "steps": steps,
                        "epoch": epoch,
                        "tokens": seen,
                    }
                    | losses
                )
            if share >= 1:
                return seen
        epoch += 1


def chosen_vocabulary(
    texts: Texts, size: int, known: int, like: Tensor
) -> tuple[Tensor, dict[int, float]]:
    """The `size` tokens that the target wrote most, ties by `like`, and the share of it that
    several sizes have.
    """
    written = texts.tokens[:, 1:][texts.judged()[:, :-1]]
    counts = torch.bincount(written, minlength=known).double().cpu()
    shares = {
        n: float(counts.sort(descending=True).values[:n].sum() / counts.sum())
        for n in (6144, 8192, 10240)
    }
    counts[:3] += 1e9  # the ends of texts and turns
    counts[like] += 0.5
    return counts.argsort(descending=True, stable=True)[:size].sort().values, shares


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--target", required=True, help="folder of the target, as `hsd fetch smollm2` prints it"
    )
    parser.add_argument("--prompts", type=Path, required=True, help="file of prompts")
    parser.add_argument("--make-prompts", action="store_true", help="write that file, and end")
    parser.add_argument("--data", type=Path, help="public files for --make-prompts; see README.md")
    parser.add_argument(
        "--count", type=int, default=70_000, help="prompts to make (default 70,000)"
    )
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--start", type=Path, help="folder of the head to begin with")
    parser.add_argument("--out", type=Path, help="folder of the new head and of report.json")
    parser.add_argument("--texts", type=int, default=65_536, help="texts to write (default 65,536)")
    parser.add_argument(
        "--held-out", type=int, default=1024, help="of which so many are held out (default 1,024)"
    )
    parser.add_argument(
        "--length", type=int, default=288, help="tokens of a text with its prompt (default 288)"
    )
    parser.add_argument(
        "--side", type=int, default=4096, help="texts written at once (default 4,096)"
    )
    parser.add_argument(
        "--vocab",
        type=int,
        default=0,
        help="size of a new draft vocabulary; 0 keeps that of --start",
    )
    parser.add_argument(
        "--compare", type=float, default=2.0, help="minutes of comparing losses (default 2)"
    )
    parser.add_argument(
        "--minutes", type=float, default=5.0, help="minutes of training (default 5)"
    )
    parser.add_argument("--loss", default="best", choices=["best", *LOSSES])
    parser.add_argument(
        "--rate",
        type=float,
        default=8e-4,
        help="highest learning rate, then run down to a twentieth",
    )
    parser.add_argument(
        "--compare-rate", type=float, default=5e-4, help="the same while losses are compared"
    )
    parser.add_argument("--batch", type=int, default=32, help="texts in a step (default 32)")
    parser.add_argument("--steps", type=int, default=5, help="drafted tokens in a row (default 5)")
    parser.add_argument(
        "--share",
        type=float,
        default=0.5,
        help="drafts begin at this share of the places (default .5)",
    )
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    random.seed(args.seed)
    if args.make_prompts:
        make_prompts(args)
        return
    run(args)


def run(args: argparse.Namespace) -> None:
    """Parts 1 to 4."""
    began = time.time()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    args.out.mkdir(parents=True, exist_ok=True)
    report: dict[str, Any] = {
        "options": {k: str(v) for k, v in vars(args).items()},
        "torch": torch.__version__,
    }
    report["device"] = torch.cuda.get_device_name() if device.type == "cuda" else "cpu"

    def tell(name: str, value: Any) -> None:
        report.setdefault(name, []).append({"seconds": round(time.time() - began)} | value)
        (args.out / "report.json").write_text(json.dumps(report, indent=1), encoding="utf-8")
        print(name, json.dumps(report[name][-1])[:600], flush=True)

    model = AutoModelForCausalLM.from_pretrained(args.target, dtype=torch.float32)
    target = Target(model, device, args.length)
    begun = read_prompts(args.prompts, args.texts)
    parts = []
    for first in range(0, args.texts, args.side):
        rows = {
            name: value[first : min(first + args.side, args.texts)] for name, value in begun.items()
        }
        parts.append(write(target, rows, args.length, model.generation_config.eos_token_id, device))
        tell("written", {"texts": first + len(parts[-1]), "tokens": int(parts[-1].judged().sum())})
    names = ("tokens", "prompts", "ends", "heats", "domains")
    texts = Texts(*(torch.cat([getattr(part, name) for part in parts]).clone() for name in names))
    del parts
    held = texts[slice(0, args.held_out)]
    texts = texts[slice(args.held_out, None)]

    old = vocabulary_of(args.start)
    vocab, shares = chosen_vocabulary(texts, args.vocab or len(old), len(target.embedding), old)
    written = texts.tokens[:, 1:][texts.judged()[:, :-1]].cpu()
    tell(
        "vocabulary",
        {
            "share of the text": shares,
            "of the head before": float(torch.isin(written, old).double().mean()),
        },
    )
    vocab = vocab if args.vocab else old

    def prepared(vocab: Tensor) -> tuple[Tensor, Tensor]:
        table = torch.full((len(target.embedding),), -1, dtype=torch.int64)
        table[vocab] = torch.arange(len(vocab))
        return vocab.to(device), table.to(device)

    def judge(name: str, head: Head, vocab: Tensor) -> dict[str, Any]:
        found = {
            str(heat): measure(head, target, held, *prepared(vocab), max(1, args.batch // 2), heat)
            for heat in TEMPERATURES
        }
        tell("measured", {"head": name} | found)
        print(name, {heat: found[heat]["all"] for heat in found}, flush=True)
        return found

    judge("before", begin_head(model, old, args.start, device), old)
    ready = prepared(vocab)
    scores = {}
    if args.compare > 0:
        courses = [
            Course(begin_head(model, vocab, args.start, device), loss, args.compare_rate)
            for loss in LOSSES
        ]
        train(
            courses, target, texts, *ready, args, args.compare, lambda line: tell("compared", line)
        )
        for course in courses:
            with course.training.averaged():
                scores[course.loss] = judge(course.loss, course.head, vocab)["0.7"]["all"]["block"][
                    4
                ]
        del courses
    loss = max(scores, key=scores.__getitem__) if args.loss == "best" and scores else args.loss
    course = Course(
        begin_head(model, vocab, args.start, device), "both" if loss == "best" else loss, args.rate
    )
    seen = train(
        [course], target, texts, *ready, args, args.minutes, lambda line: tell("trained", line)
    )
    with course.training.averaged():
        folder = args.out / "head"
        folder.mkdir(exist_ok=True)
        save(course.head.cpu(), vocab, model.config, folder)
        judge(f"{course.loss}, {seen} tokens", course.head.to(device), vocab)


if __name__ == "__main__":
    main()
