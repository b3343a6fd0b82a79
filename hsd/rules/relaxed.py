"""Two rules that servers run and that give up exactness for longer drafts: a mixed target, and no draft in the test.

`ensemble`: token-wise verification of a mixture, p' = (1 - w) p + w q in place of p, and so exact for p'. At a drafted
position the output follows p', which is off by w times the total variation of p and q; the bonus follows p.
`assistant_ensemble_weight` of `transformers` is 1 - w. w = 0 is token-wise verification, w = 1 keeps every draft.

`typical`: Cai et al. 2024 (Medusa), section 3.3.2. Keep the token while p(x_t) > min(ε, √ε exp(-H(p_t))), H being the
entropy of the target's row in nats. There is no coin, and q plays no part: likely tokens pass however much more often
the draft proposes them. At ε = 0 every token passes that the target can write at all. After the kept tokens Medusa goes
on with the target's likeliest token; here the next one is drawn from p, so that rules differ in their tests alone.
"""

from __future__ import annotations

import torch
from torch import Tensor

from hsd.rules.forms import Form
from hsd.rules.law import Knob, Law, Rule, of_tokens, token_tests
from hsd.rules.recipe import Recipe

WEIGHT = Knob("draft_weight", "w", "Draft weight", "The draft's share in what is tested; 0: exact.", 0.5, exact=0)
EPSILON = Knob("epsilon", "ε", "Epsilon", "A token passes if p > min(ε, √ε·e⁻ᴴ); lower: more pass.", 0.09)


def ensemble_law(p: Tensor, q: Tensor, tokens: Tensor, draft_weight: float = WEIGHT.default) -> Law:
    """Accept token t with min(1, p'(x_t)/q(x_t)) = w + (1 - w) min(1, p(x_t)/q(x_t)); stop at the first failure.

    The residual max(p' - q, 0) is (1 - w) max(p - q, 0), and so, normalised, that of token-wise verification.
    """
    threshold = draft_weight + (1 - draft_weight) * token_tests(p, q, tokens)
    return Law(p, q, threshold, forward=True, a=torch.ones_like(threshold), numbers={"draft_weight": draft_weight})


def typical_law(p: Tensor, q: Tensor, tokens: Tensor, epsilon: float = EPSILON.default) -> Law:
    """Keep token t while p(x_t) > min(ε, √ε exp(-H(p_t))); after the first that is not, the next token follows p."""
    entropy = torch.special.entr(p[: len(tokens)]).sum(-1).double()
    likely = of_tokens(p, tokens) > (epsilon**0.5 * torch.exp(-entropy)).clamp_max(epsilon)
    ones = torch.ones_like(entropy)
    numbers = {"entropy": torch.nn.functional.pad(entropy, (1, 0)), "epsilon": epsilon}
    return Law(p, q, likely.double(), forward=True, a=ones, b=torch.zeros_like(ones), numbers=numbers)


MIXED = Form(
    "mixed",
    "a",
    "weight + (1 - weight) * min(1, p / q)",
    {"p": "p", "q": "q", "weight": "draft_weight"},
    " = w + (1 − w)·min(1, p/q) with w = {weight}, p = {p}, q = {q}",
)
_BAR = "min(epsilon, sqrt(epsilon) * exp(-entropy))"
_LIKELY = {"p": "p", "q": "q", "entropy": "entropy"}
LIKELY = Form(
    "likely", "a", "1", _LIKELY, ", as p is above min(ε, √ε·e⁻ᴴ) with H = {entropy}", when=f"p > {_BAR}", coin=False
)
UNLIKELY = Form(
    "unlikely",
    "a",
    "0",
    _LIKELY,
    ", as p is not above min(ε, √ε·e⁻ᴴ) with H = {entropy}",
    when=f"p <= {_BAR}",
    coin=False,
)
ENSEMBLE = Rule(
    "ensemble",
    "Ensemble",
    "ensemble",
    "assistant_ensemble_weight of transformers",
    False,
    Recipe(
        (MIXED,),
        residual="What the mixture has more of than q is (1 − w)·max(p − q, 0): scaled up to 1 the same as for "
        "vanilla, max(p − q, 0).",
    ),
    ensemble_law,
    knob=WEIGHT,
    loses="the test takes (1 − w)·p + w·q for the target, w = {value}, and at drafted places the text follows that.",
)
TYPICAL = Rule(
    "typical",
    "Typical",
    "typical",
    "Cai et al. 2024, arXiv 2401.10774",
    False,
    Recipe(
        (LIKELY, UNLIKELY),
        b="0",
        residual="The test took nothing from p, so nothing is taken out of it: the next token follows the whole "
        "target p.",
    ),
    typical_law,
    knob=EPSILON,
    loses="a token passes wherever p > min(ε, √ε·e⁻ᴴ), ε = {value}, however often "
    "the draft proposes it. No coin is asked.",
)
