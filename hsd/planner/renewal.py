"""How the levels of a stack work: how many tokens each hands up, by its law, and their cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hsd.planner.inputs import Models, check_stack

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Level:
    """One level of a stack, per request from the level above; the target's request is one round.

    tokens: mean number returned, for the target committed. cost: mean, with all levels below.
    passes: mean number of its own forward passes. lengths: (n + 1,) probability of returning 0, 1,
    … n tokens; () for the target.
    """

    model: int
    threshold: int | None
    tokens: float
    cost: float
    passes: float
    lengths: tuple[float, ...]


def latency(models: Models, stack: Sequence[int], thresholds: Sequence[int]) -> float:
    """Return the exact expected cost per committed token of a stack with these thresholds."""
    top = levels(models, stack, thresholds)[-1]
    return top.cost / top.tokens


def levels(models: Models, stack: Sequence[int], thresholds: Sequence[int]) -> list[Level]:
    """Return the statistics of every level of a stack, smallest model first.

    Raises HsdError for an invalid stack.
    """
    check_stack(models, stack, thresholds)
    built: list[Level] = []
    for model, threshold in zip(stack, thresholds, strict=False):
        built.append(_level(models, built[-1] if built else None, model, threshold))
    return [*built, _top_level(models, built[-1] if built else None)]


def _level(models: Models, below: Level | None, model: int, threshold: int) -> Level:
    """Return the statistics of a level whose model hands up at least `threshold` tokens.

    below: the level below, None if the model drafts.
    """
    if below is None:
        offers = draft_alone(models, model, threshold)
        per_pass = 1.0
    else:
        costs = np.array([below.cost])
        laws = np.array([below.lengths])
        lower = Offers((below.model,), np.ones((1, 1), int), costs, laws)
        requests = block_requests(models, lower, model, threshold)
        per_pass = _tokens_per_pass(models, below, model)
        offers = select_offers(requests, np.zeros(1, int), np.array([threshold]))
    law = offers.laws[-1]
    tokens = float(law @ np.arange(len(law)))
    cost = float(offers.costs[-1])
    return Level(model, threshold, tokens, cost, tokens / per_pass, tuple(law.tolist()))


def _top_level(models: Models, below: Level | None) -> Level:
    """Return the statistics of the target's level for one round; below: None for plain decoding."""
    target = models.target
    if below is None:
        return Level(target, None, 1.0, models.costs[target], 1.0, ())
    cost = float(models.pass_cost(target, below.tokens)) + below.cost
    return Level(target, None, _tokens_per_pass(models, below, target), cost, 1.0, ())


def _tokens_per_pass(models: Models, below: Level, model: int) -> float:
    """Return the mean number of tokens from one pass of `model` over what `below` hands up."""
    yields = mean_yields(models.kept(below.model, model), len(below.lengths))
    return float(np.array(below.lengths) @ yields)


@dataclass(frozen=True)
class Offers:
    """S alternatives for the lower part of a stack.

    thresholds: (S, models in the part). costs: (S,) mean cost per request of the part's last model.
    laws: (S, N), probability that it returns 0 … N - 1 tokens per request.
    """

    stack: tuple[int, ...]
    thresholds: Whole
    costs: Array
    laws: Array

    @property
    def model(self) -> int:
        return self.stack[-1]

    @property
    def rounds(self) -> Whole:
        """(S,): the largest number of rounds of the smallest models in one request."""
        product: Whole = self.thresholds[:, 1:].prod(1)
        return product

    def at(self, places: NDArray[Any]) -> "Offers":
        return Offers(self.stack, self.thresholds[places], self.costs[places], self.laws[places])


def draft_alone(models: Models, model: int, longest: int) -> Offers:
    """Return the alternatives of a model that drafts alone.

    These are T tokens for T passes, with T from 1 to `longest`.
    """
    thresholds = np.arange(1, longest + 1)[:, None]
    costs = np.arange(1.0, longest + 1) * models.costs[model]
    return Offers((model,), thresholds, costs, np.eye(longest + 1)[1:])


