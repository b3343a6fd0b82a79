"""What a program around a run has set in torch changes no token of it."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
import torch
from loops import for_each, some
from small_gguf import TAPS, VOCAB, save_small

import hsd
from hsd import Pair
from hsd.models.base import IdCodec
from hsd.models.loading import load_pair
from hsd.models.loading.portable import load_small, load_small_head, named_pair
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
    "another device": lambda: torch.device("meta"),
    "deterministic": deterministic,
    "inference": torch.inference_mode,  # and so without gradients
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
# functions that make tensors: of the values' own type, or of torch's default type
BY_VALUE = ("arange", "as_tensor", "asarray", "randint", "randperm")
BY_DEFAULT = (
    *("empty", "eye", "full", "linspace", "ones", "rand"),
    *("randn", "scalar_tensor", "tensor", "zeros"),
)
# what a pair does not have is left out, and for slow models what others show
CASES = {
    "embedded": {*OPTIONS},
    "head": {*OPTIONS} - {"exits", "stack"},
    "transformers": {"drawn", "greedy", "plain", "tree", "n-grams"},
}
PROMPTS = {"embedded": "Once upon a time", "head": "5 9 2 40 17 3 9 2", "transformers": "abcab"}


@pytest.fixture(scope="module")
def folders(
    tmp_path_factory: pytest.TempPathFactory, byte_folders: tuple[str, str]
) -> tuple[Path, ...]:
    """Folders of a target, of a draft, and of a model for the portable engine with its head."""
    return (*map(Path, byte_folders), save_small(tmp_path_factory.mktemp("small")))


def loaded(folders: Sequence[Path], place: Path) -> dict[str, Pair]:
    """Return pairs of every kind, read anew from copies in a new folder `place`."""
    target, draft, small = (shutil.copytree(old, place / old.name) for old in folders)
    model = load_small(read_gguf(small / "model.gguf"), "small", None, TAPS)
    head = load_small_head(small, model, "head", None)
    return {
        "embedded": named_pair("tiny", None, None),
        "head": Pair("small", model, head, IdCodec(VOCAB)),
        "transformers": load_pair(target=target, draft=draft, device="cpu"),
    }


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory, folders: tuple[Path, ...]) -> dict[str, Pair]:
    return loaded(folders, tmp_path_factory.mktemp("pairs"))


def texts(pairs: dict[str, Pair], cases: Iterable[str] = OPTIONS) -> dict[str, list[int]]:
    """Return the tokens of each pair's runs."""
    tokens = {}
    for name, pair in pairs.items():
        for case in CASES[name].intersection(cases):
            options = OPTIONS[case]
            for trace in (True, False):
                chosen = {"max_new_tokens": 8, "gamma": 3, "seed": 2, "trace": trace, **options}
                trace_of_run = hsd.run(pair, PROMPTS[name], **chosen)
                tokens[f"{name}, {case}, trace {trace}"] = trace_of_run.tokens
    return tokens


@pytest.fixture(scope="module")
def usual(pairs: dict[str, Pair]) -> dict[str, list[int]]:
    """The tokens under torch's own defaults."""
    return texts(pairs)


@pytest.mark.parametrize("setting", some(SETTINGS, 4))
def test_tokens_are_those_under_the_usual_settings(
    setting: str, pairs: dict[str, Pair], usual: dict[str, list[int]]
):
    with SETTINGS[setting]():
        assert texts(pairs) == usual


@pytest.mark.parametrize("setting", SETTINGS)
def test_models_that_are_read_under_a_setting_are_the_same(
    setting: str, tmp_path: Path, folders: tuple[Path, ...], usual: dict[str, list[int]]
):
    with SETTINGS[setting]():
        tokens = texts(loaded(folders, tmp_path), ["drawn"])
    assert tokens == {case: usual[case] for case in tokens}


@pytest.mark.parametrize(
    ("setting", "drafts"), some([*zip(SETTINGS, cycle((2, 1)), strict=False)], 4)
)
def test_an_audit_gives_the_same_numbers(setting: str, drafts: int):
    usual = hsd.audit(vocab=2, gamma=2, drafts=drafts)
    with SETTINGS[setting]():
        assert hsd.audit(vocab=2, gamma=2, drafts=drafts) == usual


def tensors_made(file: Path) -> Iterator[tuple[int, str, set[str]]]:
    """Yield line, function and keywords of each call that makes a tensor from nothing."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        name = node.func.attr
        if ast.unparse(node.func.value) == "torch" and name in {*BY_VALUE, *BY_DEFAULT}:
            yield node.lineno, name, {str(keyword.arg) for keyword in node.keywords}


@for_each("file", sorted(Path(hsd.__file__).parent.rglob("*.py")), ids=str)
def test_every_tensor_has_a_named_place_and_type(file: Path):
    for line, name, keywords in tensors_made(file):
        needed = {"device"} | ({"dtype"} if name in BY_DEFAULT else set())
        assert needed <= keywords, f"line {line}: torch.{name} without {needed - keywords}"
