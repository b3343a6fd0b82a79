"""Measure the portable engine beside torch on this machine, in turn and in one run.

    python -m hsd fetch smollm2 && python -m hsd fetch smollm2 --engine portable
    python examples/measure_portable.py

ready   seconds from `load_pair` to the first row, and the process's memory, each in a process of its own (Linux)
passes  the time of a pass over several tokens after 100 others, and of a step of the head: medians
rows    how often both name the same likeliest token on the README's first tokens, and how far apart their rows are
speed   plain decoding and HSD at several draft lengths, tokens per second

Writes examples/results/portable.json and prints tables.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from measuring import options, save

import hsd
from hsd.bench import machine
from hsd.models.threads import AVAILABLE

ROOT = Path(__file__).parents[1]
WIDTHS, ROUNDS, BEFORE = (1, 2, 3, 4, 6, 8), 25, 100
WAYS: dict[str, dict[str, Any]] = {"plain": {"system": "plain"}, **{f"hsd {g}": {"gamma": g} for g in (1, 2, 3)}}
PROMPTS = ("What is the capital of France?", "Tell me a story about the sea.", "Write a Python function that adds.")
STARTING = """
FIELDS = {"memory_mb": "VmRSS", "most_memory_mb": "VmHWM"}
import json, re, sys, time
import torch
from hsd import load_pair
begin = time.perf_counter()
pair = load_pair("smollm2", **json.loads(sys.argv[1]))
pair.target.start().forward(torch.tensor(pair.encode("Hello")), 1)
seconds = round(time.perf_counter() - begin, 2)
status = open("/proc/self/status").read()
sizes = {name: int(re.search(field + r":\\s+(\\d+)", status)[1]) // 1024 for name, field in FIELDS.items()}
print(json.dumps({"seconds": seconds, **sizes}))
"""


def main() -> None:
    parser = options(__doc__, "portable.json", repetitions=3, new_tokens=48)
    parser.add_argument("--threads", type=int, default=AVAILABLE, help="measure torch with so many too; 1: leave out")
    given = parser.parse_args()
    torch_pair, portable = hsd.load_pair("smollm2", device="cpu"), hsd.load_pair("smollm2", engine="portable")
    cases = {"portable": (portable, 1), **{f"torch {n}": (torch_pair, n) for n in sorted({1, given.threads})}}
    result = {
        "what": "the portable engine beside torch: milliseconds, tokens per second, megabytes",
        "machine": {**machine(torch_pair), "wasmtime": version("wasmtime"), "load_before": os.getloadavg()},
        "ready": {"portable": ready({"engine": "portable"}), "torch": ready({"device": "cpu"})},
        "passes": passes(cases),
        "rows": rows(torch_pair, portable),
        "speed": speed(cases, given.repetitions, given.new_tokens),
    }
    result["machine"]["load_after"] = os.getloadavg()
    save(result, given.out)
    print(json.dumps(result, indent=1))


def ready(how: dict[str, str]) -> dict[str, float]:
    """Loading in a process of its own, with the files in the system's cache."""
    command = [sys.executable, "-c", STARTING, json.dumps(how)]
    found = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
    return dict(json.loads(found))


def passes(cases: dict[str, tuple[hsd.Pair, int]]) -> dict[str, dict[str, float]]:
    """Medians in milliseconds by engine and number of tokens, and as multiples of one token; all in turn."""
    ids, sessions = torch.arange(1_000, 1_000 + BEFORE + max(WIDTHS)), {}
    for name, (pair, threads) in cases.items():
        torch.set_num_threads(threads)
        target, head = pair.target.start(), pair.draft.start()
        head.follow(target)  # type: ignore[attr-defined]
        target.forward(ids[:BEFORE], 1)
        head.forward(ids[: BEFORE + 1], 1)
        sessions[name] = (target, head)
    times: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for _ in range(ROUNDS):
        for name, (target, head) in sessions.items():
            torch.set_num_threads(cases[name][1])
            for width in WIDTHS:
                begin = time.perf_counter()
                target.forward(ids[BEFORE : BEFORE + width], width)
                times[name][str(width)].append(time.perf_counter() - begin)
                target.crop(BEFORE)
            begin = time.perf_counter()
            head.forward(ids[BEFORE + 1 : BEFORE + 2], 1)
            times[name]["head"].append(time.perf_counter() - begin)
            head.crop(BEFORE + 1)
    found = {name: {key: 1e3 * statistics.median(each) for key, each in by.items()} for name, by in times.items()}
    for by in found.values():
        by |= {f"{width}/1": by[str(width)] / by["1"] for width in WIDTHS[1:]}
    return {name: {key: round(value, 2) for key, value in by.items()} for name, by in found.items()}


def rows(torch_pair: hsd.Pair, portable: hsd.Pair) -> dict[str, float]:
    """KL of the portable rows from torch's, on average, and the share of rows with the same likeliest token."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    ids = torch.tensor(torch_pair.codec.tokenizer(text)["input_ids"][:1_000])  # type: ignore[attr-defined]
    wanted, got = (pair.target.start().forward(ids, len(ids)).double() for pair in (torch_pair, portable))
    p, q = wanted.log_softmax(-1), got.log_softmax(-1)
    same = (wanted.argmax(-1) == got.argmax(-1)).double().mean()
    return {"rows": len(ids), "kl": float((p.exp() * (p - q)).sum(-1).mean()), "same_likeliest": float(same)}


def speed(cases: dict[str, tuple[hsd.Pair, int]], repetitions: int, new_tokens: int) -> dict[str, dict[str, float]]:
    """Tokens per second at temperature 0.7, everything in turn; the first repetition does not count."""
    spent: dict[tuple[str, str], list[tuple[int, float]]] = defaultdict(list)
    for repetition in range(repetitions + 1):
        for prompt in PROMPTS:
            for name, (pair, threads) in cases.items():
                torch.set_num_threads(threads)
                for way, how in WAYS.items():
                    run = hsd.run(
                        pair, prompt, temperature=0.7, max_new_tokens=new_tokens, trace=False, seed=repetition, **how
                    )
                    stats = run.stats()
                    if repetition:
                        spent[name, way].append((stats["new_tokens"], stats["new_tokens"] / stats["tokens_per_second"]))
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for (name, way), runs in spent.items():
        found[name][way] = round(sum(count for count, _ in runs) / sum(seconds for _, seconds in runs), 1)
    return dict(found)


if __name__ == "__main__":
    main()
