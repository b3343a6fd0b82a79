"""Token-wise verification (arXiv 2211.17192, algorithm 1), from scratch."""

import torch


def verify(p, q, tokens, uniforms, noise):
    kept = len(tokens)
    rest = p[-1]
    for t, token in enumerate(tokens):
        if uniforms[t] >= p[t, token] / q[t, token]:
            kept = t
            rest = (p[t] - q[t]).clamp(min=0)
            break
    drawn = torch.searchsorted(rest.cumsum(0), noise * rest.sum(), right=True)
    return [*tokens[:kept].tolist(), int(drawn)]
