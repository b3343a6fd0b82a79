"""From logits to probabilities at the edges: next to no temperature, next to no mass, and equal
logits.
"""

from __future__ import annotations

import pytest
import torch
from table_models import table_pair
from transformers import TopKLogitsWarper, TopPLogitsWarper

import hsd
from hsd.sampling import Sampling

LOGITS = torch.tensor([[0.5, 2.0, -1.0, 1.5, -30.0], [-300.0, 40.0, 40.5, 12.0, 0.0]])


@pytest.mark.parametrize("temperature", [1e-3, 1e-25, 1e-31, 1e-38, 1e-45, 1e-300])
def test_next_to_no_temperature_is_greedy(temperature: float):
    greedy = Sampling(temperature=0).probabilities(LOGITS)
    for further in ({}, {"top_k": 2}, {"top_p": 0.5}):
        assert torch.equal(Sampling(temperature, **further).probabilities(LOGITS), greedy)


@pytest.mark.parametrize("top_p", [0.01, 1e-38, 1e-300])
def test_next_to_no_mass_keeps_the_likeliest_token(top_p: float):
    greedy = Sampling(temperature=0).probabilities(LOGITS)
    for top_k in (0, 2):
        assert torch.equal(Sampling(top_p=top_p, top_k=top_k).probabilities(LOGITS), greedy)


def test_the_smallest_settings_decode():
    pair = table_pair(vocab=5, order=1, seed=0)
    for options in ({"temperature": 1e-38}, {"top_p": 1e-300}):
        assert len(hsd.run(pair, "ab", max_new_tokens=8, **options).tokens) == 8


@pytest.mark.parametrize("top_p", [1.0, 0.7])
def test_tokens_that_equal_the_last_one_kept_are_kept_as_in_transformers(top_p: float):
    logits = torch.tensor([[1.0, 3.0, 1.0, 0.0, 1.0, 2.0], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]])
    wanted = TopKLogitsWarper(3)(None, logits)
    wanted = TopPLogitsWarper(top_p)(None, wanted) if top_p < 1 else wanted
    found = Sampling(top_k=3, top_p=top_p).probabilities(logits)
    if top_p == 1:
        assert torch.allclose(found, wanted.softmax(-1))
    assert torch.allclose(found.sum(-1), torch.ones(2))
    assert bool(((found > 0).sum(-1) == (wanted > -torch.inf).sum(-1)).all())
