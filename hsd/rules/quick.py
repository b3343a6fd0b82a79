"""Rules for one draft on plain numbers, for rows that stay outside torch.

The laws of `hsd.rules.chain`, test by test.

p, q: probabilities of the γ drafted tokens by target and draft. coins: one for each. masses(t, a):
returns Σ max(a p - q, 0) and Σ max(q - a p, 0) after t tokens; called only where a test needs them.
Each rule returns how many tokens are kept, and the factor a of the residual max(a p - q, 0) that
the next token is drawn from.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial

Row = Sequence[float]
Masses = Callable[[int, float], tuple[float, float]]


def tokenwise(p: Row, q: Row, coins: Row, masses: Masses) -> tuple[int, float]:
    """Return how many tokens token-wise verification keeps, and the residual's factor a = 1.

    It keeps tokens up to the first failed test min(1, p/q).
    """
    failed = (
        t
        for t, (x, y, coin) in enumerate(zip(p, q, coins, strict=False))
        if not coin < min(1, x / y)
    )
    return next(failed, len(p)), 1.0


def hsd(p: Row, q: Row, coins: Row, masses: Masses, released: bool = False) -> tuple[int, float]:
    """Return how many tokens HSD keeps, and the residual's factor a.

    released: as of `hsd.rules.chain.hsd_law`.
    """
    log = 0.0
    peak = 0.0
    capped = [1.0]
    whole = 1.0
    for x, y in zip(p, q, strict=True):
        log += math.log(x / y) if x else -math.inf
        whole = math.exp(min(log if released else log - peak, 0))
        peak = max(peak, log)
        capped.append(math.exp(log - peak))
    if p and coins[len(p) - 1] < whole:
        return len(p), 1.0
    for t in range(len(p) - 1, 0, -1):
        deficient, excess = masses(t, capped[t])
        if coins[t - 1] < (min(deficient / excess, 1.0) if excess > 0 else 1.0):
            return t, capped[t]
    return 0, 1.0


# one law, by either name
QUICK: dict[str, Callable[[Row, Row, Row, Masses], tuple[int, float]]] = {
    "tokenwise": tokenwise,
    "hsd": hsd,
    "blockwise": hsd,
    "hsd-released": partial(hsd, released=True),
}
