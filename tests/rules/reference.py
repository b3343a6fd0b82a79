"""Every chain rule once more, literally from the papers' definitions: joint probabilities, explicit
sums, plain floats.

Slow on purpose and independent on purpose: it imports nothing from `hsd` and uses neither
logarithms nor the relative masses of the implementation. Suitable for a vocabulary of a handful and
a draft of up to some ten tokens.

A prefix X_{1:t} is the first t drafted tokens. p(X_{1:t}) and q(X_{1:t}) are joint probabilities.
Sources: token-wise 2211.17192, block 2403.10444, hierarchical 2601.05724 (definition, theorem and
equation numbers), fuzzy 2502.20704, coupled 2408.07978, typical 2401.10774; ensemble:
`assistant_ensemble_weight` of transformers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

Row = list[float]
NEGLIGIBLE = 1e-13  # a residual lighter than this is rounding noise: its direction says nothing


@dataclass(frozen=True)
class Problem:
    """One draft: p (γ+1 rows), q (γ rows), γ tokens."""

    p: list[Row]
    q: list[Row]
    tokens: list[int]

    @property
    def gamma(self) -> int:
        return len(self.tokens)

    def joint_p(self, t: int) -> float:
        """p(X_{1:t})."""
        return _product(self.p[i][self.tokens[i]] for i in range(t))

    def joint_q(self, t: int) -> float:
        """q(X_{1:t})."""
        return _product(self.q[i][self.tokens[i]] for i in range(t))

    def ratio(self, t: int) -> float:
        """r(X_{1:t}) = p(X_{1:t}) / q(X_{1:t})."""
        return self.joint_p(t) / self.joint_q(t)


@dataclass(frozen=True)
class Answer:
    """The law of one rule: stop (γ+1 numbers), next (γ+1 rows), residual mass before normalising
    (γ+1 numbers).
    """

    stop: list[float]
    next: list[Row]
    mass: list[float]

    @property
    def expected_kept(self) -> float:
        return sum(t * stop for t, stop in enumerate(self.stop))


# Ratios, Definitions 4 and 5


def pivot(problem: Problem, t: int) -> int:
    """m(X_{1:t}), Definition 4: the i in 1 … t-1 of the largest r(X_{1:i}) if that exceeds 1, else
    0.
    """
    best = 0
    for i in range(1, t):
        if problem.ratio(i) > max(1.0, problem.ratio(best)):
            best = i
    return best


def capped_ratio(problem: Problem, t: int) -> float:
    """min(1, r*(X_{1:t})) with r* of Definition 5: min(r_m, 1) · r_t / r_m, or r_t where m = 0."""
    m = pivot(problem, t)
    starred = min(problem.ratio(m), 1.0) * problem.ratio(t) / problem.ratio(m)
    return min(1.0, starred)


# Branch divergences


def deficient_uncapped(problem: Problem, t: int) -> float:
    """D(p, q | X_{1:t}) = Σ_x max(p(X_{1:t}, x) - q(X_{1:t}, x), 0)."""
    jp = problem.joint_p(t)
    jq = problem.joint_q(t)
    return sum(max(jp * a - jq * b, 0.0) for a, b in zip(problem.p[t], problem.q[t], strict=True))


def excess_uncapped(problem: Problem, t: int) -> float:
    """D(q, p | X_{1:t}) = Σ_x max(q(X_{1:t}, x) - p(X_{1:t}, x), 0)."""
    jp = problem.joint_p(t)
    jq = problem.joint_q(t)
    return sum(max(jq * b - jp * a, 0.0) for a, b in zip(problem.p[t], problem.q[t], strict=True))


def _starred_joint(problem: Problem, t: int) -> list[float]:
    """r*(X_{1:t}, x) · q(X_{1:t}, x) for every x. The pivot of every such longer prefix lies in 1 …
    t.
    """
    peak = max([1.0, *(problem.ratio(i) for i in range(1, t + 1))])
    return [problem.joint_p(t) * a / peak for a in problem.p[t]]


def deficient(problem: Problem, t: int) -> float:
    """D*(p, q | X_{1:t}), Eq. 17: the branch's missing mass once every surplus met on the way is
    cut off.
    """
    jq = problem.joint_q(t)
    return sum(
        max(a - jq * b, 0.0) for a, b in zip(_starred_joint(problem, t), problem.q[t], strict=True)
    )


def excess(problem: Problem, t: int) -> float:
    """D*(q, p | X_{1:t}), Eq. 18: the branch's mass above what the capped target asks for."""
    jq = problem.joint_q(t)
    return sum(
        max(jq * b - a, 0.0) for a, b in zip(_starred_joint(problem, t), problem.q[t], strict=True)
    )


