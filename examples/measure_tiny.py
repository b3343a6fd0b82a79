"""Measure the embedded pair: tokens per target call by domain, speed, and what the loop itself costs.

    python examples/measure_tiny.py                      # the prompts that ship with the project
    python examples/measure_tiny.py --data FOLDER        # text that the models never saw: held-out stories, GSM8K's
                                                         # test questions, HumanEval (files: examples/tiny/corpus.py,
                                                         # hsd/bench/prompts.py)

Writes examples/results/tiny.json (or --out) and prints the same numbers as Markdown.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

import torch
from tiny.corpus import read

import hsd
from hsd.bench import Case, Measurement, machine, measure, measurements, read_folder, shipped

RULES = ("tokenwise", "hsd")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with public benchmark prompts")
    parser.add_argument("--prompts", type=int, default=12, help="prompts per domain")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--new-tokens", type=int, default=96)
    parser.add_argument("--out", type=Path, default=Path("examples/results/tiny.json"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    pair = hsd.load_pair("tiny")
    prompts = unseen(options.data) if options.data else shipped()
    prompts = {d: fitting(pair, texts, options.new_tokens)[: options.prompts] for d, texts in prompts.items()}
    result = {
        "what": "embedded pair: tokens per target call and speed",
        "prompts": "unseen text: held-out stories, GSM8K test, HumanEval"
        if options.data
        else "written for this project",
        "new_tokens": options.new_tokens,
        "repetitions": options.repetitions,
        "machine": machine(pair),
        "efficiency": [row for domain in prompts for row in efficiency(pair, domain, prompts[domain], options)],
        "speed": speed(pair, [texts[i] for texts in prompts.values() for i in (0, 1)], options),
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(markdown(result))


def unseen(data: Path) -> dict[str, list[str]]:
    """Openings of stories that training held out, and public benchmark prompts."""
    openings = [" ".join(story.split()[:25]) for story in read(data)["stories"].held_out]
    return {"stories": openings, **read_folder(data, count=1_000)}


def fitting(pair: hsd.Pair, prompts: list[str], new_tokens: int) -> list[str]:
    """The prompts that leave room for the new tokens."""
    return [p for p in prompts if len(pair.codec.encode(p)) + new_tokens <= pair.context]


def measured(pair: hsd.Pair, cases: list[Case], prompts: list[str], repetitions: int) -> list[Measurement]:
    """All cases in turn on all prompts."""
    return measurements(cases, list(measure(pair, cases, list(enumerate(prompts)), repetitions)))


def efficiency(pair: hsd.Pair, domain: str, prompts: list[str], options: argparse.Namespace) -> list[dict[str, Any]]:
    """Tokens per target call under both rules, for the settings that are quoted."""
    rows = []
    for gamma, temperature in ((5, 1.0), (10, 1.0), (5, 0.6)):
        common = {"gamma": gamma, "temperature": temperature, "max_new_tokens": options.new_tokens, "trace": False}
        cases = [Case(rule, {**common, "rule": rule}) for rule in RULES]
        results = measured(pair, cases, prompts, options.repetitions)
        row: dict[str, Any] = {"domain": domain, "gamma": gamma, "temperature": temperature, "prompts": len(prompts)}
        for result in results:
            row[result.case.name] = [round(x, 3) for x in result.block_efficiency()]
        row["gain"] = round(row["hsd"][0] / row["tokenwise"][0] - 1, 4)
        rows.append(row)
    return rows


def speed(pair: hsd.Pair, prompts: list[str], options: argparse.Namespace) -> dict[str, Any]:
    """Plain, vanilla and HSD in turn, with and without tracing, at γ = 5 and T = 1."""
    common = {"gamma": 5, "max_new_tokens": options.new_tokens}
    cases = [
        Case("plain", {**common, "system": "plain", "trace": False}),
        Case("tokenwise", {**common, "rule": "tokenwise", "trace": False}),
        Case("hsd", {**common, "rule": "hsd", "trace": False}),
        Case("hsd, traced", {**common, "rule": "hsd", "trace": True}),
    ]
    results = measured(pair, cases, prompts, options.repetitions)
    plain = results[0]
    return {result.case.name: speed_row(plain, result) for result in results}


def speed_row(plain: Measurement, result: Measurement) -> dict[str, float]:
    """The numbers of one case; speed-up and its share of the limit against plain decoding, repetition by repetition."""
    speedup = result.speedup(plain)
    row = {
        "tokens_per_second": statistics.median(result.tokens_per_second()),
        "speedup": speedup,
        "tokens_per_target_call": result.block_efficiency()[0],
        "outside_ms_per_step": result.outside_ms_per_step(),
        "target_call_ms": 1e3 * result.call_seconds("target", 1 if result is plain else 6),
    }
    if result is not plain:
        best = result.limit(plain)
        row |= {"draft_call_ms": 1e3 * result.call_seconds("draft", 1), "limit": best, "share_of_limit": speedup / best}
    return {name: round(value, 3) for name, value in row.items()}


def markdown(result: dict[str, Any]) -> str:
    """The result as two tables."""
    lines = [
        f"Prompts: {result['prompts']}. Machine: {result['machine']}",
        "",
        "| domain | γ | T | token-wise | HSD | gain |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in result["efficiency"]:
        cells = [f"{v:.2f} ({lo:.2f}–{hi:.2f})" for v, lo, hi in (row["tokenwise"], row["hsd"])]
        setting = f"{row['domain']} | {row['gamma']} | {row['temperature']}"
        lines.append(f"| {setting} | {cells[0]} | {cells[1]} | {row['gain']:+.1%} |")
    lines += [
        "",
        "| case | tokens/s | speed-up | limit | share | outside the models, ms per step |",
        "|" + " --- |" * 6,
    ]
    for name, row in result["speed"].items():
        best = [f"{row['limit']:.2f}", f"{row['share_of_limit']:.2f}"] if "limit" in row else ["", ""]
        lines.append(
            f"| {name} | {row['tokens_per_second']:.0f} | {row['speedup']:.2f} | {best[0]} | {best[1]} | "
            f"{row['outside_ms_per_step']:.2f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
