"""A verifier judged as a whole: on random pairs of models, at zeros, and with numbers at the ends of their range."""

from __future__ import annotations

import itertools
import time
from typing import Any

import torch

from hsd.audit import TableModels, random_models
from hsd.conform.adapter import Adapter, BlackBox
from hsd.conform.judge import Judged, equal_rules, judge, rows_models, smallest_counterexample
from hsd.conform.sampled import ERROR, sample
from hsd.errors import HsdError

MOST_OUTCOMES = 5_000  # V ** (γ+1): beyond, recovering every draft's law takes minutes


def conform(
    adapter: Adapter,
    vocab: int = 3,
    gamma: int = 3,
    seed: int = 0,
    pairs: int = 1,
    calls: int = 0,
    models: TableModels | None = None,
) -> dict[str, Any]:
    """Judge a verifier, exactly, or with `calls` > 0 by sampling that many drafts.

    It is asked on `pairs` random pairs from `seed` on, those of `hsd.audit.audit` (or on `models`), and on a small
    pair with probabilities of 0. Returns {"adapter", "lossless", "total_variation", "expected_kept" (both on the first
    pair), "rule" (the known rule with the same law, or "none"), "equals" (all of them, with settings),
    "counterexample" ({"words", "p", "q"} or None), "edges" (what happens at a number of exactly 0 or just below 1),
    "notes", "pairs", "tolerance", "calls", "seconds"}. By sampling "lossless" is None where nothing was found: nothing
    then proves it.
    Raises HsdError for what is too large, and for a verifier that cannot be judged.
    """
    start = time.perf_counter()
    if models is None:
        for name, value in (("vocab", vocab), ("gamma", gamma), ("pairs", pairs)):
            if value < 1:
                raise HsdError(f"{name} {value}: choose at least 1")
        if vocab > 26 or gamma > 12 or vocab ** (gamma + 1) > MOST_OUTCOMES:
            what = f"{vocab}^{gamma + 1} outcomes are over the limit of {MOST_OUTCOMES:,}"
            raise HsdError(f"{what}: reduce vocab or gamma")
        named = {f"random pair, seed {seed + i}": random_models(vocab, gamma, seed + i) for i in range(pairs)}
    else:
        vocab, gamma, named = models.vocab, models.gamma, {"the given rows": models}
    told = {"adapter": adapter.name, "vocab": vocab, "gamma": gamma, "seed": seed}
    found = _sampled(adapter, named, calls, seed) if calls or adapter.sampled else _exact(adapter, named)
    return {**told, **found, "seconds": round(time.perf_counter() - start, 2)}


def _exact(adapter: Adapter, named: dict[str, TableModels]) -> dict[str, Any]:
    first = next(iter(named.values()))
    judged = {name: judge(adapter, models) for name, models in named.items()}
    if not any(law.coins or law.noise for one in judged.values() for law in one.laws.values()):
        raise HsdError(f"{adapter.name}: verify ignores uniforms and noise: draw with them, or use --sampled")
    if first.vocab > 1:
        judged["zeros"] = judge(adapter, _zeros(first.vocab, min(first.gamma, 2)))
    wrong = [one for one in judged.values() if one.total_variation > adapter.tolerance]
    rules = equal_rules(list(judged.values()), adapter.tolerance)
    shown = smallest_counterexample(adapter, wrong[0]) if wrong else None
    main = next(iter(judged.values()))
    return {
        "lossless": not wrong,
        "total_variation": main.total_variation,
        "expected_kept": main.kept,
        "rule": rules[0].split(" (")[0] if rules else "none",
        "equals": rules,
        "counterexample": shown and {"words": shown.words(), **shown.rows()},
        "edges": _edges(adapter),
        "notes": _notes(list(judged.values()), rules),
        "pairs": {
            name: {"total_variation": one.total_variation, "expected_kept": one.kept} for name, one in judged.items()
        },
        "tolerance": adapter.tolerance,
        "calls": sum(one.calls for one in judged.values()),
    }


def _sampled(adapter: Adapter, named: dict[str, TableModels], calls: int, seed: int) -> dict[str, Any]:
    found = {name: sample(adapter, models, calls or 20_000, seed) for name, models in named.items()}
    main, wrong = next(iter(found.values())), any(one.wrong for one in found.values())
    return {
        "lossless": False if wrong else None,
        "total_variation": main.total_variation,
        "expected_kept": main.kept,
        "rule": "none",
        "equals": [],
        "counterexample": None,
        "edges": [],
        "notes": [f"by sampling: a lossless verifier is called wrong with probability {ERROR:g} at most for each pair"],
        "pairs": {name: {**vars(one), "wrong": one.wrong, "expected_kept": one.kept} for name, one in found.items()},
        "tolerance": None,
        "calls": sum(one.calls for one in found.values()),
    }


def _zeros(vocab: int, gamma: int) -> TableModels:
    """Rows in which the target never says the first token, and the draft never the last."""
    p = [0.0, *[1 / (vocab - 1)] * (vocab - 1)]
    weights = [*range(vocab - 1, 0, -1), 0]
    q = [x / sum(weights) for x in weights]
    return rows_models([p] * (gamma + 1), [q] * gamma)


def _edges(adapter: Adapter) -> list[str]:
    """What happens at numbers that a generator gives rarely, such as a coin of exactly 0: tokens 0 and 3 have p = 0."""
    models, drafts = (
        rows_models([[0, 0.5, 0.5, 0]] * 3, [[0.4, 0.3, 0.2, 0.1]] * 2),
        [*itertools.product(range(4), repeat=2)],
    )
    p, q = (torch.stack([models.rows(of, x, n) for x in drafts]) for of, n in ((models.target, 3), (models.draft, 2)))
    box, race = BlackBox(adapter, p, q, torch.tensor(drafts)), adapter.noise == "exponential-race"
    last, found = 1 - 2.0 ** (-53 if adapter.dtype == "float64" else -24), set()
    for coin, noise in ((0.0, 0.5), *(() if race else ((0.5, 0.0), (last, 0.0), (0.5, last), (last, last)))):
        for outcome in box.ask(range(len(drafts)), [(coin, coin, *[noise] * (4 if race else 1))] * len(drafts)):
            if coin == 0 and {0, 3} & set(outcome[:-1]):
                found.add("a coin of exactly 0 keeps a token that the target never says: compare with <, not <=")
            if outcome[-1] in (0, 3):
                where = {0.0: "of exactly 0 ", last: "just below 1 "}.get(noise, "")
                found.add(f"a noise {where}draws a token that has no probability")
    return sorted(found)


def _notes(judged: list[Judged], rules: list[str]) -> list[str]:
    notes = []
    if len(rules) > 1:
        notes.append(f"{', '.join(rules)} are one law here")
    if "naive-hsd" in rules:
        notes.append(
            "naive HSD is lossless only if the rest of the block is drawn anew from residuals, by further calls"
        )
    if all(one.greedy for one in judged):
        notes.append("no coin changes anything: what is kept follows from p, q and the draft alone")
    return notes
