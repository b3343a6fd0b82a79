"""Two rows coupled by one exponential race (Daliri et al., arXiv 2408.07978).

The race gives the token that wins with p where x won with q.

Each token i has a time E_i = -ln U_i, the same for both rows; a row w picks the token with the
least E_i / w_i. How likely q picks x and p picks y on equal times is, off the diagonal, with the
ratios r_i = q_i / p_i,

    J(x, y) = q_x p_y (G(r_x) - G(r_y))⁺
    with  G(r) = ∫₀ʳ ds / M(s)²  and  M(s) = Σᵢ max(q_i, s p_i);

the two winners' times are then q_x a and p_y s a, all others above max(q_i, s p_i) a. Between two
ratios M is a straight line, so that G grows by (s₂ - s₁) / M(s₁) M(s₂) there. On the diagonal J(x,
x) = q_x p_x / (p_x + L_x) with the lead L_x = Σᵢ max(q_x p_i - p_x q_i, 0) of the other tokens.
Rows of J sum to q, columns to p. Everything is in double precision: a token that a sum of single
ones would round away can still win.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from hsd.rules.law import Law, cached_in_run, normalised, of_tokens
from hsd.sampling import draw

BELOW_ONE = 1 - 2**-53


def race_winners(rows: Tensor, times: Tensor) -> Tensor:
    """Return the token with the least time / probability for each row (…, V).

    It is the winner of an exponential race.
    """
    rows = rows.double()
    return torch.where(rows > 0, times / rows, torch.inf).argmin(-1)


def number_for(row: Tensor, token: Tensor, share: Tensor) -> Tensor:
    """Return a number (1,) float64 by which `draw` picks `token` () from `row` (V,).

    It lies at the part `share` (1,) of the token's interval.
    """
    cumulative = torch.nn.functional.pad(row.double().cumsum(-1), (1, 0))
    low, high = (cumulative.index_select(0, (token + step).view(1)) for step in (0, 1))
    number = (low + share * (high - low)) / cumulative[-1]
    return torch.where(draw(row, number) == token, number, (low + high) / 2 / cumulative[-1])


@cached_in_run
def leads(p: Tensor, q: Tensor, tokens: Tensor) -> Tensor:
    """Return L = Σ_i max(q_x p_i - p_x q_i, 0) of each drafted token x, (γ,) float64.

    p, q (γ, V); tokens (γ,).

    Given the draft's pick x, the target picks x too with probability p_x / (p_x + L).
    """
    return _ahead(p, q, tokens).sum(-1)


def _ahead(p: Tensor, q: Tensor, tokens: Tensor) -> Tensor:
    """Return max(q_x p_i - p_x q_i, 0), (γ, V) float64.

    That is how far the target puts token i ahead of the drafted x.
    """
    px, qx = (of_tokens(rows, tokens).unsqueeze(-1) for rows in (p, q))
    return (qx * p.double() - px * q.double()).clamp_min_(0)


def coupled_residual(p: Tensor, q: Tensor, token: Tensor) -> Tensor:
    """Return J(x, y) / q_x for every y except the rejected token x, (V,) float64.

    p, q (V,); token x () int64.

    These are the target's picks where q picked x: tokens with p_y/q_y above p_x/q_x. Sums to 1 -
    J(x, x)/q_x. O(V log V).
    """
    p = p.double()
    q = q.double()
    ratio, order = torch.where(p > 0, q / p, torch.inf).sort()
    at = torch.where(ratio.isfinite(), ratio, 0.0)
    behind = p[order].cumsum(0) - p[order]
    mass = q[order].flip(0).cumsum(0).flip(0) + at * behind  # M at each ratio
    before = torch.cat([at[:1] * 0, ratio[:-1]])
    mass_before = torch.cat([q.sum()[None], mass[:-1]])
    grown = (ratio - before) / (mass_before * mass)
    # from the largest ratio to infinity
    last = torch.where(before.isfinite(), 1 / (mass_before * p.sum()), 0.0)
    area = torch.empty_like(p).scatter_(
        0, order, torch.where(ratio.isfinite(), grown, last).cumsum(0)
    )
    return p * (area.gather(0, token.view(1)) - area).clamp_min_(0)


def coins(p: Tensor, q: Tensor, tokens: Tensor, times: Tensor) -> Tensor:
    """Return the coin in [0, 1) of each drafted token, (γ,) float64.

    q (γ, V) picked the tokens at `times` (γ, V).

    With τ = E_x / q_x and s = min (E_i - q_i τ) / w_i over w_i = max(q_x p_i / p_x - q_i, 0) > 0,
    which sum to c, τ and c s are independent and exponential, whatever x is. So τ / (τ + c s) is
    uniform; and the target picks x as well exactly where it is below p_x / (p_x + L), which is 1 /
    (1 + c).
    """
    ahead = _ahead(p, q, tokens)  # p_x w
    tau = times.gather(-1, tokens.unsqueeze(-1)) / of_tokens(q, tokens).unsqueeze(-1)
    spare = (
        torch.where(ahead > 0, (times - q.double() * tau) / ahead, torch.inf).amin(-1).clamp_min(0)
    )
    tau = tau.squeeze(-1)
    lead = ahead.sum(-1)
    return torch.where(lead > 0, tau / (tau + lead * spare), 0.0).nan_to_num(0).clamp_max(BELOW_ONE)


@dataclass(frozen=True)
class CoupledLaw(Law):
    """The law of p and q picking by one race.

    tokens: (γ,), drafted; the residual depends on which was rejected.
    """

    tokens: Tensor | None = None
    _columns: ClassVar[tuple[str, ...]] = ("p", "q", "a", "tokens")

    def leftover(self, t: int) -> tuple[Tensor, Tensor]:
        assert self.tokens is not None
        return normalised(coupled_residual(self.p[t], self.q[t], self.tokens[t]), self.p[t])
