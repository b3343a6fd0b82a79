"""Two rules that servers run and that give up exactness for longer drafts.

One has a mixed target, the other no draft in its test.

`ensemble`: token-wise verification of a mixture, p' = (1 - w) p + w q in place of p, and so exact
for p'. At a drafted position the output follows p', which is off by w times the total variation of
p and q; the bonus follows p. `assistant_ensemble_weight` of `transformers` is 1 - w. w = 0 is
token-wise verification, w = 1 keeps every draft. At temperature 0 it uses no coin and draws
nothing, as `transformers` does: the next token is the likeliest one of the mixture of both rows at
temperature 1, without top-k and top-p; after the whole draft it is the target's.

`typical`: Cai et al. 2024 (Medusa), section 3.3.2. Keep the token while p(x_t) > min(ε, √ε
exp(-H(p_t))), H being the entropy of the target's row in nats. There is no coin, and q plays no
part: likely tokens pass however much more often the draft proposes them. At ε = 0 every token
passes that the target can write at all. What follows the kept tokens is a setting: "drawn" from p,
so that rules differ in their tests alone, or the target's "likeliest" token, as Medusa's code has
it.
"""

from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from hsd.rules.forms import Form
from hsd.rules.law import Law, likeliest, of_tokens, token_tests
from hsd.rules.recipe import RuleRecord
from hsd.rules.rule import Rule, RuleSetting

WEIGHT = RuleSetting(
    "draft_weight",
    "w",
    "Draft weight",
    "The draft's share in what is tested; 0: exact.",
    0.5,
    exact=0,
)
EPSILON = RuleSetting(
    "epsilon", "ε", "Epsilon", "A token passes if p > min(ε, √ε·e⁻ᴴ); lower: more pass.", 0.09
)


def ensemble_law(p: Tensor, q: Tensor, tokens: Tensor, draft_weight: float = WEIGHT.default) -> Law:
    """Accept token t with min(1, p'(x_t)/q(x_t)) = w + (1 - w) min(1, p(x_t)/q(x_t)).

    Stop at the first failure.

    The residual max(p' - q, 0) is (1 - w) max(p - q, 0), and so, normalised, that of token-wise
    verification.
    """
    threshold = draft_weight + (1 - draft_weight) * token_tests(p, q, tokens)
    return Law(
        p,
        q,
        threshold,
        forward=True,
        a=torch.ones_like(threshold),
        numbers={"draft_weight": draft_weight},
    )


def cold_ensemble_law(
    p: Tensor,
    q: Tensor,
    tokens: Tensor,
    raw: tuple[Tensor, Tensor] | None = None,
    draft_weight: float = WEIGHT.default,
) -> Law:
    """Keep token t while it is the likeliest of v_t = (1 - w) p_t + w q_t.

    Then the likeliest of the next v_t follows.

    raw: rows p and q to mix, at temperature 1; by default p and q. After the whole draft the
    likeliest of p_γ follows. Of equally likely tokens the first counts; the recorded rival is then
    less by one rounding.
    """
    gamma = len(tokens)
    of_target, of_draft = raw or (p, q)
    mixture = (1 - draft_weight) * of_target[:gamma] + draft_weight * of_draft
    leads = mixture.argmax(-1) == tokens
    mixed = of_tokens(mixture, tokens)
    rival = mixture.scatter(-1, tokens.unsqueeze(-1), 0.0).amax(-1).double()
    rival = torch.where(leads & (rival == mixed), rival * (1 - 2.0**-52), rival)
    pad = torch.nn.functional.pad
    numbers = {
        "draft_weight": draft_weight,
        "mixed": pad(mixed, (1, 0)),
        "rival": pad(rival, (1, 0)),
    }
    follow = torch.cat([likeliest(mixture).to(p.dtype), likeliest(p[gamma:])])
    ones = torch.ones_like(mixed)
    return Law(p, q, leads.double(), True, ones, torch.zeros_like(ones), numbers, follow=follow)


