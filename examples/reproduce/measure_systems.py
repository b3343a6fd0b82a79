"""Measure all systems on the embedded models, beside each other and beside the planner's numbers.

    python examples/reproduce/measure_systems.py                  # the prompts of the project
    python examples/reproduce/measure_systems.py --data FOLDER    # text that the models never saw

Writes assets/results/systems.json, from which measured_page.py makes blocks of the page "Measured".
About eight minutes on two quiet cores; other work beside it shows in the numbers.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import torch
from exit_peer import exit_peer_case
from measuring import RESULTS as FOLDER
from measuring import domains, in_turn, options, save, source
from pages import table

import hsd
from hsd.bench import Case, Measurement, machine
from hsd.bench import rows as bench_rows
from hsd.models.exits import parts_of
from hsd.paths import ASSETS
from hsd.planner import Models, latency, levels, plan
from hsd.planner.measure import measure_stack
from hsd.sampling import Sampling

RESULTS = FOLDER / "systems.json"
# what `hsd.bench` calls the models of a stack of three; the last of a smaller
LEVELS = ("level 0", "draft", "target")
STACKS = (
    ((0, 2), (2,)),
    ((1, 2), (5,)),
    ((0, 1, 2), (2, 3)),
    ((0, 1, 2), (5, 5)),
    ((0, 1, 2), (3, 8)),
)
TOLERANCE = 0.5
Row = dict[str, Any]


def main() -> None:
    given = options(__doc__, RESULTS.name).parse_args()
    torch.set_num_threads(1)
    for found in measured(given):
        save(found, given.out)
    print("\n\n".join(made(json.loads(given.out.read_text(encoding="utf-8"))).values()))


def measured(given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield what is measured, and on what: the systems, then what the planner expects as well."""
    target, draft, smallest = (
        str(ASSETS / "tiny" / part) for part in ("target", "middle", "draft")
    )
    # by torch, as the peer is
    pair = hsd.load_pair(target=target, draft=draft, smaller=[smallest], device="cpu")
    prompts = domains(pair, given)
    before = machine(pair)
    cases = systems(given.new_tokens)
    found = {
        d: bench_rows(in_turn(pair, cases, texts, given.repetitions))
        for d, texts in prompts.items()
    }
    result = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "prompts": source(given),
        "prompts_per_domain": given.prompts,
        "new_tokens": given.new_tokens,
        "repetitions": given.repetitions,
        "machine": before,
        "head_in_layers": parts_of(pair.target).head_cost,
        "systems": {domain: [row(one) for one in rows] for domain, rows in found.items()},
    }
    yield result
    yield result | {
        "planned": planned(pair, [p for texts in prompts.values() for p in texts[:4]], given)
    }


def systems(new_tokens: int) -> list[Case]:
    """Every system at its usual settings, plain decoding first."""
    common = {"max_new_tokens": new_tokens, "trace": False, "temperature": 1.0}
    fuzzy = {"rule": "fuzzy", "tolerance": TOLERANCE, "gamma": 5}
    ways: dict[str, Row] = {
        "plain decoding": {"system": "plain"},
        "vanilla, γ = 5": {"rule": "tokenwise", "gamma": 5},
        "HSD, γ = 5": {"rule": "hsd", "gamma": 5},
        "smallest model drafts, HSD, γ = 2": {
            "system": "stack",
            "stack": (0, 2),
            "thresholds": (2,),
            "rule": "hsd",
        },
        "stack of three, token by token, T = 2, 3": {
            "system": "stack",
            "thresholds": (2, 3),
            "rule": "tokenwise",
        },
        "stack of three, HSD, T = 2, 3": {"system": "stack", "thresholds": (2, 3), "rule": "hsd"},
        "single exit drafts (layer 2), HSD, γ = 5": {
            "system": "hispec",
            "exits": (2,),
            "thresholds": (5,),
        },
        "HiSpec, token by token": {"system": "hispec", "rule": "tokenwise"},
        "HiSpec, HSD": {"system": "hispec", "rule": "hsd"},
        f"FSD, KL ≤ {TOLERANCE:g}, γ = 5": fuzzy,
    }
    cases = [Case(name, {**common, **way}) for name, way in ways.items()]
    return [*cases, exit_peer_case(5, common, 2)]


