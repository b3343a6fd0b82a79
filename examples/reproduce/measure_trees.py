"""Several drafts on the embedded pair: tokens per target call and the cost of a step.

    python examples/reproduce/measure_trees.py                  # the prompts of the project
    python examples/reproduce/measure_trees.py --data FOLDER    # text that the models never saw

Also times verification alone, on a tree of 60 tokens over a vocabulary of 152,000. Writes
assets/results/trees.json (or --out) and prints the same numbers as Markdown.
"""

from __future__ import annotations

import statistics
from itertools import cycle
from typing import Any

import torch
from measuring import domains, in_turn, interval, milliseconds, options, save, source
from pages import table

import hsd
from hsd.bench import Case, Measurement, machine
from hsd.rules import TREE_RULES, DraftTree, decide

GAMMA = 5
TEMPERATURE = 1.0
CASES: dict[str, dict[str, Any]] = {
    "vanilla, one draft": {"rule": "tokenwise"},
    "HSD, one draft": {"rule": "hsd"},
    "token-wise, 2 drafts": {"rule": "tokenwise", "drafts": 2},
    "HSD, 2 drafts": {"rule": "hsd", "drafts": 2},
    "token-wise, 4 drafts": {"rule": "tokenwise", "drafts": 4},
    "HSD, 4 drafts": {"rule": "hsd", "drafts": 4},
    "token-wise, comb of 2": {"rule": "tokenwise", "drafts": 2, "tree": "comb"},
    "HSD, comb of 2": {"rule": "hsd", "drafts": 2, "tree": "comb"},
    "top-down, 4 drafts": {"rule": "top-down", "drafts": 4},
    "traversal, 4 drafts": {"rule": "traversal", "drafts": 4},
    "top-down, 4 distinct": {"rule": "top-down", "drafts": 4, "tree": "distinct"},
    "traversal, 4 distinct": {"rule": "traversal", "drafts": 4, "tree": "distinct"},
    "one-hot, 4 likeliest": {"rule": "one-hot", "drafts": 4, "tree": "top"},
}
NODES = 60
VOCABULARY = 152_000


def main() -> None:
    given = options(__doc__, "trees.json").parse_args()
    verification = verify_times()
    torch.set_num_threads(1)
    pair = hsd.load_pair("tiny")
    result: dict[str, Any] = {
        "what": "embedded pair, several drafts: tokens per target call, and milliseconds per step",
        "prompts": source(given),
        "setting": {"gamma": GAMMA, "temperature": TEMPERATURE, "prompts": given.prompts},
        "new_tokens": given.new_tokens,
        "repetitions": given.repetitions,
        "machine": machine(pair),
        "verification_ms": verification,
        "cases": {name: {} for name in CASES},
    }
    for domain, prompts in domains(pair, given).items():
        for case in in_turn(pair, cases(given.new_tokens), prompts, given.repetitions):
            result["cases"][case.case.name][domain] = row(case)
    save(result, given.out)
    print(markdown(result))


def cases(new_tokens: int) -> list[Case]:
    common = {
        "gamma": GAMMA,
        "temperature": TEMPERATURE,
        "max_new_tokens": new_tokens,
        "trace": False,
    }
    return [Case(name, {**common, **options}) for name, options in CASES.items()]


def row(measurement: Measurement) -> dict[str, Any]:
    """Tokens per target call with its interval, milliseconds per step, and where the time goes."""
    return {
        "tokens_per_target_call": [round(x, 3) for x in measurement.block_efficiency()],
        "ms_per_step": round(measurement.step_times()["ms_per_step"], 3),
        "shares": {part: round(share, 4) for part, share in measurement.shares().items()},
    }


def verify_times() -> dict[str, dict[str, float]]:
    """Milliseconds of one verification of a tree of 60 tokens, V = 152,000, float32: every test
    fails, and typical.
    """
    torch.set_num_threads(2)
    tree = large_tree()
    always_fails = [[1 - 2**-24] * NODES]
    random = [
        torch.rand(NODES, generator=torch.Generator().manual_seed(seed)).tolist()
        for seed in range(9)
    ]
    return {
        name: {
            "every test fails": _verify_ms(name, tree, always_fails),
            "random coins": _verify_ms(name, tree, random),
        }
        for name in ("traversal", "top-down", "one-hot")
    }


def _verify_ms(rule: str, tree: DraftTree, coin_sets: list[list[float]]) -> float:
    """Return the median ms of deciding with each set of coins in turn; coin i is of node i + 1."""
    sets = cycle(coin_sets)

    def verify() -> None:
        coins = next(sets)
        decide(TREE_RULES[rule].process(tree), lambda test: coins[test.node - 1])

    return round(milliseconds(verify, 9), 2)


def large_tree() -> DraftTree:
    """Four drafts of 15 tokens each, drawn from rows that resemble the target's."""
    generator = torch.Generator().manual_seed(0)
    parents = [0 if i < 4 else i - 3 for i in range(NODES)]
    scores = 3 * torch.randn(NODES + 1, VOCABULARY, generator=generator)
    p = scores.softmax(-1)
    q = (scores + 0.3 * torch.randn(scores.shape, generator=generator)).softmax(-1)
    tokens = [int(torch.multinomial(q[parent], 1, generator=generator)) for parent in parents]
    return DraftTree(tuple(tokens), tuple(parents), p, q)


def markdown(result: dict[str, Any]) -> str:
    """The result as a table, and the times of verification."""
    domains = list(next(iter(result["cases"].values())))
    rows = [
        [
            name,
            *(interval(found[d]["tokens_per_target_call"]) for d in domains),
            f"{statistics.mean(found[d]['ms_per_step'] for d in domains):.1f}",
        ]
        for name, found in result["cases"].items()
    ]
    verification = (
        f"Verification of {NODES} nodes at V = {VOCABULARY:,}, ms: {result['verification_ms']}"
    )
    where = f"Prompts: {result['prompts']}. Machine: {result['machine']}"
    return "\n\n".join([where, table(("case", *domains, "ms per step"), rows), verification])


if __name__ == "__main__":
    main()
