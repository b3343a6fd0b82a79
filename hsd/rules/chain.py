"""The rules for a single draft, each as a function from distributions and tokens to a `Law`.

Sources: token-wise 2211.17192; block 2403.10444; hierarchical (HSD) 2601.05724, algorithms 1 and 2.
The fuzzy rule (2502.20704) has settings and a file of its own, `fuzzy.py`; two more that give up
exactness are in `relaxed.py`. Cost of a law: token-wise O(γ), the others O(γ V), all vectorised and
without a host synchronisation.
"""

from functools import partial

import torch
from torch import Tensor

from hsd.errors import HsdError
from hsd.rules.clipped import clipped_rule
from hsd.rules.forms import CAPPED, CHOSEN, COUPLED, NAIVE, RATIO, SHARE, TOKEN
from hsd.rules.fuzzy import Fuzzy, fuzzy_rule
from hsd.rules.law import Law, PrefixRatios, both_masses, token_tests
from hsd.rules.recipe import RuleRecord
from hsd.rules.relaxed import ENSEMBLE, TYPICAL
from hsd.rules.rule import Look, Rule


def tokenwise_law(p: Tensor, q: Tensor, tokens: Tensor) -> Law:
    """Accept token t with probability min(1, p(x_t)/q(x_t)) until the first failure.

    This is algorithm 1 of Leviathan et al.

    p: (γ+1, V), q: (γ, V), rows sum to 1; tokens: (γ,) int64. Lossless.
    """
    threshold = token_tests(p, q, tokens)
    return Law(p, q, threshold, forward=True, a=torch.ones_like(threshold))


def agreement_law(p: Tensor, q: Tensor, tokens: Tensor) -> Law:
    """Accept token t with probability p(x_t).

    That is how often a token sampled from the target equals it.

    Several inference engines sample from the target and compare. It is token-wise verification of a
    proposal with q(x_t) = 1, and so lossless for every draft. Keeps Σ p·q of a position on average,
    at most the Σ min(p, q) of token-wise verification. After a failure the next token follows p
    without x_t, normalised. p: (γ+1, V), q: (γ, V), of which only the shape matters; tokens: (γ,)
    int64.
    """
    return tokenwise_law(p, torch.zeros_like(q).scatter_(-1, tokens.unsqueeze(-1), 1.0), tokens)


def blockwise_law(p: Tensor, q: Tensor, tokens: Tensor) -> Law:
    """Keep the longest prefix whose test succeeds, with probability S_t / (S_t + 1 - c_t).

    This is algorithm 2 of Sun et al.

    p: (γ+1, V), q: (γ, V), rows sum to 1; tokens: (γ,) int64. c: capped ratio; S: deficient mass.
    Lossless.
    """
    log_capped = PrefixRatios.of(p, q, tokens).log_capped
    c = log_capped.exp()
    deficient, _ = both_masses(p[:-1], q, c[:-1])  # S_t, t = 0 … γ-1
    return _backward(p, q, deficient, deficient - torch.expm1(log_capped[:-1]), c, c)


def hsd_law(p: Tensor, q: Tensor, tokens: Tensor, released: bool = False) -> Law:
    """Keep the longest prefix whose test D*(p,q) / D*(q,p) succeeds (Zhou et al.).

    The whole draft is kept with probability min(1, r*_γ).

    r*_t = r_t / max(1, r_1, …, r_{t-1}) (Definitions 4 and 5). D*(p,q) and D*(q,p) are the sums
    over the vocabulary of max(r* q p/q - q, 0) and its converse (Eqs. 17 and 18), relative to
    q(X_{1:t}). This is algorithm 2 as written; that it equals block verification for every draft is
    a result, not an assumption. released: test the whole draft with the uncapped min(1, r_γ), as
    the published code does; that accepts too often and is not lossless. p: (…, γ or γ+1, V),
    without the last row where that is not needed; q: (…, γ, V); tokens: (…, γ) int64.
    """
    log = PrefixRatios.of(p, q, tokens).log  # log r_t, t = 0 … γ
    peak = log.cummax(-1).values  # log max(1, r_1, …, r_t): what caps every longer prefix
    branch = log - peak
    rows = p[..., : q.shape[-2], :]
    # of r*(X_{1:t}, x) q(x) and q(x) over every x
    missing, excess = both_masses(rows, q, branch[..., :-1].exp())
    whole = log if released else torch.cat([log[..., :1], log[..., 1:] - peak[..., :-1]], -1)
    return _backward(p, q, missing, excess, whole.clamp_max(0).exp(), branch.exp())


