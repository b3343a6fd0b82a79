"""What a program around a run has set in torch changes no token of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from small_gguf import TAPS, VOCAB, save_small

import hsd
from hsd import Pair
from hsd.models.base import IdCodec
from hsd.models.loading import load_pair
from hsd.models.loading.portable import load_small, load_small_head
from hsd.models.small.gguf import read_gguf


@contextmanager
def default_type(kind: torch.dtype) -> Iterator[None]:
    torch.set_default_dtype(kind)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


@contextmanager
def deterministic() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


SETTINGS = {
    "bfloat16": lambda: default_type(torch.bfloat16),
    "float64": lambda: default_type(torch.float64),
    "deterministic": deterministic,
    "no gradients": torch.no_grad,
    "inference": torch.inference_mode,
}
OPTIONS: dict[str, dict[str, Any]] = {
    "drawn": {},
    "greedy": {"temperature": 0},
    "top-p": {"top_p": 0.8},
    "top-k": {"top_k": 5},
    "auto": {"gamma": "auto"},
    "plain": {"system": "plain"},
    "tree": {"drafts": 2},
    "mixed": {"drafts": 3, "tree": "mixed", "rule": "traversal"},
    "grown": {"drafts": 3, "tree": "grown", "rule": "one-hot"},
    "n-grams": {"proposer": "ngram"},
    "exits": {"system": "hispec"},
    "stack": {"system": "stack"},
    "coupled": {"rule": "coupled"},
    "fuzzy": {"rule": "fuzzy"},
    "clipped": {"rule": "clipped-hsd"},
    "typical": {"rule": "typical"},
}
LEVELLED = {"exits", "stack"}
PROMPTS = {"embedded": "Once upon a time", "head": "5 9 2 40 17 3 9 2", "transformers": "abcab"}


def head_pair(folder: Path) -> Pair:
    """Return a random model by the portable engine, and its head."""
    save_small(folder)
    model = load_small(read_gguf(folder / "model.gguf"), "small", None, TAPS)
    return Pair("small", model, load_small_head(folder, model, "head", None), IdCodec(VOCAB))


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory, byte_pair: Pair) -> dict[str, Pair]:
    head = head_pair(tmp_path_factory.mktemp("small"))
    return {"embedded": load_pair("tiny"), "head": head, "transformers": byte_pair}


def texts(pairs: dict[str, Pair]) -> dict[str, list[int]]:
    """Return the tokens of each pair's runs."""
    tokens = {}
    for name, pair in pairs.items():
        for case, options in OPTIONS.items():
            if case in LEVELLED and name != "embedded":
                continue
            for trace in (True, False):
                chosen = {"max_new_tokens": 12, "gamma": 3, "seed": 2, "trace": trace, **options}
                trace_of_run = hsd.run(pair, PROMPTS[name], **chosen)
                tokens[f"{name}, {case}, trace {trace}"] = trace_of_run.tokens
    return tokens


@pytest.fixture(scope="module")
def usual(pairs: dict[str, Pair]) -> dict[str, list[int]]:
    """The tokens under torch's own defaults."""
    return texts(pairs)


@pytest.mark.parametrize("setting", SETTINGS)
def test_tokens_are_those_under_the_usual_settings(
    setting: str, pairs: dict[str, Pair], usual: dict[str, list[int]]
):
    with SETTINGS[setting]():
        assert texts(pairs) == usual