# Residuals


def _residual(problem: Problem, t: int, weight_p: float, weight_q: float) -> tuple[Row, float]:
    """max(weight_p · p_t - weight_q · q_t, 0), normalised, and its mass; p_t if that is 0."""
    rows = zip(problem.p[t], problem.q[t], strict=True)
    left = [max(weight_p * a - weight_q * b, 0.0) for a, b in rows]
    mass = sum(left)
    if mass < NEGLIGIBLE:
        return problem.p[t], 0.0
    return [x / mass for x in left], mass


def _answer(problem: Problem, stop: list[float], weights: list[tuple[float, float]]) -> Answer:
    rows = [_residual(problem, t, *weights[t]) for t in range(problem.gamma)]
    rows.append((problem.p[problem.gamma], 1.0))
    return Answer(stop, [row for row, _ in rows], [mass for _, mass in rows])


# Stop laws


def forward_stop(accept: list[float]) -> list[float]:
    """stop[t] when positions are tested from 1 up and the first failure stops; accept[t-1] is the
    test at t.
    """
    return [
        _product(accept[:t]) * (1.0 - accept[t] if t < len(accept) else 1.0)
        for t in range(len(accept) + 1)
    ]


def backward_stop(accept: list[float]) -> list[float]:
    """stop[t] when positions are tested from γ down and the first success keeps; position 0 always
    succeeds.
    """
    tests = [1.0, *accept]
    return [tests[t] * _product(1.0 - h for h in tests[t + 1 :]) for t in range(len(tests))]


# The rules


def tokenwise(problem: Problem) -> Answer:
    """Accept token t with min(1, p(x_t)/q(x_t)); correct from max(p - q, 0)."""
    accept = [min(1.0, problem.p[t][x] / problem.q[t][x]) for t, x in enumerate(problem.tokens)]
    return _answer(problem, forward_stop(accept), [(1.0, 1.0)] * problem.gamma)


def blockwise(problem: Problem) -> Answer:
    """Block verification: p_t = min(p_{t-1} ρ_t, 1), test Σ max(p_t p - q, 0) / (the same + 1 -
    p_t).
    """
    weights = [1.0]
    for t, x in enumerate(problem.tokens):
        weights.append(min(1.0, weights[-1] * problem.p[t][x] / problem.q[t][x]))
    accept = []
    for t in range(1, problem.gamma):
        missing = sum(
            max(weights[t] * a - b, 0.0) for a, b in zip(problem.p[t], problem.q[t], strict=True)
        )
        accept.append(_share(missing, missing + 1.0 - weights[t]))
    return _answer(problem, backward_stop([*accept, weights[-1]]), [(w, 1.0) for w in weights[:-1]])


def hsd(problem: Problem) -> Answer:
    """Algorithm 2: test D*(p,q|X)/D*(q,p|X) inside, min(1, r*) for the whole draft."""
    inner = _hsd_inner(problem)
    return _answer(
        problem,
        backward_stop([*inner, capped_ratio(problem, problem.gamma)]),
        _capped_weights(problem),
    )


def hsd_released(problem: Problem) -> Answer:
    """Listing 2: as `hsd`, but min(1, r) for the whole draft."""
    whole = min(1.0, problem.ratio(problem.gamma))
    return _answer(problem, backward_stop([*_hsd_inner(problem), whole]), _capped_weights(problem))


