"""When a draft is long enough: when one more token would not pay.

That is when the chance that the token is kept no longer makes up for its cost.

After t tokens a draft goes on while c(x_1) ⋯ c(x_t) · c(next) is at least `least`. This is tested
before the next token's row is read, with the usual chance as c(next), and again after it, with that
of the row's likeliest token; the row's cost is spent by then, so a lower chance suffices.

c = min(1, r · â). â is a logistic function of what the draft's own row gives a token, fitted to
how often tokens were kept (`examples/reproduce/smollm2/calibrate_draft.py`). r is what the run's
earlier steps say of it: how many tokens they kept over how many â let expect. All numbers are the
same for every engine and machine, so that a seed has one text but for rounding.

Rules stay lossless, for two reasons. Within a step the length is a stopping time
(`hsd.audit.step_law`): it depends on the drafted prefix alone, on its tokens and on the draft's
rows up to the one after them; no token that was drawn is thrown away, and no coin and no p of the
step is looked at. And r depends on earlier steps alone: given all of them, the numbers of this step
are fresh, and whatever its stopping time, what follows the text has the target's law. From the last
step back to the first the whole text has it, too.
"""

import math
from dataclasses import dataclass, field
from typing import Any

from hsd.errors import HsdError
from hsd.sampling import Sampling

UNFITTED = (0.0, 1.0, 0.0, -0.75, 0.0)  # the hotter, the less the draft's own probability says
USUAL = 0.5  # of â, if it has not been measured
# a drafted token costs .1 to .3 of a pass, by engine; a little more or less loses little
LEAST = 0.25
UNSPENT = 0.7  # of a token's cost, once its row is read
DEEPEST = 3  # from there on depth tells no more
FURTHEST = 12.0  # of a logit
HOTTEST = 1.0  # temperature that weights are fitted for
TRUST = 3.0  # tokens by which â is believed before the run has shown any
MEMORY = 0.98  # what a step leaves of the counts before it: where nothing pays, it is tried again


@dataclass(frozen=True)
class Stopping:
    """Ends a draft where the chances of its tokens and of the next multiply to less than `least`.

    temperature: T, of sampling.

    weights: of 1, ℓ, T, T ℓ and depth in the logit of â; ℓ is the logit of a token's share of its
    row at T = 1, and T at most `HOTTEST`.
    """

    least: float
    temperature: float
    weights: tuple[float, ...] = UNFITTED
    usual: float = USUAL

    @classmethod
    def of(cls, config: Any, confidence: float, sampling: Sampling) -> "Stopping":
        """Return the criterion in a draft head's configuration.

        It is the default one if config is None.

        config: {"weights", "usual"}, or None. confidence: replaces `LEAST` unless it is 0.
        sampling: gives the temperature. Raises HsdError for a configuration of another form.
        """
        least = confidence or LEAST
        if config is None:
            return cls(least, sampling.temperature)
        try:
            weights = tuple(map(float, config["weights"]))
            usual = float(config["usual"])
            if len(weights) != len(UNFITTED):
                raise ValueError
        except (KeyError, TypeError, ValueError):
            raise HsdError(
                "the draft's config.json has no weights for its length: choose gamma as a number"
            ) from None
        return cls(least, sampling.temperature, weights, usual)

    def chance(self, share: float, depth: int) -> float:
        """Return a token's chance â to be kept.

        share: its probability at T = 1. depth: drafted tokens before it.
        """
        bias, by_share, by_heat, by_both, by_depth = self.weights
        heat = min(self.temperature, HOTTEST)
        known = (
            math.log(share / (1 - share)) if 0 < share < 1 else math.copysign(FURTHEST, share - 0.5)
        )
        known = max(-FURTHEST, min(FURTHEST, known))
        logit = bias + by_share * known + heat * (by_heat + by_both * known)
        return 1 / (1 + math.exp(-logit - by_depth * min(depth, DEEPEST)))


@dataclass
class StoppingState:
    """The state of the stopping criterion in a run: what its steps have shown, and the new draft.

    Call `begin`, for each drafted token `pays` and `add`, and `learn` at the end of the step.

    kept, expected: how many of the tokens that earlier steps' tests reached were kept, and how many
    â let expect; older steps count less.
    """

    stopping: Stopping
    kept: float = 0.0
    expected: float = 0.0
    _all_kept: float = 1.0  # the chance that all tokens of the draft are kept
    _chances: list[float] = field(default_factory=list)  # â of the row's likeliest, by token
    _likeliest: float = 0.0

    def begin(self) -> None:
        """Begin a draft."""
        self._all_kept = 1.0
        self._chances = []

    @property
    def may_pay(self) -> bool:
        """Whether to compute the draft's next row.

        Of the first token it is enough that a certain one would pay.
        """
        usual = self.stopping.usual if self._chances else 1.0
        return self._all_kept * self._corrected(usual) >= self.stopping.least

    def pays(self, largest: float) -> bool:
        """Return whether to draw a token from the row just computed.

        largest: its largest probability at T = 1.
        """
        self._likeliest = self.stopping.chance(largest, len(self._chances))
        chance = self._all_kept * self._corrected(self._likeliest)
        return chance >= UNSPENT * self.stopping.least

    def add(self, share: float) -> None:
        """Count a drafted token. share: its probability at temperature 1."""
        self._all_kept *= self._corrected(self.stopping.chance(share, len(self._chances)))
        self._chances.append(self._likeliest)

    def learn(self, kept: int) -> None:
        """Count the outcome of the step. kept: how many tokens of the draft were kept.

        Tokens after the first rejected one tell nothing.
        """
        self.kept = MEMORY * self.kept + kept
        self.expected *= MEMORY
        for chance in self._chances[: kept + 1]:
            self.expected += chance

    def _corrected(self, chance: float) -> float:
        """Return â as the run has shown it to be."""
        return min(1.0, chance * (TRUST + self.kept) / (TRUST + self.expected))
