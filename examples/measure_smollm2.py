"""Measure the real model on this machine: how fast with drafts and without, on four kinds of text.

    python -m hsd fetch smollm2
    python examples/measure_smollm2.py --data FOLDER     # GSM8K, HumanEval, Spec-Bench: see hsd/bench/prompts.py

Plain decoding, token-wise verification, HSD and n-gram drafts take turns on every prompt, at every γ and temperature.
First the time of a pass of the target over several tokens. Writes examples/results/smollm2.json and prints tables.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import defaultdict
from itertools import product
from typing import Any

import torch
from measuring import in_turn, interval, options, save, table

import hsd
from hsd.bench import Case, machine, rows
from hsd.bench.prompts import prompt_set
from hsd.models.threads import settle_threads

DOMAINS = {"stories": "stories", "sums": "gsm8k", "code": "humaneval", "questions": "spec_bench:qa"}
WIDTHS = (1, 2, 3, 4, 5, 6, 8, 11)


def main() -> None:
    parser = options(__doc__, "smollm2.json", repetitions=2, new_tokens=96)
    parser.add_argument("--gammas", default="1,2,3", help="draft lengths, with commas (default 1,2,3)")
    parser.add_argument("--temperatures", default="0,0.7", help="with commas (default 0,0.7)")
    parser.add_argument("--only-passes", action="store_true", help="time the passes, and keep the speeds of the file")
    given = parser.parse_args()
    pair, library = hsd.load_pair("smollm2"), hsd.load_pair("smollm2", dtype="float32")
    threads = settle_threads(pair)
    gammas = [int(gamma) for gamma in given.gammas.split(",")]
    result: dict[str, Any] = {
        "what": "SmolLM2-135M-Instruct with its head: a pass over several tokens, and speed by domain",
        "machine": {**machine(pair), "chosen": str(threads)},
        "new_tokens": given.new_tokens,
        "repetitions": given.repetitions,
        "widths": passes(pair, library),
        "speed": [],
    }
    if given.only_passes:
        result = json.loads(given.out.read_text()) | {"widths": result["widths"]}
        save(result, given.out)
        print(markdown(result))
        return
    for domain, name in DOMAINS.items():
        prompts = prompt_set(name, given.data, given.prompts)
        for temperature in (float(t) for t in given.temperatures.split(",")):
            found = speed(pair, prompts.prompts, gammas, temperature, given)
            result["speed"] += [{"domain": domain, "prompts": prompts.source, "T": temperature, **row} for row in found]
            save(result, given.out)
    print(markdown(result))


def passes(pair: hsd.Pair, library: hsd.Pair) -> dict[str, float]:
    """Milliseconds of a pass over so many tokens after 100 others, and of one step of the head: medians, in turn.

    library: the same model in float32, whose pass is that of `transformers`.
    """
    target, head, plain = pair.target.start(), pair.draft.start(), library.target.start()
    head.follow(target)  # type: ignore[attr-defined]
    ids = torch.arange(1_000, 1_120)
    target.forward(ids[:100], 1)
    plain.forward(ids[:100], 1)
    head.forward(ids[:101], 1)
    times: dict[str, list[float]] = defaultdict(list)
    for _ in range(15):
        for width, (name, session) in product(WIDTHS, (("", target), ("library ", plain))):
            begin = time.perf_counter()
            session.forward(ids[100 : 100 + width], width)
            times[f"{name}{width}"].append(time.perf_counter() - begin)
            session.crop(100)
        begin = time.perf_counter()
        head.forward(ids[101:102], 1)
        times["head"].append(time.perf_counter() - begin)
        head.crop(101)
    return {name: round(1e3 * statistics.median(found), 2) for name, found in times.items()}


def speed(
    pair: hsd.Pair, prompts: list[str], gammas: list[int], temperature: float, given: argparse.Namespace
) -> list[dict[str, Any]]:
    """Every way in turn on the prompts of one domain."""
    common = {"temperature": temperature, "max_new_tokens": given.new_tokens, "trace": False}
    ways: dict[str, dict[str, Any]] = {"plain": {"system": "plain"}, "ngram": {"proposer": "ngram", "gamma": 3}}
    for gamma in gammas:
        ways |= {f"{rule} {gamma}": {"rule": rule, "gamma": gamma} for rule in ("tokenwise", "hsd")}
    cases = [Case(name, {**common, **way}) for name, way in ways.items()]
    names = ("tokens_per_second", "speedup", "efficiency", "limit", "target_call_ms", "draft_call_ms")
    found = []
    for row in rows(in_turn(pair, cases, prompts, given.repetitions)):
        numbers = {name: _rounded(row[name]) for name in names if name in row}
        found.append({"case": row["case"], "tokens_per_call": _rounded(row["block_efficiency"]), **numbers})
    return found


def _rounded(value: Any) -> Any:
    return [round(x, 3) for x in value] if isinstance(value, list | tuple) else round(value, 3)


def markdown(result: dict[str, Any]) -> str:
    """The result as tables."""
    widths = result["widths"]
    passing = [[name, f"{ms:.1f} ms", f"×{ms / widths[_one(name)]:.2f}"] for name, ms in widths.items()]
    kept = [
        [row["domain"], f"{row['T']:g}", row["case"], interval(row["tokens_per_call"]), _number(row.get("speedup"))]
        for row in result["speed"]
    ]
    first = table(["pass over", "time", "of one token"], passing)
    return f"{first}\n\n{table(['domain', 'T', 'way', 'tokens per target call', 'times plain'], kept)}"


def _one(name: str) -> str:
    """The pass over one token that a pass of that name is compared with."""
    return "library 1" if name.startswith("library") else "1"


def _number(value: Any) -> str:
    return interval(value) if isinstance(value, list) else f"{value or 1.0:.2f}"


if __name__ == "__main__":
    main()
