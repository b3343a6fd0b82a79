"""Fuzzy speculative decoding (2502.20704).

A drafted token may pass because the two rows are near to each other.

At every drafted position the divergence D of the target's row p and the draft's row q is compared
with a tolerance T: where D ≤ T the draft's token is kept, whatever it is. At drafted positions the
output then follows "q where D ≤ T, else p", under both modes. That is not the target's law unless T
< 0; how far it may be off:

    KL(output ‖ target) ≤ E[drift] ≤ T · E[kept]    with D = KL(q‖p)
    total variation     ≤ E[drift] ≤ T · E[kept]    with D = total variation

where the drift of a step is the sum of D over its kept positions with D ≤ T. The first of these is
an equality for "divergence-only". D belongs to the rows
and not to the token: one with p = 0 can pass, except under KL(q‖p) with a finite tolerance, as D is
infinite where q can draft such a token. All of this is about the rows that are sampled from: with D
of raw rows, nothing of it bounds the output.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from hsd.errors import HsdError
from hsd.rules.forms import Form
from hsd.rules.law import Law, token_tests
from hsd.rules.recipe import RuleRecord
from hsd.rules.rejection import Reading, descend
from hsd.rules.rule import Rule, RuleSetting
from hsd.rules.tree import Tree, TreeRule

NAME = "fuzzy"
SIBLINGS = frozenset({"independent", "distinct", "chosen"})  # a mixed tree has no whole row q
ROWS = ("warped", "raw")


def relative_entropy(of: Tensor, to: Tensor) -> Tensor:
    """Return KL(of ‖ to) ≥ 0 of each row, in nats: (n, V), (n, V) → (n,).

    It is infinite where `to` is 0 and `of` is not.

    Summed as of·log(of/to) - of + to. The last two cancel over a row; with them no term is
    negative, and where the rows are nearly equal the logarithm comes from their difference, so that
    little is lost in single precision.
    """
    gap = to - of
    log_ratio = torch.where(gap.abs() < of / 2, torch.log1p(gap / of), to.log() - of.log())
    return torch.where(of > 0, gap - of * log_ratio, to).sum(-1).clamp_min(0)


def jensen_shannon(p: Tensor, q: Tensor) -> Tensor:
    """Return (KL(p ‖ m) + KL(q ‖ m)) / 2 with m = (p + q) / 2, in nats.

    Shapes: (n, V), (n, V) → (n,). It lies between 0 and ln 2.
    """
    total = p + q
    lean = (p - q) / total
    both = _to_the_middle(p, total, lean) + _to_the_middle(q, total, -lean)
    return (both.sum(-1) / 2).clamp(0, math.log(2))


def _to_the_middle(row: Tensor, total: Tensor, lean: Tensor) -> Tensor:
    """Return row · log(row / m) for each entry, with m = total / 2 and row / m = 1 + lean.

    It is 0 where the row is 0.
    """
    log_ratio = torch.where(lean > -0.5, torch.log1p(lean), (2 * row).log() - total.log())
    return torch.where(row > 0, row * log_ratio, 0)


def total_variation(p: Tensor, q: Tensor) -> Tensor:
    """Return half of Σ |p - q|: (n, V), (n, V) → (n,), from 0 to 1."""
    return ((p - q).abs().sum(-1) / 2).clamp_max(1)


DIVERGENCES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    # KL(q‖p): what the output pays for following q in place of p
    "kl": lambda p, q: relative_entropy(q, p),
    "reverse-kl": lambda p, q: relative_entropy(p, q),
    "js": jensen_shannon,
    "tv": total_variation,
}
"""Each from rows of p and q, (n, V), to (n,), in nats but for total variation.

