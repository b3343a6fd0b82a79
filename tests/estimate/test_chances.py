"""What a rule would have kept, from log-probabilities, is what decoding does: held to every outcome
of decoding with small models, and to recorded runs.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from loops import some
from table_models import table_pair

import hsd
from hsd.bench.score import scored_texts
from hsd.estimate import RULES, ScoredText, estimate, expected_passes, kept_chances, pass_begins

V, GAMMA, LENGTH = 3, 3, 4
Text = tuple[int, ...]


@cache
def rows(before: Text) -> tuple[torch.Tensor, torch.Tensor]:
    """Distributions of target and draft after a text; each text has its own."""
    random = np.random.default_rng([7, *before])
    p, q = (torch.tensor(random.dirichlet(np.full(V, 0.7))) for _ in range(2))
    return p, q


def table(before: Text, drafted: Text) -> tuple[torch.Tensor, torch.Tensor]:
    """p (γ+1, V) and q (γ, V) along a draft."""
    places = [rows(before + drafted[:k]) for k in range(len(drafted) + 1)]
    return torch.stack([p for p, _ in places]), torch.stack([q for _, q in places[:-1]])


class Decoding:
    """Every outcome of decoding `LENGTH` tokens by a rule: texts with their chances and passes."""

    def __init__(self, rule: str) -> None:
        self.rule = hsd.RULES[rule]

    @cache  # noqa: B019
    def step(self, before: Text) -> dict[Text, tuple[float, float]]:
        """Of each text with this beginning: its chance, and its chance times its passes."""
        if len(before) == LENGTH:
            return {before: (1.0, 0.0)}
        texts: dict[Text, list[float]] = defaultdict(lambda: [0.0, 0.0])
        for chance, kept, token in self.outcomes(before):
            new = (before + kept + (token,))[:LENGTH]
            for text, (share, passes) in self.step(new).items():
                texts[text][0] += chance * share
                texts[text][1] += chance * (passes + share)
        return {text: (share, passes) for text, (share, passes) in texts.items()}

    def outcomes(self, before: Text) -> Any:
        """Yield chance, kept tokens and the next token of a pass."""
        for drafted in itertools.product(range(V), repeat=GAMMA):
            p, q = table(before, drafted)
            law = self.rule.law(p, q, torch.tensor(drafted))
            proposed = float(torch.stack([q[i, x] for i, x in enumerate(drafted)]).prod())
            for t in range(GAMMA + 1):
                if law.stop[t] > 0:
                    for token, share in enumerate(law.next(t).tolist()):
                        yield proposed * float(law.stop[t]) * share, drafted[:t], token

    def kept(self, text: Text, k: int) -> float:
        """The chance that the first pass keeps at least k tokens, given that this text comes."""
        total = 0.0
        for chance, kept, token in self.outcomes(()):
            begin = (*kept, token)
            if begin[:LENGTH] == text[: len(begin)] and len(kept) >= k:
                total += chance * self.step(begin[:LENGTH]).get(text, (0.0, 0.0))[0]
        return total / self.step(())[text][0]


def numbers(text: Text) -> tuple[np.ndarray, np.ndarray]:
    """Log-probabilities of a text's tokens under target and draft."""
    both = [[math.log(row[x]) for row in rows(text[:i])] for i, x in enumerate(text)]
    logp, logq = np.array(both).T
    return logp, logq


@pytest.mark.parametrize("rule", ["tokenwise", "hsd"])
def test_chances_and_passes_are_those_of_every_outcome_of_decoding(rule: str):
    decoding = Decoding(rule)
    texts = decoding.step(())
    assert len(texts) == V**LENGTH
    for text, (share, passes) in texts.items():
        logp, logq = numbers(text)
        assert abs(share - np.exp(logp.sum())) < 1e-12
        chances = kept_chances(rule, logp, logq, GAMMA)
        assert abs(expected_passes(chances)[-1] - passes / share) < 1e-12
    for text in list(texts)[::9]:
        chances = kept_chances(rule, *numbers(text), GAMMA)
        for k in range(1, GAMMA + 1):
            assert abs(chances[0, k - 1] - decoding.kept(text, k)) < 1e-12


