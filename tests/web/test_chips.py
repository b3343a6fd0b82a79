"""What the chips of the page's head say about models."""

from __future__ import annotations

import pytest
from engine import Engine

TARGET = {
    "name": "target",
    "revision": None,
    "parameters": 134_515_008,
    "dtype": "bfloat16",
    "drafted": None,
}
DRAFT = {**TARGET, "name": "head", "parameters": 14_000_000}


@pytest.fixture(scope="module")
def chips():
    engine = Engine({"chips": "step/frame.js"})
    yield lambda setup: engine.call("(setup) => chips.tracePair(setup)", setup)
    engine.stop()


def setup(*models: dict, proposer: str = "model") -> dict:
    return {
        "pair": "a",
        "models": models,
        "vocab_size": 49_152,
        "options": {"draft": {"proposer": proposer}},
    }


def test_a_pair_that_shares_all_tokens_says_so(chips):
    earlier = {name: value for name, value in DRAFT.items() if name != "drafted"}
    for draft in (DRAFT, earlier):
        words, more = chips(setup(draft, TARGET))
        assert words == "a: 135 M + 14.0 M · ✓ same vocabulary"
        assert more.endswith("49,152 tokens, and both models give each the same meaning")


def test_a_draft_of_some_tokens_says_how_many_and_that_nothing_is_lost(chips):
    words, more = chips(setup({**DRAFT, "drafted": 6_144}, TARGET))
    assert words == "a: 135 M + 14.0 M · drafts 6,144 of 49,152 tokens"
    assert (
        "The draft proposes only 6,144 of them; any other can only come as a correction or a bonus"
        in more
    )
    assert "The result is just as exact" in more


def test_no_draft_model_is_told_of_where_none_drafted(chips):
    copied = chips(setup(TARGET, proposer="ngram"))
    plain = chips(setup(TARGET, proposer="none"))
    assert copied[0] == "a: 135 M · drafts from the text"
    assert copied[1].endswith("No draft model.")
    assert plain[0] == "a: 135 M"
    assert "draft" not in plain[1]