def naive_hsd(problem: Problem) -> Answer:
    """Algorithm 1: test D(p,q|X)/max(D(p,q|X), D(q,p|X)) inside, min(1, r) for the whole draft."""
    accept = []
    for t in range(1, problem.gamma):
        missing = deficient_uncapped(problem, t)
        surplus = excess_uncapped(problem, t)
        accept.append(
            _share(missing / problem.joint_q(t), max(missing, surplus) / problem.joint_q(t))
        )
    accept.append(min(1.0, problem.ratio(problem.gamma)))
    # a residual may be scaled freely
    scale = [max(problem.ratio(t), 1.0) for t in range(problem.gamma)]
    return _answer(
        problem,
        backward_stop(accept),
        [(problem.ratio(t) / s, 1.0 / s) for t, s in enumerate(scale)],
    )


def agreement(problem: Problem) -> Answer:
    """The target draws a token: equal to the drafted one it is kept, and any other is the
    correction.
    """
    drafted = [row[x] for row, x in zip(problem.p, problem.tokens, strict=False)]
    rest = [
        [0.0 if i == x else v for i, v in enumerate(r)]
        for r, x in zip(problem.p, problem.tokens, strict=False)
    ]
    rows = [
        [v / sum(r) for v in r] if sum(r) > NEGLIGIBLE else p
        for r, p in zip(rest, problem.p, strict=False)
    ]
    return Answer(forward_stop(drafted), [*rows, problem.p[-1]], [*map(sum, rest), 1.0])


def coupled(problem: Problem) -> Answer:
    """Draft and target pick on equal exponential times; 2408.07978. Who wins with p, where x won
    with q.
    """
    accept = []
    rows = []
    mass = []
    for p, q, x in zip(problem.p, problem.q, problem.tokens, strict=False):
        widest = (
            sum(max(q[x] * a / p[x], b) for a, b in zip(p, q, strict=True)) if p[x] else math.inf
        )
        accept.append(1 / widest)
        row = [b * _crossed(p, q, _over(q[i], b), _over(q[x], p[x])) for i, b in enumerate(p)]
        mass.append(sum(row))
        rows.append([v / sum(row) for v in row] if sum(row) > NEGLIGIBLE else p)
    return Answer(forward_stop(accept), [*rows, problem.p[-1]], [*mass, 1.0])


def _over(a: float, b: float) -> float:
    return a / b if b else math.inf


def _crossed(p: Row, q: Row, low: float, high: float) -> float:
    """∫ dr / (Σ max(qᵢ, pᵢ r))² from `low` to `high`, piece by piece; 0 where `high` is not above
    `low`.
    """
    if not low < high:
        return 0.0
    corners = {_over(b, a) for a, b in zip(p, q, strict=True)}
    ends = sorted({low, high, *(r for r in corners if low < r < high)})

    def widest(r: float) -> float:
        return sum(max(b, a * r) for a, b in zip(p, q, strict=True))

    def piece(start: float, end: float) -> float:
        return (
            (end - start) / (widest(start) * widest(end))
            if end < math.inf
            else 1 / (widest(start) * sum(p))
        )

    return sum(piece(start, end) for start, end in itertools.pairwise(ends))


def entropy_from(first: Row, second: Row) -> float:
    """KL(first ‖ second), with 0 log 0 = 0."""
    if any(a > 0 and b == 0 for a, b in zip(first, second, strict=True)):
        return math.inf
    return math.fsum(a * math.log(a / b) for a, b in zip(first, second, strict=True) if a > 0)


def divergence(name: str, p: Row, q: Row) -> float:
    """The textbook's KL(q‖p), KL(p‖q), Jensen–Shannon divergence or total variation, natural
    logarithms.
    """
    middle = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
    return {
        "kl": entropy_from(q, p),
        "reverse-kl": entropy_from(p, q),
        "js": (entropy_from(p, middle) + entropy_from(q, middle)) / 2,
        "tv": sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2,
    }[name]


def fuzzy(
    problem: Problem, name: str = "kl", tolerance: float = 0.3, mode: str = "exact-first"
) -> Answer:
    """Keep where D is at most the tolerance. Else the exact test and max(p - q, 0), or stop and the
    whole of p.
    """
    near = [
        divergence(name, p, q) <= tolerance for p, q in zip(problem.p[:-1], problem.q, strict=True)
    ]
    exact = [min(1.0, problem.p[t][x] / problem.q[t][x]) for t, x in enumerate(problem.tokens)]
    first = mode == "exact-first"
    accept = [
        1.0 if passes else test if first else 0.0 for passes, test in zip(near, exact, strict=True)
    ]
    return _answer(problem, forward_stop(accept), [(1.0, 1.0 if first else 0.0)] * problem.gamma)