def test_rules_stand_in_their_order_on_every_text():
    random = np.random.default_rng(0)
    logp, logq = np.log(random.uniform(0.01, 1, (2, 40, 30)))
    vanilla, usual, ideal = (
        kept_chances(name, logp, logq, 6) for name in ("tokenwise", "hsd", "ideal")
    )
    assert (vanilla <= usual + 1e-15).all()
    assert (usual <= ideal + 1e-15).all()
    assert (usual > vanilla + 1e-6).any()


def test_a_token_that_the_draft_cannot_write_ends_every_draft():
    logp = np.log([0.5, 0.5, 0.5])
    logq = np.log([0.5, 0.5, 0.5])
    logq[1] = -np.inf
    for rule in RULES:
        chances = kept_chances(rule, logp, logq, 3)
        assert chances[0, 0] > 0
        assert (chances[0, 1:] == 0).all()
        assert (chances[1] == 0).all()


def test_begins_of_a_draft_that_is_always_kept():
    logp = logq = np.full(12, -1.0)
    begins = pass_begins(kept_chances("hsd", logp, logq, 3))
    assert begins[:, 2].tolist() == [1, 0, 0, 0] * 3
    assert begins[:, 0].tolist() == [1, 0] * 6
    assert begins.sum(0).tolist() == [6, 4, 3]


PROMPTS = [(f"{a}{b}", "") for a in "abc" for b in "abcd"]
OPTIONS = {"max_new_tokens": 48, "temperature": 1.0}


@pytest.fixture(scope="module")
def letters() -> Any:
    return table_pair(vocab=5, order=2, seed=4)


@pytest.fixture(scope="module")
def found(letters: Any) -> Any:
    """The estimate from texts of plain decoding."""
    return estimate(list(scored_texts(letters, PROMPTS, OPTIONS, range(10))), 8)


@pytest.mark.parametrize("rule", some(["tokenwise", "hsd"], 2))
@pytest.mark.parametrize(
    "gamma", [5, *(pytest.param(gamma, marks=pytest.mark.slow) for gamma in (1, 2, 3, 4, 6, 7, 8))]
)
def test_recorded_runs_agree(letters: Any, found: Any, rule: str, gamma: int):
    """Runs with seeds of their own: their tokens per pass differ from the estimate by chance."""
    rates = []
    for number, (prompt, _) in enumerate(PROMPTS):
        for seed in range(4):
            how = {"rule": rule, "gamma": gamma, "seed": 1000 + 10 * number + seed}
            steps = hsd.run(letters, prompt, **how, **OPTIONS).steps
            rates.append((sum(len(step.committed) for step in steps), len(steps)))
    tokens, passes = np.array(rates, np.float64).T
    again = np.random.default_rng(0).integers(len(rates), size=(1000, len(rates)))
    of_runs = (tokens[again].sum(-1) / passes[again].sum(-1)).std()
    estimated = found.rules[rule].tokens_per_pass
    low, middle, high = (
        float(x[gamma - 1]) for x in (estimated.low, estimated.value, estimated.high)
    )
    error = math.hypot(of_runs, (high - low) / (2 * 1.96))
    assert abs(tokens.sum() / passes.sum() - middle) < 2.6 * error  # 1 in 100 by chance
    assert error < 0.05 * middle


def test_easy_and_hard_places_alternate():
    """Passes begin at hard places: the mean over places says 3.5 tokens, decoding gives 1.7."""
    easy = np.tile(np.repeat([0.0, -40.0], 600), 4)
    texts = [ScoredText(np.full(4800, -1.0), easy - 1.0)]
    rated = estimate(texts, 5).rules["hsd"]
    assert 1 + rated.kept_at_least.value.sum() == pytest.approx(3.5, abs=0.05)
    assert rated.tokens_per_pass.value[4] == pytest.approx(4800 / (400 + 2400), abs=0.01)
