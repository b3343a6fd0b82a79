"""Trees that grow where the draft is surest: which tokens they hold, and what is kept of them."""

from __future__ import annotations

from itertools import product
from math import prod

import pytest
import torch

import hsd
from hsd.draft import GrownProposer
from hsd.models.reading import UNCHANGED, Reader

PAIR = hsd.table_pair(vocab=5, order=2, seed=4)
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
    reader = Reader(PAIR.draft.start(), PAIR.draft.device, UNCHANGED, PAIR.vocab_size)
    return reader.read(torch.tensor([*TEXT, *path]), 1).p[0]


@pytest.mark.parametrize(("breadth", "gamma"), [(5, 2), (5, 3), (4, 1)])
def test_the_surest_tokens_of_all_are_kept(breadth: int, gamma: int):
    """As broad as the vocabulary it misses nothing on two levels; on the third it may follow the five surest only."""
    reader = Reader(PAIR.draft.start(), PAIR.draft.device, UNCHANGED, PAIR.vocab_size)
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
    assert {node for path in draft.paths for node in path.nodes} == set(range(1, len(draft.ids) + 1))
    for path, node in paths_of(draft).items():
        if node in draft.inner:
            row = draft.q[list(draft.inner).index(node)]
            assert torch.allclose(row, draft_rows(path), atol=1e-9)


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_what_is_kept_on_average_is_the_target_s_probability_of_all_paths(temperature: float):
    """One token per node can be followed, so E[kept] is the sum of p over the paths, whatever the rule's order."""
    checked = 0
    for seed in range(4):
        options = {"rule": "one-hot", "tree": "grown", "drafts": 3, "gamma": 3, "temperature": temperature}
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
    model = hsd.models.table.TableModel(rows)
    grown = GrownProposer(Reader(model.start(), model.device, UNCHANGED, 4), frozenset(), 4)
    draft = grown.propose([0], 2, torch.rand(8), torch.rand(8))
    assert set(draft.ids) <= {0, 1}
    assert len(draft.ids) == 6