def row(found: Row) -> Row:
    """What the page says about one case of a benchmark."""
    names = ("case", "options", "tokens_per_second", "speedup", "limit", "efficiency")
    told = {
        "tokens_per_call": found["block_efficiency"],
        **{name: found[name] for name in names if name in found},
    }
    if "limit" in found:
        outside = found["outside_ms_per_step"]
        told |= {"outside_ms_per_step": outside, "outside_share": outside / found["ms_per_step"]}
    return told


def planned(pair: hsd.Pair, prompts: Sequence[str], given: argparse.Namespace) -> dict[str, Any]:
    """What the planner expects of some stacks, and what they then take; all with token-wise
    verification.
    """
    found = measure_stack(pair, pair.models, prompts, given.new_tokens, Sampling())
    best = plan(found.models).best
    stacks = [(best.models, best.thresholds)] if best.thresholds else []  # none: the target alone
    cases = [
        Case(f"{stack} {thresholds}", stack_options(stack, thresholds, given.new_tokens))
        for stack, thresholds in dict.fromkeys([*stacks, *STACKS])
    ]
    results = in_turn(pair, cases, prompts, given.repetitions)
    return {
        "costs": found.models.costs,
        "per_token": found.models.per_token,
        "acceptance": found.models.acceptance,
        "positions": found.positions,
        "best": [best.models, best.thresholds],
        "stacks": [predicted(found.models, result) for result in results],
    }


def stack_options(stack: Sequence[int], thresholds: Sequence[int], new_tokens: int) -> Row:
    levels = {"stack": tuple(stack), "thresholds": tuple(thresholds)}
    return {
        "system": "stack",
        **levels,
        "rule": "tokenwise",
        "max_new_tokens": new_tokens,
        "trace": False,
    }


def predicted(models: Models, result: Measurement) -> Row:
    """Milliseconds per token: what the planner expects, from call times measured before, and from
    those of this run; what the models' forward passes took; and all of it. Calls per token:
    expected and made, smallest model first.
    """
    stack = result.case.options["stack"]
    thresholds = result.case.options["thresholds"]
    tokens = sum(record["new_tokens"] for record in result.records)
    expected = expected_calls(models, stack, thresholds)
    made, seconds = zip(*(calls(result, name) for name in LEVELS[-len(stack) :]), strict=True)
    return {
        "stack": stack,
        "thresholds": thresholds,
        "predicted_ms": latency(models, stack, thresholds),
        "at_these_times_ms": 1e3 * sum(n * time for n, time in zip(expected, seconds, strict=True)),
        "passes_ms": 1e3 * sum(n * time for n, time in zip(made, seconds, strict=True)) / tokens,
        "measured_ms": 1e3 * sum(record["seconds"] for record in result.records) / tokens,
        "calls_expected": expected,
        "calls_made": [n / tokens for n in made],
    }


def expected_calls(models: Models, stack: Sequence[int], thresholds: Sequence[int]) -> list[float]:
    """Forward calls per committed token at every level, smallest model first, as the planner
    expects them.
    """
    found = levels(models, stack, thresholds)
    per_round = [1.0]
    for level in reversed(found[:-1]):  # every call asks the level below once
        per_round.append(per_round[-1] * level.passes)
    return [count / found[-1].tokens for count in reversed(per_round)]


def calls(result: Measurement, name: str) -> tuple[int, float]:
    """How many calls one level made, those that read the prompt left out, and the typical seconds
    of one.
    """
    widths = [
        record["calls"][name]["widths"] for record in result.records if name in record["calls"]
    ]
    count = sum(entry[0] for found in widths for entry in found.values())
    steps = sum(record["steps"] for record in result.records)
    return count, result.typical_seconds(name) * steps / count


