"""Enumeration of rules for a single draft.

On a small vocabulary every draft can be listed. Summing, over all drafts, the probability of each
outcome of a rule gives the exact law of the first γ+1 output tokens; its total variation from the
target's own law is zero if and only if the rule is lossless there.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from hsd.rules import RULES, Law

LawFunction = Callable[[Tensor, Tensor, Tensor], Law]
Prefix = tuple[int, ...]
Cut = Callable[[Prefix], int]


@dataclass(frozen=True)
class TableModels:
    """A target and a draft model as tables from prefix to a row (V,) float64.

    They have a row for every prefix of up to γ tokens.
    """

    target: dict[Prefix, Tensor]
    draft: dict[Prefix, Tensor]
    vocab: int
    gamma: int

    def rows(self, table: dict[Prefix, Tensor], path: Prefix, count: int) -> Tensor:
        """Return the rows (count, V) after 0 … count-1 tokens of `path`."""
        return torch.stack([table[path[:t]] for t in range(count)])

    def drafts(self) -> list[Prefix]:
        """Return all drafts of γ tokens with a positive probability."""
        texts: list[Prefix] = [()]
        for _ in range(self.gamma):
            rows = ((x, self.draft[x].tolist()) for x in texts)
            texts = [(*x, y) for x, row in rows for y, share in enumerate(row) if share > 0]
        return texts

    def joint(self, table: dict[Prefix, Tensor], path: Prefix) -> float:
        """Return the joint probability of the tokens of `path`."""
        return math.prod((float(table[path[:t]][token]) for t, token in enumerate(path)), start=1.0)


def prefixes(vocab: int, longest: int, least: int = 0) -> list[Prefix]:
    """Return all texts of `least` to `longest` tokens, shorter ones first."""
    lengths = range(least, longest + 1)
    return [text for length in lengths for text in itertools.product(range(vocab), repeat=length)]


def random_models(vocab: int, gamma: int, seed: int) -> TableModels:
    """Return a random pair whose rows depend on the whole prefix.

    The draft resembles the target.
    """
    generator = torch.Generator().manual_seed(seed % 2**64)
    target = {}
    draft = {}
    for path in prefixes(vocab, gamma):
        logits, noise = (
            torch.randn(vocab, generator=generator, dtype=torch.float64, device="cpu")
            for _ in range(2)
        )
        target[path] = (1.5 * logits).softmax(-1)
        draft[path] = (1.5 * logits + noise).softmax(-1)
    return TableModels(target, draft, vocab, gamma)


def context_free_models(p: list[float], q: list[float], gamma: int) -> TableModels:
    """Return a pair with the same rows p and q (V numbers each) after every prefix."""
    paths = prefixes(len(p), gamma)
    target = dict.fromkeys(paths, torch.tensor(p, dtype=torch.float64, device="cpu"))
    draft = dict.fromkeys(paths, torch.tensor(q, dtype=torch.float64, device="cpu"))
    return TableModels(target, draft, len(p), gamma)


def step_law(
    models: TableModels, law: LawFunction, cut: Cut = len
) -> Iterator[tuple[float, Prefix, Tensor]]:
    """Yield the outcomes of a step.

    Each is a probability, the kept tokens, and the row (V,) that the next token is drawn from.

    cut(tokens): how many of the γ drawn tokens the rule is given. Rules stay lossless if that is a
    stopping time, which depends on the tokens before the cut alone.
    """
    for drawn in models.drafts():
        weight = models.joint(models.draft, drawn)
        draft = drawn[: cut(drawn)]
        if not draft:
            yield weight, (), models.target[()]
            continue
        p = models.rows(models.target, draft, len(draft) + 1)
        q = models.rows(models.draft, draft, len(draft))
        step = law(p, q, torch.tensor(draft, dtype=torch.int64, device="cpu"))
        for t, stop in enumerate(step.stop.tolist()):
            if stop:
                yield weight * stop, draft[:t], step.next(t)


def output_law(
    models: TableModels, law: LawFunction, resamples: bool = False, cut: Cut = len
) -> tuple[Tensor, float]:
    """Return the exact law of the first γ+1 output tokens, (V,) * (γ+1), and the mean number kept.

    After the step's own tokens the target continues alone. resamples: positions after a rejection
    are first drawn from residuals of the uncapped joint ratios, as naive HSD does. cut: see
    `step_law`.
    """
    output = torch.zeros((models.vocab,) * (models.gamma + 1), dtype=torch.float64, device="cpu")
    expected = 0.0
    for weight, kept, row in step_law(models, law, cut):
        expected += weight * len(kept)
        _spread(models, kept, row, weight, resamples and len(kept) < models.gamma, output)
    return output, expected


def _spread(
    models: TableModels, path: Prefix, row: Tensor, weight: float, resamples: bool, output: Tensor
) -> None:
    """Add `weight` to all outputs that begin with `path`, whose next token follows `row`."""
    for token, probability in enumerate(row.tolist()):
        if probability == 0:
            continue
        longer = (*path, token)
        mass = weight * probability
        if len(longer) > models.gamma:
            output[longer] += mass
            continue
        resample = resamples and len(longer) < models.gamma
        following = open_residual(models, longer) if resample else models.target[longer]
        _spread(models, longer, following, mass, resample, output)


def open_residual(models: TableModels, path: Prefix) -> Tensor:
    """Return max(p(path, ·) - q(path, ·), 0) of joint probabilities, normalised, (V,).

    Where that is 0, return the row of p.
    """
    joint_p = models.joint(models.target, path)
    joint_q = models.joint(models.draft, path)
    residual = (joint_p * models.target[path] - joint_q * models.draft[path]).clamp_min(0)
    return residual / residual.sum() if residual.sum() > 0 else models.target[path]


def target_law(models: TableModels, path: Prefix = ()) -> Tensor:
    """Return the exact law of the target's first γ+1 tokens, (V,) * (γ+1).

    With a `path`, return the law of those that follow it.
    """
    if len(path) > models.gamma:
        return torch.ones((), dtype=torch.float64, device="cpu")
    row = models.target[path]
    return torch.stack([row[x] * target_law(models, (*path, x)) for x in range(models.vocab)])


def total_variation(first: Tensor, second: Tensor) -> float:
    """Return half the sum of absolute differences of two laws of the same shape, from 0 to 1."""
    return float((first - second).abs().sum() / 2)


def ideal_kept(models: TableModels) -> float:
    """Return a bound on the mean number of tokens that any lossless rule keeps.

    It is Σ_t Σ_X min(p(X), q(X)) over prefixes X of length t = 1 … γ.
    """
    paths = prefixes(models.vocab, models.gamma, 1)
    return sum(min(models.joint(models.target, x), models.joint(models.draft, x)) for x in paths)


def audit_entry(output: Tensor, expected: float, truth: Tensor) -> dict[str, float | bool]:
    """Return the audit's entry for a rule.

    output: its output law. expected: the mean number of tokens it keeps. truth: the target's law.
    """
    distance = total_variation(output, truth)
    return {
        "expected_accepted": expected,
        "total_variation": distance,
        "lossless": distance < 1e-12,
    }


def audit_rules(models: TableModels) -> dict[str, dict[str, float | bool]]:
    """Return the audit's entry for every rule for one draft, by name."""
    truth = target_law(models)
    return {
        name: audit_entry(*output_law(models, rule.unchecked_law, rule.resamples), truth)
        for name, rule in RULES.items()
    }
