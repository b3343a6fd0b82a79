"""A verifier is judged as a whole.

That is done on a battery of pairs of models, and with numbers at the ends of their range.
"""

import itertools
import math
import time
from dataclasses import replace
from typing import Any

from hsd.audit import TableModels, random_models
from hsd.conform.adapter import TOLERANCES, Adapter, BlackBox, limit_candidates
from hsd.conform.battery import FEWER, MISSED, POINTS, REPEATS, BatteryCase, battery, shaped
from hsd.conform.boxes import Outcome
from hsd.conform.coverage import Cell, cells, coverage_in_words, tokens_in_words
from hsd.conform.judge import (
    Judgement,
    check_size,
    equal_rules,
    judge,
    rows_models,
    smallest_counterexample,
)
from hsd.conform.recover import CHECKS, STRATA, Unsteady
from hsd.conform.sampled import ERROR, chain_models, sample
from hsd.conform.shared import judge_shared
from hsd.errors import HsdError
from hsd.rules import RULES, find_rule

NOTHING = dict.fromkeys(("total_variation", "expected_kept", "counterexample", "tolerance"))
NOTHING |= {"rule": "none", "equals": [], "cause": "", "edges": [], "notes": [], "claim": []}
"""The fields of a verdict that some ways to judge leave out."""
ROUNDED = (
    "; so little looks like rounding to single precision: if the verifier computes in it, set "
    f'DTYPE = "float32" in the adapter, which allows {TOLERANCES["float32"]:g}'
)


def conform(
    adapter: Adapter,
    vocab: int = 3,
    gamma: int = 3,
    seed: int = 0,
    pairs: int = 1,
    calls: int = 0,
    models: TableModels | None = None,
    expect: str = "",
    quick: bool = False,
) -> dict[str, Any]:
    """Judge a verifier, exactly, or with `calls` > 0 by sampling that many drafts.

    A verifier that generates texts is judged by γ+2 tokens of each.

    It is run on `pairs` random pairs from `seed` on, those of `hsd.audit.audit` (or on `models`),
    and on the pairs of `hsd.conform.battery`; with `quick` only on the former and the pair with
    zeros, at fewer numbers. expect: the rule whose law it should have. Returns {"adapter",
    "lossless", "total_variation" (the largest of all pairs; None where equal numbers gave different
    tokens), "expected_kept" (on the first pair), "rule" (the known rule with the same law, or
    "none"), "equals" (all of them, with settings), "expected" (that rule, or ""), "as_expected"
    (None where nothing is expected), "cause" (why it is not lossless, or ""), "counterexample"
    ({"words", "p", "q"}, with an exact law also "after", "token", "probability": how often a token
    follows a text, which is too often; or None), "edges" (what happens at a number of exactly 0 or
    just below 1), "notes", "claim" (what was done, and what may escape it, in sentences), "sizes"
    (the cells of all pairs, see `hsd.conform.coverage`), "pairs", "tolerance", "calls", "seconds"}.
    By sampling "lossless" is None where nothing was found: that proves nothing. Raises HsdError for
    what is too large, for an unknown rule, and for a verifier that cannot be judged.
    """
    start = time.perf_counter()
    if expect:
        find_rule(expect)
    if models is None:
        check_size(vocab, gamma)
        if pairs < 1:
            raise HsdError(f"pairs {pairs}: choose at least 1")
        check_size(vocab, gamma + adapter.text)
        pair = chain_models if adapter.text else random_models
        named = {
            f"random pair, seed {seed + i}": pair(vocab, gamma, seed + i) for i in range(pairs)
        }
    elif adapter.text:
        raise HsdError(
            f"{adapter.name}: generate is judged on random pairs: leave rows of your own out"
        )
    else:
        vocab = models.vocab
        gamma = models.gamma
        named = {"the given rows": models}
    by_sampling = calls or adapter.sampled or adapter.text
    if (by_sampling or adapter.shared) and expect:
        raise HsdError(
            f"--expect {expect}: which law it is cannot be told by sampling, or on shared numbers"
        )
    if by_sampling and adapter.shared:
        raise HsdError(f"{adapter.name}: SHARED is judged on its own numbers: leave --sampled out")
    if by_sampling:
        result = _sampled(adapter, named, calls, seed)
    else:
        cases = _cases(adapter, named, seed, quick)
        named |= {case.name: case.models for case in cases}
        result = (judge_shared if adapter.shared else _exact)(adapter, cases)
    result = NOTHING | result
    judged = {name: cells(limit_candidates(adapter, named[name])) for name in result["pairs"]}
    for name, of_pair in judged.items():
        result["pairs"][name]["tokens"] = tokens_in_words(of_pair)
    together = set[Cell]().union(*judged.values())
    claim = [*result["claim"], *coverage_in_words(together)] if result["claim"] else []
    same = expect in {name.split(" (")[0] for name in result["equals"]} if expect else None
    return {
        "adapter": adapter.name,
        "vocab": vocab,
        "gamma": gamma,
        "seed": seed,
        "expected": expect,
        **result,
        "claim": claim,
        "sizes": sorted(together),
        "as_expected": same,
        "seconds": round(time.perf_counter() - start, 2),
    }