def typical_law(
    p: Tensor,
    q: Tensor,
    tokens: Tensor,
    epsilon: float = EPSILON.default,
    after_kept: str = "drawn",
) -> Law:
    """Keep token t while p(x_t) > min(ε, √ε exp(-H(p_t))).

    After the first that fails, the next token is drawn from p.

    after_kept: "drawn", or "likeliest": the next token is the likeliest of p, also after the whole
    draft.
    """
    entropy = torch.special.entr(p[: len(tokens)]).sum(-1).double()
    likely = of_tokens(p, tokens) > (epsilon**0.5 * torch.exp(-entropy)).clamp_max(epsilon)
    ones = torch.ones_like(entropy)
    numbers = {"entropy": torch.nn.functional.pad(entropy, (1, 0)), "epsilon": epsilon}
    follow = likeliest(p) if after_kept == "likeliest" else None
    return Law(p, q, likely.double(), True, ones, torch.zeros_like(ones), numbers, follow=follow)


MIXED = Form(
    "mixed",
    "a",
    "weight + (1 - weight) * min(1, p / q)",
    {"p": "p", "q": "q", "weight": "draft_weight"},
    " = w + (1 − w)·min(1, p/q) with w = {weight}, p = {p}, q = {q}",
)
LEADS = Form(
    "leads",
    "a",
    "1",
    {"mixed": "mixed", "rival": "rival"},
    ", as it is the likeliest of (1 − w)·p + w·q, which gives it {mixed} and no other more than "
    "{rival}",
    when="mixed > rival",
    coin=False,
    whose="mixture",
)
TRAILS = replace(
    LEADS,
    name="trails",
    threshold="0",
    words=", as another token is the likeliest of (1 − w)·p + w·q, which gives that {rival} and "
    "this one {mixed}",
    when="mixed <= rival",
)
_BAR = "min(epsilon, sqrt(epsilon) * exp(-entropy))"
LIKELY = Form(
    "likely",
    "a",
    "1",
    {"p": "p", "q": "q", "entropy": "entropy"},
    ", as p is above min(ε, √ε·e⁻ᴴ) with H = {entropy}",
    when=f"p > {_BAR}",
    coin=False,
)
UNLIKELY = replace(
    LIKELY,
    name="unlikely",
    threshold="0",
    words=LIKELY.words.replace("is above", "is not above"),
    when=f"p <= {_BAR}",
)
ENSEMBLE = Rule(
    "ensemble",
    "Ensemble",
    "ensemble",
    "assistant_ensemble_weight of transformers",
    False,
    RuleRecord(
        (MIXED,),
        residual="What the mixture has more of than q is (1 − w)·max(p − q, 0): scaled up to 1 "
        "the same as for vanilla, max(p − q, 0).",
    ),
    ensemble_law,
    knob=WEIGHT,
    loses="the test takes (1 − w)·p + w·q for the target, w = {value}, and at drafted places the "
    "text follows that.",
)
COLD = replace(
    ENSEMBLE,
    recipe=RuleRecord(
        (LEADS, TRAILS),
        b="0",
        residual="At temperature 0 the test asks for the likeliest token of the mixture, and "
        "where it is another one, that is what follows. No coin, and nothing is drawn.",
        follow="mixture",
    ),
    build=cold_ensemble_law,
    raw=True,
    loses="the likeliest token of (1 − w)·p + w·q stands in for the target’s, w = {value}, at "
    "every drafted place.",
)
ENSEMBLE = replace(ENSEMBLE, cold=COLD)
DRAWN = RuleRecord(
    (LIKELY, UNLIKELY),
    b="0",
    residual="The test took nothing from p, so nothing is taken out of it: the next token follows "
    "the whole target p.",
)
LIKELIEST = replace(
    DRAWN,
    residual="As in Medusa the target’s likeliest token follows the kept ones, whatever p gives "
    "the others: nothing is drawn.",
    follow="target",
)
AFTER = {"drawn": DRAWN, "likeliest": LIKELIEST}
TYPICAL = Rule(
    "typical",
    "Typical",
    "typical",
    "Cai et al. 2024, arXiv 2401.10774",
    False,
    DRAWN,
    typical_law,
    knob=EPSILON,
    loses="a token passes wherever p > min(ε, √ε·e⁻ᴴ), ε = {value}, however often "
    "the draft proposes it. No coin is asked.",
    modes=AFTER,
)


def typical_rule(after_kept: str) -> Rule:
    """Return typical acceptance with after_kept "drawn" or "likeliest", see `typical_law`."""
    return replace(
        TYPICAL, recipe=AFTER[after_kept], build=partial(typical_law, after_kept=after_kept)
    )
