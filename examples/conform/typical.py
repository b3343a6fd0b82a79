"""Typical acceptance (arXiv 2401.10774) with the settings of Medusa's code, from scratch. No coin
and no q counts.
"""

import torch

EPSILON = 0.09
DELTA = 0.3


def verify(p, q, tokens, uniforms, noise):
    least = (DELTA * (-torch.special.entr(p).sum(1)).exp()).clamp(max=EPSILON)
    kept = next((t for t, token in enumerate(tokens) if p[t, token] <= least[t]), len(tokens))
    drawn = torch.searchsorted(p[kept].cumsum(0), noise * p[kept].sum(), right=True)
    return [*tokens[:kept].tolist(), int(drawn)]