def ensemble(problem: Problem, weight: float = 0.5) -> Answer:
    """Token-wise verification with p' = (1 - w) p + w q in place of p where a token is drafted."""
    mixed = [
        [(1 - weight) * a + weight * b for a, b in zip(p, q, strict=True)]
        for p, q in zip(problem.p[:-1], problem.q, strict=True)
    ]
    return tokenwise(Problem([*mixed, problem.p[-1]], problem.q, problem.tokens))


def typical(problem: Problem, epsilon: float = 0.09) -> Answer:
    """Keep while p(x) > min(ε, δ exp(-H(p))) with δ = √ε, then follow p.

    arXiv 2401.10774, section 3.3.2.
    """
    accept = []
    for row, token in zip(problem.p[:-1], problem.tokens, strict=True):
        entropy = -sum(x * math.log(x) for x in row if x > 0)
        accept.append(float(row[token] > min(epsilon, math.sqrt(epsilon) * math.exp(-entropy))))
    return _answer(problem, forward_stop(accept), [(1.0, 0.0)] * problem.gamma)


def clip(p: Row, q: Row, tolerance: float) -> Row:
    """The law L = clip(q, α p, β p) with Σ L = 1 and KL(L‖p) ≤ T, as near to T as can be: both
    numbers by halving.
    """

    def row(alpha: float, beta: float) -> Row:
        return [min(max(b, alpha * a), beta * a) for a, b in zip(p, q, strict=True)]

    def best(beta: float) -> Row:
        return row(_largest(lambda alpha: sum(row(alpha, beta)) <= 1, 0.0, 1.0), beta)

    def near(beta: float) -> bool:
        found = best(beta)
        spent = sum(x * math.log(x / a) for x, a in zip(found, p, strict=True) if x > 0)
        return spent <= tolerance and sum(row(0.0, beta)) <= 1 + NEGLIGIBLE

    return best(
        _largest(near, 1.0, max([1.0, *(b / a for a, b in zip(p, q, strict=True) if a > 0)]))
    )


def _largest(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The largest number between both for which it holds, as it does up to there."""
    if holds(high):
        return high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def clipped(problem: Problem, rule: Callable[[Problem], Answer], tolerance: float = 0.3) -> Answer:
    """Judge by a lossless rule with L in place of p wherever a token is drafted."""
    rows = [clip(p, q, tolerance) for p, q in zip(problem.p[:-1], problem.q, strict=True)]
    return rule(Problem([*rows, problem.p[-1]], problem.q, problem.tokens))


RULES: dict[str, Callable[[Problem], Answer]] = {
    "tokenwise": tokenwise,
    "blockwise": blockwise,
    "hsd": hsd,
    "hsd-released": hsd_released,
    "naive-hsd": naive_hsd,
    "agreement": agreement,
    "coupled": coupled,
    "fuzzy": fuzzy,
    "ensemble": ensemble,
    "typical": typical,
    "clipped": partial(clipped, rule=tokenwise),
    "clipped-hsd": partial(clipped, rule=hsd),
}


def _hsd_inner(problem: Problem) -> list[float]:
    scale = [problem.joint_q(t) for t in range(problem.gamma)]
    return [
        _share(deficient(problem, t) / scale[t], excess(problem, t) / scale[t])
        for t in range(1, problem.gamma)
    ]


def _capped_weights(problem: Problem) -> list[tuple[float, float]]:
    return [(capped_ratio(problem, t), 1.0) for t in range(problem.gamma)]


def _share(part: float, whole: float) -> float:
    """part / whole as a probability; 0/0 (nothing to correct) is 1."""
    return 1.0 if whole < NEGLIGIBLE else min(part / whole, 1.0)


def _product(numbers) -> float:
    result = 1.0
    for number in numbers:
        result *= number
    return result