@dataclass(frozen=True)
class Requests:
    """A model that verifies blocks of the part below until it has T tokens.

    The statistics are for S alternatives below and every T ≥ 1.

    With w the law of the tokens from one verification and u(s) the chance that s tokens are ever
    held, u(s) = Σ_k w(k) u(s - k): it verifies Σ_{s<T} u(s) times and returns n ≥ T with
    probability Σ_{s<T} u(s) w(n - s). yields: (S, N + 1) w. held: (S, longest) u. costs, tokens:
    (S, longest) means per request.
    """

    lower: Offers
    model: int
    yields: Array
    held: Array
    costs: Array
    tokens: Array

    def per_token(self, models: Models, upper: int) -> Array:
        """Return the mean cost (S, longest) of a token of `upper`, which verifies the blocks.

        The mean of μ(a, n) for n ≥ T is 1 + Σ_{s<T} u_a(s) (Σ_k w(k) μ(a, k) - 1), where u_a is the
        renewal sequence of w(k) a^k: a round begun with s tokens held counts only if all of them
        are kept.
        """
        acceptance = models.kept(self.model, upper)
        size = self.yields.shape[1]
        gained = self.yields @ mean_yields(acceptance, size) - 1
        kept = self.yields * acceptance ** np.arange(float(size))
        reached = _renewal(kept, self.held.shape[1]).cumsum(1)
        tokens = 1 + gained[:, None] * reached
        costs: Array = (models.pass_cost(upper, self.tokens) + self.costs) / tokens
        return costs


def block_requests(models: Models, lower: Offers, model: int, longest: int) -> Requests:
    """Return the statistics of `model` on top of each alternative in `lower`.

    They are for thresholds T from 1 to `longest`.
    """
    yields = lower.laws @ _yield_laws(models.kept(lower.model, model), lower.laws.shape[1])
    held = _renewal(yields, longest)
    rounds = held.cumsum(1)
    costs = rounds * (_pass_costs(models, lower, model) + lower.costs)[:, None]
    tokens = rounds * (yields @ np.arange(yields.shape[1]))[:, None]
    return Requests(lower, model, yields, held, costs, tokens)


def select_offers(requests: Requests, places: Whole, thresholds: Whole) -> Offers:
    """Return S alternatives, with `thresholds` (S,) of the model on top.

    places: (S,) rows of `requests.lower`.
    """
    longest = int(thresholds.max())
    size = requests.yields.shape[1]
    passed = np.zeros((len(requests.yields), longest + size - 1))
    laws = np.zeros((len(places), longest + size - 1))
    for held_before in range(longest):
        reached = slice(held_before, held_before + size)
        passed[:, reached] += requests.held[:, held_before, None] * requests.yields
        now = thresholds == held_before + 1
        laws[now, held_before + 1 :] = passed[places[now], held_before + 1 :]
    lower = requests.lower
    costs = requests.costs[places, thresholds - 1]
    chosen = np.column_stack([lower.thresholds[places], thresholds])
    return Offers((*lower.stack, requests.model), chosen, costs, laws)


def _yield_laws(acceptance: float, size: int) -> Array:
    """Return the laws (size, size + 1) of the number of tokens from a verification.

    Row n has the chances of 1 … n + 1 tokens from n drafts, a^{k-1} (1 - a) and aⁿ.
    """
    drafts = np.arange(size)[:, None]
    tokens = np.arange(size + 1)[None, :]
    powers = acceptance ** np.maximum(tokens - 1.0, 0.0)
    rejected = np.where((tokens >= 1) & (tokens <= drafts), powers * (1 - acceptance), 0)
    return np.where(tokens == drafts + 1, powers, rejected)


def _renewal(yields: Array, longest: int) -> Array:
    """Return the chance (S, longest) that 0, 1, … tokens are ever held.

    Each round adds a draw from `yields`.
    """
    drawn = np.ascontiguousarray(yields[:, :longest].T)
    held = np.zeros((longest, len(yields)))
    held[0] = 1.0
    for count in range(1, longest):
        reach = min(count, len(drawn) - 1)
        np.einsum("ks,ks->s", drawn[reach:0:-1], held[count - reach : count], out=held[count])
    return held.T


def _pass_costs(models: Models, lower: Offers, model: int) -> Any:
    """Return the mean cost (S,) of the pass of `model` that verifies what `lower` hands up."""
    return models.pass_cost(model, lower.laws @ np.arange(lower.laws.shape[1]))


def per_token(models: Models, lower: Offers, model: int) -> Array:
    """Return the mean cost (S,) of a token of `model`, which verifies the blocks of `lower`."""
    tokens = lower.laws @ mean_yields(models.kept(lower.model, model), lower.laws.shape[1])
    costs: Array = (_pass_costs(models, lower, model) + lower.costs) / tokens
    return costs


def mean_yields(acceptance: float, size: int) -> Array:
    """Return μ(a, n) = 1 + a + … + aⁿ, (size,), for n = 0, 1, ….

    It is the mean number of tokens per verification of n drafts.
    """
    sums: Array = np.cumsum(acceptance ** np.arange(float(size)))
    return sums
