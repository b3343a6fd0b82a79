"""The rules for a single draft, each as a function from distributions and tokens to a `Law`.

Sources: token-wise 2211.17192; block 2403.10444; hierarchical (HSD) 2601.05724, algorithms 1 and 2. The fuzzy rule
(2502.20704) has settings and a file of its own, `fuzzy.py`.
Cost of a law: token-wise O(γ), the others O(γ V), all vectorised and without a host synchronisation.
"""

from __future__ import annotations

import torch
from torch import Tensor

from hsd.errors import HsdError
from hsd.rules.fuzzy import Fuzzy, fuzzy_rule
from hsd.rules.law import Law, PrefixRatios, Rule, deficient_mass, token_tests

__all__ = ["RULES", "Rule", "find_rule"]


def tokenwise_law(p: Tensor, q: Tensor, tokens: Tensor) -> Law:
    """Accept token t with min(1, p(x_t)/q(x_t)); stop at the first failure (Leviathan et al., algorithm 1)."""
    threshold = token_tests(p, q, tokens)
    return Law(p, q, threshold, forward=True, a=torch.ones_like(threshold))


def blockwise_law(p: Tensor, q: Tensor, tokens: Tensor) -> Law:
    """Keep the longest prefix whose test S_t / (S_t + 1 - c_t) succeeds (Sun et al., algorithm 2)."""
    ratios = PrefixRatios.of(p, q, tokens)
    c = ratios.log_capped.exp()
    deficient = deficient_mass(p[:-1], q, c[:-1]).double()  # S_t, t = 0 … γ-1
    inner = _share(deficient[1:], deficient[1:] - torch.expm1(ratios.log_capped[1:-1]))
    threshold = torch.cat([inner, c[-1:]])[: len(tokens)]
    return Law(p, q, threshold, forward=False, a=c[:-1], deficient=deficient)


def hsd_law(p: Tensor, q: Tensor, tokens: Tensor) -> Law:
    """Hierarchical verification with capped ratios, algorithm 2: test D*(p,q)/D*(q,p), last test min(1, r*_γ).

    D*(q,p), relative to the draft's joint probability, is the branch's excess mass E_t = S_t + 1 - c_t,
    so this is block verification reached from another side: both laws are equal, draft by draft.
    """
    return blockwise_law(p, q, tokens)


def hsd_released_law(p: Tensor, q: Tensor, tokens: Tensor) -> Law:
    """As `hsd_law`, but the whole draft is tested with the uncapped min(1, r_γ), as in the published code.

    Not lossless: it accepts more than it may.
    """
    capped = hsd_law(p, q, tokens)
    whole = PrefixRatios.of(p, q, tokens).log[-1:].clamp_max(0).exp()
    return Law(p, q, torch.cat([capped.threshold[:-1], whole])[: len(tokens)], forward=False, a=capped.a)


def naive_hsd_law(p: Tensor, q: Tensor, tokens: Tensor) -> Law:
    """Hierarchical verification without caps, algorithm 1: test D(p,q)/max(D(p,q), D(q,p)), last test min(1, r_γ).

    Reaches the ideal number of kept tokens, but the rest of the block must then be drawn from the residuals
    of the positions that follow, which costs further target calls (`Rule.resamples`).
    Both masses are divided by max(r_t, 1), so that neither overflows.
    """
    log = PrefixRatios.of(p, q, tokens).log
    a, b = log[:-1].clamp_max(0).exp(), (-log[:-1]).clamp_max(0).exp()
    deficient = deficient_mass(p[:-1], q, a, b).double()
    inner = _share(deficient, torch.maximum(deficient, deficient + b - a))[1:]
    whole = log[-1:].clamp_max(0).exp()
    return Law(p, q, torch.cat([inner, whole])[: len(tokens)], forward=False, a=a, b=b)


def _share(part: Tensor, whole: Tensor) -> Tensor:
    """part / whole; where both are 0 there is nothing to correct, and the prefix is kept for certain."""
    return torch.where(whole > 0, part / whole, 1.0).clamp(0, 1)


RULES: dict[str, Rule] = {
    rule.name: rule
    for rule in [
        Rule("tokenwise", "Vanilla, token-wise", "Leviathan et al. 2023, arXiv 2211.17192", True, tokenwise_law),
        Rule("blockwise", "Block verification", "Sun et al. 2024, arXiv 2403.10444", True, blockwise_law),
        Rule("hsd", "HSD, hierarchical", "Zhou et al. 2026, arXiv 2601.05724, algorithm 2", True, hsd_law),
        Rule(
            "hsd-released",
            "HSD as released (not lossless)",
            "Zhou et al. 2026, arXiv 2601.05724, listing 2",
            False,
            hsd_released_law,
        ),
        Rule(
            "naive-hsd",
            "Naive HSD (extra target calls)",
            "Zhou et al. 2026, arXiv 2601.05724, algorithm 1",
            True,
            naive_hsd_law,
            resamples=True,
        ),
        fuzzy_rule(Fuzzy()),
    ]
}


def find_rule(name: str) -> Rule:
    """The rule of that name. Raises HsdError with the list of names."""
    if name not in RULES:
        raise HsdError(f"unknown rule {name!r}: choose one of {', '.join(RULES)}")
    return RULES[name]
