"""What the threshold of a test was computed from: numbers that a reader can check it with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Form = Literal[
    "token", "capped", "ratio", "share", "naive", "chosen", "near", "far", "beyond", "mixed", "likely", "unlikely"
]


@dataclass(frozen=True)
class Grounds:
    """The numbers that a threshold was computed from; which of them count depends on the form.

    token: min(1, p/q). chosen: p. capped, ratio: min(1, before · p/q), with `before` the ratio of the prefix above,
    capped or not. share: mass / (mass + 1 - before). naive: mass / max(mass, mass + 1 - before), with the uncapped
    ratio, and the mass divided by it where it exceeds 1. near, far: 1 and 0, as the divergence is within the tolerance
    or not. beyond: as token, because the divergence is not. mixed: weight + (1 - weight) min(1, p/q). likely, unlikely:
    1 and 0, as p is above a bar that falls with the entropy of its row, or not.
    p: what the target that is valid by now gives the token, which earlier rejections may have changed.
    mass: Σ max(before · p - q, 0) over the vocabulary. divergence: of the two rows, entropy: of the target's, in nats,
    for a rule that judges by it.
    """

    form: Form
    p: float = 0.0
    q: float = 0.0
    before: float = 1.0
    mass: float = 0.0
    divergence: float | None = None
    weight: float = 0.0
    entropy: float | None = None

    @property
    def threshold(self) -> float:
        """The probability with which the test succeeds."""
        match self.form:
            case "chosen":
                return self.p
            case "near" | "far" | "likely" | "unlikely":
                return float(self.form in ("near", "likely"))
            case "mixed":
                return self.weight + (1 - self.weight) * min(1.0, ratio(self.p, self.q))
            case "share" | "naive":
                whole = self.mass + (1 - self.before)
                whole = max(self.mass, whole) if self.form == "naive" else whole
                return self.mass / whole if whole > 0 else 1.0
            case _:
                before = self.before if self.form in ("capped", "ratio") else 1.0
                return min(1.0, before * ratio(self.p, self.q)) if self.p > 0 else 0.0


def ratio(p: float, q: float) -> float:
    """p/q; 0 where p is 0. A drafted token has q > 0, so the floor only keeps a hand-made tree from dividing by 0."""
    return p / max(q, 1e-300) if p > 0 else 0.0
