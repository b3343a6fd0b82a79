"""Forms of tests as records.

A form has its threshold as an expression, its letters in formulas, and its words in sentences.

Python evaluates the records here (`Grounds.threshold`, `hsd.rules.recipe`) and the page in
`web/rules`, where they arrive with `facts.json`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hsd.expression import evaluate, parse


@dataclass(frozen=True)
class Letter:
    """The sign of a number in formulas, and its name in words.

    index: 0 for the number at the tested position t, -1 for t-1, None for a number without an
    index. of: "p" or "q" if it belongs to the target or the draft.
    """

    sign: str
    words: str = ""
    index: int | None = None
    of: str = ""


LETTERS = {
    "p": Letter("p", "what the target gives the token", of="p"),
    "q": Letter("q", "what the draft gives the token", of="q"),
    "ratio": Letter("r", "joint ratio p/q of the draft up to here, without a cap", 0),
    "above_ratio": Letter("r", "joint ratio p/q of the draft before this token, without a cap", -1),
    "capped": Letter("c", "joint ratio p/q of the draft up to here, never above 1 on the way", 0),
    "above_capped": Letter(
        "c", "joint ratio p/q of the draft before this token, never above 1 on the way", -1
    ),
    "starred": Letter(
        "r*", "joint ratio p/q of the draft up to here, counted from its best point", 0
    ),
    "deficient": Letter("S", "deficient mass of the branch after these tokens", of="p"),
    "excess": Letter("E", "excess mass of the branch after these tokens", of="q"),
    "lead": Letter(
        "L",
        "how far the other tokens are ahead of this one with the target: Σ max(q·pᵢ − p·qᵢ, 0)",
        0,
    ),
    "divergence": Letter("D", "divergence of the two rows", 0),
    "entropy": Letter("H", "entropy of the target's row"),
    "mixed": Letter("v", "what the mixture of target and draft gives the token, at temperature 1"),
    "rival": Letter("v′", "the most that the mixture gives another token"),
    "clipped": Letter(
        "L", "what the target's row, clipped to the draft's, gives the token", of="p"
    ),
    "tolerance": Letter("T", "tolerance"),
    "draft_weight": Letter("w", "the draft's share in the mixture that stands in for the target"),
    "epsilon": Letter("ε", "the rule's number"),
}
"""The numbers along a single draft, for a test of its first t tokens, and the settings of rules.

Of the branch after those tokens: deficient is Σ max(a p - b q, 0) with the factors of the rule's
residual, excess Σ max(b q - a p, 0). divergence and entropy are of the rows that token t was drawn
from.
"""


@dataclass(frozen=True)
class Form:
    """One form of test: a formula for its threshold, and the words that explain it.

    name, former: its names in traces of this version and of earlier ones. sign: of its threshold in
    formulas, "a" for the test of one token and "h" for that of a prefix. threshold: an expression
    over the fields of `Grounds`. along: for each of these fields its value at position t of one
    draft, as an expression over `LETTERS`. words: what follows the threshold in a sentence, with
    fields of `Grounds` in braces. when: a comparison over `LETTERS`; of a rule's forms the first
    whose comparison holds is used. coin: False for a test without a coin, which compares the two
    sides of `when`. also: equal expressions for the threshold. certain: the proposal counts as q =
    1, so that a rejected token is struck out of p. whose: "target" or "mixture", the distribution
    that a test without a coin looks at. coupled: draft and target pick with equal random numbers,
    and after a rejection the target's pick follows.
    """

    name: str
    sign: str
    threshold: str
    along: Mapping[str, str] = field(hash=False)
    words: str = ""
    when: str = ""
    coin: bool = True
    also: tuple[str, ...] = ()
    certain: bool = False
    whose: str = "target"
    coupled: bool = False
    former: str = ""

    def as_data(self) -> dict[str, Any]:
        """Return the fields but `former` as JSON data, with expressions parsed to nested lists."""
        return {name: value for name, value in vars(self).items() if name != "former"} | {
            "threshold": parse(self.threshold),
            "along": {name: parse(text) for name, text in self.along.items()},
            "when": parse(self.when) if self.when else None,
            "also": [parse(text) for text in self.also],
        }


@dataclass(frozen=True)
class Grounds:
    """The numbers that a threshold was computed from.

    Those that `form` does not use keep their defaults.

    p: the probability of the token by the target, as changed by earlier rejections. q: by the
    draft. before: the joint ratio of the prefix before it. mass: Σ max(before · p - q, 0) over the
    vocabulary, divided by `before` where that exceeds 1, or the lead L. divergence: of the two
    rows; entropy: of the target's row, in nats. weight: the draft's in a mixture of both rows, or a
    rule's own number. mixed, rival: what the mixture gives the token, and at most another.
    """

    form: Form
    p: float = 0.0
    q: float = 0.0
    before: float = 1.0
    mass: float = 0.0
    divergence: float | None = None
    weight: float = 0.0
    entropy: float | None = None
    mixed: float | None = None
    rival: float | None = None

    @property
    def threshold(self) -> float:
        """Return the probability with which the test succeeds."""
        return float(evaluate(parse(self.form.threshold), vars(self)))

    def as_data(self) -> dict[str, Any]:
        """Return the fields of `hsd.trace.Grounds` by name, with the name of the form."""
        return {**vars(self), "form": self.form.name}


# ---- the forms of rules for one draft and for trees alike; others are in the files of their rules

_RATES = {"p": "p", "q": "q"}
TOKEN = Form("token", "a", "min(1, p / q)", _RATES, " = min(1, p/q) with p = {p}, q = {q}")
CHOSEN = Form(
    "chosen", "h", "p", _RATES, " = p = {p}, as the draft’s choice counts as certain", certain=True
)
CAPPED = Form(
    "capped",
    "h",
    "min(1, before * (p / q))",
    {**_RATES, "before": "above_capped"},
    " = min(1, c·p/q) with the capped ratio c = {before} before it, p = {p}, q = {q}",
    also=("min(1, starred)", "capped"),
)
RATIO = Form(
    "ratio",
    "h",
    "min(1, before * (p / q))",
    {**_RATES, "before": "above_ratio"},
    " = min(1, r·p/q) with the joint ratio r = {before} before it, p = {p}, q = {q}",
    also=("min(1, ratio)",),
)
SHARE = Form(
    "share",
    "h",
    "per(mass, mass + (1 - before), 1)",
    {"before": "capped", "mass": "deficient"},
    " = S/(S + 1 − c) with the deficient mass S = {mass} and the capped ratio c = {before}",
    also=("deficient / excess",),
)
NAIVE = Form(
    "naive",
    "h",
    "per(mass, max(mass, mass + (1 - before)), 1)",
    {"before": "ratio", "mass": "deficient"},
    " = S/max(S, S + 1 − r) with the deficient mass S = {mass} and the joint ratio r = {before}",
)
COUPLED = Form(
    "coupled",
    "h",
    "p / (p + mass)",
    {**_RATES, "mass": "lead"},
    " = p/(p + L) with p = {p}, q = {q} and the lead L = {mass} of the other tokens",
    coupled=True,
    former="raced",
)
