"""A verification rule as a law: probabilities in, probabilities out, no random numbers.

Notation, for one step with γ drafted tokens over a vocabulary of V: `p` (γ+1, V) and `q` (γ, V) are
the distributions of target and draft after t = 0 … γ (γ−1) drafted tokens, rows summing to 1;
`tokens` (γ,) are the drafted ids. Position t means "t drafted tokens are kept".

Every rule for a single draft has the same shape. It tests positions in an order of its own, each
with one threshold, and that fixes how many tokens are kept. After t < γ kept tokens the next one
follows the *residual* max(a_t p_t - b_t q_t, 0), normalised; after all γ it follows p_γ (the bonus
token). Where a shape begins with "…", tensors may have leading dimensions: of drafts of one length,
judged together.
"""

from collections.abc import Callable, Mapping
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import Any, ClassVar, TypeVar

import torch
from torch import Tensor
from torch.nn.functional import pad

from hsd.engine import sums
from hsd.errors import HsdError
from hsd.rules.forms import Grounds
from hsd.values import shown, whole

TINY = torch.finfo(torch.float64).tiny
Result = TypeVar("Result")
_results: ContextVar[dict[Any, Any] | None] = ContextVar("results", default=None)


def run_with_cache(work: Callable[[], Result]) -> Result:
    """Return work(), and let `cached_in_run` cache results while it runs.

    It must not write to tensors that it passes to functions with a cache.
    """
    context = copy_context()
    context.run(_results.set, {})
    return context.run(work)


def cached_in_run(function: Callable[..., Result]) -> Callable[..., Result]:
    """Return `function` with its results cached within `run_with_cache`.

    The key is the address of its tensors, and for 1-D tensors their values.
    """

    @wraps(function)
    def remembering(*tensors: Tensor) -> Result:
        results = _results.get()
        if results is None:
            return function(*tensors)
        parts = (
            tuple(x.tolist()) if x.ndim == 1 else (x.data_ptr(), x.shape, x.stride())
            for x in tensors
        )
        key = (function, *parts)
        if key not in results:
            # held, so that no other tensor has their addresses
            results[key] = function(*tensors), tensors
        return results[key][0]  # type: ignore[no-any-return]

    return remembering


@dataclass(frozen=True)
class PrefixRatios:
    """Joint probability ratios of target and draft for the prefixes of t = 0 … γ drafted tokens.

    log: (…, γ+1) float64, log r_t with r_t = Π p(x_i)/q(x_i); r_0 = 1. May be -inf, never NaN.
    log_capped: (…, γ+1) float64, log c_t with c_t = min(1, c_{t-1} p(x_t)/q(x_t)), c_0 = 1: the
    ratio, capped at 1 after each token. Equals min(1, r*_t), Definition 5 of arXiv 2601.05724.
    """

    log: Tensor
    log_capped: Tensor

    @staticmethod
    @cached_in_run
    def of(p: Tensor, q: Tensor, tokens: Tensor) -> "PrefixRatios":
        # A drafted token has q > 0; the floor only keeps a hand-made impossible draft from dividing
        # by zero.
        # (…, γ)
        log_ratio = of_tokens(p, tokens).log() - of_tokens(q, tokens).clamp_min(TINY).log()
        log = pad(log_ratio.cumsum(-1), (1, 0))
        return PrefixRatios(log, log - log.cummax(-1).values)


def of_tokens(rows: Tensor, tokens: Tensor) -> Tensor:
    """Return the probabilities of drafted tokens, both (…, γ), float64.

    rows: (…, γ or γ+1, V); the first γ of them count.
    """
    return rows[..., : tokens.shape[-1], :].gather(-1, tokens.unsqueeze(-1)).squeeze(-1).double()


def token_tests(p: Tensor, q: Tensor, tokens: Tensor) -> Tensor:
    """Return the token-wise acceptance probabilities min(1, p(x_t)/q(x_t)), (γ,) float64.

    There is one for each drafted token x_t.
    """
    return (of_tokens(p, tokens) / of_tokens(q, tokens).clamp_min(TINY)).clamp_max(1)


def likeliest(rows: Tensor) -> Tensor:
    """Return rows (…, V) with all mass of each row on its likeliest token.

    Among equals it is the first one.
    """
    return torch.zeros_like(rows).scatter_(-1, rows.argmax(-1, keepdim=True), 1.0)


