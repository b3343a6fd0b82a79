"""When a draft is long enough: when one more token would not pay.

That is when the chance that the token is kept no longer makes up for its cost.

After t tokens a draft goes on while â(x_1) ⋯ â(x_t) · â(next) is at least `least`. This is tested
before the next token's row is read, with the usual chance as â(next), and again after it, with that
of the row's likeliest token; the row's cost is spent by then, so a lower chance suffices. â is a
logistic function of what the draft's own row gives a token, fitted to how often tokens were kept
(`examples/reproduce/smollm2/calibrate_draft.py`).

So the length depends on the drafted prefix alone: on its tokens, and on the draft's rows up to the
one after them. That keeps rules lossless (`hsd.audit.step_law`): no token that was drawn is thrown
away, and no coin and no p of what may follow is looked at.
"""

import math
from dataclasses import dataclass
from typing import Any

from hsd.errors import HsdError
from hsd.sampling import Sampling

UNFITTED = (0.0, 1.0, 0.0, 0.0, 0.0)  # â is the draft's own probability
USUAL = 0.5  # of â, if it has not been measured
LEAST = 0.3  # if the cost of a drafted token has not been measured
UNSPENT = 0.7  # of a token's cost, once its row is read
DEEPEST = 3  # from there on depth tells no more
FURTHEST = 12.0  # of a logit


@dataclass(frozen=True)
class Stopping:
    """Ends a draft where â of its tokens and of the next multiply to less than `least`.

    temperature: T, of sampling.

    weights: of 1, ℓ, T, T ℓ and depth in the logit of â; ℓ is the logit of a token's share of its
    row at T = 1.
    """

    least: float
    temperature: float
    weights: tuple[float, ...] = UNFITTED
    usual: float = USUAL

    @classmethod
    def of(cls, config: Any, engine: str, confidence: float, sampling: Sampling) -> "Stopping":
        """Return the criterion in a draft head's configuration.

        It is the default one if config is None.

        config: {"weights", "usual", "least": {engine: number}}, or None. confidence: replaces
        `least` unless it is 0. sampling: gives the temperature. Raises HsdError for a configuration
        of another form.
        """
        if config is None:
            return cls(confidence or LEAST, sampling.temperature)
        try:
            weights = tuple(map(float, config["weights"]))
            usual = float(config["usual"])
            least = float(config["least"].get(engine, LEAST))
            if len(weights) != len(UNFITTED):
                raise ValueError
        except (AttributeError, KeyError, TypeError, ValueError):
            raise HsdError(
                "the draft's config.json has no weights for its length: choose gamma as a number"
            ) from None
        return cls(confidence or least, sampling.temperature, weights, usual)

    def chance(self, share: float, depth: int) -> float:
        """Return a token's chance â to be kept.

        share: its probability at T = 1. depth: drafted tokens before it.
        """
        bias, by_share, by_heat, by_both, by_depth = self.weights
        known = (
            math.log(share / (1 - share)) if 0 < share < 1 else math.copysign(FURTHEST, share - 0.5)
        )
        known = max(-FURTHEST, min(FURTHEST, known))
        logit = bias + by_share * known + self.temperature * (by_heat + by_both * known)
        return 1 / (1 + math.exp(-logit - by_depth * min(depth, DEEPEST)))


@dataclass
class StoppingState:
    """The state of the stopping criterion after `length` drafted tokens.

    kept: the chance that all of them are kept.
    """

    stopping: Stopping
    kept: float = 1.0
    length: int = 0

    @property
    def may_pay(self) -> bool:
        """Whether to compute the draft's next row; always for the first token."""
        return not self.length or self.kept * self.stopping.usual >= self.stopping.least

    def pays(self, largest: float) -> bool:
        """Return whether to draw a token from the row just computed.

        largest: its largest probability at T = 1.
        """
        return (
            self.kept * self.stopping.chance(largest, self.length) >= UNSPENT * self.stopping.least
        )

    def add(self, share: float) -> None:
        """Count a drafted token. share: its probability at temperature 1."""
        self.kept *= self.stopping.chance(share, self.length)
        self.length += 1
