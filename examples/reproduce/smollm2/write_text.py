"""Let the target write the text its drafts learn from, and keep its hidden states and
probabilities.

    python examples/reproduce/smollm2/write_text.py

One process writes shards of about 40,000 tokens to the folder `--out` until it is stopped or
`--tokens` are there. A shard has the tokens of its texts, where each text and its answer begin, the
hidden states after the layers TAPS, and the last, normed one: the target's distribution at any
temperature is that one times the rows of the embedding.

The texts: sums (questions of GSM8K's training part, answered in the chat template), stories (raw
beginnings, and asked for in the chat template), code (beginnings of Python functions, and asked
for), chats, whose questions the target makes up itself, and requests about the many subjects of
subjects.yaml. `--data` is a folder with the public files: gsm8k/train.jsonl,
tinystories_5k/tinystories_lowercase.txt, tinystories_cased/tiny_stories.txt,
thealgorithms_python/functions.jsonl; README.md beside this file says where from.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
import yaml
from safetensors.torch import save_file
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer

# so that this runs without installing the package
sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

TAPS = (4, 16, 28)
DOMAINS = ("sums", "stories", "code", "chat", "requests")
LONGEST_PROMPT = 160
PART = 256  # tokens of the vocabulary that are summed together
# one of these for each text: where the target hesitates, most is learnt
TEMPERATURES = (0.7, 0.7, 1.0)


def rope_rates(theta: float, width: int) -> Tensor:
    """Return (width / 2,): how fast each pair of numbers turns from one position to the next."""
    rates: Tensor = 1.0 / theta ** (torch.arange(0, width, 2) / width)
    return rates


@dataclass
class Text:
    """A prompt (token ids) and what the target wrote after it, with its hidden states."""

    domain: int
    ids: list[int]
    temperature: float
    states: list[Tensor] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.prompt = len(self.ids)


class Prompts:
    """Beginnings of texts, endless, one domain after another."""

    def __init__(self, data: Path, tokenizer: Any, seed: int) -> None:
        self._tokenizer = tokenizer
        self._random = random.Random(seed)
        lines = (data / "gsm8k/train.jsonl").read_text(encoding="utf-8").splitlines()
        self._sums = [json.loads(line)["question"] for line in lines]
        self._stories = stories(data)
        lines = (
            (data / "thealgorithms_python/functions.jsonl").read_text(encoding="utf-8").splitlines()
        )
        self._functions = [json.loads(line) for line in lines]
        self._requests = yaml.safe_load(
            (Path(__file__).parent / "subjects.yaml").read_text(encoding="utf-8")
        )

    def __iter__(self) -> Iterator[Text]:
        while True:
            for domain, name in enumerate(DOMAINS):
                ids = getattr(self, f"_{name}_prompt")()
                if len(ids) <= LONGEST_PROMPT:
                    yield Text(domain, ids, self._random.choice(TEMPERATURES))

    def _chat(self, question: str) -> list[int]:
        chat = [{"role": "user", "content": question}]
        found: list[int] = self._tokenizer.apply_chat_template(
            chat, add_generation_prompt=True, return_dict=False
        )
        return found

    def _sums_prompt(self) -> list[int]:
        return self._chat(self._random.choice(self._sums))

    def _stories_prompt(self) -> list[int]:
        words = self._random.choice(self._stories).split(" ")
        begin = " ".join(words[: self._random.randint(5, 30)])
        if self._random.random() < 0.6:
            return self._raw(begin)
        return self._chat(
            self._random.choice(("Go on with this story: ", "Write a short story that begins: "))
            + begin
        )

    def _code_prompt(self) -> list[int]:
        function = self._random.choice(self._functions)["source"]
        signature, _, rest = function.partition('"""')
        summary = rest.partition('"""')[0].strip().split("\n")[0]
        kind = self._random.random()
        if kind < 0.3:
            return self._chat(f"Write a Python function. {summary}")
        if kind < 0.5:
            return self._raw(f'{signature}"""{summary}"""\n')
        lines = function.split("\n")
        return self._raw("\n".join(lines[: self._random.randint(2, max(3, len(lines) // 2))]))

    def _chat_prompt(self) -> list[int]:
        """The chat template up to the question, which the target then writes as well."""
        before = self._tokenizer.apply_chat_template(
            [{"role": "user", "content": "?"}], tokenize=False
        )
        return self._raw(before.rpartition("?")[0])

    def _requests_prompt(self) -> list[int]:
        request, subject = (
            self._random.choice(self._requests[part]) for part in ("requests", "subjects")
        )
        return self._chat(request.format(subject))

    def _raw(self, text: str) -> list[int]:
        found: list[int] = self._tokenizer(text)["input_ids"]
        return found


def stories(data: Path) -> list[str]:
    """Story beginnings with capitals where they are known; quotes encoded twice are mended where
    that is possible.
    """
    texts = []
    for name in ("tinystories_cased/tiny_stories.txt", "tinystories_5k/tinystories_lowercase.txt"):
        for line in (data / name).read_text(encoding="utf-8", errors="replace").split("\n"):
            if line.lower().startswith(
                ("once", "one day", "there was", "there once", "lily", "tom", "in a")
            ):
                with suppress(UnicodeError):
                    line = line.encode("cp1252").decode("utf-8")
                texts.append(line.strip())
    return texts


Product = Callable[[Tensor], Tensor]


def product(bfloat16: bool) -> Callable[[Tensor], Product]:
    """Of a matrix: what multiplies rows by it, in bfloat16 or with 16-bit weights and float32
    arithmetic.
    """

    def of(weight: Tensor) -> Product:
        kept = weight.detach().bfloat16()
        return lambda x: F.linear(x.bfloat16(), kept).float()

    if bfloat16:
        return of
    return packed


def packed(weight: Tensor) -> Product:
    """Return the function x → x·weightᵀ by FBGEMM. weight (out, in) float32 is rounded to float16
    once.
    """
    held = torch.ops.quantized.linear_prepack_fp16.default(weight.detach(), None)
    multiplied = torch.ops.quantized.linear_dynamic_fp16.default
    return lambda x: multiplied(x, held)


class Target:
    """The target for a batch of texts. bfloat16: faster, where the processor multiplies in it."""

    def __init__(self, folder: str, bfloat16: bool = False) -> None:
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        self._product = product(bfloat16)
        config = model.config
        self.body = model.model
        self.heads = config.num_attention_heads
        self.groups = config.num_key_value_heads
        self.width = config.hidden_size // self.heads
        self.eps = config.rms_norm_eps
        self.ends = model.generation_config.eos_token_id
        self.layers = [self._packed(layer) for layer in self.body.layers]
        self.head = self._product(model.lm_head.weight)
        angles = torch.outer(
            torch.arange(2048.0), rope_rates(config.rope_parameters["rope_theta"], self.width)
        )
        self.cos = angles.cos().repeat(1, 2)
        self.sin = angles.sin().repeat(1, 2)

    def _packed(self, layer: Any) -> tuple[Any, ...]:
        attention = layer.self_attn
        mlp = layer.mlp
        qkv = torch.cat([attention.q_proj.weight, attention.k_proj.weight, attention.v_proj.weight])
        up = torch.cat([mlp.gate_proj.weight, mlp.up_proj.weight])
        norms = layer.input_layernorm.weight, layer.post_attention_layernorm.weight
        return (
            *norms,
            *map(self._product, (qkv, attention.o_proj.weight, up, mlp.down_proj.weight)),
        )

    def norm(self, x: Tensor, weight: Tensor) -> Tensor:
        return F.rms_norm(x, (x.shape[-1],), weight, self.eps)

    def read(
        self, tokens: Tensor, at: Tensor, cache: Tensor, columns: slice, visible: Tensor
    ) -> Tensor:
        """The hidden states TAPS and the last, normed, of tokens (b, n) at positions (b, n): (b, n,
        4, hidden).

        cache (layers, 2, b, groups, most, width): the keys and values; those of the new tokens go
        to `columns`. visible (b, n, columns.stop) bool.
        """
        b, n = tokens.shape
        kept = []
        x = self.body.embed_tokens.weight[tokens]
        cos = self.cos[at].unsqueeze(2)
        sin = self.sin[at].unsqueeze(2)
        bias = torch.zeros(visible.shape).masked_fill_(~visible, -1e30)[:, None, :, None]
        for index, (before, after, qkv, out, up, down) in enumerate(self.layers):
            if index in TAPS:
                kept.append(x)
            rows = qkv(self.norm(x, before)).view(b, n, -1, self.width)
            q, k, v = rows.split([self.heads, self.groups, self.groups], 2)
            q = rotate(q, cos, sin)
            k = rotate(k, cos, sin)
            cache[index, 0, :, :, columns] = k.transpose(1, 2)
            cache[index, 1, :, :, columns] = v.transpose(1, 2)
            keys, values = cache[index, :, :, :, : columns.stop]
            repeat = self.heads // self.groups
            q = (
                q.view(b, n, self.groups, repeat, self.width)
                .transpose(1, 2)
                .reshape(b, self.groups, -1, self.width)
            )
            scores = (q @ keys.transpose(-1, -2)).view(
                b, self.groups, n, repeat, -1
            ) * self.width**-0.5 + bias
            mixed = scores.softmax(-1).view(b, self.groups, n * repeat, -1) @ values
            mixed = mixed.view(b, self.groups, n, repeat, -1).transpose(1, 2).reshape(b, n, -1)
            x = x + out(mixed)
            gate, value = up(self.norm(x, after)).chunk(2, -1)
            x = x + down(F.silu(gate) * value)
        return torch.stack([*kept, self.norm(x, self.body.norm.weight)], 2)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    left, right = x.chunk(2, -1)
    return x * cos + torch.cat([-right, left], -1) * sin


@torch.inference_mode()
def write(target: Target, texts: list[Text], most: int, noise: torch.Generator) -> None:
    """Go on with all texts at once, by at most so many tokens each, until a quarter of them is
    left.
    """
    longest = max(text.prompt for text in texts)
    cache = torch.zeros(
        len(target.layers), 2, len(texts), target.groups, longest + most, target.width
    )
    tokens = torch.tensor([[0] * (longest - text.prompt) + text.ids for text in texts])
    pads = torch.tensor([longest - text.prompt for text in texts])
    heat = torch.tensor([text.temperature for text in texts])
    columns = slice(0, longest)
    alive = list(range(len(texts)))
    while True:
        places = torch.arange(columns.start, columns.stop)
        at = (places - pads[:, None]).clamp(min=0)
        past = torch.arange(columns.stop)
        visible = (past <= places[:, None])[None] & (past >= pads[:, None, None])
        visible |= (past == places[:, None])[None]
        states = target.read(tokens, at, cache, columns, visible)
        logits = target.head(states[:, -1, -1].contiguous())
        drawn = sample(logits, heat, noise).tolist()
        for row, index in enumerate(alive):
            text = texts[index]
            text.states.append(states[row, pads[row] if columns.start == 0 else 0 :].half())
            text.ids.append(drawn[row])
        going = [
            row
            for row, token in enumerate(drawn)
            if not ends(texts[alive[row]], token, target.ends)
        ]
        columns = slice(columns.stop, columns.stop + 1)
        if columns.stop > cache.shape[4] or len(going) < len(texts) / 4:
            return
        if len(going) < 0.8 * len(alive):
            cache = cache[:, :, going]
            pads = pads[going]
            heat = heat[going]
            alive = [alive[row] for row in going]
            drawn = [drawn[row] for row in going]
        tokens = torch.tensor(drawn)[:, None]


def ends(text: Text, token: int, end: int) -> bool:
    """The end of a text; in chats that the target began itself, the end of the answer and not of
    the question.
    """
    if DOMAINS[text.domain] != "chat":
        return text.ids[text.prompt :].count(end) > 0
    return text.ids[text.prompt :].count(end) > 1


def sample(logits: Tensor, heat: Tensor, noise: torch.Generator) -> Tensor:
    """(b,): one token a row at its temperature; 0: the likeliest.

    First which part of the vocabulary, then which token of it: sums over all of it would take as
    long as a few layers.
    """
    most = logits.amax(-1, keepdim=True)
    parts = F.pad(
        (logits - most).div_(heat.clamp(min=1e-3)[:, None]).exp_(), (0, -logits.shape[1] % PART)
    )
    parts = parts.view(len(logits), -1, PART)
    sums = parts.sum(-1).cumsum(-1)
    number = sums[:, -1:] * torch.rand(len(heat), 1, generator=noise)
    chosen = torch.searchsorted(sums, number).clamp(max=sums.shape[1] - 1)
    rows = torch.arange(len(logits))
    within = parts[rows, chosen[:, 0]].cumsum(-1)
    number = (number - sums.gather(1, chosen) + within[:, -1:]).clamp(min=0)
    drawn = chosen[:, 0] * PART + torch.searchsorted(within, number)[:, 0].clamp(max=PART - 1)
    return torch.where(heat > 0, drawn.clamp(max=logits.shape[1] - 1), logits.argmax(-1))


def save(texts: list[Text], end: int, file: Path) -> int:
    """All texts in one file, each cut after its end."""
    tokens = []
    states = []
    begins = [0]
    prompts = []
    domains = []
    for text in texts:
        wanted = 2 if DOMAINS[text.domain] == "chat" else 1
        seen = [i for i, token in enumerate(text.ids) if i >= text.prompt and token == end]
        count = min(seen[wanted - 1] + 1 if len(seen) >= wanted else len(text.ids), len(text.ids))
        rows = torch.cat(text.states)[:count]
        tokens += text.ids[: len(rows)]
        states.append(rows)
        begins.append(len(tokens))
        prompts.append(text.prompt)
        domains.append(text.domain)
    content = {"tokens": torch.tensor(tokens, dtype=torch.int32), "states": torch.cat(states)}
    content |= {
        "begins": torch.tensor(begins),
        "prompts": torch.tensor(prompts),
        "domains": torch.tensor(domains),
    }
    partial = file.with_suffix(".partial")
    save_file(content, partial)
    partial.rename(file)
    return len(tokens)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--target",
        required=True,
        help="folder of the target, as `python -m hsd fetch smollm2` prints it",
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with the public files")
    parser.add_argument("--out", type=Path, required=True, help="folder for the shards")
    parser.add_argument(
        "--tokens", type=int, default=4_000_000, help="stop after so many (default 4,000,000)"
    )
    parser.add_argument("--batch", type=int, default=96, help="texts written at once (default 96)")
    parser.add_argument(
        "--longest", type=int, default=200, help="tokens written after a prompt (default 200)"
    )
    parser.add_argument("--seed", type=int, default=0, help="another seed writes other texts")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--bfloat16", action="store_true", help="compute in it: for processors with avx512_bf16"
    )
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    args.out.mkdir(parents=True, exist_ok=True)
    tokenizer = AutoTokenizer.from_pretrained(args.target)
    target = Target(args.target, args.bfloat16)
    prompts = iter(Prompts(args.data, tokenizer, args.seed))
    noise = torch.Generator().manual_seed(args.seed)
    total = 0
    number = 0
    begin = time.time()
    while total < args.tokens:
        texts = sorted((next(prompts) for _ in range(2 * args.batch)), key=lambda text: text.prompt)
        # prompts of like length, so that little is padding
        for half in (texts[: args.batch], texts[args.batch :]):
            write(target, half, args.longest, noise)
        total += save(texts, target.ends, args.out / f"{args.seed:02d}-{number:05d}.safetensors")
        number += 1
        print(
            f"{number} shards, {total:,} tokens, {total / (time.time() - begin):.0f} a second",
            flush=True,
        )


if __name__ == "__main__":
    main()
