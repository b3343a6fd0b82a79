"""Enumeration of rules for several drafts and trees.

That is: of every draft tree, and of every outcome of every decision.

A tree is only drawn as far as a rule looks at it: when the rule reads a token that is still open,
every token takes its place in turn, with its probability. So the rules run unchanged, and rejected
parts cost nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, partial

import torch
from torch import Tensor

from hsd.audit.chains import Prefix, TableModels, audit_entry, target_law
from hsd.rules.tree import Ending, TreePath, TreeRule, fork_paths, group_of, line, replay
from hsd.rules.trees import TREE_RULES

MAX_ENDINGS = 10_000


@dataclass(frozen=True)
class TreeShape:
    """A draft tree without its tokens.

    parents: the parent of each node (0: the root). paths: the drafts as paths.

    siblings: how the children of a node are drawn: "independent", "distinct" (without replacement),
    "chosen" as the likeliest, or "mixed": the first drawn from what the others, which are chosen,
    leave.
    """

    parents: tuple[int, ...]
    paths: tuple[TreePath, ...] = ()
    siblings: str = "independent"

    def children(self, node: int) -> list[int]:
        return [i for i, parent in enumerate(self.parents, start=1) if parent == node]

    @property
    def remembers(self) -> bool:
        """Whether a token depends on its earlier siblings."""
        return self.siblings != "independent"

    def chances(self, row: Tensor, taken: list[int], count: int) -> Tensor:
        """Return the law (V,) of the next of `count` children.

        row: the draft's; taken: the siblings so far.
        """
        if self.siblings == "independent" or (not taken and self.siblings == "distinct"):
            return row
        rest = row.clone()
        rest[row.topk(count - 1).indices if self.siblings == "mixed" and not taken else taken] = 0
        if self.siblings == "chosen" or (self.siblings == "mixed" and taken):
            return torch.nn.functional.one_hot(rest.argmax(), len(rest)).double()
        return rest / rest.sum() if rest.sum() > 0 else rest


class NotDrawn(Exception):
    """Raised where a rule reads the token of a node that has not been drawn yet.

    Its argument is the node.
    """


@dataclass(frozen=True)
class OpenTree:
    """A `Tree` on table models, with tokens for some of its nodes (`drawn`).

    Reading another one raises `NotDrawn`.
    """

    models: TableModels
    shape: TreeShape
    drawn: dict[int, int] = field(default_factory=dict)

    @property
    def paths(self) -> tuple[TreePath, ...]:
        return self.shape.paths

    def children(self, node: int) -> list[int]:
        return self.shape.children(node)

    def token(self, node: int) -> int:
        if node not in self.drawn:
            raise NotDrawn(node)
        return self.drawn[node]

    def target(self, node: int) -> Tensor:
        return self.models.target[self.path(node)]

    def draft(self, node: int) -> Tensor:
        return self.models.draft[self.path(node)]

    def proposal(self, node: int) -> Tensor:
        parent = self.shape.parents[node - 1]
        siblings = self.children(parent)
        taken = [
            self.token(sibling) for sibling in siblings if sibling < node and self.shape.remembers
        ]
        return self.shape.chances(self.draft(parent), taken, len(siblings))

    def group(self, node: int) -> Tensor:
        return group_of(self, node)

    def path(self, node: int) -> Prefix:
        """Return the tokens from the root to `node`."""
        return tuple(map(self.token, line(self.shape.parents, node)))

    def draws(self, node: int) -> "Iterator[tuple[float, OpenTree]]":
        """Yield (probability, tree) for each token of `node`.

        Undrawn parents and earlier siblings are drawn first.
        """
        parent = self.shape.parents[node - 1]
        earlier = [
            sibling for sibling in self.children(parent) if sibling < node and self.shape.remembers
        ]
        missing = [n for n in (parent, *earlier) if n and n not in self.drawn]
        if missing:
            yield from self.draws(missing[0])
            return
        for token, chance in enumerate(self.proposal(node).tolist()):
            if chance > 0:
                yield chance, OpenTree(self.models, self.shape, {**self.drawn, node: token})


def outcomes(
    rule: TreeRule, models: TableModels, shape: TreeShape
) -> Iterator[tuple[float, OpenTree, Ending]]:
    """Yield (probability, tree, ending) for every tree, and every way in which the rule can end."""
    waiting: list[tuple[float, tuple[bool, ...], OpenTree]] = [(1.0, (), OpenTree(models, shape))]
    while waiting:
        weight, answers, tree = waiting.pop()
        try:
            reached = replay(rule.process(tree), answers)
        except NotDrawn as missing:
            draws = tree.draws(missing.args[0])
            waiting.extend((weight * chance, answers, drawn) for chance, drawn in draws)
            continue
        if isinstance(reached, Ending):
            yield weight, tree, reached
        else:
            waiting += [
                (weight * chance, (*answers, answer), tree) for answer, chance in reached.answers
            ]


def tree_output_law(
    rule: TreeRule, models: TableModels, shape: TreeShape
) -> tuple[Tensor, float] | None:
    """Return the law of the first γ+1 tokens, (V,) * (γ+1), and the mean number kept.

    Returns None if there are too many outcomes.
    """
    output = torch.zeros((models.vocab,) * (models.gamma + 1), dtype=torch.float64, device="cpu")
    expected = 0.0
    following = cache(partial(target_law, models))
    for count, (weight, tree, ending) in enumerate(outcomes(rule, models, shape)):
        if count == MAX_ENDINGS:
            return None
        path = tree.path(ending.node)
        expected += weight * len(path)
        for token, probability in enumerate(ending.next.tolist()):
            if probability > 0:
                output[(*path, token)] += following((*path, token)) * (weight * probability)
    return output, expected


def paths_shape(drafts: int, depth: int, siblings: str = "independent") -> TreeShape:
    """Return K = `drafts` paths of `depth` tokens from the root."""
    parents: list[int] = []
    paths = [_append_path(parents, (), depth) for _ in range(drafts)]
    return TreeShape(tuple(parents), tuple(paths), siblings)


def comb_shape(drafts: int, depth: int, siblings: str = "independent") -> TreeShape:
    """Return a path of `depth` tokens with further paths beside it.

    `drafts` - 1 more lead to the same depth from its root and from each inner node.
    """
    parents: list[int] = []
    main = _append_path(parents, (), depth)
    spares = [
        _append_path(parents, main.nodes[:fork], depth)
        for fork in range(depth)
        for _ in range(drafts - 1)
    ]
    return TreeShape(tuple(parents), (main, *spares), siblings)


def regular_shape(drafts: int, depth: int, siblings: str) -> TreeShape:
    """Return the tree of `depth` levels with `drafts` children below every node.

    It has paths if siblings are mixed.
    """
    parents: list[int] = []
    lines = [tuple[int, ...]()]
    for _ in range(depth):
        first = len(parents) + 1
        parents += [line[-1] if line else 0 for line in lines for _ in range(drafts)]
        lines = [(*lines[i // drafts], first + i) for i in range(drafts * len(lines))]
    return TreeShape(tuple(parents), fork_paths(lines) if siblings == "mixed" else (), siblings)


def shapes(drafts: int, depth: int, vocab: int) -> dict[str, TreeShape]:
    """Return shapes by name: the layouts of decoding, and full trees.

    Distinct siblings need `drafts` ≤ vocab.
    """
    known = {
        "paths": paths_shape(drafts, depth),
        "comb": comb_shape(drafts, depth),
        "distinct": paths_shape(drafts, depth, "distinct"),
        "distinct-comb": comb_shape(drafts, depth, "distinct"),
        "top": paths_shape(drafts, depth, "chosen"),
    }
    for siblings in ("independent", "distinct", "chosen", "mixed"):
        known[f"full, {siblings}"] = regular_shape(drafts, depth, siblings)
    return {
        name: shape
        for name, shape in known.items()
        if drafts <= vocab or shape.siblings == "independent"
    }


def audit_tree_rules(
    models: TableModels, drafts: int
) -> tuple[dict[str, dict[str, float | bool]], list[str]]:
    """Return the audit's entry by "rule, layout" for all that fit, and names that were skipped.

    Those have too many outcomes.
    """
    truth = target_law(models)
    findings = {}
    skipped = []
    for layout, shape in shapes(drafts, models.gamma, models.vocab).items():
        for name, rule in TREE_RULES.items():
            has_paths = shape.paths or not name.startswith("recursive")
            if shape.siblings in rule.siblings and has_paths:
                if judged := tree_output_law(rule, models, shape):
                    findings[f"{name}, {layout}"] = audit_entry(*judged, truth)
                else:
                    skipped.append(f"{name}, {layout}")
    return findings, skipped


def _append_path(parents: list[int], shared: tuple[int, ...], depth: int) -> TreePath:
    """Add nodes to `parents` for a draft of `depth` nodes that begins with the `shared` ones.

    Returns its path.
    """
    nodes = list(shared)
    while len(nodes) < depth:
        parents.append(nodes[-1] if nodes else 0)
        nodes.append(len(parents))
    return TreePath(tuple(nodes), fork=len(shared))
