"""On a GPU every system writes the CPU's tokens, recorded or not, eager or captured."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import hsd

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

RULES = [rule for rule in hsd.RULES if rule != "hsd-released"]
WAYS: list[dict[str, Any]] = [
    {"system": "plain"},
    *({"rule": rule} for rule in RULES),
    *({"rule": rule, "engine": "captured"} for rule in ("tokenwise", "blockwise", "hsd", "clipped")),
    {"temperature": 0},
    {"temperature": 0, "engine": "captured"},
    {"temperature": 0.7, "top_p": 0.9, "top_k": 50},
    {"drafts": 3},
    {"drafts": 3, "rule": "traversal"},
    {"drafts": 3, "tree": "mixed"},
    {"drafts": 3, "tree": "top", "rule": "one-hot"},
    {"drafts": 3, "tree": "grown", "rule": "one-hot", "nodes": 12},
    {"drafts": 3, "tree": "grown", "rule": "clipped", "nodes": 12},
    {"system": "hispec"},
    {"system": "stack"},
    {"proposer": "ngram"},
    {"gamma": "auto"},
]


@pytest.fixture(scope="module")
def pairs() -> list[hsd.Pair]:
    return [hsd.load_pair("tiny", device=device, dtype="float32") for device in ("cpu", "cuda")]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: " ".join(map(str, way.values())))
def test_a_run_on_a_gpu_has_the_tokens_of_the_cpu(pairs: list[hsd.Pair], way: dict[str, Any]):
    traces = [False] if way.get("engine") == "captured" else [True, False]
    options = {"gamma": 4, "max_new_tokens": 20, "seed": 3, **way}
    cpu, cuda = ([hsd.run(pair, "Once upon a time", trace=t, **options).tokens for t in traces] for pair in pairs)
    assert cuda == cpu
