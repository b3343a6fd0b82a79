"""Everything the model card says in numbers, measured on the exported models."""

from __future__ import annotations

import ast
import json
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import AutoTokenizer, LlamaForCausalLM

from hsd.decoding.loop import run
from hsd.models import load_pair
from hsd.train.checkpoint import path_of, read
from hsd.train.export import describe, size_of
from hsd.train.measure import nats_per_token, repeated_names
from hsd.train.mixture import Mixture
from hsd.train.network import SHAPES

RULES = ("tokenwise", "blockwise", "hsd")
SAMPLE_PROMPTS = {
    "stories": ("Once upon a time, Lily found a", "One day, a little bear named Ben"),
    "sums": ("Question: Tom has 3 apples. He buys 4 more. How many apples does he have?\nAnswer:",),
    "functions": ('def is_even(number: int) -> bool:\n    """',),
}
SAMPLE_SEEDS = (0, 1, 2)
SAMPLE_TEMPERATURE = 0.6


@dataclass(frozen=True)
class Amount:
    """How much to measure."""

    rows: int = 96  # held-out rows per source
    length: int = 256
    stories: int = 300
    prompts: int = 40  # per domain, for block efficiency
    new_tokens: int = 64


QUICK = Amount(rows=4, length=64, stories=10, prompts=2, new_tokens=12)


def measure_all(out: Path, assets: Path, amount: Amount) -> dict[str, Any]:
    """Measure the models in ``assets`` that training folder ``out`` made. Everything in the result is plain JSON."""
    torch.set_num_threads(1)
    mixture = Mixture.load(out / "corpus.npz")
    held_out = json.loads((out / "held_out.json").read_text("utf-8"))
    names = json.loads((out / "names.json").read_text("utf-8"))
    tokenizer = AutoTokenizer.from_pretrained(assets / "target")
    measured: dict[str, Any] = {"machine": machine(), "vocabulary": len(tokenizer), "models": {}}
    measured["corpus"] = corpus_size(mixture)
    for name in SHAPES:
        _say(f"measuring {name}")
        measured["models"][name] = _one_model(out, assets, name, mixture, amount, tokenizer, held_out, names)
    _say("sampling")
    measured["samples"] = samples(assets, amount)
    origin = "real" if "stories/real" in held_out else "generated"
    _say("checking sums and functions")
    measured["sums"] = right_answers(assets, held_out, amount.prompts)
    measured["functions"] = parsing_functions(assets, held_out[f"functions/{origin}"], amount.prompts)
    prompts = {d: make_prompts(d, held_out[f"{d}/{origin}"], amount.prompts) for d in SAMPLE_PROMPTS}
    measured["decoding"] = {
        "gamma": 5, "temperature": 1.0, "prompts": amount.prompts, "new_tokens": amount.new_tokens, "text": origin,
        "drafts": {draft: block_efficiency(assets, draft, prompts, amount) for draft in ("draft", "middle")},
    }  # fmt: skip
    return measured


def _one_model(out, assets, name, mixture, amount, tokenizer, held_out, names) -> dict[str, Any]:
    model = LlamaForCausalLM.from_pretrained(assets / name, dtype=torch.float32, attn_implementation="eager").eval()
    state = read(path_of(out, name))
    facts: dict[str, Any] = describe(assets / name) | {"bytes": size_of(assets / name)}
    facts |= {key: state[key] for key in ("step", "plain_steps", "tokens", "seconds")}
    rows = {n: mixture.validation_rows(n, amount.rows, amount.length + 1) for n in mixture.held_out}
    facts["nats"] = {n: nats_per_token(model, r) for n, r in rows.items()}
    facts["exit_nats"] = {
        str(depth): {n: nats_per_token(model, r, depth) for n, r in rows.items()} for depth in facts["exits"]
    }
    stories = {n: documents for n, documents in held_out.items() if n.startswith("stories")}
    scores = {n: repeated_names(model, tokenizer, d[: amount.stories], names) for n, d in stories.items()}
    facts["repeated_names"] = {
        n: asdict(s) | {"top_1": s.top_1, "among_names": s.among_names} for n, s in scores.items()
    }
    facts["forward_ms"] = forward_milliseconds(model)
    return facts


