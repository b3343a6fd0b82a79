"""Lower bounds on the latency of every stack that begins with a given lower part.

They serve branch and bound. The next model verifies what the part hands up, and the price of its
tokens is exact. From there on up, all that is known of a model's blocks is their price per token,
its threshold T, and by how much a block exceeds T: min(G, c), where G is how many more tokens of
the model below it would have kept in its last round, P(G ≥ k) = a^k whatever came before, and c how
many it had left. For a given c the mean length is T + Σ_{k≤c} a^k, and the mean yield above, at
acceptance b, is μ(b, T) + b^{T+1} Σ_{k≤c} a^k b^{k-1}. Whatever the law of c: a ratio of means is
not below the smallest of the ratios, so that the best c and T give the bound.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from hsd.planner.inputs import MOST_ROUNDS, Models
from hsd.planner.renewal import Array, Offers, Requests, Whole, mean_yields

Above = Mapping[int, Sequence[int]]  # which models may verify the tokens of each
HALVINGS = (MOST_ROUNDS - 1).bit_length()  # how often the rounds that a run allows can be halved


class LowerBounds:
    """Lower bounds on latency, of stacks in which each model has one of a few verifiers.

    above: which models may verify the tokens of each. prices: (P,) possible costs of a verified
    token, in the unit of the costs. tables: by (model, its verifier), bounds (HALVINGS + 1, P): row
    j for stacks that may still take up to 2^j rounds of those that a run allows. A row is concave
    in the price, so that linear interpolation between the entries is a bound, too.
    """

    def __init__(self, models: Models, longest: int, above: Above) -> None:
        self.models = models
        self.longest = longest
        self.above = above
        self.prices = np.append(0.0, np.geomspace(1e-7, 2, 127)) * max(models.costs)
        self.tables = {}
        pairs = [(lower, model) for lower, uppers in above.items() for model in uppers]
        for lower, model in sorted(pairs, key=lambda pair: -pair[1]):
            self.tables[lower, model] = self._table(lower, model)

    def of(self, lower: Offers, model: int, costs: Array) -> Array:
        """Return bounds (S,) for the alternatives in `lower` with `model` on top.

        costs: (S,), what a token of `model` costs.
        """
        return self._read((lower.model, model), lower.rounds, costs)

    def of_requests(self, requests: Requests, uppers: Sequence[int]) -> Array:
        """Return bounds (S, longest) for `requests`, with the best of `uppers` on top.

        There is a row for each alternative, and a column for each threshold.
        """
        rounds = requests.lower.rounds[:, None] * np.arange(1, self.longest + 1)
        ways = [(upper, requests.per_token(self.models, upper)) for upper in uppers]
        bounds = [self._read((requests.model, upper), rounds, costs) for upper, costs in ways]
        least: Array = np.minimum.reduce(bounds)
        return least

    def _read(self, pair: tuple[int, int], rounds: Whole, costs: Array) -> Array:
        """Return bounds at `costs` (S,) from the table of a pair.

        They are infinite where a run refuses so many rounds (S,).
        """
        promised = np.full(costs.shape, math.inf)
        # 2^i ≤ rounds < 2^(i + 1) halve what is left i times
        left = HALVINGS + 1 - np.frexp(rounds)[1]
        for halvings, row in enumerate(self.tables[pair]):
            here = (left == halvings) & (rounds <= MOST_ROUNDS)
            promised[here] = np.interp(costs[here], self.prices, row)
        return promised

    def _table(self, lower: int, model: int) -> Array:
        """Return bounds over all verifiers that may follow and all thresholds.

        For the target they are the price.
        """
        start = self.prices if model == self.models.target else math.inf
        table = np.full((HALVINGS + 1, len(self.prices)), start)
        for upper in self.above.get(model, ()):
            costs = self._verified(lower, model, upper)
            by_halvings = np.minimum.reduceat(costs, 2 ** np.arange(self.longest.bit_length()) - 1)
            for left in range(HALVINGS + 1):
                for used, least in enumerate(by_halvings[: left + 1]):
                    rest = np.interp(least, self.prices, self.tables[model, upper][left - used])
                    np.minimum(table[left], rest, out=table[left])
        return table

    def _verified(self, lower: int, model: int, upper: int) -> Array:
        """Return least costs (longest, P) of a token of `upper`, by threshold and price of `model`.

        The price is per token.
        """
        a = self.models.kept(lower, model)
        b = self.models.kept(model, upper)
        chances = a ** np.arange(1.0, self.longest * model + 1)  # no block from below is longer
        longer = np.append(0.0, chances.cumsum())
        gained = np.append(0.0, (chances * b ** np.arange(float(len(chances)))).cumsum())
        least = []
        for threshold, tokens in enumerate(mean_yields(b, self.longest + 1)[1:], 1):
            lengths = threshold + longer
            tokens_of = tokens + b ** (threshold + 1) * gained
            own = self.models.pass_cost(upper, lengths) / tokens_of
            drafts = lengths / tokens_of
            least.append((own[:, None] + drafts[:, None] * self.prices).min(0))
        return np.array(least)
