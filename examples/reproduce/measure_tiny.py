"""Measure the embedded pair: tokens per target call by domain, speed, and the cost of the loop.

    python examples/reproduce/measure_tiny.py                  # the prompts of the project
    python examples/reproduce/measure_tiny.py --data FOLDER    # text that the models never saw

Writes assets/results/tiny.json (or --out) and prints the same numbers as Markdown.
"""

from __future__ import annotations

import argparse
from typing import Any

import torch
from measuring import domains, in_turn, interval, options, save, source
from pages import table

import hsd
from hsd.bench import Case, machine, rows

RULES = ("tokenwise", "hsd")
SETTINGS = ((5, 1.0), (10, 1.0), (5, 0.6))  # γ, temperature


def main() -> None:
    given = options(__doc__, "tiny.json", repetitions=5, new_tokens=96).parse_args()
    torch.set_num_threads(1)
    pair = hsd.load_pair("tiny")
    prompts = domains(pair, given)
    result = {
        "what": "embedded pair: tokens per target call and speed",
        "prompts": source(given),
        "new_tokens": given.new_tokens,
        "repetitions": given.repetitions,
        "machine": machine(pair),
        "efficiency": [
            row for domain in prompts for row in efficiency(pair, domain, prompts[domain], given)
        ],
        "speed": speed(pair, [text for texts in prompts.values() for text in texts[:2]], given),
    }
    save(result, given.out)
    print(markdown(result))


def efficiency(
    pair: hsd.Pair, domain: str, prompts: list[str], given: argparse.Namespace
) -> list[dict[str, Any]]:
    """Tokens per target call under both rules, for the settings that are quoted."""
    found = []
    for gamma, temperature in SETTINGS:
        common = {
            "gamma": gamma,
            "temperature": temperature,
            "max_new_tokens": given.new_tokens,
            "trace": False,
        }
        results = in_turn(
            pair,
            [Case(rule, {**common, "rule": rule}) for rule in RULES],
            prompts,
            given.repetitions,
        )
        row: dict[str, Any] = {
            "domain": domain,
            "gamma": gamma,
            "temperature": temperature,
            "prompts": len(prompts),
        }
        row |= {
            result.case.name: [round(x, 3) for x in result.block_efficiency()] for result in results
        }
        found.append(row | {"gain": round(row["hsd"][0] / row["tokenwise"][0] - 1, 4)})
    return found


def speed(pair: hsd.Pair, prompts: list[str], given: argparse.Namespace) -> dict[str, Any]:
    """Plain, vanilla and HSD in turn, with and without tracing, at γ = 5 and T = 1."""
    common = {"gamma": 5, "max_new_tokens": given.new_tokens, "trace": False}
    ways: dict[str, dict[str, Any]] = {
        "plain": {"system": "plain"},
        "tokenwise": {"rule": "tokenwise"},
        "hsd": {"rule": "hsd"},
        "hsd, traced": {"rule": "hsd", "trace": True},
    }
    cases = [Case(name, {**common, **way}) for name, way in ways.items()]
    return {
        row["case"]: speed_row(row)
        for row in rows(in_turn(pair, cases, prompts, given.repetitions))
    }


def speed_row(row: dict[str, Any]) -> dict[str, float]:
    """What is written down of one case of a benchmark."""
    names = (
        "tokens_per_second",
        "speedup",
        "outside_ms_per_step",
        "target_call_ms",
        "draft_call_ms",
        "limit",
    )
    found = {name: row[name] for name in names if name in row}
    found["tokens_per_target_call"] = row["block_efficiency"][0]
    if "efficiency" in row:
        found["share_of_limit"] = row["efficiency"]
    return {name: round(value, 3) for name, value in found.items()}


def markdown(result: dict[str, Any]) -> str:
    """The result as two tables."""
    kept = [
        [
            row["domain"],
            str(row["gamma"]),
            str(row["temperature"]),
            *(interval(row[rule]) for rule in RULES),
            f"{row['gain']:+.1%}",
        ]
        for row in result["efficiency"]
    ]
    timed = [
        [
            name,
            f"{row['tokens_per_second']:.0f}",
            f"{row['speedup']:.2f}",
            *(f"{row[key]:.2f}" if key in row else "" for key in ("limit", "share_of_limit")),
            f"{row['outside_ms_per_step']:.2f}",
        ]
        for name, row in result["speed"].items()
    ]
    head = ("case", "tokens/s", "speed-up", "limit", "share", "outside the models, ms per step")
    tables = (table(("domain", "γ", "T", "token-wise", "HSD", "gain"), kept), table(head, timed))
    return "\n\n".join([f"Prompts: {result['prompts']}. Machine: {result['machine']}", *tables])


if __name__ == "__main__":
    main()