@torch.no_grad()
def forward_milliseconds(model: LlamaForCausalLM, past: int = 64, repeats: int = 30) -> dict[str, float]:
    """Median time of reading 1, 6 and 11 tokens after ``past`` cached ones, one thread, float32."""
    times = {}
    for count in (1, 6, 11):
        seconds = []
        for _ in range(repeats):
            cache = model(torch.zeros(1, past, dtype=torch.long), use_cache=True).past_key_values
            began = time.perf_counter()
            model(torch.zeros(1, count, dtype=torch.long), past_key_values=cache, use_cache=True)
            seconds.append(time.perf_counter() - began)
        times[str(count)] = sorted(seconds)[repeats // 2] * 1000
    return times


def samples(assets: Path, amount: Amount) -> list[dict[str, Any]]:
    """Completions by plain decoding of the target, one for each prompt and seed, as they come."""
    pair = _pair(assets, "draft")
    limit = amount.new_tokens * 2
    found = []
    for domain, prompts in SAMPLE_PROMPTS.items():
        for prompt in prompts:
            for seed in SAMPLE_SEEDS:
                trace = run(pair, prompt, system="plain", temperature=SAMPLE_TEMPERATURE, seed=seed,
                            max_new_tokens=limit, trace=False)  # fmt: skip
                found.append({"domain": domain, "prompt": prompt, "seed": seed, "text": trace.text,
                              "tokens": len(trace.tokens)})  # fmt: skip
    return found


def right_answers(assets: Path, held_out: dict[str, list[str]], count: int) -> dict[str, Any]:
    """Of ``count`` held-out questions per origin, how many the target answers rightly at temperature 0."""
    pair = _pair(assets, "draft")
    found = {}
    for source in (name for name in held_out if name.startswith("sums")):
        problems = [text for text in held_out[source] if len(text) < 700][:count]
        right = 0
        for text in problems:
            question, answer = text.split("\nAnswer:")
            trace = run(pair, question + "\nAnswer:", system="plain", temperature=0.0, max_new_tokens=160, trace=False)
            right += trace.text.split("####")[-1].strip() == answer.split("####")[-1].strip()
        found[source] = {"right": right, "of": len(problems)}
    return found


def parsing_functions(assets: Path, documents: list[str], count: int) -> dict[str, int]:
    """Of ``count`` functions continued from a held-out head and docstring, how many are valid Python."""
    pair = _pair(assets, "draft")
    openings = make_prompts("functions", documents, count)
    right = 0
    for seed, prompt in enumerate(openings):
        options: dict[str, Any] = {"system": "plain", "temperature": SAMPLE_TEMPERATURE, "seed": seed}
        trace = run(pair, prompt, max_new_tokens=300, trace=False, **options)
        try:
            ast.parse(prompt + trace.text)
            right += 1
        except SyntaxError:
            pass
    return {"right": right, "of": len(openings)}


def make_prompts(domain: str, documents: list[str], count: int) -> list[str]:
    """Openings of held-out documents: two sentences of a story, a question, a function's head and docstring."""
    cut: dict[str, Callable[[str], str]] = {
        "stories": lambda text: ". ".join(text.replace("\n", " ").split(". ")[:2]) + ".",
        "sums": lambda text: text.split("\nAnswer:")[0] + "\nAnswer:",
        "functions": lambda text: '"""'.join(text.split('"""')[:2]) + '"""',
    }
    openings = [cut[domain](text) for text in documents]
    return [opening for opening in openings if len(opening) < 500][:count]


def block_efficiency(assets: Path, draft: str, prompts: dict[str, list[str]], amount: Amount) -> dict[str, Any]:
    """Per domain and rule: committed tokens per target call over all prompts, with its standard error, and speed."""
    pair = _pair(assets, draft)
    table: dict[str, Any] = {}
    for domain, openings in prompts.items():
        _say(f"decoding {domain} with the {draft} model")
        runs: dict[str, list[Any]] = {rule: [] for rule in (*RULES, "plain")}
        for seed, prompt in enumerate(openings):
            for rule in runs:  # interleaved, so that a change in the machine's load touches all alike
                options = {"system": "plain"} if rule == "plain" else {"rule": rule}
                trace = run(pair, prompt, gamma=5, temperature=1.0, seed=seed, trace=False,
                            max_new_tokens=amount.new_tokens, **options)  # fmt: skip
                runs[rule].append(trace.stats())
        table[domain] = {rule: _summary(stats) for rule, stats in runs.items()}
    return table


def _summary(stats: list[dict[str, Any]]) -> dict[str, float]:
    tokens = torch.tensor([float(s["new_tokens"]) for s in stats])
    calls = torch.tensor([float(s["target_calls"]) for s in stats])
    seconds = sum(s["seconds"] for s in stats)
    ratio = (tokens.sum() / calls.sum()).item()
    # Standard error of a ratio of sums (delta method over prompts).
    error = ((tokens - ratio * calls).square().sum().sqrt() / calls.sum()).item()
    return {"block_efficiency": ratio, "standard_error": error, "tokens_per_second": tokens.sum().item() / seconds}


def _pair(assets: Path, draft: str):
    return load_pair(target=str(assets / "target"), draft=str(assets / draft), device="cpu", dtype="float32")


def corpus_size(mixture: Mixture) -> dict[str, Any]:
    """Tokens, documents and share of rows of each training source."""
    return {
        name: {"tokens": len(e.tokens), "documents": len(e.starts) - 1, "share": mixture.shares[name]}
        for name, e in mixture.train.items()
    }


def machine() -> dict[str, str]:
    """Where the numbers come from."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = [line.split(":")[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
        model = f"{lines[0]}, {len(lines)} cores" if lines else model
    return {
        "processor": model,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
