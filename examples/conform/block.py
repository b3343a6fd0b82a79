"""Block verification (arXiv 2403.10444, algorithm 2), from scratch."""

import torch


def verify(p, q, tokens, uniforms, noise):
    gamma = len(tokens)
    c = [1.0]
    for t, token in enumerate(tokens):
        c.append(min(1.0, c[t] * float(p[t, token] / q[t, token])))
    kept = next((t for t in range(gamma, 0, -1) if uniforms[t - 1] < share(p, q, c, t)), 0)
    rest = p[gamma] if kept == gamma else (c[kept] * p[kept] - q[kept]).clamp(min=0)
    drawn = torch.searchsorted(rest.cumsum(0), noise * rest.sum(), right=True)
    return [*tokens[:kept].tolist(), int(drawn)]


def share(p, q, c, t):
    """With which probability the first t tokens are kept, if no more are."""
    if t == len(q):
        return c[t]
    missing = float((c[t] * p[t] - q[t]).clamp(min=0).sum())
    whole = missing + 1 - c[t]
    return missing / whole if whole > 0 else 1.0
