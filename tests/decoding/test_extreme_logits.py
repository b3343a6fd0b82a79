"""Logits of any size decode, and those that are no numbers are refused in one line."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import hsd
from hsd import HsdError
from hsd.decoding.loop import Decoding
from hsd.decoding.system import make_system
from hsd.models.small.model import Text

TREE = {"tree": "mixed", "drafts": 2, "gamma": 3, "rule": "recursive-hsd"}


@pytest.fixture
def changed(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Replace the logits that both models of the embedded pair give."""
    plain = Text.forward

    def change(make: Any) -> hsd.Pair:
        def forward(*given: Any, **named: Any) -> Tensor:
            return make(plain(*given, **named))

        monkeypatch.setattr(Text, "forward", forward)
        return hsd.load_pair("tiny")

    return change


def test_a_tree_grows_from_a_token_without_a_chance_in_floats(changed: Any):
    def with_gap(logits: Tensor) -> Tensor:
        return torch.where(logits == logits.amax(-1, keepdim=True), 45_000.0, logits - 900.0)

    trace = hsd.run(changed(with_gap), "Once", temperature=50.0, max_new_tokens=8, **TREE)
    assert len(trace.tokens) == 8


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_logits_that_are_not_finite_are_refused_in_one_line(changed: Any, number: float):
    def broken(logits: Tensor) -> Tensor:
        return logits.index_fill(-1, torch.tensor([3]), number)

    decoding = Decoding(make_system(changed(broken), hsd.RunOptions(max_new_tokens=8)), "Once")
    with pytest.raises(HsdError, match=r"^a model gives logits that are not finite: fetch"):
        list(decoding)
