"""On a GPU every system writes the CPU's tokens, recorded or not, eager or captured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from small_models import bytes_tokenizer, save_architecture, save_head

import hsd
from hsd.paths import ASSETS

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

RULES = [rule for rule in hsd.RULES if rule != "hsd-released"]
WAYS: list[dict[str, Any]] = [
    {"system": "plain"},
    *({"rule": rule} for rule in RULES),
    *(
        {"rule": rule, "engine": "captured"}
        for rule in ("tokenwise", "blockwise", "hsd", "clipped")
    ),
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
    target, middle, draft = (str(ASSETS / "tiny" / name) for name in ("target", "middle", "draft"))
    models = {"target": target, "draft": draft, "smaller": [middle], "dtype": "float32"}
    return [hsd.load_pair(device=device, **models) for device in ("cpu", "cuda")]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: " ".join(map(str, way.values())))
def test_a_run_on_a_gpu_has_the_tokens_of_the_cpu(pairs: list[hsd.Pair], way: dict[str, Any]):
    traces = [False] if way.get("engine") == "captured" else [True, False]
    options = {"gamma": 4, "max_new_tokens": 20, "seed": 3, **way}
    cpu, cuda = (
        [hsd.run(pair, "Once upon a time", trace=t, **options).tokens for t in traces]
        for pair in pairs
    )
    assert cuda == cpu


@pytest.mark.parametrize("way", [{}, {"temperature": 0}, {"drafts": 3, "tree": "mixed"}], ids=str)
def test_a_head_on_a_gpu_drafts_what_it_drafts_on_the_cpu(tmp_path: Path, way: dict[str, Any]):
    target, _ = save_architecture(tmp_path, "smollm2", bytes_tokenizer(), (270, 270))
    head = save_head(tmp_path / "head", target, [*range(32, 127), 256])
    options = {"gamma": 4, "max_new_tokens": 20, "seed": 3, **way}
    pairs = [
        hsd.load_pair(target=target, draft=head, device=d, dtype="float32") for d in ("cpu", "cuda")
    ]
    cpu, cuda = (hsd.run(pair, "Once upon a time", **options) for pair in pairs)
    assert cuda.tokens == cpu.tokens
    assert [step.kept for step in cuda.steps] == [step.kept for step in cpu.steps]
