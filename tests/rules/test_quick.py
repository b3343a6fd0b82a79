"""Rules in plain numbers decide as their laws do."""

from __future__ import annotations

import pytest
import torch

from hsd.rules import RULES
from hsd.rules.quick import QUICK


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.parametrize("gamma", [1, 2, 5])
def test_plain_numbers_have_the_thresholds_and_factors_of_the_law(name: str, gamma: int):
    """Each threshold is found between coins just below and just above it; where the others say no,
    it decides alone.
    """
    noise = torch.Generator().manual_seed(gamma)
    for heat in (0.3, 1.0, 3.0):
        p = (heat * torch.randn(gamma + 1, 12, generator=noise, dtype=torch.float64)).softmax(-1)
        q = (
            p[:-1].log() + heat * torch.randn(gamma, 12, generator=noise, dtype=torch.float64)
        ).softmax(-1)
        tokens = torch.multinomial(q, 1, generator=noise).squeeze(-1)
        law = RULES[name].law(p, q, tokens)

        def masses(
            t: int, a: float, p: torch.Tensor = p, q: torch.Tensor = q
        ) -> tuple[float, float]:
            gap = a * p[t] - q[t]
            return float(gap.clamp_min(0).sum()), float(-gap.clamp_max(0).sum())

        px, qx = (rows[range(gamma), tokens].tolist() for rows in (p, q))
        for t, threshold in enumerate(law.threshold.tolist()):
            for coin in (threshold - 1e-12, threshold + 1e-12):
                coins = [0.0 if law.forward else 1.0] * gamma
                coins[t] = coin
                kept, a = QUICK[name](px, qx, coins, masses)
                assert kept == int(law.kept(torch.tensor(coins, dtype=torch.float64)))
                assert kept == gamma or a == pytest.approx(float(law.a[kept]), abs=1e-12)


@pytest.mark.parametrize("name", QUICK)
def test_a_token_that_the_target_never_writes_is_not_kept_and_nothing_drafted_keeps_nothing(
    name: str,
):
    assert QUICK[name]([0.5, 0.0], [0.4, 0.3], [0.9, 0.0], lambda t, a: (0.0, 1.0)) in (
        (1, 1.0),
        (0, 1.0),
    )
    assert QUICK[name]([], [], [], lambda t, a: (0.0, 0.0)) == (0, 1.0)
