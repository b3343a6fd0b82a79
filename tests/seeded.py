"""Tokens of every rule, layout and system with given seeds.

Whoever changes the decoding loop must not change these.

    python tests/seeded.py

writes seeded.json anew; only where a change of the tokens is wanted.

    python tests/seeded.py --tiny F

writes the embedded pair's tokens to a file F: they depend on the processor's rounding.

The models are tables in double precision, whose arithmetic is the same on every processor.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
from table_models import LetterCodec, TableModel

import hsd
from hsd.models import Pair

FILE = Path(__file__).parent / "seeded.json"
SEEDS = range(10)
CHAINS = (
    "tokenwise",
    "blockwise",
    "hsd",
    "hsd-released",
    "naive-hsd",
    "fuzzy",
    "agreement",
    "coupled",
    "ensemble",
    "typical",
)
DRAFT_AFTER_DRAFT = tuple(
    f"recursive-{name}" for name in ("tokenwise", "blockwise", "hsd", "agreement")
)
TREES = {
    "paths": (*DRAFT_AFTER_DRAFT, "top-down", "traversal", "one-hot"),
    "comb": (*DRAFT_AFTER_DRAFT, "top-down", "traversal", "one-hot"),
    "distinct": ("top-down", "traversal", "one-hot"),
    "top": ("one-hot",),
}
SAMPLINGS = {
    "": {},
    "cut": {"temperature": 0.7, "top_k": 5, "top_p": 0.9},
    "greedy": {"temperature": 0.0},
}


def pair(end: bool = True) -> Pair:
    """Three tables of eight tokens after two tokens of context, near to each other; token 7 ends a
    text.
    """
    generator = torch.Generator().manual_seed(7)
    target = torch.rand(64, 8, generator=generator, dtype=torch.float64) ** 3 + 0.01
    target[:, 7] = 0.02
    tables = [target]
    for noise in (0.3, 1.0):
        tables.append(
            target + noise * torch.rand(64, 8, generator=generator, dtype=torch.float64) ** 2
        )
    names = ("target", "draft", "small")
    big, draft, small = (
        TableModel(t / t.sum(-1, keepdim=True), name) for t, name in zip(tables, names, strict=True)
    )
    return Pair(
        "tables",
        big,
        draft,
        LetterCodec(8, frozenset({7}) if end else frozenset()),
        smaller=(small,),
    )


def cases() -> dict[str, dict[str, Any]]:
    """Options of every case, by name."""
    found: dict[str, dict[str, Any]] = {"plain": {"system": "plain"}}
    for rule in CHAINS:
        for name, sampling in SAMPLINGS.items():
            for gamma in (1, 5, 10):
                found[f"{rule} γ={gamma} {name}"] = {"rule": rule, "gamma": gamma, **sampling}
    for tree, rules in TREES.items():
        for rule in rules:
            for name, sampling in SAMPLINGS.items():
                found[f"{rule} {tree} {name}"] = {
                    "rule": rule,
                    "gamma": 4,
                    "drafts": 3,
                    "tree": tree,
                    **sampling,
                }
    for rule in (
        "tokenwise",
        "blockwise",
        "hsd",
        "hsd-released",
        "fuzzy",
        "agreement",
        "ensemble",
        "typical",
    ):
        found[f"stack {rule}"] = {"system": "stack", "rule": rule, "thresholds": (2, 4)}
        found[f"stack {rule}, token-wise below"] = {
            "system": "stack",
            "rule": rule,
            "level_rules": ("tokenwise",),
        }
    for mode in ("exact-first", "divergence-only"):
        for divergence in ("kl", "reverse-kl", "js", "tv"):
            for on in ("warped", "raw"):
                found[f"fuzzy {mode} {divergence} {on}"] = {
                    "rule": "fuzzy",
                    "fuzzy_mode": mode,
                    "divergence": divergence,
                    "divergence_on": on,
                    "tolerance": 0.1,
                    "temperature": 0.8,
                }
    return found


def exits() -> dict[str, dict[str, Any]]:
    """HiSpec, which needs layers, and so the embedded pair."""
    return {
        f"hispec {rule} {exits}": {"system": "hispec", "rule": rule, "exits": exits}
        for rule in ("tokenwise", "blockwise", "hsd", "fuzzy")
        for exits in ((), (2,))
    }


def record(
    made: dict[str, dict[str, Any]], models: Pair, prompt: str, length: int
) -> dict[str, list[list[int]]]:
    """New tokens of every case and seed; with tracing on and off they must be the same."""
    found = {}
    for name, options in made.items():
        runs = [
            hsd.run(models, prompt, max_new_tokens=length, seed=s, trace=False, **options).tokens
            for s in SEEDS
        ]
        assert (
            runs[0] == hsd.run(models, prompt, max_new_tokens=length, seed=0, **options).tokens
        ), name
        found[name] = runs
    return found


def main() -> None:
    if "--tiny" in sys.argv:
        torch.set_num_threads(1)
        tiny = hsd.load_pair("tiny")
        made = record({**cases(), **exits()}, tiny, "Once upon a time", 24)
        Path(sys.argv[-1]).write_text(json.dumps(made))
        return
    made = record(cases(), pair(), "ab", 24)
    lines = [
        f"{json.dumps(name, ensure_ascii=False)}: {json.dumps(runs)}" for name, runs in made.items()
    ]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