def _backward(
    p: Tensor, q: Tensor, deficient: Tensor, of: Tensor, whole: Tensor, capped: Tensor
) -> Law:
    """Return the law that tests the whole draft with whole[-1], then shorter prefixes.

    The tests for t = γ-1 … 1 are deficient / of, with 0 / 0 being 1.
    """
    inner = torch.where(of > 0, deficient / of, 1.0).clamp(0, 1)
    threshold = torch.cat([inner[..., 1:], whole[..., -1:]], -1)[..., : q.shape[-2]]
    return Law(
        p, q, threshold, False, capped[..., :-1], numbers={"capped": capped, "deficient": deficient}
    )


RULES = {
    rule.name: rule
    for rule in [
        Rule(
            "tokenwise",
            "Vanilla, token-wise",
            "vanilla",
            "Leviathan et al. 2023, arXiv 2211.17192",
            True,
            RuleRecord((TOKEN,)),
            tokenwise_law,
            drafts="Yang et al. 2024, arXiv 2401.06706",
            look=Look("#7a869a", "circle", "-"),
        ),
        Rule(
            "blockwise",
            "Block verification",
            "block verification",
            "Sun et al. 2024, arXiv 2403.10444",
            True,
            RuleRecord((SHARE,), CAPPED, a="capped"),
            blockwise_law,
            drafts="Sun et al. 2024, arXiv 2403.10444, with 2401.06706",
            look=Look("#56b4e9", "square", "x"),
        ),
        Rule(
            "hsd",
            "HSD, hierarchical",
            "HSD",
            "Zhou et al. 2026, arXiv 2601.05724, algorithm 2",
            True,
            RuleRecord((SHARE,), CAPPED, a="min(1, starred)", inner="per(deficient, excess, 1)"),
            hsd_law,
            drafts="Zhou et al. 2026, arXiv 2601.05724, algorithm 3",
            equals="blockwise",
            look=Look("#0072b2", "diamond"),
        ),
        Rule(
            "hsd-released",
            "HSD as released",
            "HSD as released",
            "Zhou et al. 2026, arXiv 2601.05724, listing 2",
            False,
            RuleRecord((SHARE,), RATIO, a="min(1, starred)", inner="per(deficient, excess, 1)"),
            partial(hsd_law, released=True),
            greedy=True,
            loses="it tests the whole draft without the cap and accepts too much.",
            look=Look("#d55e00", "x", "."),
        ),
        Rule(
            "naive-hsd",
            "Naive HSD",
            "naive HSD",
            "Zhou et al. 2026, arXiv 2601.05724, algorithm 1",
            True,
            RuleRecord((NAIVE,), RATIO, a="min(1, ratio)", b="min(1, 1 / ratio)"),
            resamples=True,
            look=Look("#e69f00", "triangle-up", "+"),
        ),
        Rule(
            "agreement",
            "Agreement, sample and compare",
            "agreement",
            "several inference engines, such as llama.cpp and TensorRT-LLM",
            True,
            RuleRecord(
                (CHOSEN,),
                residual="The draft counts as certain: p without the token that failed, scaled up "
                "to 1.",
            ),
            agreement_law,
            drafts="Miao et al. 2024, arXiv 2305.09781",
        ),
        Rule(
            "coupled",
            "Coupled, equal numbers",
            "coupled",
            "Daliri, Musco and Suresh 2024, arXiv 2408.07978",
            True,
            RuleRecord(
                (COUPLED,),
                residual="Draft and target picked with the same numbers. This is how often each "
                "token wins with p where the drafted one wins with q: only tokens with a larger "
                "p/q can.",
            ),
            look=Look("#b07aa1", "pentagon", "o"),
        ),
        fuzzy_rule(Fuzzy()),
        ENSEMBLE,
        TYPICAL,
    ]
}
RULES["clipped"] = clipped_rule(RULES["tokenwise"], "clipped", "clipped")
RULES["clipped-hsd"] = clipped_rule(RULES["hsd"], "clipped-hsd", "clipped HSD")
USUAL = "hsd"  # where nobody says which


def find_rule(name: str) -> Rule:
    """Return the rule for one draft with this name.

    Raises HsdError, with the list of names, for an unknown one.
    """
    if name not in RULES:
        raise HsdError(f"unknown rule {name!r}: choose one of {', '.join(RULES)}")
    return RULES[name]
