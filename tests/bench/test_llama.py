"""llama.cpp as a case beside ours: what it is asked, where its text ends, and what is said where it
is not here.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import hsd
from hsd import HsdError, Pair
from hsd.bench import llama
from hsd.cli import main
from hsd.models.loading import fetch
from hsd.paths import ASSETS

pytestmark = pytest.mark.skipif(
    not (ASSETS / "tiny" / "target").is_dir(), reason="the embedded pair is not there"
)
OPTIONS = {"temperature": 0.7, "top_k": 20, "max_new_tokens": 6}


class Library(ModuleType):
    """Stands in for the package: a model that writes what it is told to, and remembers what it was
    asked.
    """

    def __init__(self, text: list[int]) -> None:
        super().__init__("llama_cpp")
        self.text = text
        self.asked = list[Any]()
        self.loaded = list[dict[str, Any]]()

    def Llama(self, path: str, **how: Any) -> Library:  # the package's own name
        self.loaded.append({"path": path, **how})
        return self

    def reset(self) -> None:
        self.asked.append("reset")

    def set_seed(self, seed: int) -> None:
        self.asked.append(seed)

    def generate(self, ids: list[int], **how: Any) -> Iterator[int]:
        self.asked.append((ids, how))
        yield from self.text


@pytest.fixture
def pair(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Pair]:
    """The toy pair, as if its models came from files."""
    toy = hsd.load_pair("tiny", device="cpu")
    for model, name in ((toy.target, "model.gguf"), (toy.draft, "draft.gguf")):
        monkeypatch.setattr(model, "file", tmp_path / name)
    llama._loaded.cache_clear()
    yield toy
    llama._loaded.cache_clear()


def test_it_reads_every_prompt_from_its_beginning_and_loads_once(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
):
    library = Library([5] * 100)
    monkeypatch.setitem(sys.modules, "llama_cpp", library)
    case = llama.llama_cases(OPTIONS, False)[0]
    assert case.runner
    assert case.name == "llama.cpp, plain"
    records = [case.runner(pair, "Once upon a time", seed) for seed in (3, 4)]
    assert [record["new_tokens"] for record in records] == [6, 6]
    assert all(record["target_calls"] == 6 and record["seconds"] >= 0 for record in records)
    assert len(library.loaded) == 1
    assert library.loaded[0]["path"].endswith("model.gguf")
    how = {"temp": 0.7, "top_p": 1.0, "top_k": 20, "min_p": 0.0, "repeat_penalty": 1.0}
    expected = (pair.encode("Once upon a time"), how)
    assert library.asked == ["reset", 3, expected, "reset", 4, expected]


def test_its_text_ends_where_ours_would(pair: Pair, monkeypatch: pytest.MonkeyPatch):
    end = next(iter(pair.codec.end_ids))
    monkeypatch.setitem(sys.modules, "llama_cpp", Library([5, 6, end, 7, 8]))
    case = llama.llama_cases(OPTIONS, False)[0]
    assert case.runner
    assert case.runner(pair, "Once", 0)["new_tokens"] == 3


def test_its_draft_is_the_pairs_own_and_no_head(pair: Pair, monkeypatch: pytest.MonkeyPatch):
    library = Library([5] * 100)
    monkeypatch.setitem(sys.modules, "llama_cpp", library)
    plain, drafted = llama.llama_cases(OPTIONS, True)
    assert plain.name != drafted.name
    assert drafted.runner
    drafted.runner(pair, "Once upon a time", 0)
    draft, target = library.loaded
    assert draft["path"].endswith("draft.gguf")
    assert target["path"].endswith("model.gguf")
    assert target["draft_model"] is not None
    monkeypatch.setattr(pair.draft, "file", None)
    with pytest.raises(HsdError, match=r"^llama\.cpp reads GGUF files, which tiny lacks: leave"):
        drafted.runner(pair, "Once", 0)


class Counting:
    """A model of llama.cpp that continues a text by counting."""

    def __init__(self) -> None:
        self.input_ids = np.zeros(64, np.intc)
        self.n_tokens = 0
        self.read = list[list[int]]()

    def eval(self, tokens: list[int]) -> None:
        self.read.append(tokens)
        self.input_ids[self.n_tokens : self.n_tokens + len(tokens)] = tokens
        self.n_tokens += len(tokens)

    def sample(self, temp: float) -> int:
        assert temp == 0
        return int(self.input_ids[self.n_tokens - 1]) + 1


def test_the_draft_reads_only_what_it_has_not_read():
    model = Counting()
    draft = llama._Draft(model)
    assert draft(np.array([1, 2, 3])).tolist() == [4, 5, 6]
    assert draft(np.array([1, 2, 3, 4, 9])).tolist() == [10, 11, 12]
    assert model.read == [[1, 2, 3], [4], [5], [9], [10], [11]]
    assert draft(np.array([1, 2, 3, 4, 9])).tolist() == [10, 11, 12]
    assert model.read[6:] == [[9], [10], [11]]


def test_without_the_package_one_line_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    assert main(["bench", "--pair", "tiny", "--peer", "llama.cpp"]) == 2
    line = capsys.readouterr().err.strip()
    assert "run `python -m pip install llama-cpp-python`" in line
    assert "\n" not in line


def test_the_real_library_writes_what_was_asked_for():
    pytest.importorskip("llama_cpp")
    if not fetch.fetched_file("smollm2"):
        pytest.skip("the published file is not here")
    pair = hsd.load_pair("smollm2")
    case = llama.llama_cases({"temperature": 0.0, "max_new_tokens": 12}, False)[0]
    assert case.runner
    assert 1 <= case.runner(pair, "What is the capital of France?", 0)["new_tokens"] <= 12
