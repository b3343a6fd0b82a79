"""llama.cpp as a case beside ours: what it is asked, where its text ends, and what is said where it
is not here.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

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
    """The toy pair under the fetched pair's name, with a file where that one's would be."""
    monkeypatch.setattr(fetch, "fetched_file", lambda name: tmp_path / "model.gguf")
    toy = replace(hsd.load_pair("tiny", device="cpu"), name=llama.MODEL)
    llama._loaded.cache_clear()
    yield toy
    llama._loaded.cache_clear()


def test_it_reads_every_prompt_from_its_beginning_and_loads_once(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
):
    library = Library([5] * 100)
    monkeypatch.setitem(sys.modules, "llama_cpp", library)
    case = llama.llama_case(OPTIONS)
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
    case = llama.llama_case(OPTIONS)
    assert case.runner
    assert case.runner(pair, "Once", 0)["new_tokens"] == 3


def test_it_is_measured_beside_its_own_pair_alone(pair: Pair, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "llama_cpp", Library([5]))
    case = llama.llama_case(OPTIONS)
    assert case.runner
    with pytest.raises(
        HsdError, match=r"^llama\.cpp reads the file of pair smollm2: leave the peer out for tiny$"
    ):
        case.runner(replace(pair, name="tiny"), "Once", 0)


@pytest.mark.parametrize(
    ("file", "line"),
    [
        (None, "run `python -m hsd fetch smollm2`"),
        ("model.gguf", "run `python -m pip install llama-cpp-python`"),
    ],
)
def test_without_file_or_package_one_line_says_what_to_do(
    file: str | None, line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(fetch, "fetched_file", lambda name: file and Path(file))
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    assert main(["bench", "--pair", "tiny", "--peer", "llama.cpp"]) == 2
    told = capsys.readouterr().err.strip()
    assert line in told
    assert "\n" not in told


def test_the_real_library_writes_what_was_asked_for():
    pytest.importorskip("llama_cpp")
    if not fetch.fetched_file(llama.MODEL):
        pytest.skip("the published file is not here")
    pair = hsd.load_pair(llama.MODEL)
    case = llama.llama_case({"temperature": 0.0, "max_new_tokens": 12})
    assert case.runner
    assert 1 <= case.runner(pair, "What is the capital of France?", 0)["new_tokens"] <= 12