def _cases(
    adapter: Adapter, named: dict[str, TableModels], seed: int, quick: bool
) -> list[BatteryCase]:
    """Return the pairs in `named`, most points to try on the first, then those of the battery."""
    own = [
        BatteryCase(name, f"{one.vocab} tokens, γ = {one.gamma}", one, points=FEWER)
        for name, one in named.items()
    ]
    if quick:
        return [replace(case, points=0) for case in (*own, shaped("zeros", seed))]
    first = replace(own[0], points=POINTS, repeats=REPEATS)
    return [first, *own[1:], *battery(seed, adapter.exponential)]


def _exact(adapter: Adapter, cases: list[BatteryCase]) -> dict[str, Any]:
    judged, cause = _judged(adapter, cases)
    laws = list(judged.values())
    wrong = {name: one for name, one in judged.items() if one.total_variation > adapter.tolerance}
    worst = max(wrong, key=lambda name: wrong[name].total_variation, default="")
    first = next(iter(wrong.values()), None)
    shown = smallest_counterexample(adapter, first) if first and not cause else None
    rules = [] if cause else equal_rules(laws, adapter.tolerance)
    covers = {case.name: case.covers for case in cases}
    if wrong and not cause:
        cause = f"wrong on {len(wrong)} of {len(laws)} pairs, most on {worst!r} ({covers[worst]})"
        if adapter.dtype != "float32" and wrong[worst].total_variation <= TOLERANCES["float32"]:
            cause += ROUNDED
    largest = max((judgement.total_variation for judgement in laws), default=None)
    return {
        "lossless": not cause,
        "total_variation": largest if shown or not cause else None,
        "expected_kept": laws[0].kept if laws else None,
        "rule": rules[0].split(" (")[0] if rules else "none",
        "equals": rules,
        "cause": cause,
        "counterexample": shown and {"words": shown.words(), **shown.rows(), **shown.too_often()},
        "edges": _edges(adapter) if laws else [],
        "notes": _notes(laws, rules),
        "claim": _claim(cases) if len(laws) == len(cases) else [],
        "pairs": {
            name: {
                "covers": covers[name],
                "total_variation": one.total_variation,
                "expected_kept": one.kept,
            }
            for name, one in judged.items()
        },
        "tolerance": adapter.tolerance,
        "calls": sum(one.calls for one in laws),
    }


def _judged(adapter: Adapter, cases: list[BatteryCase]) -> tuple[dict[str, Judgement], str]:
    """Return the verifier on each pair, and why it is not a function of its numbers, or "".

    Raises HsdError where it cannot be judged on a pair, unless it was found wrong on an earlier
    one.
    """
    judged = {}
    for case in cases:
        try:
            one = judge(adapter, case.models, case.sweep, case.points, case.repeats)
            judged[case.name] = one
            if case is cases[-1]:
                judged[cases[0].name].again.check(1)
        except Unsteady as error:
            return judged, str(error).partition(": ")[2]
        except HsdError as error:
            if any(one.total_variation > adapter.tolerance for one in judged.values()):
                return judged, ""
            where = f"; on the pair {case.name!r} ({case.covers})" if judged else ""
            raise type(error)(f"{error}{where}") from error
        if case is cases[0] and all(law.constant for law in one.laws.values()):
            raise HsdError(
                f"{adapter.name}: verify ignores uniforms and noise: "
                "draw with them, or use --sampled"
            )
    return judged, ""


