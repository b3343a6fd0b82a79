"""Speculative decoding at real sizes, with random weights: what parts cost beside reading memory.

    python examples/reproduce/gpu_bench.py    # Qwen2.5-7B's shape with a 0.5B draft, bfloat16
    python examples/reproduce/gpu_bench.py --size 14b
    python examples/reproduce/gpu_bench.py --size 7b-head    # a draft as large as an EAGLE-3 head
    python examples/reproduce/gpu_bench.py --size small    # the default of a machine without a GPU

Nothing is downloaded. Measured: the time of a draft call and of a target call against the time in
which the memory can deliver the weights; the target's pass over 1 to 11 tokens; verifying by every
rule whose steps can be captured, and sampling; whole runs, eager and captured, beside plain
decoding and beside `transformers`' assisted generation; how often a step waits for the device; and
that the captured engine writes the eager one's tokens. Writes assets/results/gpu-DEVICE.json (or
--out).
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from measuring import RESULTS, milliseconds, save
from torch import Tensor
from transformers import Qwen2Config, Qwen2ForCausalLM

import hsd
from hsd.bench import Case, machine, measure, measurements
from hsd.bench.measure import Runner, sums
from hsd.bench.peers import peer_case
from hsd.decoding.captured import Piece
from hsd.models.base import IdCodec
from hsd.models.causal import CausalModel, FixedSession
from hsd.rng import Streams
from hsd.rules import RULES
from hsd.sampling import Sampling, draw

# layers, hidden size, heads, key/value heads, inner size: the published shapes
SHAPES = {
    "14b": (48, 5120, 40, 8, 13824),
    "7b": (28, 3584, 28, 4, 18944),
    "0.5b": (24, 896, 14, 2, 4864),
    "head": (1, 3584, 28, 4, 18944),  # one layer of the 7b target
    "small": (4, 256, 4, 2, 704),
    "smaller": (1, 128, 2, 2, 352),
}
PAIRS = {
    "14b": ("14b", "0.5b"),
    "7b": ("7b", "0.5b"),
    "7b-head": ("7b", "head"),
    "small": ("small", "smaller"),
}
VOCABULARY = {"14b": 152_064, "7b": 152_064, "7b-head": 152_064, "small": 4_096}
WIDTHS = (1, 2, 3, 4, 6, 9, 11)  # of the target's captured passes, as in lengths.json
SAMPLING = {
    "plain softmax": Sampling(),
    "top-p 0.9": Sampling(top_p=0.9),
    "top-k 50": Sampling(top_k=50),
}
CONTEXT = 256


def main() -> int:
    options = _arguments()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    size = options.size or ("7b" if device.type == "cuda" else "small")
    pair = make_pair(size, device)
    result: dict[str, Any] = {
        "what": "random weights of real sizes: time per part against the memory's limit",
        "size": {"pair": PAIRS[size], "vocabulary": VOCABULARY[size], "gamma": options.gamma},
        "machine": machine(pair),
    }
    with torch.inference_mode():
        result["memory"] = floors(pair)
        result["calls_ms"] = calls(pair, options.gamma, options.repeats)
        result["verification_ms"] = verification(
            pair.vocab_size, options.gamma, device, options.repeats
        )
    result["runs"] = runs(pair, options.gamma, options.new_tokens, options.repeats)
    result["waits_per_step"] = waits(pair, options.gamma)
    result["same_tokens"] = same_tokens(pair, options.gamma)
    result["against_the_floor"] = against_the_floor(result, options.gamma)
    out = options.out or RESULTS / f"gpu-{name_of(device)}.json"
    save(result, out)
    print(json.dumps(result, indent=1))
    print(f"written: {out}", file=sys.stderr)
    return 0 if result["same_tokens"]["equal"] else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--size", choices=PAIRS, help="shape of the target (default: 7b on a GPU, else small)"
    )
    parser.add_argument("--gamma", type=int, default=10)
    parser.add_argument("--new-tokens", type=int, default=96)
    parser.add_argument(
        "--repeats", type=int, default=5, help="repetitions of a run, of which the median is told"
    )
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


def name_of(device: torch.device) -> str:
    """The device's name as part of a file name."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "none"
    return "-".join(name.lower().replace("/", " ").split())


