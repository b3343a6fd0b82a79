"""What rules that give up exactness gain for what they spend; and the points of FSD's curve
(`measure_fuzzy.py`).

    python examples/reproduce/trade_off.py --pairs tiny,smollm2

Tokens per pass of the target, and nats of KL(law‖p) per token, of every such rule at several values
of its one number, on the same drafts: those of exact runs by HSD. All of it is over all coins, so
that no coin's luck is in it. Writes the part "equal" of assets/results/fuzzy.json, and prints what
each rule makes at a few equal costs.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import defaultdict
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

# so that this runs without installing the package
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from measuring import save
from pages import table

import hsd
from hsd.bench import Record, machine, shipped
from hsd.bench.fuzzy import EXACT
from hsd.bench.summary import ratio_interval
from hsd.decoding.loop import Decoding
from hsd.decoding.options import RunOptions
from hsd.decoding.system import make_system
from hsd.paths import RESULTS
from hsd.rules import DIVERGENCES, RULES, Fuzzy, Law, Rule, fuzzy_rule
from hsd.rules.clipped import clip
from hsd.rules.fuzzy import relative_entropy
from hsd.trace import Step, Trace

Point = dict[str, Any]


def drift(step: Step, tolerance: float) -> float:
    """Σ D over the kept tokens with D ≤ tolerance: what a step of the fuzzy rule spent. At most
    tolerance × kept.
    """
    return sum(value for value in step.divergences[: step.kept] if value <= tolerance)


def overruled(step: Step) -> int:
    """How many kept tokens the exact test, coin < min(1, p/q), would have rejected."""
    return sum(
        node.coin >= min(1.0, node.p / node.q) for node in step.nodes[: step.kept] if node.q > 0
    )


def counts(trace: Trace) -> Record:
    """What a point of the trade-off is made of, from one traced run with one draft."""
    asked = trace.setup.options
    stats = trace.stats()
    names = ("new_tokens", "target_calls", "steps", "drafted", "kept", "seconds")
    tolerance = asked.fuzzy.tolerance if asked.rule == "fuzzy" else EXACT
    return {
        **{name: stats[name] for name in names},
        "answers": 1,
        "drift": sum(drift(step, tolerance) for step in trace.steps),
        "overruled": sum(overruled(step) for step in trace.steps),
        "impossible": sum(node.p == 0 for step in trace.steps for node in step.nodes[: step.kept]),
        "finished": int(trace.result.finish == "end"),
    }


RATIOS = {
    "tokens_per_call": ("new_tokens", "target_calls"),
    "drift": ("drift", "new_tokens"),
    "overruled": ("overruled", "kept"),
    "length": ("new_tokens", "answers"),
    "seconds": ("seconds", "answers"),
    "right": ("right", "answers"),
}


def point(records: Sequence[Record]) -> Point:
    """Where one setting lies, each number with its 95 % interval by a bootstrap over prompts.

    tokens_per_call: committed per target call. drift: nats (of total variation: shares) per new
    token. overruled: the share of kept tokens that the exact test would have rejected. length,
    seconds: of an answer. right: the share of right answers, where they can be checked. Also plain
    sums: answers, finished (by an end of text), impossible (kept tokens with p = 0).
    """
    known = {
        name: parts
        for name, parts in RATIOS.items()
        if all(parts[0] in record for record in records)
    }
    sums = {
        name: sum(record[name] for record in records)
        for name in ("answers", "finished", "impossible")
    }
    return {
        name: ratio_interval(records, *map(itemgetter, parts)) for name, parts in known.items()
    } | sums


# ---- rules beside each other, at equal cost

Case = tuple[str, float]
SHOWN = 0.05  # nats a token, of the costs that are measured
NUMBERS: dict[str, tuple[float, ...]] = {
    "tokenwise": (0.0,),
    "hsd": (0.0,),
    "clipped": (0.003, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4),
    "clipped-hsd": (0.003, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4),
    "fuzzy": (0.01, 0.03, 0.1, 0.2, 0.4, 0.8, 1.6),
    "ensemble": (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.8),
    "typical": (0.9, 0.6, 0.3, 0.09, 0.03, 0.01, 0.001),
}
CLIPPED = {"clipped": "tokenwise", "clipped-hsd": "hsd"}  # what each is with L in place of p
COSTS = (0.005, 0.01, 0.02, 0.05, 0.1)  # nats per token, at which rules are compared
PAIRS: dict[str, dict[str, Any]] = {
    "tiny": {"gamma": 5, "temperatures": (1.0,), "prompts": "shipped.json"},
    "smollm2": {"gamma": 4, "temperatures": (0.7, 1.0), "prompts": "chat.json"},
}


def written(name: str, number: float, p: Tensor, q: Tensor) -> Tensor:
    """The rows that the token at each drafted place follows under a rule but `clipped`, (γ, V): p,
    q (γ, V).
    """
    if name == "fuzzy":
        return torch.where((DIVERGENCES["kl"](p, q) <= number).unsqueeze(-1), q, p)
    if name == "ensemble":
        return (1 - number) * p + number * q
    if name == "typical":
        bar = (
            math.sqrt(number) * torch.exp(-torch.special.entr(p).sum(-1, keepdim=True))
        ).clamp_max(number)
        passed = q * (p > bar)
        return passed + (1 - passed.sum(-1, keepdim=True)) * p
    return p


def ruled(name: str, number: float) -> Rule:
    """A rule with its one number."""
    if name == "fuzzy":
        return fuzzy_rule(Fuzzy(tolerance=number))
    return RULES[name].tuned(number) if RULES[name].knob else RULES[name]


def judged(case: Case, p: Tensor, q: Tensor, tokens: Tensor, near: dict[float, Tensor]) -> Record:
    """What a rule makes of one draft on average over all coins: passes, tokens, drift, and -log p
    of its tokens.

    drift: Σ over the drafted places that a step writes of KL(law there ‖ p). p (γ+1, V), q (γ, V),
    tokens (γ,). near: the clipped rows (γ, V) of the draft by their tolerance, which take the most
    time.
    """
    name, number = case
    gamma = len(tokens)
    if name in CLIPPED:
        rows = near[number] = near[number] if number in near else clip(p[:-1], q, number)
        law = RULES[CLIPPED[name]].law(torch.cat([rows, p[-1:]]), q, tokens)
    else:
        rows = written(name, number, p[:-1], q)
        law = ruled(name, number).law(p, q, tokens)
    # that t tokens are kept, so that place t is written
    reached = 1 - law.stop[:-1].cumsum(0) + law.stop[:-1]
    drift = relative_entropy(rows, p[:-1]).double()
    surprise = -torch.xlogy(rows, p[:-1]).sum(-1).double()
    bonus = float(law.stop[gamma]) * float(torch.special.entr(p[gamma]).sum())
    return {
        "passes": 1,
        "tokens": 1 + float(law.expected_kept),
        "drift": float((reached * drift).sum()),
        "surprise": float((reached * surprise).sum()) + bonus,
    }


def drafts_of(pair: hsd.Pair, prompt: str, **asked: Any) -> list[tuple[Tensor, Tensor, Tensor]]:
    """The drafts of one exact run by HSD, each with the rows of target and draft."""
    found: list[tuple[Tensor, Tensor, Tensor]] = []

    def noted(p: Tensor, q: Tensor, tokens: Tensor) -> Law:
        if len(tokens) == asked["gamma"]:
            found.append((p.double(), q.double(), tokens))
        return RULES["hsd"].law(p, q, tokens)

    noting = Rule("noting", "", "", "", True, RULES["hsd"].recipe, noted)
    system = make_system(pair, RunOptions(rule="hsd", trace=False, **asked))
    for _ in Decoding(system.judged_by(noting), prompt):
        pass
    return found


def beside(
    pair: hsd.Pair, prompts: Sequence[str], temperature: float, gamma: int, new_tokens: int
) -> dict[str, Any]:
    """Every rule at every number on the same drafts, and what each makes at equal costs."""
    cases = [(name, number) for name, numbers in NUMBERS.items() for number in numbers]
    records: dict[Case, list[Record]] = defaultdict(list)
    count = 0
    for seed, prompt in enumerate(prompts):
        drafts = drafts_of(
            pair, prompt, temperature=temperature, gamma=gamma, max_new_tokens=new_tokens, seed=seed
        )
        count += len(drafts)
        sums: dict[Case, Record] = {case: defaultdict(float, prompt=seed) for case in cases}
        for draft in drafts:
            near: dict[float, Tensor] = {}
            for case in cases:
                for name, number in judged(case, *draft, near).items():
                    sums[case][name] += number
        for case in cases:
            records[case].append(dict(sums[case]))
    rules = {
        name: [{"number": number, **placed(records[name, number])} for number in numbers]
        for name, numbers in NUMBERS.items()
    }
    grid = {
        name: [records[name, number] for number in numbers] for name, numbers in NUMBERS.items()
    }
    return {
        "temperature": temperature,
        "gamma": gamma,
        "prompts": len(prompts),
        "drafts": count,
        "rules": rules,
        "at": {str(cost): compared(grid, cost) for cost in COSTS},
    }


def placed(records: Sequence[Record]) -> Point:
    """One rule at one number: tokens per pass and drift per token with intervals over prompts, and
    the perplexity.
    """
    return {
        "tokens_per_call": ratio_interval(records, *map(itemgetter, ("tokens", "passes"))),
        "drift": ratio_interval(records, *map(itemgetter, ("drift", "tokens"))),
        "perplexity": math.exp(
            sum(r["surprise"] for r in records) / sum(r["tokens"] for r in records)
        ),
    }


Grid = dict[str, list[list[Record]]]  # by rule: for each number the sums of every prompt


def compared(grid: Grid, cost: float, times: int = 1_000) -> dict[str, Any]:
    """Tokens per pass at one cost per token, and how much more `clipped-hsd` makes than each rule.

    Each is read off between the two of its numbers whose costs are beside that one. A rule whose
    largest number costs less, or whose smallest costs more, is left out. Intervals by a bootstrap
    over prompts.
    """
    size = len(next(iter(grid.values()))[0])
    picks = np.random.default_rng(0).integers(size, size=(times, size))
    found = {name: at_cost(rows, cost, np.arange(size)[None])[0] for name, rows in grid.items()}
    best = grid["clipped-hsd"]
    made = {}
    for name, value in found.items():
        if not math.isnan(value):
            gaps = at_cost(best, cost, picks) / at_cost(grid[name], cost, picks) - 1
            low, high = np.nanpercentile(gaps, (2.5, 97.5)).tolist()
            made[name] = {
                "tokens_per_call": value,
                "clipped_more": [found["clipped-hsd"] / value - 1, low, high],
            }
    return made


def at_cost(rows: list[list[Record]], cost: float, picks: Any) -> Any:
    """Tokens per pass of one rule at a cost, for each sample of prompts (n, prompts) → (n,); NaN
    where it has none.
    """
    sums = {
        k: np.array([[r[k] for r in one] for one in rows])[:, picks].sum(-1)
        for k in ("tokens", "passes", "drift")
    }
    x = sums["drift"] / sums["tokens"]
    y = sums["tokens"] / sums["passes"]  # (numbers, n)
    if len(rows) == 1:  # an exact rule has the same at any cost
        return y[0]
    order = np.argsort(x, 0)
    x = np.take_along_axis(x, order, 0)
    y = np.take_along_axis(y, order, 0)
    return np.array(
        [np.interp(cost, x[:, i], y[:, i], math.nan, math.nan) for i in range(x.shape[1])]
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", default="tiny,smollm2", help="with commas")
    parser.add_argument("--prompts", type=int, default=12)
    parser.add_argument("--new-tokens", type=int, default=48)
    parser.add_argument("--out", type=Path, default=RESULTS / "fuzzy.json")
    given = parser.parse_args()
    torch.set_num_threads(1)
    for name in given.pairs.split(","):
        pair = hsd.load_pair(name)
        setting = PAIRS[name]
        mixed = [
            prompt
            for one in zip(*shipped(setting["prompts"]).values(), strict=False)
            for prompt in one
        ]
        found = []
        for heat in setting["temperatures"]:
            found.append(
                beside(pair, mixed[: given.prompts], heat, setting["gamma"], given.new_tokens)
            )
            known = json.loads(given.out.read_text(encoding="utf-8"))
            known.setdefault("equal", {})[name] = {
                "machine": machine(pair),
                "measured": rounded(found),
            }
            save(known, given.out)
            print(markdown({name: {"measured": found[-1:]}}), flush=True)


def markdown(found: dict[str, Any]) -> str:
    """For each pair tokens per pass at the cost SHOWN, and the perplexity of the texts; a rule a
    row.
    """
    cases = {
        f"{name} at temperature {one['temperature']:g}": one
        for name, pair in found.items()
        for one in pair["measured"]
    }
    rows = []
    for rule in NUMBERS:
        made = [cell(rule, one["at"][str(SHOWN)].get(rule)) for one in cases.values()]
        likely = [
            perplexity(points, SHOWN) if (points := one["rules"].get(rule)) else None
            for one in cases.values()
        ]
        if any(one != "–" for one in made):
            rows.append(
                [
                    f"`{rule}`",
                    *made,
                    *("–" if value is None else f"{value:.2f}" for value in likely),
                ]
            )
    drafts = ", ".join(
        f"{one['drafts']} of {head} (γ = {one['gamma']})" for head, one in cases.items()
    )
    heads = [f"{what}: {head}" for what in ("tokens", "perplexity") for head in cases]
    return f"Drafts: {drafts}.\n\n{table(('rule', *heads), rows)}"


def perplexity(points: Sequence[Point], cost: float) -> float | None:
    """Perplexity of what a rule writes at a cost, between two of its numbers; an exact rule has
    one.
    """
    known = sorted(
        (one["drift"][0], one["perplexity"]) for one in points if None not in one["drift"]
    )
    if len(points) > 1 and not known[0][0] <= cost <= known[-1][0]:
        return None
    return float(np.interp(cost, *zip(*known, strict=True)))


def cell(rule: str, made: dict[str, Any] | None) -> str:
    """Tokens per pass, and in brackets how much more `clipped-hsd` makes, with its interval."""
    if not made:
        return "–"
    value, low, high = (100 * x for x in made["clipped_more"])
    more = "" if rule == "clipped-hsd" else f" ({value:+.1f}%, {low:.1f}–{high:.1f})"
    return f"{made['tokens_per_call']:.2f}{more}"


def rounded(value: Any) -> Any:
    """Round all numbers in nested data to four significant digits; None for what is not finite,
    which JSON lacks.
    """
    if isinstance(value, float):
        return float(f"{value:.4g}") if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    return [rounded(one) for one in value] if isinstance(value, (list, tuple)) else value


if __name__ == "__main__":
    main()