def _sampled(
    adapter: Adapter, named: dict[str, TableModels], calls: int, seed: int
) -> dict[str, Any]:
    results = {
        name: sample(adapter, models, calls or 20_000, seed) for name, models in named.items()
    }
    main = next(iter(results.values()))
    wrong = any(one.wrong for one in results.values())
    error = f"probability {ERROR:g} at most for each pair"
    notes = [f"by sampling: a lossless verifier is called wrong with {error}"]
    if adapter.text:
        length = next(iter(named.values())).gamma + 1
        notes.append(f"judged are texts of {length} tokens after token 0")
    return {
        "lossless": False if wrong else None,
        "total_variation": main.total_variation,
        "expected_kept": main.kept,
        "cause": "the output leaves the target's law" if wrong else "",
        "notes": notes,
        "pairs": {
            name: {**vars(one), "wrong": one.wrong, "expected_kept": one.kept}
            for name, one in results.items()
        },
        "calls": sum(one.calls for one in results.values()),
    }


def _claim(cases: list[BatteryCase]) -> list[str]:
    """Return a sentence for each kind of check that was made.

    It says how many there were, and which faults may escape it.
    """
    exact = f"laws of all drafts added up exactly, on {len(cases)} pairs"
    sentences = [f"{exact}, as far as numbers act by thresholds"]
    for points in sorted({case.points for case in cases}, reverse=True):
        count = sum(case.points == points for case in cases)
        share = -math.log(MISSED) / max(points, 1)
        where = f"{count} pair{'s' * (count > 1)}"
        if points:
            fault = f"what deviates on more than {share:.1g} of all numbers"
            escapes = f"{fault} escapes with probability {MISSED:g}"
            sentences.append(f"{points:,} random numbers on {where}: {escapes}")
        else:
            sentences.append(f"{CHECKS} random numbers for each draft on {where}")
    if swept := [case for case in cases if case.sweep]:
        values = f"{STRATA:,} values of every number, for each draft and count of kept tokens"
        escapes = f"no interval of {1 / (STRATA - 1):g} escapes there"
        sentences.append(f"{values}, on {len(swept)} pairs: {escapes}")
    if repeats := max(case.repeats for case in cases):
        again = "points again, in other orders and after all others"
        sentences.append(f"{repeats} {again}: equal numbers gave equal tokens")
    return sentences


def _edges(adapter: Adapter) -> list[str]:
    """Return remarks on faults at numbers that a generator seldom gives, such as a coin of 0."""
    # the target never says 0 and 3
    models = rows_models([[0, 0.5, 0.5, 0]] * 3, [[0.4, 0.3, 0.2, 0.1]] * 2)
    drafts = [*itertools.product(range(4), repeat=2)]
    box = BlackBox(adapter, models, drafts)
    exponential = adapter.exponential

    def ask(coin: float, noise: float) -> list[Outcome]:
        point = (coin, coin, *[noise] * (4 if exponential else 1))
        return box.ask(range(len(drafts)), [point] * len(drafts))

    remarks = []
    sides = zip(ask(0, 0.5), ask(2 * adapter.width, 0.5), strict=True)
    if any({0, 3} & {*at[:-1]} - {*near[:-1]} for at, near in sides):
        remarks.append(
            "a coin of exactly 0 keeps a token that the target never says: compare with <, not <="
        )
    last = 1 - 2.0 ** (-53 if adapter.dtype == "float64" else -24)
    ends = {} if exponential else {"of exactly 0": 0.0, "just below 1": last}
    for name, noise in ends.items():
        if any(one[-1] in (0, 3) for coin in (0.5, last) for one in ask(coin, noise)):
            remarks.append(f"a noise {name} draws a token that has no probability")
    return remarks


def _notes(judged: list[Judgement], rules: list[str]) -> list[str]:
    notes = []
    if rules and all(name in RULES and RULES[name].resamples for name in rules):
        anew = "only if the rest of the block is drawn anew from residuals, by further calls"
        notes.append(f"{RULES[rules[0]].short} is lossless {anew}")
    if not any(law.coins for one in judged for law in one.laws.values()):
        notes.append("no coin changes anything: what is kept follows from p, q and the draft alone")
    return notes