def make_pair(size: str, device: torch.device) -> hsd.Pair:
    """A random target and a random draft of that size, bfloat16 on a GPU."""
    models = []
    torch.manual_seed(0)
    for name in PAIRS[size]:
        layers, hidden, heads, kv_heads, inner = SHAPES[name]
        config = Qwen2Config(
            vocab_size=VOCABULARY[size],
            hidden_size=hidden,
            intermediate_size=inner,
            num_hidden_layers=layers,
            num_attention_heads=heads,
            num_key_value_heads=kv_heads,
            max_position_embeddings=4096,
            tie_word_embeddings=name in ("0.5b", "smaller"),
            eos_token_id=None,
            bos_token_id=None,
            pad_token_id=0,
        )
        torch.set_default_dtype(torch.bfloat16 if device.type == "cuda" else torch.float32)
        with device:
            models.append(CausalModel(Qwen2ForCausalLM(config), f"random {name}"))
        torch.set_default_dtype(torch.float32)
    return hsd.Pair(f"random {size}", models[0], models[1], IdCodec(VOCABULARY[size]))


def floors(pair: hsd.Pair) -> dict[str, float]:
    """Bytes that a call must read (all weights but the table of inputs), how fast the memory is,
    and the least time.
    """
    device = pair.target.device
    block = torch.empty(2**30 if device.type == "cuda" else 2**27, dtype=torch.uint8, device=device)
    other = torch.empty_like(block)
    # read and written
    speed = 2 * block.numel() / (1e-3 * milliseconds(lambda: other.copy_(block), 10))
    found: dict[str, float] = {"gb_per_second": round(speed / 1e9, 1)}
    for name, model in (("draft", pair.draft), ("target", pair.target)):
        tied = model.model.config.tie_word_embeddings
        table = 0 if tied else model.model.get_input_embeddings().weight.numel()
        size = (model.parameters - table) * model.model.get_input_embeddings().weight.element_size()
        found |= {
            f"{name}_gb": round(size / 1e9, 3),
            f"{name}_floor_ms": round(1e3 * size / speed, 4),
        }
    return found


def calls(pair: hsd.Pair, gamma: int, repeats: int) -> dict[str, float]:
    """Milliseconds of one forward pass at a context of 256 tokens: eager with a growing cache, and
    captured.
    """
    found = {}
    ids = torch.randint(0, pair.vocab_size, (CONTEXT,), device=pair.target.device)
    eager = [
        ("draft", pair.draft, 1),
        ("target", pair.target, 1),
        ("target", pair.target, gamma + 1),
    ]
    captured = [("draft", pair.draft, 1)] + [
        ("target", pair.target, w) for w in sorted({*WIDTHS, gamma + 1})
    ]
    for engine, call, wanted in (
        ("eager", eager_call, eager),
        ("captured", captured_call, captured),
    ):
        for name, model, width in wanted:
            work = call(model, ids, width)
            found[f"{name}, width {width}, {engine}"] = round(milliseconds(work, 10 * repeats), 4)
    return found


def eager_call(model: Any, ids: Tensor, width: int) -> Callable[[], None]:
    session = model.start()
    session.forward(ids, keep=1)

    def once() -> None:
        session.forward(ids[:width], keep=width)
        session.crop(CONTEXT)

    return once


def captured_call(model: Any, ids: Tensor, width: int) -> Callable[[], Any]:
    session = FixedSession(model, CONTEXT + 64)
    session.read(ids, keep=1)

    def once(tail: Tensor, used: Tensor) -> Tensor:
        session.length.fill_(CONTEXT)
        return session.read(tail, keep=width)

    piece = Piece(
        once, tail=torch.zeros(width, dtype=torch.int64), used=torch.zeros(1), device=model.device
    )
    return partial(piece, ids[:width].clone(), torch.zeros(1))


def verification(
    vocabulary: int, gamma: int, device: torch.device, repeats: int
) -> dict[str, dict[str, float]]:
    """Milliseconds per step of judging a draft and drawing the next token, and of turning logits
    into probabilities.
    """
    generator = torch.Generator(device=device).manual_seed(0)
    logits = 3 * torch.randn(gamma + 1, vocabulary, generator=generator, device=device)
    near = logits[:-1] + 0.5 * torch.randn(gamma, vocabulary, generator=generator, device=device)
    p = logits.softmax(-1)
    q = near.softmax(-1)
    tokens = torch.multinomial(q, 1, generator=generator).squeeze(-1)
    numbers = Streams(0)
    coins = numbers.coins(gamma).to(device)
    number = numbers.after(1).to(device)
    found: dict[str, dict[str, float]] = {"eager": {}, "captured": {}}
    for name, rule in RULES.items():
        if rule.resamples or rule.recipe.coupled:
            continue

        def judge(tail: Tensor, used: Tensor, rule: Any = rule) -> Tensor:
            law = rule.law(p, q, tokens)
            kept = law.kept(coins)
            return torch.stack([kept, draw(law.next_at(kept), number)])

        nothing = (torch.zeros(1, dtype=torch.int64), torch.zeros(1))
        piece = Piece(judge, *nothing, device)
        found["eager"][name] = round(milliseconds(partial(judge, *nothing), 20 * repeats), 4)
        found["captured"][name] = round(milliseconds(partial(piece, *nothing), 20 * repeats), 4)
    found["probabilities"] = {
        name: round(milliseconds(partial(sampling.probabilities, logits), 5 * repeats), 4)
        for name, sampling in SAMPLING.items()
    }
    return found


