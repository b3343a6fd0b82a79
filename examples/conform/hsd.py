"""Hierarchical verification (arXiv 2601.05724, algorithm 2) by the paper's definitions 4 and 5,
from scratch.
"""

import torch


def verify(p, q, tokens, uniforms, noise):
    gamma = len(tokens)
    ratio = [1.0]
    for t, token in enumerate(tokens):
        ratio.append(ratio[t] * float(p[t, token] / q[t, token]))
    star = [1.0, *(capped(ratio, t) for t in range(1, gamma + 1))]
    kept = 0
    for t in range(gamma, 0, -1):
        if uniforms[t - 1] < (min(1.0, star[t]) if t == gamma else branch(p[t], q[t], star[t])):
            kept = t
            break
    rest = p[gamma] if kept == gamma else (min(1.0, star[kept]) * p[kept] - q[kept]).clamp(min=0)
    drawn = torch.searchsorted(rest.cumsum(0), noise * rest.sum(), right=True)
    return [*tokens[:kept].tolist(), int(drawn)]


def capped(ratio, t):
    """r*_t: the ratio since the largest one before t, if that is above 1."""
    top = max(ratio[:t])
    return ratio[t] / max(top, 1.0)


def branch(p, q, star):
    """D*(p, q) / D*(q, p) under a prefix, 1 where both are 0."""
    gap = min(1.0, star) * p - q
    missing = float(gap.clamp(min=0).sum())
    excess = float((-gap).clamp(min=0).sum())
    return missing / excess if excess > 0 else 1.0
