"""Rounds with trees: one cache for all branches gives what fresh passes give, and texts end where
they end.
"""

from __future__ import annotations

import pytest
import torch
from loops import for_each
from table_models import table_pair
from torch import Tensor
from tree_cases import TREE_CASES

import hsd
from hsd.models import LanguageModel, Pair
from hsd.models.reading import RowReader
from hsd.sampling import Sampling

# (id, parent, token) by level: drafts of unequal length, equal tokens below different parents.
LEVELS = [[(1, 0, 3), (2, 0, 1)], [(3, 1, 1), (4, 1, 2), (5, 2, 2)], [(6, 4, 3), (7, 5, 3)]]
NODES = [node for level in LEVELS for node in level]


def path(node: int) -> list[int]:
    """The nodes from depth 1 down to `node`."""
    return [*path(NODES[node - 1][1]), node] if node else []


def texts(text: list[int], nodes: list[tuple[int, int, int]]) -> list[list[int]]:
    return [text + [NODES[i - 1][2] for i in path(node)] for node, _, _ in nodes]


def fresh(model: LanguageModel, text: list[int]) -> Tensor:
    return model.start().forward(torch.tensor(text), keep=1)[0]


def reader_of(model: LanguageModel) -> RowReader:
    return RowReader(model.start(), model.device, Sampling(), model.vocab_size)


def assert_as_fresh(model: LanguageModel, rows: Tensor, read: list[list[int]]) -> None:
    assert len(rows) == len(read)
    for row, text in zip(rows, read, strict=True):
        assert float((row - fresh(model, text)).abs().max()) < 1e-4, text


@pytest.fixture(params=["table", "transformer"])
def model(request: pytest.FixtureRequest) -> LanguageModel:
    if request.param == "table":
        return table_pair(vocab=4, order=3, seed=2).target
    pair: Pair = request.getfixturevalue("byte_pair")
    return pair.target


def test_every_node_is_read_as_if_its_path_were_the_text(model: LanguageModel):
    """Once in one pass, as the target does, and once level by level, as the draft model does."""
    text = [2, 0, 3, 1]
    target = reader_of(model)
    target.read(torch.tensor(text[:-1]), keep=1)
    assert_as_fresh(
        model, target.grow(text, NODES, keep=len(NODES) + 1), [text, *texts(text, NODES)]
    )
    draft = reader_of(model)
    assert_as_fresh(model, draft.grow(text, [], keep=1), [text])
    for level in LEVELS:
        assert_as_fresh(model, draft.grow(text, level, keep=len(level)), texts(text, level))


@for_each("kept", [[], [2], [1, 4], [1, 4, 6], [2, 5, 7]], ids=str)
@for_each("read_levels", [2, 3])
def test_after_a_commit_only_the_kept_path_is_part_of_the_text(
    model: LanguageModel, kept: list[int], read_levels: int
):
    """The draft model may not have read the last level, which is then read with the next tree."""
    text = [2, 0, 3, 1]
    reader = reader_of(model)
    reader.grow(text, [], keep=1)
    for level in LEVELS[:read_levels]:
        reader.grow(text, level, keep=len(level))
    reader.settle(len(text) + len(kept), kept)
    read = [
        node for node in kept if node in {n for level in LEVELS[:read_levels] for n, _, _ in level}
    ]
    assert reader.length == len(text) + len(read)
    longer = [*text, *(NODES[node - 1][2] for node in kept), 0]
    assert_as_fresh(
        model, reader.grow(longer, NODES, keep=len(NODES) + 1), [longer, *texts(longer, NODES)]
    )


@pytest.mark.long
@for_each(("rule", "tree"), TREE_CASES, every=6)
def test_nothing_follows_the_end_of_a_text_that_was_drafted_in_a_tree(rule: str, tree: str):
    pair = table_pair(vocab=4, order=2, seed=7, end_ids=frozenset({1, 2}))
    kept_ends = 0
    for seed in range(8):
        options = {"rule": rule, "tree": tree, "drafts": 2, "gamma": 3}
        trace = hsd.run(pair, "a", max_new_tokens=60, seed=seed, **options)
        ends = [i for i, token in enumerate(trace.tokens) if token in (1, 2)]
        assert ends in ([], [len(trace.tokens) - 1])
        assert (trace.result.finish == "end") == bool(ends)
        kept_ends += bool(ends) and trace.steps[-1].committed[-1].origin == "draft"
    assert kept_ends
