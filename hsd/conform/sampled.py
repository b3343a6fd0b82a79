"""A sequential test, for verifiers whose random numbers cannot be set.

It may stop after any call at the same error.

Under the null hypothesis the first tokens follow the target's law π. For every length n = 1 … γ+1
the counts of the first n tokens have a likelihood under laws drawn from Dirichlet(c π), over that
under π; averaged over the lengths and a few concentrations c it is a martingale that starts at 1,
so with a lossless verifier it reaches 1/α ever with probability at most α (Ville's inequality). A
wrong verifier makes it grow without bound.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from hsd.audit import TableModels, random_models, target_law, total_variation
from hsd.audit.chains import prefixes
from hsd.conform.adapter import Adapter, BlackBox, limit_candidates, texts
from hsd.conform.boxes import Outcome

ERROR = 1e-3  # α: how often a lossless verifier is called wrong, at most
CONCENTRATIONS = (30.0, 300.0, 3000.0, 30000.0)
BATCH = 500
LARGEST = 1e300  # of the evidence: a number that every reader of JSON takes


@dataclass(frozen=True)
class SampleResult:
    """The result of sampling `calls` drafts, or texts.

    evidence: the test's largest value so far; 1/`ERROR` or more says "not lossless".
    total_variation: of the observed first γ+1 tokens from the target's law, chance included.
    at_most: an upper limit of the true one with probability 1 - `ERROR` (Weissman et al. 2003).
    kept: the mean number of kept tokens, None for texts.
    """

    calls: int
    evidence: float
    total_variation: float
    at_most: float
    kept: float | None

    @property
    def wrong(self) -> bool:
        return self.evidence >= 1 / ERROR


def sample(
    adapter: Adapter, models: TableModels, calls: int, seed: int = 0, to_the_end: bool = False
) -> SampleResult:
    """Test a verifier on `calls` random drafts.

    The test stops early when the verifier is found wrong, unless `to_the_end`.

    An adapter that generates texts is tested on these, on models of `chain_models`. The adapter may
    draw from torch's global generator, which is seeded meanwhile. Raises HsdError as `BlackBox` and
    `texts` do.
    """
    models = limit_candidates(adapter, models)
    truth = target_law(models)
    generator = torch.Generator().manual_seed(seed % 2**64)
    counts = torch.zeros_like(truth)
    kept = 0
    done = 0
    evidence = 0.0
    ask = _texts if adapter.text else _verified
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed((seed + 1) % 2**64)
        while done < calls and (to_the_end or evidence < 1 / ERROR):
            count = min(BATCH, calls - done)
            for outcome in ask(adapter, models, count, generator):
                kept += len(outcome) - 1
                counts[_continued(models.target, outcome, counts.ndim, generator)] += 1
            done += count
            evidence = max(evidence, _evidence(counts, truth))
    distance = total_variation(counts / done, truth)
    chance = math.sqrt((counts.numel() * math.log(2) + math.log(1 / ERROR)) / (2 * done))
    at_most = min(1.0, distance + chance)
    mean_kept = None if adapter.text else kept / done
    return SampleResult(done, evidence, distance, at_most, mean_kept)


def chain_models(vocab: int, gamma: int, seed: int) -> TableModels:
    """Return a random pair whose rows depend on the last token alone (0 at first).

    It is made for texts of γ+2 tokens: one by the target alone, with which some implementations
    begin, and a whole step.
    """
    pair = random_models(vocab, 1, seed)
    paths = prefixes(vocab, gamma + 1)
    target, draft = (
        {x: table[x[-1:] or (0,)] for x in paths} for table in (pair.target, pair.draft)
    )
    return TableModels(target, draft, vocab, gamma + 1)


def _verified(
    adapter: Adapter, models: TableModels, count: int, generator: torch.Generator
) -> list[Outcome]:
    drafts = [_continued(models.draft, (), models.gamma, generator) for _ in range(count)]
    box = BlackBox(adapter, models, drafts)
    return box.ask(*box.random_points([*range(count)], generator))


def _texts(
    adapter: Adapter, models: TableModels, count: int, generator: torch.Generator
) -> list[Outcome]:
    p, q = (
        torch.stack([table[(x,)] for x in range(models.vocab)])
        for table in (models.target, models.draft)
    )
    seeds = torch.randint(2**31, (count,), generator=generator, device="cpu").tolist()
    return texts(adapter, p, q, models.gamma - 1, models.gamma + 1, seeds)


def _continued(
    table: dict[Outcome, Tensor], path: Outcome, length: int, generator: torch.Generator
) -> Outcome:
    while len(path) < length:
        path = (*path, int(torch.multinomial(table[path], 1, generator=generator)))
    return path


def _evidence(counts: Tensor, truth: Tensor) -> float:
    """Return the Bayes factor of `counts` against `truth`.

    It is a mean over lengths of prefixes and Dirichlet priors.
    """
    vocab = len(truth)
    logs = []
    for length in range(1, counts.ndim + 1):
        n, law = (table.reshape(vocab**length, -1).sum(1) for table in (counts, truth))
        if bool((n[law == 0] > 0).any()):
            return LARGEST
        n = n[law > 0]
        law = law[law > 0]
        for c in CONCENTRATIONS:
            gained = torch.lgamma(c * law + n) - torch.lgamma(c * law) - n * law.log()
            logs.append(gained.sum() + math.lgamma(c) - math.lgamma(c + float(n.sum())))
    total = float(torch.logsumexp(torch.stack(logs), 0)) - math.log(len(logs))
    return min(math.exp(min(total, 700.0)), LARGEST)