def made(result: dict[str, Any]) -> dict[str, str]:
    """Return the blocks of the page."""
    return {
        "systems": f"{setting(result)}.\n\n{systems_table(result['systems'])}",
        "claims": claims(result["systems"]),
        "planner": planner_words(result["planned"]),
    }


def systems_table(by_domain: dict[str, list[Row]]) -> str:
    """Return a row per system: tokens per target call and speed-up in each domain."""
    lines = [
        [of[0]["case"], *(f"{one['tokens_per_call'][0]:.2f}, ×{one['speedup']:.2f}" for one in of)]
        # without plain decoding, which is 1
        for of in list(zip(*by_domain.values(), strict=True))[1:]
    ]
    return table(("system", *by_domain), lines)


def error(entry: Row, expected: str = "predicted_ms") -> float:
    """By how much the forward passes took longer than was expected."""
    return float(entry["passes_ms"] / entry[expected] - 1)


def worst(planned: Row, expected: str) -> str:
    """The largest difference from what was expected."""
    return f"{max(abs(error(entry, expected)) for entry in planned['stacks']):.0%}"


def planner_words(planned: Row) -> str:
    """Say how far the planner's stacks came out from what it expected."""
    return (
        f"For {len(planned['stacks'])} stacks of the toys the forward passes took within "
        f"{worst(planned, 'predicted_ms')} of what the planner expected from call times measured "
        "before, and within "
        f"{worst(planned, 'at_these_times_ms')} with those of the run. It assumes that every token "
        "is kept with the "
        "same chance; in text kept tokens cluster."
    )


def claims(by_domain: dict[str, list[Row]]) -> str:
    """Published speed-ups beside those measured here."""

    def span(pick: str, over: str) -> str:
        ratios = [
            of(rows, pick)["tokens_per_second"] / of(rows, over)["tokens_per_second"]
            for rows in by_domain.values()
        ]
        return f"{min(ratios):.2f}–{max(ratios):.2f}×"

    def of(rows: Sequence[Row], start: str) -> Row:
        return next(r for r in rows if r["case"].startswith(start))

    lines = [
        [
            "stack of models ([2510.19705](https://arxiv.org/abs/2510.19705))",
            "up to 1.2× over the best single draft",
            f"{span('stack of three, HSD', 'smallest model drafts')} over the smallest model alone "
            "as draft, γ = 2",
        ],
        [
            "early exits, HiSpec ([2510.01336](https://arxiv.org/abs/2510.01336))",
            "1.28× on average, 2.01× at most, over single-layer speculation",
            f"{span('HiSpec, HSD', 'single exit drafts')} over a single exit that drafts",
        ],
        [
            "FSD ([2502.20704](https://arxiv.org/abs/2502.20704))",
            "over 5 tokens/s faster for about 2 points of accuracy",
            f"{span('FSD', 'vanilla')} over vanilla, not lossless",
        ],
        [
            "early exits in `transformers`",
            "",
            f"{span('HiSpec, token', 'transformers, exit')}: HiSpec, token by token, over "
            "`assistant_early_exit`",
        ],
    ]
    return table(("system", "published, on other models", "measured here"), lines)


def setting(result: dict[str, Any]) -> str:
    m = result["machine"]
    return (
        f"{result['prompts']}: {result['prompts_per_domain']} prompts per domain, "
        f"{result['new_tokens']} new tokens, "
        f"{result['repetitions']} repetitions in turn after one that warms up, temperature 1; "
        f"{m['processor']}, "
        f"{m['threads']} of {m['cores']} threads, load {m['load']} at the start, {m['dtype']}, "
        f"Python {m['python']}, "
        f"torch {m['torch']}, transformers {m['transformers']}; {result['date'][:10]}"
    )


if __name__ == "__main__":
    main()
