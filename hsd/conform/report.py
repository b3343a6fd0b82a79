"""A verifier judged as a whole: on random pairs of models, at zeros, and with numbers at the ends of their range."""

from __future__ import annotations

import itertools
import time
from typing import Any

from hsd.audit import TableModels, random_models
from hsd.conform.adapter import Adapter, BlackBox
from hsd.conform.boxes import Outcome
from hsd.conform.judge import Judged, check_size, equal_rules, judge, rows_models, smallest_counterexample
from hsd.conform.sampled import ERROR, chain_models, sample
from hsd.errors import HsdError
from hsd.rules import RULES


def conform(
    adapter: Adapter,
    vocab: int = 3,
    gamma: int = 3,
    seed: int = 0,
    pairs: int = 1,
    calls: int = 0,
    models: TableModels | None = None,
) -> dict[str, Any]:
    """Judge a verifier, exactly, or with `calls` > 0 by sampling that many drafts (or texts, of which γ+2 tokens).

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
        check_size(vocab, gamma)
        if pairs < 1:
            raise HsdError(f"pairs {pairs}: choose at least 1")
        check_size(vocab, gamma + adapter.text)
        pair = chain_models if adapter.text else random_models
        named = {f"random pair, seed {seed + i}": pair(vocab, gamma, seed + i) for i in range(pairs)}
    elif adapter.text:
        raise HsdError(f"{adapter.name}: generate is judged on random pairs: leave rows of your own out")
    else:
        vocab, gamma, named = models.vocab, models.gamma, {"the given rows": models}
    told = {"adapter": adapter.name, "vocab": vocab, "gamma": gamma, "seed": seed}
    by_sampling = calls or adapter.sampled or adapter.text
    found = _sampled(adapter, named, calls, seed) if by_sampling else _exact(adapter, named)
    return {**told, **found, "seconds": round(time.perf_counter() - start, 2)}


def _exact(adapter: Adapter, named: dict[str, TableModels]) -> dict[str, Any]:
    first = next(iter(named.values()))
    judged = {name: judge(adapter, models) for name, models in named.items()}
    if all(law.constant for one in judged.values() for law in one.laws.values()):
        raise HsdError(f"{adapter.name}: verify ignores uniforms and noise: draw with them, or use --sampled")
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
    notes = [f"by sampling: a lossless verifier is called wrong with probability {ERROR:g} at most for each pair"]
    if adapter.text:
        notes.append(f"judged are texts of {next(iter(named.values())).gamma + 1} tokens after token 0")
    return {
        "lossless": False if wrong else None,
        "total_variation": main.total_variation,
        "expected_kept": main.kept,
        "rule": "none",
        "equals": [],
        "counterexample": None,
        "edges": [],
        "notes": notes,
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
    models = rows_models([[0, 0.5, 0.5, 0]] * 3, [[0.4, 0.3, 0.2, 0.1]] * 2)
    drafts = [*itertools.product(range(4), repeat=2)]
    box, race = BlackBox(adapter, models, drafts), adapter.race

    def ask(coin: float, noise: float) -> list[Outcome]:
        return box.ask(range(len(drafts)), [(coin, coin, *[noise] * (4 if race else 1))] * len(drafts))

    found = []
    if any(
        {0, 3} & {*at[:-1]} - {*near[:-1]} for at, near in zip(ask(0, 0.5), ask(2 * adapter.width, 0.5), strict=True)
    ):
        found.append("a coin of exactly 0 keeps a token that the target never says: compare with <, not <=")
    last = 1 - 2.0 ** (-53 if adapter.dtype == "float64" else -24)
    for name, noise in {"of exactly 0": 0.0, "just below 1": last}.items() if not race else ():
        if any(one[-1] in (0, 3) for coin in (0.5, last) for one in ask(coin, noise)):
            found.append(f"a noise {name} draws a token that has no probability")
    return found


def _notes(judged: list[Judged], rules: list[str]) -> list[str]:
    notes = []
    if rules and all(name in RULES and RULES[name].resamples for name in rules):
        notes.append(
            f"{RULES[rules[0]].short} is lossless only if the rest of the block is drawn anew from residuals, "
            "by further calls"
        )
    if not any(law.coins for one in judged for law in one.laws.values()):
        notes.append("no coin changes anything: what is kept follows from p, q and the draft alone")
    return notes