The result has the precision of the rows.
"""


@dataclass(frozen=True)
class Fuzzy:
    """The settings of the fuzzy rule.

    Raises HsdError for an unknown name and for a tolerance that is not a number.

    divergence: a name in DIVERGENCES. tolerance: the largest divergence D that passes; below 0
    nothing passes, which is exact ("exact-first" is then token-wise verification), and at inf the
    whole draft does. On the embedded pair 0.3 is about the lower quartile of KL(q‖p) over drafted
    positions. mode: "exact-first" compares D only after the exact test has failed, and corrects
    from max(p - q, 0); "divergence-only" is the paper's: the first D above the tolerance ends the
    draft, and the next token follows p. on: the rows for D, "warped" (those that are sampled from)
    or "raw" (at temperature 1, without top-k and top-p).
    """

    divergence: str = "kl"
    tolerance: float = 0.3
    mode: str = "exact-first"
    on: str = "warped"

    def __post_init__(self) -> None:
        known: dict[str, Iterable[str]] = {"divergence": DIVERGENCES, "mode": MODES, "on": ROWS}
        for field, names in known.items():
            if getattr(self, field) not in names:
                raise HsdError(
                    f"unknown {field} {getattr(self, field)!r}: choose one of {', '.join(names)}"
                )
        if not isinstance(self.tolerance, (int, float)) or math.isnan(self.tolerance):
            raise HsdError(
                f"tolerance {self.tolerance!r} is not a number: choose one such as 0.3 (below 0 is "
                "exact)"
            )

    @property
    def exactly(self) -> str:
        """The sentence that a run shows where a tolerance of 0 or below makes the rule exact."""
        if self.mode == "divergence-only":
            passing = "only equal rows pass" if self.tolerance == 0 else "nothing passes"
            return (
                f"At this tolerance {passing}: exact, and next to nothing that is drafted is kept."
            )
        if self.tolerance == 0:
            return (
                "At tolerance 0 a token passes without a test only where both rows are equal: this "
                "is exact."
            )
        return (
            "A tolerance below 0 lets nothing pass: this is exact speculative decoding, token by "
            "token."
        )


TOLERANCE = RuleSetting(
    "tolerance",
    "T",
    "Tolerance",
    "Up to this a token passes; below 0: exact.",
    Fuzzy.tolerance,
    -0.05,
    exact=0,
    open=True,
)


def fuzzy_law(
    config: Fuzzy,
    p: Tensor,
    q: Tensor,
    tokens: Tensor,
    raw: tuple[Tensor, Tensor] | None = None,
    *,
    tolerance: float,
) -> Law:
    """Return the law of one draft, see `Fuzzy`.

    raw: rows for D instead of p, q. tolerance: in place of config's.
    """
    judged_p, judged_q = raw or (p, q)
    divergence = DIVERGENCES[config.divergence](judged_p[: len(tokens)], judged_q).double()
    near = divergence <= tolerance
    first = config.mode == "exact-first"
    ones = torch.ones_like(divergence)
    threshold = torch.where(near, 1.0, token_tests(p, q, tokens) if first else 0.0)
    padded = torch.nn.functional.pad(divergence, (1, 0))
    numbers = {"divergence": padded, "tolerance": tolerance}
    b = None if first else torch.zeros_like(ones)
    return Law(p, q, threshold, forward=True, a=ones, b=b, numbers=numbers, divergence=divergence)


_FAR = {"p": "p", "q": "q", "divergence": "divergence"}
_NEAR = "divergence <= tolerance"
_NOT = "divergence > tolerance"
NEAR = Form(
    "near",
    "a",
    "1",
    _FAR,
    ", as the rows of target and draft are near: divergence {divergence}",
    when=_NEAR,
)
BEYOND = Form(
    "beyond",
    "a",
    "min(1, p / q)",
    _FAR,
    " = min(1, p/q) with p = {p}, q = {q}, as the rows are too far apart to pass: divergence "
    "{divergence}",
    when=_NOT,
)
FAR = Form(
    "far",
    "a",
    "0",
    _FAR,
    ", as the rows of target and draft are too far apart: divergence {divergence}",
    when=_NOT,
)
MODES = {
    "exact-first": RuleRecord(
        (NEAR, BEYOND),
        residual="D is above the tolerance here, so FSD corrects as vanilla does: what the target "
        "has more of, max(p − q, 0), scaled up to 1.",
    ),
    "divergence-only": RuleRecord(
        (NEAR, FAR),
        b="0",
        residual="D is above the tolerance here, and this mode asks no more: the next token "
        "follows the whole target p, not what max(p − q, 0) leaves of it.",
    ),
}


def fuzzy_rule(config: Fuzzy) -> Rule:
    """Return the rule for one draft with these settings.

    It is not lossless, although a tolerance below 0 makes it exact.
    """
    return Rule(
        NAME,
        "FSD, fuzzy",
        "FSD",
        "Holsman et al. 2025, arXiv 2502.20704",
        False,
        MODES[config.mode],
        partial(fuzzy_law, config, tolerance=config.tolerance),
        knob=TOLERANCE,
        raw=config.on == "raw",
        loses="where draft and target are near each other, at a divergence ({divergence}) of at "
        "most T = {value}, a "
        "token passes whatever it is. This step spent {drift} of drift, of at most T × kept = "
        "{bound}.",
        exactly=config.exactly,
        modes=MODES,
    )


NEARBY = replace(
    BEYOND,
    name="nearby",
    words=" = min(1, p/q) with the draft’s own row as p, {p} by now, and q = {q}, as the rows are "
    "near: divergence "
    "{divergence}",
    when=_NEAR,
)


def fuzzy_tree(config: Fuzzy) -> TreeRule:
    """Return the rule for trees with these settings.

    Where D ≤ T the next token is drawn from the draft's row q.

    If it is a child, the rule goes on from there; else it ends the step. Above the tolerance the
    tree's exact rule tests the children, or the next token is drawn from p ("divergence-only"). So
    the law is that of one draft.
    """
    rule = fuzzy_rule(config)
    apart = DIVERGENCES[config.divergence]

    def read(tree: Tree, node: int) -> Reading:
        p = tree.target(node)
        if not tree.children(node):
            return p, BEYOND, {}
        q = tree.draft(node)
        divergence = float(apart(p[None], q[None]))
        near = (q, NEARBY)
        far = (p, BEYOND if config.mode == "exact-first" else FAR)
        return *(near if divergence <= config.tolerance else far), {"divergence": divergence}

    return TreeRule(
        **rule.info,
        process=partial(descend, read),
        siblings=SIBLINGS,
        forms=(NEARBY,),
        divergence=apart,
    )
