"""The text that drafts learn from: how its tokens are drawn, and that every request and subject
makes a prompt.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import yaml
from scipy.stats import chisquare
from smollm2 import write_text
from smollm2.write_text import PART, sample

DRAWS = 20_000


@pytest.mark.parametrize("vocab", [PART - 3, 2 * PART, 5 * PART + 7])
def test_tokens_follow_the_softmax_of_their_row(vocab: int):
    """Parts of the vocabulary and the tokens in them are drawn one after the other: together it is
    the softmax.
    """
    noise = torch.Generator().manual_seed(1)
    logits = torch.randn(vocab, generator=noise) * 3
    drawn = sample(logits.repeat(DRAWS, 1), torch.full((DRAWS,), 0.7), noise)
    p = (logits.double() / 0.7).softmax(-1)
    often = p > 10 / DRAWS
    counts = torch.bincount(drawn, minlength=vocab)
    found = [*counts[often].tolist(), int(counts[~often].sum())]
    expected = torch.cat([p[often], p[~often].sum()[None]]) * DRAWS
    assert len(found) > 20
    assert chisquare(found, expected.numpy() * sum(found) / expected.sum().item()).pvalue > 1e-4


def test_every_row_has_a_temperature_of_its_own():
    """At 0 it is the likeliest token, whatever the number."""
    logits = torch.tensor([[0.0, 1.0, 0.9], [0.0, 1.0, 0.9]])
    noise = torch.Generator().manual_seed(0)
    drawn = torch.stack([sample(logits, torch.tensor([0.0, 5.0]), noise) for _ in range(200)])
    assert set(drawn[:, 0].tolist()) == {1}
    assert set(drawn[:, 1].tolist()) == {0, 1, 2}


def test_requests_have_one_place_for_a_subject_and_no_subject_stands_twice():
    told = yaml.safe_load((Path(write_text.__file__).parent / "subjects.yaml").read_text())
    assert all(request.count("{}") == 1 for request in told["requests"])
    assert len(told["requests"]) * len(told["subjects"]) > 3000
    for part in told.values():
        assert len(part) == len(set(part))
