"""The rules for several drafts and trees once more, on a fully given tree, in plain floats and by
other means.

Independent on purpose: it imports nothing from `hsd`. Where the implementation asks one test after
another, the laws here are worked out by recursion over the tree, and for chosen trees in closed
form.

Sources: recursive rejection 2401.06706, top-down 2305.09781, traversal 2505.12398, chosen trees
2406.16858.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from reference import Answer, Problem, Row


@dataclass(frozen=True)
class Given:
    """A tree whose every number is known. Node 0 is the root; node i has tokens[i - 1] and
    parents[i - 1].

    p, q: one row per node, the root first (q of a leaf means nothing). drafts: nodes of each draft
    from depth 1 on, and how many of them it shares with an earlier one.
    """

    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    p: list[Row]
    q: list[Row]
    replacement: bool = True
    drafts: tuple[tuple[tuple[int, ...], int], ...] = ()

    def token(self, node: int) -> int:
        return self.tokens[node - 1]

    def below(self, node: int) -> list[int]:
        """The children of `node`, in the order in which they were drawn."""
        return [
            child for child in range(1, len(self.tokens) + 1) if self.parents[child - 1] == node
        ]

    def depth(self, node: int) -> int:
        return 1 + self.depth(self.parents[node - 1]) if node else 0


@dataclass(frozen=True)
class Outcome:
    """One way to end: its probability, the last node kept, and what the token after it follows."""

    weight: float
    node: int
    next: Row


# Rows of any mass


def _scaled(row: Row) -> Row:
    """`row` summing to 1; as it is where it has no mass."""
    mass = sum(row)
    return [x / mass for x in row] if mass > 0 else list(row)


def _struck(row: Row, token: int) -> Row:
    """`row` without `token`, as a distribution again."""
    return _scaled([0.0 if x == token else value for x, value in enumerate(row)])


def _beyond(p: Row, q: Row, scale: float = 1.0) -> Row:
    """What `scale` times p has above q, not normalised."""
    return [max(scale * a - b, 0.0) for a, b in zip(p, q, strict=True)]


def _quotient(a: float, b: float) -> float:
    return a / b if a > 0 else 0.0


# Rules


def one_hot(tree: Given) -> Iterator[Outcome]:
    """A kept path weighs what the target gives it; what follows a node is the target without its
    children's tokens.
    """
    reached: dict[int, float] = {0: 1.0}
    for node in range(len(tree.tokens) + 1):
        left = list(tree.p[node])
        for child in tree.below(node):
            # nothing for a token that was proposed before
            reached[child] = reached[node] * left[tree.token(child)]
            left[tree.token(child)] = 0.0
        if reached[node] * sum(left) > 0:
            yield Outcome(reached[node] * sum(left), node, _scaled(left))


def top_down(tree: Given) -> Iterator[Outcome]:
    """From the root down, one child after another."""
    return _from_the_top(tree, 0, 1.0)


def _from_the_top(tree: Given, node: int, weight: float) -> Iterator[Outcome]:
    wanted = tree.p[node]
    proposed = tree.q[node]
    for child in tree.below(node):
        x = tree.token(child)
        chance = min(1.0, _quotient(wanted[x], proposed[x]))
        if chance > 0:
            yield from _from_the_top(tree, child, weight * chance)
        weight *= 1.0 - chance
        rest = _beyond(wanted, proposed)
        wanted = _scaled(rest) if sum(rest) > 0 else wanted
        proposed = proposed if tree.replacement else _struck(proposed, x)
    yield Outcome(weight, node, wanted)


def traversal(tree: Given) -> Iterator[Outcome]:
    """From the leaves to the root: see `_Branch`."""
    branch = _Branch(tree)
    weight, row = branch.settle(0, 1.0, 1.0)
    yield from branch.found
    yield Outcome(weight, 0, row)


class _Branch:
    """The branches below a node are settled one after another; each ends in something kept, or in a
    deletion.
    """

    def __init__(self, tree: Given) -> None:
        self.tree = tree
        self.found: list[Outcome] = []

    def settle(self, node: int, rate: float, weight: float) -> tuple[float, Row]:
        """Everything under `node`, and the node itself: notes what is kept, returns how likely
        nothing of it is.

        rate: the capped ratio with which the node begins. Second value: what the token after the
        node follows, if nothing under it is kept.
        """
        wanted = self.tree.p[node]
        proposed = self.tree.q[node]
        for child in self.tree.below(node):
            x = self.tree.token(child)
            weight, _ = self.settle(
                child, min(1.0, rate * _quotient(wanted[x], proposed[x])), weight
            )
            rest = _beyond(wanted, proposed, rate)
            missing = sum(rest)
            exhausted = sum(rest) == 0 and rate < 1
            wanted = _scaled(rest) if missing > 0 else wanted
            if node:
                rate = _quotient(missing, missing + 1 - rate) if rate < 1 else 1.0
            if exhausted:
                break
            proposed = proposed if self.tree.replacement else _struck(proposed, x)
        if not node:
            return weight, wanted
        if weight * rate > 0:
            self.found.append(Outcome(weight * rate, node, wanted))
        return weight * (1.0 - rate), wanted


Chain = Callable[[Problem], Answer]


def recursive(chain: Chain, tree: Given) -> Iterator[Outcome]:
    """One draft after another by a chain rule of `reference`; what a draft leaves over is the
    target of the next.
    """
    return _next_draft(chain, tree, tree.drafts, (), Outcome(1.0, 0, tree.p[0]))


def _next_draft(
    chain: Chain,
    tree: Given,
    drafts: Sequence[tuple[tuple[int, ...], int]],
    text: tuple[int, ...],
    so_far: Outcome,
) -> Iterator[Outcome]:
    """`text`: tokens kept so far; `so_far.next` is what the token after them must follow."""
    if not drafts:
        yield so_far
        return
    (nodes, fork), *others = drafts
    length = len(text)
    words = tuple(tree.token(node) for node in nodes)
    if words[:length] != text or len(words) <= length or length < fork:
        yield from _next_draft(chain, tree, others, text, so_far)
        return
    new = nodes[length:]
    above = [0, *nodes][length:-1]
    problem = Problem(
        [so_far.next, *(tree.p[n] for n in new)], [tree.q[n] for n in above], list(words[length:])
    )
    answer = chain(problem)
    for kept, (chance, row) in enumerate(zip(answer.stop, answer.next, strict=True)):
        if chance > 0:
            outcome = Outcome(so_far.weight * chance, [above[0], *new][kept], row)
            if kept == len(new):
                yield outcome
            else:
                yield from _next_draft(chain, tree, others, words[: length + kept], outcome)


# Laws


def law_of(outcomes: Iterator[Outcome]) -> dict[int, tuple[float, Row]]:
    """node → how likely it is the last one kept, and that times the law of the token after it."""
    found: dict[int, tuple[float, Row]] = {}
    for outcome in outcomes:
        part = [outcome.weight * x for x in outcome.next]
        weight, row = found.get(outcome.node, (0.0, [0.0] * len(part)))
        found[outcome.node] = (
            weight + outcome.weight,
            [a + b for a, b in zip(row, part, strict=True)],
        )
    return found


def expected_kept(tree: Given, outcomes: Iterator[Outcome]) -> float:
    return sum(outcome.weight * tree.depth(outcome.node) for outcome in outcomes)


# Trees to try


def random_rows(vocab: int, count: int, rng: random.Random) -> tuple[list[Row], list[Row]]:
    """Rows of p and q: unrelated ones, near ones, equal ones, some with zeros."""
    p = []
    q = []
    for _ in range(count):
        row = _random_row(vocab, rng)
        kind = rng.choice(["free", "free", "free", "near", "equal"])
        other = {"free": _random_row(vocab, rng), "equal": row}.get(kind)
        p.append(row)
        q.append(other or _scaled([x * rng.uniform(0.9, 1.1) for x in row]))
    return p, q


def _random_row(vocab: int, rng: random.Random) -> Row:
    weights = [
        rng.choice([0.0, rng.random(), rng.random(), 3 * rng.random()]) for _ in range(vocab)
    ]
    weights[rng.randrange(vocab)] += 0.2
    return _scaled(weights)


def random_tree(
    vocab: int, nodes: int, replacement: bool, rng: random.Random, bushy: bool = False
) -> Given:
    """A tree of any form: each node hangs below an earlier one; distinct siblings only while tokens
    are left.

    bushy: they hang below the root or its first child, so that many siblings are tested one after
    another.
    """
    p, q = random_rows(vocab, nodes + 1, rng)
    tokens: list[int] = []
    parents: list[int] = []
    for _ in range(nodes):
        above = rng.randrange(min(len(tokens), 1 if bushy else nodes) + 1)
        taken = {token for token, parent in zip(tokens, parents, strict=True) if parent == above}
        open_tokens = [
            x for x in range(vocab) if q[above][x] > 0 and (replacement or x not in taken)
        ]
        if open_tokens:
            parents.append(above)
            tokens.append(rng.choice(open_tokens))
    return Given(tuple(tokens), tuple(parents), p, q, replacement)


def random_drafts(vocab: int, drafts: int, depth: int, rng: random.Random) -> Given:
    """Drafts of unequal length; the first one is the longest, and the others leave it anywhere."""
    parents: list[int] = []
    made: list[tuple[tuple[int, ...], int]] = []
    for number in range(drafts):
        main = made[0][0] if made else ()
        fork = rng.randrange(len(main)) if number else 0
        nodes = list(main[:fork])
        for _ in range(depth if not number else rng.randint(1, depth)):
            parents.append(nodes[-1] if nodes else 0)
            nodes.append(len(parents))
        made.append((tuple(nodes), fork))
    p, q = random_rows(vocab, len(parents) + 1, rng)
    tokens = tuple(rng.choice([x for x in range(vocab) if q[above][x] > 0]) for above in parents)
    return Given(tokens, tuple(parents), p, q, True, tuple(made))
