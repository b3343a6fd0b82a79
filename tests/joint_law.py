"""For statistical tests: the exact joint law of a table model's first tokens, and whether counted
outputs fit it.

Written in plain Python floats, apart from what it judges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
import torch
from table_models import LetterCodec, TableModel

from hsd.decoding.loop import Decoding, run
from hsd.decoding.options import RunOptions
from hsd.decoding.system import make_system
from hsd.models import Pair
from hsd.rng import Numbers

Law = dict[tuple[int, ...], float]


def diagonal(first: Sequence[Any], second: Sequence[Any]) -> list[Any]:
    """All pairs; quick are those in which every value comes up at least once, the others are marked
    slow.
    """
    count = max(len(first), len(second))
    quick = {(i % len(first), i % len(second)) for i in range(count)}
    return [
        pytest.param(one, other, marks=() if (i, j) in quick else pytest.mark.slow)
        for i, one in enumerate(first)
        for j, other in enumerate(second)
    ]


def toy_pair(
    p: tuple[float, ...], q: tuple[float, ...], end_ids: frozenset[int] = frozenset()
) -> Pair:
    """Two context-free models: every token of the target follows `p`, every drafted one `q`."""
    target, draft = (torch.tensor([row], dtype=torch.float64) for row in (p, q))
    return Pair(
        "toy",
        TableModel(target, "toy target"),
        TableModel(draft, "toy draft"),
        LetterCodec(len(p), end_ids),
    )


def first_tokens(
    pair: Pair,
    count: int,
    seeds: Iterable[int],
    numbers: Callable[[int], Numbers] | None = None,
    prompt: str = "a",
    **options: object,
) -> Counter[tuple[int, ...]]:
    """The first `count` tokens (fewer where the text ends) of one decoding per seed, counted."""
    found: Counter[tuple[int, ...]] = Counter()
    for seed in seeds:
        made = RunOptions(seed=seed, trace=False, **options)
        system = make_system(pair, made)
        decoding = Decoding(system, prompt, numbers(seed) if numbers else None)
        tokens: list[int] = []
        while len(tokens) < count and (step := next(decoding, None)):
            tokens += step.tokens
        decoding.close()
        found[tuple(tokens[:count])] += 1
    return found


def exact_law(
    pair: Pair,
    count: int,
    prompt: str = "a",
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
) -> Law:
    """The target's own law of its first `count` tokens; a text that ended is shorter."""
    model = pair.target
    assert isinstance(model, TableModel)
    law: Law = {(): 1.0}
    prefix = pair.codec.encode(prompt)
    for _ in range(count):
        longer: Law = {}
        for path, weight in law.items():
            if path and path[-1] in pair.codec.end_ids:
                longer[path] = weight
                continue
            row = model.table[model.row_index(prefix + list(path))].tolist()
            for token, probability in enumerate(warped(row, temperature, top_k, top_p)):
                longer[(*path, token)] = weight * probability
        law = longer
    return law


def token_law(pair: Pair, prompt: str, count: int = 2, **warping: float) -> Law:
    """The law of the next tokens of any target, from one fresh forward pass per text that may
    continue.
    """
    ids = pair.encode(prompt)
    law: Law = {(): 1.0}
    for _ in range(count):
        longer: Law = {}
        for path, weight in law.items():
            if path and path[-1] in pair.codec.end_ids:
                longer[path] = weight
                continue
            for token, share in _likely(pair, [*ids, *path], warping):
                longer[(*path, token)] = weight * share
        law = longer
    return law


def _likely(pair: Pair, ids: list[int], warping: dict[str, float]) -> list[tuple[int, float]]:
    """The tokens that may follow `ids`, with their probabilities."""
    logits = pair.target.start().forward(torch.tensor(ids), keep=1)[0, : pair.vocab_size]
    row = warped(logits.double().softmax(-1).tolist(), **warping)
    return [(token, probability) for token, probability in enumerate(row) if probability > 0]


def two_token_p_value(pair: Pair, prompt: str, rule: str, seeds: int, **warping: float) -> float:
    """How well `hsd.run` with two new tokens fits that law."""
    options = {"rule": rule, "max_new_tokens": 2, "trace": False, **warping}
    counts = Counter(tuple(run(pair, prompt, seed=seed, **options).tokens) for seed in range(seeds))
    return chi_square_p(counts, token_law(pair, prompt, **warping))


def warped(
    row: list[float], temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0
) -> list[float]:
    """`row` at a temperature, cut at top_k, then at top_p, normalised each time; without ties."""
    row = normalised([v ** (1 / temperature) for v in row])
    ranked = sorted(range(len(row)), key=lambda i: -row[i])
    if 0 < top_k < len(row):
        likeliest = set(ranked[:top_k])
        row = normalised([v if i in likeliest else 0.0 for i, v in enumerate(row)])
    kept = set()
    mass = 0.0
    for i in ranked:
        if mass < top_p:
            kept.add(i)
        mass += row[i]
    return normalised([v if i in kept else 0.0 for i, v in enumerate(row)])


def normalised(row: list[float]) -> list[float]:
    return [v / sum(row) for v in row]


def chi_square_p(counts: Counter[tuple[int, ...]], law: Law) -> float:
    """The p-value of `counts` under `law`; cells expected fewer than 5 times are put together. 0
    for the impossible.
    """
    total = sum(counts.values())
    if any(law.get(outcome, 0.0) == 0 for outcome in counts):
        return 0.0
    large = {outcome: total * mass for outcome, mass in law.items() if total * mass >= 5}
    pairs = [(counts[outcome], expected) for outcome, expected in large.items()]
    rest = total - sum(expected for _, expected in pairs)
    if rest > 1:
        pairs.append((total - sum(count for count, _ in pairs), rest))
    statistic = sum((count - expected) ** 2 / expected for count, expected in pairs)
    half_degrees = torch.tensor((len(pairs) - 1) / 2, dtype=torch.float64)
    return float(
        torch.special.gammaincc(half_degrees, torch.tensor(statistic / 2, dtype=torch.float64))
    )
