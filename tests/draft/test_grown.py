"""Trees that grow where the draft is surest: which tokens they hold, and what is kept of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import product
from math import prod

import pytest
import torch
from loops import some
from table_models import LetterCodec, TableModel, table_pair

import hsd
from hsd.decoding.judge import separate
from hsd.draft import Draft, GrownProposer
from hsd.models.reading import UNCHANGED, RowReader
from hsd.rules import RULES, TREE_RULES, TreeRule, endings
from hsd.rules.clipped import clip, clipped_tree
from hsd.rules.fuzzy import relative_entropy
from hsd.sampling import Sampling

PAIR = table_pair(vocab=5, order=2, seed=4)
TEXT = [1, 2]


def paths_of(draft) -> dict[tuple[int, ...], int]:
    """Every node of a draft by the tokens down to it."""
    found = {(): 0}
    for node, (token, parent) in enumerate(zip(draft.ids, draft.parents, strict=True), start=1):
        above = next(path for path, at in found.items() if at == parent)
        found[(*above, token)] = node
    return found


def draft_rows(path: tuple[int, ...]) -> torch.Tensor:
    """(V,): the draft's distribution after the text and `path`, from a pass of its own."""
    reader = RowReader(PAIR.draft.start(), PAIR.draft.device, UNCHANGED, PAIR.vocab_size)
    return reader.read(torch.tensor([*TEXT, *path]), 1).p[0]


@pytest.mark.parametrize(("breadth", "gamma"), [(5, 2), (5, 3), (4, 1)])
def test_the_surest_tokens_of_all_are_kept(breadth: int, gamma: int):
    """As broad as the vocabulary it misses nothing on two levels; on the third it may follow the
    five surest only.
    """
    reader = RowReader(PAIR.draft.start(), PAIR.draft.device, UNCHANGED, PAIR.vocab_size)
    grown = GrownProposer(reader, frozenset(), breadth)
    many = grown.needed(gamma)
    draft = grown.propose(TEXT, gamma, torch.rand(many), torch.rand(many))
    chances = {
        path: prod(float(draft_rows(path[:i])[token]) for i, token in enumerate(path))
        for length in range(1, min(gamma, 2) + 1)
        for path in product(range(5), repeat=length)
    }
    known = {path for path in paths_of(draft) if path and len(path) <= 2}
    best = sorted(chances, key=chances.get, reverse=True)
    assert len(draft.ids) == min(breadth * gamma, sum(5**level for level in range(1, gamma + 1)))
    assert known == set(best[: len(known)])
    assert {node for path in draft.paths for node in path.nodes} == set(
        range(1, len(draft.ids) + 1)
    )
    for path, node in paths_of(draft).items():
        if node in draft.inner:
            row = draft.q[list(draft.inner).index(node)]
            assert torch.allclose(row, draft_rows(path), atol=1e-9)


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_what_is_kept_on_average_is_the_target_s_probability_of_all_paths(temperature: float):
    """One token per node can be followed, so E[kept] is the sum of p over the paths, whatever the
    rule's order.
    """
    checked = 0
    for seed in range(4):
        options = {
            "rule": "one-hot",
            "tree": "grown",
            "drafts": 3,
            "gamma": 3,
            "temperature": temperature,
        }
        for step in hsd.run(PAIR, "abc", seed=seed, max_new_tokens=20, **options).steps:
            joint = {0: 1.0}
            for node in step.nodes:
                joint[node.id] = joint[node.parent] * node.p
            assert step.expected_kept["one-hot"] == pytest.approx(sum(joint.values()) - 1, abs=1e-6)
            checked += 1
    assert checked > 10


