"""A mistake that is easily made: block verification that corrects as the token-wise rule does, from
max(p - q, 0).
"""

import torch
from block import share


def verify(p, q, tokens, uniforms, noise):
    gamma = len(tokens)
    c = [1.0]
    for t, token in enumerate(tokens):
        c.append(min(1.0, c[t] * float(p[t, token] / q[t, token])))
    kept = next((t for t in range(gamma, 0, -1) if uniforms[t - 1] < share(p, q, c, t)), 0)
    rest = p[gamma] if kept == gamma else (p[kept] - q[kept]).clamp(min=0)
    drawn = torch.searchsorted(rest.cumsum(0), noise * rest.sum(), right=True)
    return [*tokens[:kept].tolist(), int(drawn)]