def runs(pair: hsd.Pair, gamma: int, new_tokens: int, repeats: int) -> dict[str, dict[str, float]]:
    """Whole runs in turn: tokens per second (median), tokens per target call, and the ratio to
    assisted generation.
    """
    ways: dict[str, dict[str, Any]] = {
        "plain": {"system": "plain"},
        "tokenwise, eager": {"rule": "tokenwise"},
        "hsd, eager": {"rule": "hsd"},
        "hsd, captured": {"rule": "hsd", "engine": "captured"},
    }
    common = {"gamma": gamma, "max_new_tokens": new_tokens, "trace": False}
    cases = [Case(name, way, untimed({**common, **way})) for name, way in ways.items()]
    peer = peer_case(gamma, {"max_new_tokens": new_tokens})
    cases.append(Case("transformers, assisted", {}, peer.runner))
    found = measurements(cases, list(measure(pair, cases, [(0, PROMPT)], repeats)))
    rows = {
        one.case.name: {
            "tokens_per_second": statistics.median(one.tokens_per_second()),
            "tokens_per_call": one.block_efficiency()[0],
            "over_plain": one.speedup(found[0])[0],
            "over_assisted": one.speedup(found[-1])[0],
        }
        for one in found
    }
    return {
        name: {key: round(value, 3) for key, value in row.items()} for name, row in rows.items()
    }


def untimed(options: dict[str, Any]) -> Runner:
    """A run whose calls are not timed one by one: each would make the host wait for the device."""
    return lambda pair, prompt, seed: {
        **sums(hsd.run(pair, prompt, seed=seed, **options)),
        "calls": {},
    }


PROMPT = " ".join(str(7 * i % 1_000) for i in range(100))


def waits(pair: hsd.Pair, gamma: int) -> dict[str, float] | None:
    """How often per step the host waits for the device, as CUDA's own debug mode counts; None
    without a GPU.
    """
    if pair.target.device.type != "cuda":
        return None
    found = {}
    for engine in ("eager", "captured"):
        decoding = hsd.decode(
            pair, PROMPT, gamma=gamma, max_new_tokens=200, trace=False, engine=engine
        )
        for _ in range(3):  # capture and warm up first
            next(decoding)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.cuda.set_sync_debug_mode("warn")
            steps = [next(decoding) for _ in range(5)]
            torch.cuda.set_sync_debug_mode("default")
        decoding.close()
        found[engine] = sum("synchroniz" in str(w.message) for w in caught) / len(steps)
    return found


def same_tokens(pair: hsd.Pair, gamma: int) -> dict[str, Any]:
    """Whether both engines write the same tokens, and where they first differ if rounding parts
    them.
    """
    differing = []
    for seed in range(5):
        options = {"gamma": gamma, "max_new_tokens": 48, "seed": seed, "trace": False}
        eager, captured = (
            hsd.run(pair, PROMPT, engine=engine, **options).tokens
            for engine in ("eager", "captured")
        )
        if eager != captured:
            differing.append(
                next(
                    (i for i, (a, b) in enumerate(zip(eager, captured, strict=False)) if a != b), -1
                )
            )
    return {"runs": 5, "equal": not differing, "first_difference": differing}


def against_the_floor(result: dict[str, Any], gamma: int) -> dict[str, float]:
    """The ratios that matter: each call over its floor, verification over the step, the run over
    its limit.
    """
    memory = result["memory"]
    times = result["calls_ms"]
    rows = result["runs"]
    draft = times["draft, width 1, captured"]
    target = times[f"target, width {gamma + 1}, captured"]
    one = times["target, width 1, eager"]
    step = gamma * draft + target
    verify = (
        result["verification_ms"]["captured"]["hsd"]
        + result["verification_ms"]["probabilities"]["plain softmax"]
    )
    speedup = rows["hsd, captured"]["over_plain"]
    limit = rows["hsd, captured"]["tokens_per_call"] * one / step
    ratios = {
        "draft call / floor": draft / memory["draft_floor_ms"],
        "target call / floor": target / memory["target_floor_ms"],
        "verification and sampling, ms": verify,
        "verification and sampling, share of the step": verify / (step + verify),
        "limit S*": limit,
        "efficiency": speedup / limit,
    }
    return {name: round(value, 4) for name, value in ratios.items()}


if __name__ == "__main__":
    sys.exit(main())