def test_a_token_that_the_draft_cannot_write_is_never_chosen():
    """Logits of minus infinity: a head's tokens outside its own vocabulary."""
    rows = torch.tensor([[0.5, 0.5, 0.0, 0.0]]).repeat(4, 1).double()
    model = TableModel(rows)
    grown = GrownProposer(RowReader(model.start(), model.device, UNCHANGED, 4), frozenset(), 4)
    draft = grown.propose([0], 2, torch.rand(8), torch.rand(8))
    assert set(draft.ids) <= {0, 1}
    assert len(draft.ids) == 6


def grown_run(**options):
    return hsd.run(
        PAIR, "abc", **{"rule": "one-hot", "tree": "grown", "drafts": 3, "gamma": 3, **options}
    )


def test_the_size_is_that_of_the_tree_and_the_surest_stay():
    """A smaller tree is the larger one without its least sure nodes."""
    found = []
    for nodes in (5, 8, 0):
        step = grown_run(nodes=nodes, max_new_tokens=20).steps[0]
        assert len(step.nodes) == (nodes or 3 * 3 + 1) - 1
        joint = {one.node: one.joint for one in step.growth if one.node}
        assert sorted(joint) == list(range(1, len(step.nodes) + 1))
        assert min(joint.values()) >= max(
            (one.joint for one in step.growth if not one.node), default=0.0
        )
        found.append(set(joint.values()))
    assert found[0] < found[1] < found[2]


def test_what_the_tree_was_cut_from_is_told():
    """Every level's candidates with the draft's own probabilities, and which of them it read."""
    for step in grown_run(nodes=8, max_new_tokens=12).steps[:-1]:
        paths = {0: ()}
        for place, one in enumerate(step.growth, start=1):
            paths[place] = (*paths[one.parent], one.token)
            assert one.level == len(paths[place])
            above = step.growth[one.parent - 1].joint if one.parent else 1.0
            assert one.joint == pytest.approx(above * one.q, abs=1e-9)
            if one.parent:
                assert step.growth[one.parent - 1].read
            if one.node:
                node = step.nodes[one.node - 1]
                assert node.token == one.token
                assert node.parent == (step.growth[one.parent - 1].node if one.parent else 0)
        read = [one for one in step.growth if one.read]
        assert len(read) == 2 * 3  # of the last level none
        for level in (1, 2):
            here = sorted(
                (one for one in step.growth if one.level == level), key=lambda one: -one.joint
            )
            assert [one.read for one in here[:3]] == [True] * 3


def test_one_child_each_is_the_greedy_chain():
    reader = RowReader(PAIR.draft.start(), PAIR.draft.device, UNCHANGED, PAIR.vocab_size)
    draft = GrownProposer(reader, frozenset(), 1).propose(TEXT, 4, torch.rand(4), torch.rand(4))
    chain: tuple[int, ...] = ()
    while len(chain) < 4:
        chain = (*chain, int(draft_rows(chain).argmax()))
    assert draft.ids == list(chain)
    assert list(draft.parents) == [0, 1, 2, 3]


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_a_tree_of_one_node_is_plain_decoding(temperature: float):
    sampling = {"temperature": temperature, "max_new_tokens": 16, "seed": 5}
    lone = grown_run(nodes=1, **sampling)
    assert lone.tokens == hsd.run(PAIR, "abc", system="plain", **sampling).tokens
    assert [step.drafted for step in lone.steps] == [0] * 16


