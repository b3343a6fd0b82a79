"""Seeded runs give the tokens that they gave before, for every rule, layout and system."""

from __future__ import annotations

import json

import pytest
from seeded import FILE, SEEDS, cases, pair

import hsd

RECORDED = json.loads(FILE.read_text(encoding="utf-8"))
MODELS = pair()


@pytest.mark.parametrize("name", RECORDED)
def test_seeded_runs_give_the_recorded_tokens(name):
    options = {"max_new_tokens": 24, "trace": False, **cases()[name]}
    assert [hsd.run(MODELS, "ab", seed=seed, **options).tokens for seed in SEEDS] == RECORDED[name]
