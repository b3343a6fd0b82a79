"""Recursive rejection: a rejected token's residual is the next candidate's target.

Sources: 2401.06706 and 2305.09781; with HSD inside 2601.05724, algorithm 3, with fresh ratios for
every further draft; the rule for chosen trees is recursive rejection for point-mass proposals
(2406.16858, 2503.01840).
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch
from torch import Tensor

from hsd.rules.forms import CHOSEN, TOKEN, Form, Grounds
from hsd.rules.law import Law, leftover
from hsd.rules.rule import Rule
from hsd.rules.tree import Change, Ending, Kind, Process, Test, Tree, TreePath, remove_token


def recursive(rule: Rule) -> Callable[[Tree], Process]:
    """Return a process that verifies the drafts of a tree one after another by a chain rule.

    When a draft is rejected, the next token must follow its residual R. If another draft begins
    with the kept tokens and was drawn independently from there on, it is verified against R first,
    then p, all ratios at 1. If it could not draw the tokens of its earlier siblings, its q is what
    was left for it.
    """

    def process(tree: Tree) -> Process:
        node = 0
        first = tree.target(0)
        text = tuple[int, ...]()
        changes: tuple[Change, ...] = ()
        for number, path in enumerate(tree.paths):
            depth = len(text)
            if not _continues(tree, path, text):
                continue
            node = path.nodes[depth - 1] if depth else 0
            rest = path.nodes[depth:]
            tokens = [tree.token(i) for i in rest]
            p = torch.stack([first, *(tree.target(i) for i in rest)])
            q = torch.stack([tree.proposal(i) for i in rest])
            ids = torch.tensor(tokens, device=p.device, dtype=torch.int64)
            law = rule.unchecked_law(p, q, ids)
            kept = 0
            for t, test in tests_along(law, ids, rest, number, changes):
                success = yield test
                changes = ()
                kept = t if success else kept
                if success != law.forward:
                    break
            node = rest[kept - 1] if kept else node
            text = (*text, *tokens[:kept])
            if kept == len(rest):
                return Ending(node, p[kept])
            first, mass = law.leftover(kept)
            changes = (Change(node, float(law.a[kept]), float(mass), first),)
        return Ending(node, first, changes)

    return process


def _continues(tree: Tree, path: TreePath, text: tuple[int, ...]) -> bool:
    """Return whether the draft `path` begins with the tokens `text` and has own nodes next."""
    if path.fork > len(text) or len(path.nodes) <= len(text):
        return False
    return all(tree.token(node) == token for node, token in zip(path.nodes, text, strict=False))


def tests_along(
    law: Law, tokens: Tensor, nodes: Sequence[int], draft: int, changes: tuple[Change, ...]
) -> Iterator[tuple[int, Test]]:
    """Yield (position, test) for one draft in the law's order.

    nodes: of its tokens in the tree; draft: its number.
    """
    thresholds = law.threshold.tolist()
    grounds = law.grounds(tokens)
    for t in law.order():
        whole: Kind = "draft" if t == law.gamma else "prefix"
        kind: Kind = "token" if law.forward else whole
        yield t, Test(nodes[t - 1], thresholds[t - 1], kind, grounds[t - 1], draft, changes)
        changes = ()


Reading = tuple[Tensor, Form, dict[str, float]]


def descend(read: Callable[[Tree, int], Reading], tree: Tree) -> Process:
    """Accept a child with min(1, p(x)/q(x)), then a child of that one.

    A rejection makes p the residual (2305.09781).

    read(tree, node): returns p there, the form of the tests, and further fields of their grounds.
    With a form that is `certain`, q is 1 at each child; a form with threshold "0" ends the draft,
    and the next token follows p.
    """
    node = 0
    changes = tuple[Change, ...]()
    while True:
        p, form, others = read(tree, node)
        for child in tree.children(node):
            x = tree.token(child)
            q = None if form.certain else tree.proposal(child)
            grounds = Grounds(form, float(p[x]), 1.0 if q is None else float(q[x]), **others)
            if (yield Test(child, grounds.threshold, "token", grounds, changes=changes)):
                node = child
                changes = ()
                break
            if form.threshold == "0":
                return Ending(node, p)
            p, mass = (
                (remove_token(p, x), 1 - grounds.p) if q is None else leftover(p, q, p.new_ones(()))
            )
            changes = (Change(node, 1.0, float(mass), p),)
        else:
            return Ending(node, p, changes)


top_down = partial(descend, lambda tree, node: (tree.target(node), TOKEN, {}))
one_hot = partial(descend, lambda tree, node: (tree.target(node), CHOSEN, {}))
"""For trees that were chosen, not sampled: accept a child with p(x).

Each child is proposed with certainty. A rejected token is struck out of p. No lossless rule keeps
more on such a tree (2406.16858, 2503.01840).
"""