@cached_in_run
def both_masses(p: Tensor, q: Tensor, a: Tensor, b: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Return the deficient and the excess mass of each row, (…) float64 each.

    p, q (…, V); a, b (…), b by default 1.

    Deficient: Σ_x max(a_t p_t(x) - b_t q_t(x), 0), what the draft gives too little of; excess: the
    same of b q - a p.
    """
    if (found := sums.surplus(p, q, a, b)) is not None:
        return found
    gap = p * a.unsqueeze(-1).to(p.dtype) - (q if b is None else q * b.unsqueeze(-1).to(q.dtype))
    return gap.clamp_min(0).sum(-1).double(), -gap.clamp_max(0).sum(-1).double()


def branch_masses(p: Tensor, q: Tensor, tokens: Tensor) -> dict[str, Tensor]:
    """Return quantities that explain one draft, by name: float64, one per branch t = 0 … γ-1.

    p (γ+1, V), q (γ, V).

    `ratio`, `capped` and `pivot` also have a value for t = γ. Masses are relative to `joint_q`, the
    draft's probability of the prefix; multiply by it for joint masses. Source: arXiv 2601.05724,
    Definitions 4-5, Theorems 2 and 4, Eqs. 17-18. Ratio r, capped ratio c; pivot m: after how many
    tokens r was largest before this position (0: never above 1); deficient S = Σ max(c p - q, 0);
    excess E = S + 1 - c; distance: total variation of p and q; asymmetry: p(prefix) - q(prefix),
    uncapped and joint; entropy of the target's row, in nats.
    """
    ratios = PrefixRatios.of(p, q, tokens)
    deficient, _ = both_masses(p[:-1], q, ratios.log_capped[:-1].exp())
    kept = (of_tokens(rows, tokens) for rows in (p, q))
    # of 0 … γ-1 tokens
    joint_p, joint_q = (torch.cat([row.new_ones(1), row.cumprod(0)])[: len(row)] for row in kept)
    best = ratios.log.cummax(0).indices  # 0 stands for "never above 1", because log r_0 = 0
    earlier = torch.cat([best[:1], best[:-1]])
    return {
        "ratio": ratios.log.clamp_max(690).exp(),  # e^690 ≈ 1e300: finite in every format
        "capped": ratios.log_capped.exp(),
        "pivot": torch.where(ratios.log[earlier] > 0, earlier, 0),
        "deficient": deficient,
        "excess": deficient - torch.expm1(ratios.log_capped[:-1]),
        "distance": both_masses(p[:-1], q, torch.ones_like(joint_q))[0],
        "joint_q": joint_q,
        "asymmetry": joint_p - joint_q,
        "entropy": torch.special.entr(p[:-1]).sum(-1).double(),
    }


def leftover(p: Tensor, q: Tensor, a: Tensor, b: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Return the residual max(a p - b q, 0) of rows p, q (…, V), and its sum (…).

    The residual is normalised, (…, V); it is p if the sum is 0.
    """
    scaled_q = q if b is None else q * b.unsqueeze(-1).to(q.dtype)
    return normalised(torch.sub(p * a.unsqueeze(-1).to(p.dtype), scaled_q).clamp_min_(0), p)


def normalised(residual: Tensor, p: Tensor) -> tuple[Tensor, Tensor]:
    """Return a residual (…, V) divided by its sum, in double precision, and that sum (…).

    It is p (…, V) where the sum is 0.
    """
    # in single precision a number may pick a neighbour
    mass = residual.sum(-1, True, dtype=torch.float64)
    return torch.where(mass > 0, residual.double() / mass.clamp_min(TINY), p), mass.squeeze(-1)


def shortened(
    p: Tensor, q: Tensor, tokens: Tensor, coins: Tensor, length: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return q, tokens and coins that make a rule judge drafts as if they were shorter.

    Drafts of γ > 0 tokens are judged as if they had `length` (…) int64.

    After those q becomes p, so that every ratio is 1 and there is nothing to correct. The test of
    the whole draft is then that of the shorter one, and takes its coin; who keeps more than
    `length` keeps all of it. p: (…, γ or γ+1, V), q: (…, γ, V); tokens, coins: (…, γ).
    """
    rows = p[..., : q.shape[-2], :]
    length = length.unsqueeze(-1)
    places = torch.arange(q.shape[-2], device=q.device)
    over = places >= length
    coins = coins.gather(-1, torch.minimum(places, (length - 1).clamp_min(0)))
    return (
        torch.where(over.unsqueeze(-1), rows, q),
        torch.where(over, rows.argmax(-1), tokens),
        coins,
    )


@dataclass(frozen=True)
class Law:
    """The law of one decoding step under one rule, for one draft of γ tokens.

    threshold: (γ,) float64, the probability with which the test at position t = 1 … γ succeeds.
    forward: True if positions are tested from 1 up until the first failure (token-wise); False if
    from γ down until the first success. a, b: (γ,) factors of the residual max(a p - b q, 0) after
    t = 0 … γ-1 kept tokens; b is 1 where it is None. numbers: the rule's settings and intermediate
    results, under names of `hsd.rules.forms.LETTERS`. divergence: (γ,) float64, of rows p and q at
    each drafted position, for a rule that compares it with a tolerance. explain(law, tokens):
    returns a `Grounds` for each threshold. follow: (γ+1, V), the distributions of the next token,
    where they are not residuals.
    """

    p: Tensor
    q: Tensor
    threshold: Tensor
    forward: bool
    a: Tensor
    b: Tensor | None = None
    numbers: Mapping[str, Any] = field(default_factory=dict)
    divergence: Tensor | None = None
    explain: "Callable[[Law, Tensor], list[Grounds]] | None" = None
    follow: Tensor | None = None
    _columns: ClassVar[tuple[str, ...]] = ("p", "q", "a", "b")  # that a residual is made from

    @property
    def gamma(self) -> int:
        return self.q.shape[-2]

    @cached_property
    def stop(self) -> Tensor:
        """The probability that exactly t drafted tokens are kept, (γ+1,) float64.

        Synchronises with the device.
        """
        left = 1.0
        ends = []
        for success in self.threshold.tolist()[:: 1 if self.forward else -1]:
            ending, further = (1 - success, success) if self.forward else (success, 1 - success)
            ends.append(left * ending)
            left *= further
        return self.threshold.new_tensor([*ends, left][:: 1 if self.forward else -1])

    @property
    def expected_kept(self) -> Tensor:
        """() float64: the expected number of kept tokens of this draft."""
        return (self.stop * torch.arange(self.gamma + 1, device=self.stop.device)).sum()

    def next(self, t: int) -> Tensor:
        """Return the distribution (V,) after t kept tokens, as p has its numbers.

        Raises HsdError for a bad t.

        That is the residual, p_t where this is 0. What decoding draws from is `leftover`, in double
        precision.
        """
        known = whole(t)
        if known is None or not 0 <= known <= self.gamma:
            raise HsdError(
                f"a draft of {self.gamma} tokens cannot keep {shown(t)}: choose t from 0 to "
                f"{self.gamma}"
            )
        t = known
        if self.follow is not None:
            return self.follow[t]
        return self.p[t] if t == self.gamma else self.leftover(t)[0].to(self.p.dtype)

    def next_at(self, kept: Tensor) -> Tensor:
        """Return `next(kept)` (V,) for a count () int64 on the device.

        It does not synchronise with the device.
        """
        if self.follow is not None:
            return self.follow.index_select(0, kept.view(1)).squeeze(0)
        at = kept.clamp(max=self.gamma - 1).view(1)
        columns = {
            name: x.index_select(0, at)
            for name in self._columns
            if (x := getattr(self, name)) is not None
        }
        return torch.where(
            kept == self.gamma, self.p[self.gamma], replace(self, **columns).leftover(0)[0]
        )

    def leftover(self, t: int) -> tuple[Tensor, Tensor]:
        """Return the normalised residual (V,) after t < γ kept tokens, and its mass ().

        The mass is that before it was normalised.
        """
        return leftover(self.p[t], self.q[t], self.a[t], None if self.b is None else self.b[t])

    def kept(self, coins: Tensor) -> Tensor:
        """Return the number of kept tokens, (…) int64.

        coins: (…, γ) in [0, 1), one for each position.
        """
        if not isinstance(coins, Tensor) or coins.shape[-1:] != (self.gamma,):
            raise HsdError(f"coins {shown(coins)}: give a tensor (…, {self.gamma})")
        # strict <: a coin of 0 must not accept a token of target probability 0
        success = coins < self.threshold
        if self.forward:
            return success.long().cumprod(-1).sum(-1)
        places = torch.arange(1, self.gamma + 1, device=success.device)
        return (success * places).amax(-1) if self.gamma else success.sum(-1)

    def grounds(self, tokens: Tensor) -> list[Grounds]:
        """Return what the thresholds at t = 1 … γ were computed from.

        tokens: (γ,). Synchronises with the device.
        """
        return self.explain(self, tokens) if self.explain and self.gamma else []

    def order(self) -> range:
        """Return the positions 1 … γ in the order in which they are tested."""
        return range(1, self.gamma + 1) if self.forward else range(self.gamma, 0, -1)
