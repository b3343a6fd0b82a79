"""Enumeration of rules for several drafts and trees: every draft tree, every outcome of every decision.

Layouts: *paths*, K independent drafts; *comb*, one draft with K-1 spare continuations at each of its nodes;
*regular*, K sampled children at every node, with or without replacement; *chosen*, the K likeliest children.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from hsd.audit.chains import TableModels, finding, target_law
from hsd.verify.tree import DraftTree, Path, TreeRule, endings
from hsd.verify.tree_rules import TREE_RULES

Prefix = tuple[int, ...]
MAX_TREES = 1_000


@dataclass(frozen=True)
class Shape:
    """A tree before its tokens are known: parents of the nodes, and the drafts that run through it."""

    parents: tuple[int, ...]
    paths: tuple[Path, ...] = ()

    def fill(self, models: TableModels, tokens: Prefix, replacement: bool) -> DraftTree:
        """The tree with these tokens and the models' distributions after each node."""
        prefixes: list[Prefix] = [()]
        for parent, token in zip(self.parents, tokens, strict=True):
            prefixes.append((*prefixes[parent], token))
        p = torch.stack([models.target[x] for x in prefixes])
        q = torch.stack([models.draft[x] for x in prefixes])
        return DraftTree(tokens, self.parents, p, q, self.paths, replacement)


def paths_shape(drafts: int, depth: int) -> Shape:
    """K independent drafts from the root."""
    parents: list[int] = []
    paths = [_append_path(parents, (), depth) for _ in range(drafts)]
    return Shape(tuple(parents), tuple(paths))


def comb_shape(drafts: int, depth: int) -> Shape:
    """One draft, and from each of its nodes but the last K-1 others that go on to full depth by themselves."""
    parents: list[int] = []
    main = _append_path(parents, (), depth)
    spares = [_append_path(parents, main.nodes[:fork], depth) for fork in range(depth) for _ in range(drafts - 1)]
    return Shape(tuple(parents), (main, *spares))


def regular_shape(drafts: int, depth: int) -> Shape:
    """K children below every node."""
    parents: list[int] = []
    level = [0]
    for _ in range(depth):
        below = []
        for node in level:
            for _ in range(drafts):
                parents.append(node)
                below.append(len(parents))
        level = below
    return Shape(tuple(parents))


def sampled_trees(models: TableModels, shape: Shape, replacement: bool) -> Iterator[tuple[float, DraftTree]]:
    """Every way in which the draft fills `shape`, with its probability."""
    nodes = len(shape.parents)
    for tokens in itertools.product(range(models.vocab), repeat=nodes):
        tree = shape.fill(models, tokens, replacement)
        weight = _probability(tree)
        if weight > 0:
            yield weight, tree


def chosen_tree(models: TableModels, shape: Shape) -> DraftTree:
    """The K likeliest children below every node, likeliest first: nothing is drawn."""
    prefixes: list[Prefix] = [()]
    tokens: list[int] = []
    taken: dict[int, int] = {}
    for parent in shape.parents:
        rank = taken[parent] = taken.get(parent, -1) + 1
        token = int(models.draft[prefixes[parent]].argsort(descending=True, stable=True)[rank])
        tokens.append(token)
        prefixes.append((*prefixes[parent], token))
    return shape.fill(models, tuple(tokens), replacement=False)


def tree_output_law(
    models: TableModels, rule: TreeRule, trees: Iterable[tuple[float, DraftTree]]
) -> tuple[Tensor, float]:
    """The exact law of the first γ+1 output tokens, and the expected number of kept tokens."""
    output = torch.zeros((models.vocab,) * (models.gamma + 1), dtype=torch.float64)
    expected = 0.0
    for weight, tree in trees:
        for chance, ending in endings(partial(rule.process, tree)):
            path = tree.path(ending.node)
            expected += weight * chance * len(path)
            for token, probability in enumerate(ending.next.tolist()):
                if probability > 0:
                    output[(*path, token)] += _continuations(models, (*path, token)) * (weight * chance * probability)
    return output, expected


def audit_tree_rules(models: TableModels, drafts: int) -> tuple[dict[str, dict[str, float | bool]], list[str]]:
    """The finding for every tree rule with every layout it fits, and the names of what was too large to enumerate."""
    truth = target_law(models)
    found: dict[str, dict[str, float | bool]] = {}
    skipped: list[str] = []
    for name, rule, shape, replacement in _cases(models, drafts):
        if replacement is not None and models.vocab ** len(shape.parents) > MAX_TREES:
            skipped.append(name)
            continue
        trees = (
            [(1.0, chosen_tree(models, shape))] if replacement is None else sampled_trees(models, shape, replacement)
        )
        found[name] = finding(*tree_output_law(models, rule, trees), truth)
    return found, skipped


def _cases(models: TableModels, drafts: int) -> Iterator[tuple[str, TreeRule, Shape, bool | None]]:
    """Every rule with every layout that it fits; the last value says how siblings are drawn, None: they are chosen."""
    depth = models.gamma
    for layout, shape in (("paths", paths_shape(drafts, depth)), ("comb", comb_shape(drafts, depth))):
        for name in ("recursive-tokenwise", "recursive-hsd"):
            yield f"{name}, {layout}", TREE_RULES[name], shape, True
    regular = regular_shape(drafts, depth)
    for replacement, layout in ((True, "with replacement"), (False, "without replacement")):
        if replacement or drafts <= models.vocab:
            for name in ("top-down", "traversal"):
                yield f"{name}, {layout}", TREE_RULES[name], regular, replacement
    if drafts <= models.vocab:
        yield "one-hot, chosen tree", TREE_RULES["one-hot"], regular, None


def _append_path(parents: list[int], shared: tuple[int, ...], depth: int) -> Path:
    """Add a draft of `depth` nodes that begins with the `shared` ones."""
    nodes = list(shared)
    while len(nodes) < depth:
        parents.append(nodes[-1] if nodes else 0)
        nodes.append(len(parents))
    return Path(tuple(nodes), fork=len(shared))


def _probability(tree: DraftTree) -> float:
    """The probability that the draft draws these tokens, sibling after sibling."""
    result = 1.0
    for node in range(len(tree.tokens) + 1):
        row = tree.q[node]
        for child in tree.children(node):
            x = tree.token(child)
            result *= float(row[x])
            if not tree.replacement and result > 0:
                row = row.clone()
                row[x] = 0
                row = row / row.sum() if row.sum() > 0 else row
    return result


def _continuations(models: TableModels, path: Prefix) -> Tensor:
    """How the target goes on after `path` up to length γ+1: (V,) * (γ+1-len(path)), summing to 1."""
    if len(path) > models.gamma:
        return torch.ones((), dtype=torch.float64)
    row = models.target[path]
    return torch.stack([row[x] * _continuations(models, (*path, x)) for x in range(models.vocab)])
