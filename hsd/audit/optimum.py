"""The most that any lossless rule can keep on a draft tree.

It is found by a linear programme, solved by HiGHS (`scipy`).

What is optimised over. A rule sees the tree and both tables, also off the drafted paths, and may
draw random numbers. It keeps a prefix X that was drafted, of up to γ tokens, and commits one more
token x; then the target goes on by itself. It is lossless if the text then follows the target. With
f(T, X) the chance that the tree T comes up and X is kept, and c(Xx) the chance that a text of the
target which begins with Xx is cut there:

    most Σ |X| f(T, X)  where  Σ_X f(T, X) = Q(T) for every tree,
                               Σ_T f(T, X) = Σ_x p(Xx) c(Xx) for every prefix,
                               Σ_t c(z₁ … z_t) = 1 for every text z of γ+1 tokens,
                               f, c ≥ 0.

Every solution is a rule: keep X with chance f(T, X)/Q(T), then draw x in proportion to p(Xx) c(Xx).
Rules that call the target again after a rejection, as naive HSD does, are none of these. For one
draft the value is that of block verification, which is optimal even among rules that may use what
is off the path (Thomas and Pal 2026, arXiv 2602.16961).
"""

import importlib.util
from collections import defaultdict

import numpy as np

from hsd.audit.chains import Prefix, TableModels
from hsd.audit.chains import prefixes as paths
from hsd.audit.trees import TreeShape, shapes
from hsd.errors import HsdError

MAX_TREES = 20_000  # while they are listed
MAX_VARIABLES = 60_000
TOLERANCE = 1e-9

Texts = frozenset[Prefix]
# the drafted prefixes, and the nodes with their prefixes that later draws depend on
State = tuple[Texts, tuple[tuple[int, Prefix], ...]]


def solvable() -> bool:
    """Return whether scipy is installed."""
    return importlib.util.find_spec("scipy") is not None


def optima(models: TableModels, drafts: int) -> dict[str, float | None]:
    """Return the `optimum` for each layout of K = `drafts` drafts, by the layout's name.

    {} without scipy.
    """
    if not solvable():
        return {}
    return {
        name: optimum(models, shape)
        for name, shape in shapes(drafts, models.gamma, models.vocab).items()
    }


def optimum(models: TableModels, shape: TreeShape) -> float | None:
    """Return the largest expected number of kept tokens of any lossless rule, to about 1e-8.

    Returns None if there are too many trees. Needs scipy. Raises HsdError where HiGHS ends without
    a solution.
    """
    chances = tree_law(models, shape)
    if chances is None or sum(len(tree) + 1 for tree in chances) > MAX_VARIABLES:
        return None
    kept = [
        (number, prefix) for number, tree in enumerate(chances) for prefix in ((), *sorted(tree))
    ]
    different = dict.fromkeys(prefix for _, prefix in kept)
    prefixes = {prefix: row for row, prefix in enumerate(different, len(chances))}
    full = (
        text
        for text in paths(models.vocab, *[models.gamma + 1] * 2)
        if models.joint(models.target, text) > 0
    )
    texts = {text: row for row, text in enumerate(full, len(chances) + len(prefixes))}
    cells = [
        cell
        for i, (tree, prefix) in enumerate(kept)
        for cell in ((tree, i, 1.0), (prefixes[prefix], i, 1.0))
    ]
    cuts: dict[Prefix, int] = {}
    for text, row in texts.items():
        for end in range(1, len(text) + 1):
            if text[: end - 1] in prefixes:
                cells.append((row, cuts.setdefault(text[:end], len(kept) + len(cuts)), 1.0))
    cells += [(prefixes[cut[:-1]], i, -models.joint(models.target, cut)) for cut, i in cuts.items()]
    wanted = [*chances.values(), *(0.0 for _ in prefixes), *(1.0 for _ in texts)]
    return _most([float(len(prefix)) for _, prefix in kept] + [0.0] * len(cuts), cells, wanted)


def tree_law(models: TableModels, shape: TreeShape) -> dict[Texts, float] | None:
    """Return the probability of each set of drafted prefixes.

    Returns None if there are more than MAX_TREES on the way. Nodes are drawn in order; of earlier
    ones only the prefixes and what a later draw depends on are kept.
    """
    last = [max(shape.children(node), default=0) for node in range(len(shape.parents) + 1)]
    states: dict[State, float] = {(frozenset(), ((0, ()),)): 1.0}
    for node, parent in enumerate(shape.parents, start=1):
        after: dict[State, float] = defaultdict(float)
        for (drafted, known), weight in states.items():
            above = dict(known)[parent]
            taken = [
                path[-1] for other, path in known if other and shape.parents[other - 1] == parent
            ]
            siblings = len(shape.children(parent))
            law = shape.chances(models.draft[above], taken, siblings)
            for token, chance in enumerate(law.tolist()):
                if chance > 0:
                    path = (*above, token)
                    alive = tuple(
                        (other, text)
                        for other, text in (*known, (node, path))
                        if last[other] > node
                        or (other and shape.remembers and last[shape.parents[other - 1]] > node)
                    )
                    after[drafted | {path}, alive] += weight * chance
        if len(after) > MAX_TREES:
            return None
        states = after
    return {drafted: weight for (drafted, _), weight in states.items()}


def _most(gain: list[float], cells: list[tuple[int, int, float]], wanted: list[float]) -> float:
    """Return the largest gain·v over v ≥ 0 with A v = wanted.

    cells: the sparse matrix A, as (row, column, value). Its first row is left out: it follows from
    the others; where rounding makes it contradict them there is no solution.
    """
    from scipy.optimize import linprog  # half a second, which no other command should wait for
    from scipy.sparse import csr_array

    rows, columns, values = zip(*cells, strict=True)
    matrix = csr_array((values, (rows, columns)), shape=(len(wanted), len(gain)))
    options = {"primal_feasibility_tolerance": TOLERANCE, "dual_feasibility_tolerance": TOLERANCE}
    solved = linprog(
        -np.array(gain), A_eq=matrix[1:], b_eq=np.array(wanted[1:]), method="highs", options=options
    )
    if solved.status != 0:
        raise HsdError(
            f"the optimum was not found (HiGHS: {solved.message}): reduce vocab, gamma or drafts"
        )
    return -float(solved.fun)
