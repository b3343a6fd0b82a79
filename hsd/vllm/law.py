"""HSD's law for the drafts of a whole batch at once: ragged, on the device, without a loop over requests."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad

from hsd.rules.law import TINY, both_masses


class BatchLaw:
    """The law that `hsd.rules.chain.hsd_law` gives each of B requests. Waits for no device.

    p: (N, V), the target's rows in which each of N tokens was drafted, request by request. q: (N, V), the draft's; None
    where it is certain of its tokens. tokens: (N,) int64, -1 for none: the draft of the request ends before it. sizes:
    how many tokens each request drafted; W, the longest draft.
    threshold: (B, W) float64, of the tests at 1 … W; 0 beyond a draft. begins: (B,), the first row of each request.
    """

    def __init__(self, p: Tensor, q: Tensor | None, tokens: Tensor, sizes: Sequence[int]) -> None:
        self._p, self._q, self._tokens, self._sizes = p, q, tokens, sizes
        counts = torch.tensor(sizes, dtype=torch.int64)
        request = torch.arange(len(sizes)).repeat_interleave(counts)
        begins = counts.cumsum(0) - counts
        place = torch.arange(len(tokens)) - begins[request]
        self._places, self.begins = (request.to(p.device), place.to(p.device)), begins.to(p.device)
        here = tokens.clamp_min(0)[:, None]
        p_of = p.gather(1, here)[:, 0].double()
        q_of = torch.ones_like(p_of) if q is None else q.gather(1, here)[:, 0].double()
        log = pad(self._padded(p_of.log() - q_of.clamp_min(TINY).log(), 0.0).cumsum(1), (1, 0))  # (B, W + 1): log r_t
        peak = log.cummax(1).values
        self._factor = (log - peak).exp()[self._places]  # (N,): of the target's row in the residual there
        if q is None:
            missing, excess = self._factor * (1 - p_of), 1 - self._factor * p_of
        else:
            missing, excess = both_masses(p, q, self._factor)
        share = torch.where(excess > 0, missing / excess, 1.0).clamp(0, 1).double()
        inner = pad(self._padded(share, 0.0), (0, 1))[:, 1:]  # of the prefix before each token
        whole = (log[:, 1:] - peak[:, :-1]).clamp_max(0).exp()
        self._length = (self._padded((tokens < 0).double(), 1.0).cumsum(1) == 0).sum(1)  # without what follows a -1
        places, length = torch.arange(1, inner.shape[1] + 1, device=p.device), self._length[:, None]
        self.threshold = torch.where(places < length, inner, torch.where(places == length, whole, 0.0))

    def _padded(self, values: Tensor, fill: float) -> Tensor:
        """(N,) → (B, W): the values of each request in a row of its own."""
        rows = values.new_full((len(self._sizes), max(self._sizes, default=0)), fill)
        return rows.index_put_(self._places, values)

    def kept(self, coins: Tensor) -> Tensor:
        """Return (B,) int64: how many tokens are kept with coins (N,) in [0, 1); a draft's token t has its t-th."""
        places = torch.arange(1, self.threshold.shape[1] + 1, device=coins.device)
        return pad((self._padded(coins, 1.0) < self.threshold) * places, (1, 0)).amax(1)

    def following(self, kept: Tensor) -> Tensor:
        """Return (B, V): what the token after the kept ones follows; of no use where the whole draft was kept."""
        at = (self.begins + kept).clamp_max(len(self._tokens) - 1)
        p, tokens = self._p[at], self._tokens[at].clamp_min(0)
        q = torch.zeros_like(p).scatter_(1, tokens[:, None], 1.0) if self._q is None else self._q[at]
        left = (p * self._factor[at, None].to(p.dtype) - q).clamp_min_(0)
        whole = (left.sum(1) <= 0) | (kept >= self._length)  # nothing is left over, or nothing was drafted there
        return torch.where(whole[:, None], p, left)


def drawn(rows: Tensor, numbers: Tensor) -> Tensor:
    """Return (B,) int64: the tokens that numbers (B,) in [0, 1) pick from rows (B, V), as `sampling.draw` does."""
    sums = rows.double().cumsum(1)
    total = sums[:, -1:].contiguous()
    picked = torch.searchsorted(sums, numbers[:, None].double() * total, right=True)
    return torch.minimum(picked, torch.searchsorted(sums, total))[:, 0]
