"""The target's row clipped to the draft's, called L.

It is the most that a tolerance in KL can add to acceptance, and not lossless.

Among all laws L with KL(L‖p) ≤ T nats, the one that shares most with q, Σ min(L, q), is L = clip(q,
α p, β p) with α ≤ 1 ≤ β from Σ L = 1 and KL(L‖p) = T; where T is never reached, L is q on tokens
with p > 0. For in the sum Σ min(L, q) a token's L is worth nothing above q: so L/p is one number α
wherever L > q, another, β, wherever L < q, and L = q between them. The output of any lossless rule
with L in place of p follows L, so that KL(output‖target) is at most T a token. That needs an L that
is fixed before anything is drawn from q, see `clipped_tree`. A token with p = 0 never passes. At
temperature 0 p is one token, and so is L: every tolerance is exact.
"""

from dataclasses import replace
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import hardshrink, pad

from hsd.rules.forms import TOKEN, Form
from hsd.rules.fuzzy import TOLERANCE
from hsd.rules.law import TINY, Law
from hsd.rules.rejection import Reading, descend
from hsd.rules.rule import Rule
from hsd.rules.tree import Tree, TreeRule

LIMIT = replace(
    TOLERANCE, words="How far, in nats, a token's law may be from the target's; 0: exact."
)
# of distinct ones every draw changes the row of the next
SIBLINGS = frozenset({"independent", "mixed", "chosen"})


def clip(p: Tensor, q: Tensor, tolerance: float) -> Tensor:
    """Return L for each row, (n, V) as p.

    p, q: (n, V). tolerance: T in nats. It takes O(V log V), without synchronisation.
    """
    if tolerance <= 0:
        return p
    ratio, order = torch.where(p > 0, q.double() / p.double(), 0.0).sort(-1)
    mass = p.double().gather(-1, order)
    # of p above them: a difference would be rounded away
    rest = pad(mass.flip(-1).cumsum(-1).flip(-1), (0, 1))
    # of p, q and q log(q/p), over 0 … V ratios
    lowest = mass, mass * ratio, mass * torch.xlogy(ratio, ratio)
    sums = torch.stack([*(pad(share.cumsum(-1), (1, 0)) for share in lowest), rest])
    total = sums[0, :, -1:]
    lifted = ratio * sums[0, :, :-1] - sums[1, :, :-1]  # what α p adds to q, each ratio as α

    def below(count: Tensor) -> Tensor:
        return sums.gather(-1, count.expand(4, *count.shape))

    def solved(beta: Tensor) -> tuple[Tensor, Tensor]:
        """Return the α that goes with each β, (n, any), and whether both keep the tolerance."""
        _, covered, cost, rest = below(torch.searchsorted(ratio, beta, right=True))
        # none where L is q: what is left is rounding
        missing = hardshrink(total - covered - beta * rest, 1e-14)
        mass, covered, spared, _ = below(torch.searchsorted(lifted, missing).clamp_min(1))
        alpha = ((missing + covered) / mass.clamp_min(TINY)).clamp(0, 1) * (
            1 - 2**-50 * (missing <= 0).double()
        )
        spent = torch.xlogy(alpha, alpha) * mass + cost - spared + torch.xlogy(beta, beta) * rest
        return alpha, (missing >= 0) & (spent <= tolerance)

    low = torch.zeros_like(total)
    high = ratio[:, -1:].clamp(1, 1e300).log()  # of log β
    for _ in range(10):  # each time into 64 parts, down to rounding
        grid = torch.lerp(low, high, torch.linspace(0, 1, 65, dtype=low.dtype, device=p.device))
        last = solved(grid.exp())[1][:, 1:].long().cumprod(-1).sum(-1, keepdim=True)
        low = grid.gather(-1, last)
        high = grid.gather(-1, (last + 1).clamp_max(64))
    beta = low.exp()
    return torch.minimum(
        torch.maximum(q.double(), solved(beta)[0] * p), beta * (1 + 2**-50) * p
    ).to(p.dtype)


def clipped_law(
    rule: Rule, p: Tensor, q: Tensor, tokens: Tensor, tolerance: float = LIMIT.default
) -> Law:
    """Return the law of a lossless rule with L for the target's rows at drafted positions.

    L = clip(p, q, tolerance).
    """
    return rule.unchecked_law(torch.cat([clip(p[:-1], q, tolerance), p[-1:]]), q, tokens)


def _by_clipped(form: Form) -> Form:
    """Return `form` with the target's clipped row L in place of p, in numbers and words."""
    words = (
        form.words.replace("p/q", "L/q").replace("p = ", "L = ")
        + ", L being the target’s row as clipped to q"
    )
    along = {**form.along, "p": "clipped"} if "p" in form.along else form.along
    return replace(form, name=f"clipped-{form.name}", words=words, along=along, also=())


def clipped_rule(rule: Rule, name: str, short: str) -> Rule:
    """Return a rule that uses the clipped rows L as the lossless `rule` uses p.

    name, short: see `RuleInfo`.
    """
    each = tuple(map(_by_clipped, rule.recipe.each))
    whole = rule.recipe.whole and _by_clipped(rule.recipe.whole)
    words = "What the clipped target L has more of, in place of p."
    return Rule(
        *(name, short[:1].upper() + short[1:], short, "this project", False),
        replace(rule.recipe, each=each, whole=whole, residual=words, clipped=True),
        partial(clipped_law, rule),
        knob=LIMIT,
        greedy=True,
        loses="at drafted places the text follows the target’s row clipped to the draft’s, up to T "
        "= {value} nats off.",
        exactly="At a tolerance of 0 or below nothing is clipped: this is exact.",
    )


def clipped_tree(rule: Rule, tolerance: float = LIMIT.default) -> TreeRule:
    """Return the rule for trees.

    It is top-down rejection with L for p, where a chosen token counts as q = 1. In a mixed tree all
    siblings count that were proposed, also those that were cut off when the tree was cut to size:
    which ones are left may depend on the drawn one. So L follows from the rows of p and q after the
    node alone, and given the text up to there the next token follows L, or p where none is drafted.
    """
    form = _by_clipped(TOKEN)

    def read(tree: Tree, node: int) -> Reading:
        p = tree.target(node)
        if tree.children(node):
            p = clip(p[None], tree.group(node)[None], tolerance)[0]
        return p, form, {}

    return TreeRule(**rule.info, process=partial(descend, read), siblings=SIBLINGS, forms=(form,))
