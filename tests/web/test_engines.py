"""A seed has one text but for rounding: by torch, captured, by the portable engine, in a browser.

The runs are those of `browser_subset.py`, which have every option; `test_browser_decoding.py` holds
the browser to the texts of the portable engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser_subset import LEFT, RUNS, SHARED, Letters, small_pair
from loops import for_each
from small_gguf import TAPS, torch_model, with_exits, write_gguf

import hsd
from hsd import HsdError, Pair, RunOptions
from hsd.models.causal import CausalModel
from hsd.models.loading.heads import load_head
from hsd.models.loading.hub import Source
from hsd.models.loading.portable import load_small
from hsd.models.small.gguf import read_gguf

pytest.importorskip("wasmtime")
pytestmark = pytest.mark.long
Options = dict[str, Any]
Twins = tuple[Pair, Pair]  # of the same weights, by the portable engine and by torch
# the portable engine rounds activations: at some seeds that moves the border between two tokens
SEEDS = range(7, 12)
MOST = 3  # seeds
SHORT = {"max_new_tokens": 12, "trace": False}


def of_models(folder: Path) -> Twins:
    """A pair with a draft model."""
    portable = []
    torch = []
    for seed in (0, 7):  # of the target and of the draft
        file = folder / f"{seed}.gguf"
        torch.append(CausalModel(torch_model(write_gguf(file, seed)), "small"))
        portable.append(load_small(read_gguf(file), "small", "", TAPS))
    return Pair("small", *portable, Letters()), Pair("small", *torch, Letters())


def of_head(folder: Path) -> Twins:
    """A pair with a head, whose target can be left early."""
    pair, _ = small_pair(folder)
    target = CausalModel(torch_model(write_gguf(folder / "model.gguf")), "small")
    pair.target.parts = with_exits(folder).parts  # type: ignore[attr-defined]
    head = load_head(Source(str(folder)), target, "head")
    return pair, Pair(pair.name, target, head, Letters())


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Twins:
    return of_models(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def head(tmp_path_factory: pytest.TempPathFactory) -> Twins:
    return of_head(tmp_path_factory.mktemp("head"))


def texts(pair: Pair, case: Options, **how: Any) -> list[list[int]]:
    """Return a run's tokens by each seed; a case of several tests is decoded once."""
    key = (id(pair), repr(sorted((case | how).items())))
    if key not in DECODED:
        DECODED[key] = decoded(pair, case, **how)
    return DECODED[key]


DECODED: dict[tuple[int, str], list[list[int]]] = {}


def decoded(pair: Pair, case: Options, **how: Any) -> list[list[int]]:
    options = SHARED | case | SHORT | how
    first = options.pop("seed", 0)
    return [hsd.run(pair, seed=first + seed, **options).tokens for seed in SEEDS]


def same(case: Options, twins: Twins) -> bool:
    portable, torch = (texts(pair, case) for pair in twins)
    return sum(map(list.__eq__, portable, torch)) >= MOST


def captured(case: Options) -> Options | None:
    """Return the options of a run by captured steps, None where that engine refuses them."""
    options = {name: value for name, value in case.items() if name != "prompt"}
    try:
        RunOptions(**options, engine="captured", trace=False)
    except HsdError:
        return None
    return {"engine": "captured"}


def decodable() -> Iterator[Options]:
    """Yield every run of the file of cases but early exits, which need a model of their own."""
    yield from (*RUNS, *(case for case, _ in LEFT if case.get("system") != "hispec"))


@for_each("case", decodable(), every=8)
def test_torch_and_the_portable_engine_write_one_text(models: Twins, case: Options):
    assert same(case, models)


@for_each("case", RUNS, every=8)
def test_so_they_do_with_a_head(head: Twins, case: Options):
    assert same(case, head)


@pytest.mark.slow
@for_each("case", [case for i, case in enumerate(decodable()) if i % 4])
def test_so_they_do_of_the_other_cases(models: Twins, case: Options):
    assert same(case, models)


@pytest.mark.slow
@for_each("case", [case for i, case in enumerate(RUNS) if i % 4])
def test_so_they_do_of_the_other_cases_with_a_head(head: Twins, case: Options):
    assert same(case, head)


@for_each("exits", [(2,), (1, 2)])
def test_so_they_do_with_early_exits(head: Twins, exits: tuple[int, ...]):
    assert same({"system": "hispec", "exits": exits}, head)


@for_each("case", [case for case in decodable() if captured(case)], every=4)
def test_captured_steps_write_the_text_of_those_that_are_not(models: Twins, case: Options):
    _, torch = models
    assert texts(torch, case, **captured(case) or {}) == texts(torch, case)
