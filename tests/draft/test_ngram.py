"""Drafts that are copied from the text: exact with every lossless rule, recorded, and drafted
without a model.
"""

from __future__ import annotations

from typing import Any

import pytest
from joint_law import chi_square_p, exact_law, first_tokens
from spies import spied
from table_models import LetterCodec, TableModel, table_pair

import hsd
from hsd import RULES, HsdError
from hsd.draft.ngram import copy_last_match

pytestmark = pytest.mark.long

PAIR = table_pair(vocab=3, order=2, seed=11)
PROMPT = "abcabcaab"
OPTIONS: dict[str, Any] = {"proposer": "ngram", "gamma": 4}


@pytest.mark.parametrize(
    ("text", "copied"),
    [
        ([1, 2, 3, 9, 1, 2, 3], [9, 1, 2, 3]),  # the last three came up before
        ([5, 1, 2, 7, 3, 2, 8, 1, 2], [7, 3, 2, 8]),  # the last two, not the nearer single one
        ([1, 7, 1, 8, 1], [8, 1]),  # the nearest place
        ([4, 4], [4]),
        ([1, 2, 3], []),
        ([1], []),
        ([], []),
    ],
)
def test_what_followed_the_last_tokens_is_copied(text: list[int], copied: list[int]):
    assert copy_last_match(text, 4) == copied
    assert copy_last_match(text, 1) == copied[:1]


@pytest.mark.parametrize("rule", [name for name, rule in RULES.items() if rule.lossless])
def test_copies_follow_the_target(rule: str):
    counts = first_tokens(
        PAIR, 3, range(250), prompt=PROMPT, rule=rule, max_new_tokens=12, **OPTIONS
    )
    assert chi_square_p(counts, exact_law(PAIR, 3, prompt=PROMPT)) > 1e-4


def test_texts_that_end_inside_a_copy_follow_the_target():
    pair = hsd.Pair("ends", PAIR.target, PAIR.draft, LetterCodec(3, frozenset({2})))
    for rule in ("hsd", "naive-hsd"):
        counts = first_tokens(
            pair, 3, range(250), prompt=PROMPT, rule=rule, max_new_tokens=12, **OPTIONS
        )
        assert chi_square_p(counts, exact_law(pair, 3, prompt=PROMPT)) > 1e-4


@pytest.mark.parametrize("rule", RULES)
def test_a_run_with_copies_is_recorded_and_can_be_run_again(rule: str):
    trace = hsd.run(PAIR, PROMPT, rule=rule, max_new_tokens=30, **OPTIONS)
    assert hsd.Trace.from_json(trace.to_json()) == trace
    assert trace.replay() == trace.tokens == hsd.rerun(PAIR, trace).tokens
    assert (
        trace.tokens
        == hsd.run(PAIR, PROMPT, rule=rule, max_new_tokens=30, trace=False, **OPTIONS).tokens
    )
    assert trace.setup.options.draft.proposer == "ngram"
    assert [model.name for model in trace.setup.models] == ["table target"]
    assert {node.q for step in trace.steps for node in step.nodes} == {1.0}


def test_no_draft_model_is_read():
    pair, target, draft = spied(PAIR)
    trace = hsd.run(pair, PROMPT, max_new_tokens=20, **OPTIONS)
    assert not draft.sessions
    assert len(target.calls) == 1 + trace.stats()["target_calls"]


def test_without_a_match_nothing_is_drafted():
    counting = TableModel(table_pair(vocab=26, order=1).target.table * 0 + 1 / 26)
    pair = hsd.Pair("letters", counting, counting, LetterCodec(26))
    step = next(hsd.decode(pair, "abc", max_new_tokens=9, **OPTIONS))
    assert (step.drafted, step.kept, step.paths, len(step.tokens)) == (0, 0, [], 1)
    assert step.verdict.residual.origin == "bonus"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"drafts": 2}, "one continuation to copy: choose drafts 1"),
        ({"system": "stack"}, "in system stack the smallest level drafts itself"),
        ({"engine": "captured", "trace": False}, "engine 'captured' is for one draft of a model"),
    ],
)
def test_what_copies_cannot_be_combined_with_is_refused(options: dict[str, Any], reason: str):
    with pytest.raises(HsdError, match=reason):
        hsd.decode(PAIR, PROMPT, **OPTIONS, **options)
