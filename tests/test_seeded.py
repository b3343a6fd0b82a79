"""Seeded runs give the tokens that they gave before, for every rule, layout and system."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence

import pytest
from seeded import FILE, SEEDS, cases, pair

import hsd

pytestmark = pytest.mark.long

RECORDED = json.loads(FILE.read_text(encoding="utf-8"))
MODELS = pair()
# names of cases by their first word: a rule, or a system
KINDS = {
    kind: list(names)
    for kind, names in itertools.groupby(sorted(RECORDED), lambda name: name.split()[0])
}


@pytest.mark.parametrize("kind", KINDS)
def test_seeded_runs_give_the_recorded_tokens(kind: str):
    wrong = [name for name in KINDS[kind] if tokens(name, SEEDS[:2]) != RECORDED[name][:2]]
    assert wrong == []


def test_every_case_is_recorded():
    assert set(RECORDED) == set(cases())
    assert all(len(tokens) == len(SEEDS) and any(tokens) for tokens in RECORDED.values())


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_all_seeded_runs_give_the_recorded_tokens(kind: str):
    wrong = [name for name in KINDS[kind] if tokens(name, SEEDS[2:]) != RECORDED[name][2:]]
    assert wrong == []


def tokens(name: str, seeds: Sequence[int]) -> list[list[int]]:
    options = {"max_new_tokens": 24, "trace": False, **cases()[name]}
    return [hsd.run(MODELS, "ab", seed=seed, **options).tokens for seed in seeds]
