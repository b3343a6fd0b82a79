"""For verifiers whose random numbers cannot be set: a test that may look after every call and still keeps its error.

Under the null hypothesis the first tokens follow the target's law π. For every length n = 1 … γ+1 the counts of the
first n tokens have a likelihood under laws drawn from Dirichlet(c π), over that under π; averaged over the lengths and
a few concentrations c it is a martingale that starts at 1, so with a lossless verifier it reaches 1/α ever with
probability at most α (Ville's inequality). A wrong verifier makes it grow without bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from hsd.audit import TableModels, target_law, total_variation
from hsd.conform.adapter import Adapter, BlackBox

ERROR = 1e-3  # α: how often a lossless verifier is called wrong, at most
CONCENTRATIONS = (30.0, 300.0, 3000.0, 30000.0)
BATCH = 500
LARGEST = 1e300  # of the evidence: a number that every reader of JSON takes


@dataclass(frozen=True)
class Sampled:
    """What sampling found after `calls` drafts.

    evidence: the test's largest value so far; 1/`ERROR` or more says "not lossless". total_variation: of the counted
    first γ+1 tokens from the target's law, chance included. at_most: what the true one stays below, with probability
    1 - `ERROR` (Weissman et al. 2003). kept: the mean number of kept tokens.
    """

    calls: int
    evidence: float
    total_variation: float
    at_most: float
    kept: float

    @property
    def wrong(self) -> bool:
        return self.evidence >= 1 / ERROR


def sample(adapter: Adapter, models: TableModels, calls: int, seed: int = 0) -> Sampled:
    """Draw drafts, have them verified, let the target go on; ends early when the verifier is found wrong.

    The adapter may draw from torch's global generator, which is seeded meanwhile. Raises HsdError as `BlackBox` does.
    """
    gamma, vocab, truth = models.gamma, models.vocab, target_law(models)
    generator = torch.Generator().manual_seed(seed)
    counts, kept, done, evidence = torch.zeros_like(truth), 0, 0, 0.0
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed + 1)
        while done < calls and evidence < 1 / ERROR:
            count = min(BATCH, calls - done)
            drafts = [_continued(models.draft, (), gamma, generator) for _ in range(count)]
            numbers = torch.rand(count, gamma + vocab, generator=generator, dtype=torch.float64)
            if adapter.race:
                numbers[:, gamma:] = -torch.log1p(-numbers[:, gamma:])
            points = [tuple(point) for point in numbers.tolist()]
            for outcome in BlackBox(adapter, models, drafts).ask(range(count), points):
                kept += len(outcome) - 1
                counts[_continued(models.target, outcome, gamma + 1, generator)] += 1
            done += count
            evidence = max(evidence, _evidence(counts, truth))
    distance = total_variation(counts / done, truth)
    chance = math.sqrt((counts.numel() * math.log(2) + math.log(1 / ERROR)) / (2 * done))
    return Sampled(done, evidence, distance, min(1.0, distance + chance), kept / done)


def _continued(
    table: dict[tuple[int, ...], Tensor], path: tuple[int, ...], length: int, generator: torch.Generator
) -> tuple[int, ...]:
    while len(path) < length:
        path = (*path, int(torch.multinomial(table[path], 1, generator=generator)))
    return path


def _evidence(counts: Tensor, truth: Tensor) -> float:
    """The mean, over lengths and concentrations, of the likelihood ratio of all counts."""
    logs = []
    for length in range(1, counts.ndim + 1):
        rest = tuple(range(length, counts.ndim))
        n, law = (whole.sum(rest).flatten() if rest else whole.flatten() for whole in (counts, truth))
        if bool((n[law == 0] > 0).any()):
            return LARGEST
        n, law = n[law > 0], law[law > 0]
        for c in CONCENTRATIONS:
            gained = torch.lgamma(c * law + n) - torch.lgamma(c * law) - n * law.log()
            logs.append(gained.sum() + math.lgamma(c) - math.lgamma(c + float(n.sum())))
    total = float(torch.logsumexp(torch.stack(logs), 0)) - math.log(len(logs))
    return min(math.exp(min(total, 700.0)), LARGEST)
