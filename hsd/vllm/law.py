"""HSD for a batch of drafts, filled up to one length: on the device, without a loop over the drafts."""

import torch
from torch import Tensor
from torch.nn.functional import one_hot, pad

from hsd.rules.law import TINY, both_masses


def hsd_of_batch(p: Tensor, q: Tensor | None, tokens: Tensor, coins: Tensor) -> tuple[Tensor, Tensor]:
    """Judge B drafts of at most n > 0 tokens as `hsd.rules.chain.hsd_law` does, without waiting for the device.

    Returns how many tokens of each are kept, (B,) int64, and for the token after them weights (B, V) that need not sum
    to 1; they mean nothing where a whole draft is kept. p: (B, n, V), the target's probabilities in each token's place.
    q: (B, n, V), the draft's, or None if each drafted token had q = 1. tokens: (B, n) int64, -1 from the end of a
    shorter draft on. coins: (B, n) in [0, 1), one for each token.
    """
    (count, size, vocab), here = p.shape, tokens.clamp_min(0)
    p_of = p.gather(2, here[..., None])[..., 0].double()
    q_of = torch.ones_like(p_of) if q is None else q.gather(2, here[..., None])[..., 0].double()
    log = pad((p_of.log() - q_of.clamp_min(TINY).log()).cumsum(1), (1, 0))  # (B, n+1): log r_t
    peak = log.cummax(1).values
    factor = (log - peak).exp()[:, :-1]  # of the target's rows in the residuals
    if q is None:
        missing, excess = factor * (1 - p_of), 1 - factor * p_of
    else:
        masses = both_masses(p.flatten(0, 1), q.flatten(0, 1), factor.flatten())
        missing, excess = (mass.view(count, size).double() for mass in masses)
    inner = torch.where(excess > 0, missing / excess, 1.0).clamp(0, 1)  # of the tests of the prefixes before each token
    whole = (log[:, 1:] - peak[:, :-1]).clamp_max(0).exp()
    length = (tokens >= 0).long().cumprod(1).sum(1, keepdim=True)  # without what follows a -1
    places = torch.arange(1, size + 1, device=p.device)
    threshold = torch.where(places < length, pad(inner[:, 1:], (0, 1)), whole * (places == length))
    kept = ((coins < threshold) * places).amax(1)
    row = torch.arange(count, device=p.device), kept.clamp_max(size - 1)
    p, q = p[row], one_hot(here[row], vocab).to(p.dtype) if q is None else q[row]
    left = (p * factor[row][:, None].to(p.dtype) - q).clamp_min_(0)
    target = (left.sum(1, keepdim=True) <= 0) | (kept[:, None] >= length)  # nothing is left, or was drafted there
    return kept, torch.where(target, p, left)
