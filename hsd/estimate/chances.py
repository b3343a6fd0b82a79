"""What a rule would have kept of drafts of one text, from the log-probabilities of its tokens.

A text y was drawn from the target. For each of its tokens two numbers are known: log p(y_i) of the
target and log q(y_i) of the draft, both given the text before it. With r_i = q(y_i) / p(y_i), the
chance that a pass which begins at token i keeps at least its first k drafted tokens, given this
text, is

    vanilla (token-wise)   ∏ min(1, r)                       over the next k tokens
    hsd (block-wise)       min(1, lowest of the products ∏ r of the next 1, 2, …, k tokens)
    ideal                  min(1, ∏ r)                       no lossless rule keeps more
    agreement              ∏ q                               both draw, and the tokens are compared

Proof for the first two: vanilla keeps x with chance q(x) ∏ min(1, p/q) = p(x) ∏ min(1, q/p). HSD
keeps it with q(x) R_k / max(1, R_1, …, R_k), where R_j is the product of p/q up to j; this is
p(x) min(1, 1/R_1, …, 1/R_k). Divided by p(x), the chance of the text, they are functions of the
text alone.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
# of a pass: the number r of the newest token, the running product before it, the chance before it,
# all as logarithms, to the next chance; `q` is the draft's own log-probability
Step = Callable[[Numbers, Numbers, Numbers, Numbers], Numbers]

VANILLA = "tokenwise"
HSD = "hsd"
RULES: dict[str, Step] = {
    VANILLA: lambda chance, product, r, q: chance + np.minimum(r, 0),
    HSD: lambda chance, product, r, q: np.minimum(chance, product),
    "agreement": lambda chance, product, r, q: chance + q,
    "ideal": lambda chance, product, r, q: np.minimum(product, 0),
}


def kept_chances(rule: str, logp: Numbers, logq: Numbers, longest: int) -> Numbers:
    """Return the chance (…, n, longest) that a pass from each token on keeps at least k tokens.

    rule: a name of `RULES`. logp, logq: (…, n) log-probabilities of the text's tokens under target
    and draft, natural logarithms; logq may be -inf. Entry k - 1 is for k tokens, the token itself
    and those after it; it is 0 where the text ends before. Padding is -inf in both.
    """
    n = logp.shape[-1]
    inside = logp > -np.inf
    r = np.where(inside, logq - np.where(inside, logp, 0.0), -np.inf)
    q = np.where(inside, logq, -np.inf)
    step = RULES[rule]
    chance = np.zeros_like(r)
    product = np.zeros_like(r)
    chances = np.empty((*r.shape, longest))
    for k in range(longest):
        product = product + _later(r, k, n)
        chance = step(chance, product, _later(r, k, n), _later(q, k, n))
        chances[..., k] = np.exp(chance)
    return chances


def _later(values: Numbers, by: int, n: int) -> Numbers:
    """Return values (…, n) moved to the front by some places, with -inf after their end."""
    moved = np.full_like(values, -np.inf)
    moved[..., : max(n - by, 0)] = values[..., by:]
    return moved


def pass_begins(chances: Numbers, lengths: Sequence[int] = ()) -> Numbers:
    """Return the chance (…, n, longest) that a pass begins at each token, for γ = 1 to longest.

    chances: (…, n, longest) of `kept_chances`. lengths: of texts (texts, n, longest) with padding;
    none begins after the end. The sum over tokens is the expected number of the
    target's passes for this text; 1 minus an entry is the chance that the token came free, with the
    pass of one before it.
    """
    n, longest = chances.shape[-2:]
    begins = np.zeros_like(chances)
    begins[..., :1, :] = 1.0
    for i in range(n):
        for k, exactly in _ends(chances[..., i, :], longest):
            if i + k + 1 < n:
                begins[..., i + k + 1, :] += begins[..., i, :] * exactly
    for text, length in enumerate(lengths):
        begins[text, length:] = 0.0
    return begins


def _ends(at_least: Numbers, longest: int) -> Iterator[tuple[int, Numbers]]:
    """Yield k and the chance (…, longest) that exactly k tokens are kept, for every γ at once.

    at_least: (…, longest), the chance of at least 1, 2, … tokens.
    """
    lengths = np.arange(1, longest + 1)
    for k in range(longest + 1):
        here = at_least[..., k - 1 : k] if k else np.ones_like(at_least[..., :1])
        after = at_least[..., k : k + 1] if k < longest else np.zeros_like(at_least[..., :1])
        yield k, np.where(lengths > k, here - after, np.where(lengths == k, here, 0.0))


def expected_passes(chances: Numbers) -> Numbers:
    """Return how many of the target's passes a text takes on average, (…, longest) for γ from 1 on.

    chances: of `kept_chances`, of one text (n, longest) without padding.
    """
    passes: Numbers = pass_begins(chances).sum(-2)
    return passes
