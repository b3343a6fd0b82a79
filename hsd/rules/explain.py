"""The quantities that explain a draft branch by branch: for pictures and teaching, not needed to decode.

Shapes as in `hsd.rules.law`. Source: 2601.05724, Definitions 4-5, Theorems 2 and 4, Eqs. 17-18.
"""

from __future__ import annotations

import torch
from torch import Tensor

from hsd.rules.law import PrefixRatios, both_masses, of_tokens


def branch_masses(p: Tensor, q: Tensor, tokens: Tensor) -> dict[str, Tensor]:
    """Return all explanation quantities of one draft: p (γ+1, V), q (γ, V), tokens (γ,).

    One value per branch t = 0 … γ-1, float64; `ratio`, `capped` and `pivot` also have t = γ. Masses are relative to
    `joint_q`, the draft's probability of the prefix; multiply to get joint masses.
    ratio r, capped c; pivot m: after how many tokens r was largest before this position (0: never above 1);
    deficient S = Σ max(c p - q, 0); excess E = S + 1 - c; distance: total variation of p and q;
    asymmetry: p(prefix) - q(prefix), uncapped and joint; entropy of the target's row, in nats.
    """
    ratios = PrefixRatios.of(p, q, tokens)
    deficient, _ = both_masses(p[:-1], q, ratios.log_capped[:-1].exp())
    kept = (of_tokens(rows, tokens) for rows in (p, q))
    joint_p, joint_q = (torch.cat([row.new_ones(1), row.cumprod(0)])[: len(row)] for row in kept)  # of 0 … γ-1 tokens
    return {
        "ratio": ratios.log.clamp_max(690).exp(),  # e^690 ≈ 1e300: finite in every format
        "capped": ratios.log_capped.exp(),
        "pivot": _pivots(ratios.log),
        "deficient": deficient,
        "excess": deficient - torch.expm1(ratios.log_capped[:-1]),
        "distance": both_masses(p[:-1], q, torch.ones_like(joint_q))[0],
        "joint_q": joint_q,
        "asymmetry": joint_p - joint_q,
        "entropy": torch.special.entr(p[:-1]).sum(-1).double(),
    }


def _pivots(log: Tensor) -> Tensor:
    """Return (γ+1,) int64: the position in 1 … t-1 of the largest ratio if that exceeds 1, else 0 (Definition 4)."""
    best = log.cummax(0)  # position 0 stands for "never above 1", because log r_0 = 0
    earlier = torch.cat([best.indices.new_zeros(1), best.indices[:-1]])
    return torch.where(log[earlier] > 0, earlier, 0)