def test_a_tree_larger_than_what_the_context_has_left_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(PAIR.target, "context", 200)
    with pytest.raises(
        hsd.HsdError,
        match="a tree of 400 nodes does not fit into the 197 tokens that the context has",
    ):
        grown_run(nodes=400)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nodes": 3}, "a tree of 3 nodes has no room for the 3 drafted tokens of its first level"),
        (
            {"nodes": 9, "tree": "comb", "rule": "hsd"},
            "nodes 9 is the size of a grown tree: choose tree grown",
        ),
        ({"nodes": 600}, "nodes 600: choose a whole number from 0 to 512"),
        ({"drafts": 0}, "drafts 0: choose a whole number from 1 to 64"),
        ({"gamma": 0}, "gamma 0: choose a whole number from 1 to 32"),
    ],
    ids=str,
)
def test_a_tree_that_cannot_be_is_refused_in_one_line(options: dict[str, object], message: str):
    with pytest.raises(hsd.HsdError) as caught:
        grown_run(**options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


# Mixed siblings: one drawn, the others chosen


def drawn_trees(
    pair: hsd.Pair, grow: type[GrownProposer], size: int, gamma: int
) -> Iterator[tuple[float, Draft]]:
    """Every tree that a breadth of 2 can grow after TEXT, and how likely it is: each draw takes
    every token in turn.
    """
    waiting: list[tuple[float, list[float]]] = [(1.0, [])]
    while waiting:
        weight, numbers = waiting.pop()
        reader = RowReader(pair.draft.start(), pair.draft.device, Sampling(), pair.vocab_size)
        grown = grow(reader, frozenset(), 2, size, mixed=True)
        many = grown.needed(gamma)
        draws = torch.tensor([*numbers, *[0.5] * (many - len(numbers))], dtype=torch.float64)
        draft = grown.propose(TEXT, gamma, draws, torch.rand(many))
        assert draft.growth
        rows = [row for _, row in draft.growth.drawn.values()]
        if len(rows) == len(numbers):
            yield weight, draft
            continue
        row = rows[len(numbers)].double()
        ends = row.cumsum(0).tolist()
        for share, end in zip(row.tolist(), ends, strict=True):
            if share > 0:
                waiting.append((weight * share, [*numbers, (end - share / 2) / ends[-1]]))


def output_of(
    pair: hsd.Pair, rule: TreeRule, trees: Iterable[tuple[float, Draft]], count: int
) -> dict[tuple, float]:
    """The exact law of the next `count` tokens, after each of these trees and every outcome of a
    rule.
    """
    law: dict[tuple[int, ...], float] = defaultdict(float)

    def row_after(path: tuple[int, ...]) -> torch.Tensor:
        model = pair.target
        return model.table[model.row_index([*TEXT, *path])].double()

    def spread(path: tuple[int, ...], row: torch.Tensor, weight: float) -> None:
        for token, share in enumerate(row.tolist()):
            longer = (*path, token)
            if len(longer) >= count:
                law[longer[:count]] += weight * share
            elif share > 0:
                spread(longer, row_after(longer), weight * share)

    for weight, draft in trees:
        paths = {node: path for path, node in paths_of(draft).items()}
        view = separate(
            draft, torch.stack([row_after(paths[node]) for node in range(len(draft.ids) + 1)])
        )
        for chance, ending in endings(lambda tree=view.tree: rule.process(tree)):
            spread(paths[ending.node], ending.next, weight * chance)
    return law


class Dropping(GrownProposer):
    """Wrong: a drawn token counts as sure as the draft finds it, so what was drawn decides whether
    it is kept.
    """

    def _extend(self, text, tree, front, draws):
        first = len(tree.tokens)
        super()._extend(text, tree, front, draws)
        for node in set(tree.drawn) & set(range(first, len(tree.tokens))):
            row = UNCHANGED.probabilities(tree.logits[tree.parents[node]][None])[0]
            tree.sure[node] = tree.sure[tree.parents[node]] + float(row[tree.tokens[node]].log())


@pytest.mark.parametrize("rule", ["top-down", "recursive-hsd", "traversal", "one-hot"])
@pytest.mark.parametrize(("vocab", "size", "gamma"), [(3, 4, 2), (3, 5, 3), (2, 3, 3)])
def test_no_draw_of_a_mixed_tree_is_dropped_because_of_what_was_drawn(
    rule: str, vocab: int, size: int, gamma: int
):
    """Over all draws, all coins and all ways to go on, the text follows the target, whatever the
    re-ranking dropped.
    """
    pair = table_pair(vocab=vocab, order=2, seed=4)
    trees = list(drawn_trees(pair, GrownProposer, size, gamma))
    assert sum(weight for weight, _ in trees) == pytest.approx(1, abs=1e-6)
    assert (len(trees) > 1) == (vocab > 2)
    found = output_of(pair, TREE_RULES[rule], trees, gamma + 1)
    wanted = output_of(pair, TREE_RULES["one-hot"], [(1.0, lone(pair))], gamma + 1)
    assert sum(abs(found[text] - wanted[text]) for text in wanted) < 1e-6


def lone(pair: hsd.Pair) -> Draft:
    """A tree of one chosen token, whose law is the target's."""
    reader = RowReader(pair.draft.start(), pair.draft.device, Sampling(), pair.vocab_size)
    return GrownProposer(reader, frozenset(), 1, 1).propose(TEXT, 1, torch.rand(1), torch.rand(1))


def test_a_draw_that_is_ranked_by_its_own_chance_is_caught():
    pair = table_pair(vocab=3, order=2, seed=3)
    wanted = output_of(pair, TREE_RULES["one-hot"], [(1.0, lone(pair))], 3)
    found = output_of(pair, TREE_RULES["top-down"], drawn_trees(pair, Dropping, 3, 2), 3)
    assert sum(abs(found[text] - wanted[text]) for text in wanted) > 1e-3


def remembered(clip: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """`clip`, computed once for equal rows."""
    known: dict[bytes, torch.Tensor] = {}

    def rows(p: torch.Tensor, q: torch.Tensor, tolerance: float) -> torch.Tensor:
        key = torch.cat([p.double(), q.double()]).numpy().tobytes()
        known[key] = known.get(key) if key in known else clip(p, q, tolerance)
        return known[key]

    return rows


def pair_whose_draws_decide_what_is_cut() -> hsd.Pair:
    """Its draft follows some tokens with one sure token, and others with two likely ones.

    The many nodes below the latter leave no room for the chosen token 0 beside them. The target is
    flat.
    """
    draft = torch.zeros(7, 7, dtype=torch.float64)
    draft[TEXT[-1]] = torch.tensor([0.19, 0.162, 0, 0.162, 0.162, 0.162, 0.162])
    draft[[0, 1, 3], 0] = 1.0
    draft[4:, 4:6] = 0.5
    flat = torch.full((7, 7), 1 / 7, dtype=torch.float64)
    models = (TableModel(flat), TableModel(draft))
    return hsd.Pair("cut by draws", *models, LetterCodec(7, frozenset()))


def most_spent(
    pair: hsd.Pair, rule: TreeRule, trees: list[tuple[float, Draft]], target: torch.Tensor
) -> float:
    """The largest KL of the first or the second token's law from the target's row, in nats.

    target: (V, V), the rows after each token, in place of those of the pair.
    """
    other = replace(pair, target=TableModel(target))
    law = torch.zeros(7, 7, dtype=torch.float64)
    for text, share in output_of(other, rule, trees, 2).items():
        law[text] += share
    first = law.sum(1)
    spent = [float(relative_entropy(first, target[TEXT[-1]]))]
    spent += [
        float(relative_entropy(law[x] / first[x], target[x])) for x in range(7) if first[x] > 1e-9
    ]
    return max(spent)


@pytest.mark.long
@pytest.mark.parametrize("tolerance", some([0.02, 0.1], 2))
def test_no_target_makes_clipped_verification_spend_more_than_its_tolerance(
    tolerance: float, monkeypatch: pytest.MonkeyPatch
):
    """A search climbs towards the target on which a token's law is farthest off."""
    monkeypatch.setattr("hsd.rules.clipped.clip", remembered(clip))
    pair = pair_whose_draws_decide_what_is_cut()
    rule = clipped_tree(RULES["clipped"], tolerance)
    trees = list(drawn_trees(pair, GrownProposer, 6, 3))
    left = {
        frozenset(x for path, x in paths_of(draft).items() if len(path) == 1) for _, draft in trees
    }
    assert {len(nodes) for nodes in left} == {1, 2}
    numbers = torch.Generator().manual_seed(1)
    best = torch.randn(7, 7, generator=numbers, dtype=torch.float64)
    most = most_spent(pair, rule, trees, best.softmax(-1))
    for _ in range(150):
        step = 1.5 * torch.randn(7, 7, generator=numbers, dtype=torch.float64)
        moved = (best + step * (torch.rand(7, 7, generator=numbers) < 0.2)).clamp(-7, 7)
        spent = most_spent(pair, rule, trees, moved.softmax(-1))
        if spent > most:
            best = moved
            most = spent
    assert 0.9 * tolerance < most < tolerance + 1e-6


@pytest.mark.parametrize("engine_rows", ["warped", "greedy"])
def test_mixed_siblings_are_one_draw_without_the_chosen_ones_and_the_likeliest(engine_rows: str):
    """Greedy, nothing is left to draw: the tree is the grown one. Else the first child is the draw,
    and q is without its siblings.
    """
    heat = 0.8 if engine_rows == "warped" else 0.0
    for mixed, grown in zip(
        *(mixed_run(heat, tree).steps for tree in ("mixed", "grown")), strict=False
    ):
        if heat == 0:
            assert [node.token for node in mixed.nodes] == [node.token for node in grown.nodes]
            continue
        branches = {one.node: one for one in mixed.branches}
        for parent in {node.parent for node in mixed.nodes}:
            first, *others = [node for node in mixed.nodes if node.parent == parent]
            shown = {one.token: one.q for one in branches[parent].top}
            if first.q < 1:
                assert shown[first.token] == pytest.approx(first.q)
                assert all(shown[node.token] == 0 for node in others)
            assert all(node.q == 1 for node in others)


def mixed_run(temperature: float, tree: str) -> hsd.Trace:
    options = {
        "rule": "one-hot",
        "tree": tree,
        "drafts": 3,
        "gamma": 2,
        "nodes": 6,
        "temperature": temperature,
    }
    return hsd.run(PAIR, "abc", max_new_tokens=16, **options)


TREES = {"drafts": 3, "gamma": 3}
RUNS = {
    "a chain": {},
    "a chain that ends itself": {"gamma": "auto"},
    "raw divergences": {"rule": "fuzzy", "divergence_on": "raw", "temperature": 0.7},
    "the likeliest": {**TREES, "tree": "top", "rule": "one-hot"},
    "distinct": {**TREES, "tree": "distinct", "rule": "traversal"},
    "grown": {**TREES, "tree": "grown", "rule": "one-hot"},
    "mixed": {**TREES, "tree": "mixed", "rule": "hsd", "temperature": 0.7, "top_p": 0.9},
    "levels": {"system": "stack", "temperature": 0.7},
    "exits": {"system": "hispec", "top_k": 9},
}


@pytest.mark.parametrize("trace", [True, False], ids=["recorded", "quick"])
@pytest.mark.parametrize("name", RUNS)
def test_the_embedded_pair_s_rows_are_made_in_double_precision_alone(
    name: str, trace: bool, monkeypatch: pytest.MonkeyPatch
):
    """A softmax in single precision is another one on another processor, and so would drafts and
    texts be.
    """
    used = []
    softmax = torch.Tensor.softmax

    def recorded(rows: torch.Tensor, dim: int, dtype: torch.dtype | None = None) -> torch.Tensor:
        used.append(dtype or rows.dtype)
        return softmax(rows, dim, dtype=dtype)

    pair = hsd.load_pair("tiny")
    monkeypatch.setattr(torch.Tensor, "softmax", recorded)
    hsd.run(pair, "Once upon", max_new_tokens=6, trace=trace, **RUNS[name])
    assert set(used) <= {torch.float64}
