"""A file of ours takes the place of an older one when it is whole, and never otherwise."""

from __future__ import annotations

import os
import stat
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from full_disk import full_disk

from hsd import writing
from hsd.writing import write_file

OLD = "an older result"
POSIX = pytest.mark.skipif(os.name != "posix", reason="as POSIX has it")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    file = tmp_path / "result.json"
    file.write_text(OLD)
    return file


@POSIX
def test_a_full_disk_costs_no_older_file_and_leaves_nothing(old: Path):
    with full_disk(1000), pytest.raises(OSError, match="File too large") as error:
        write_file(old, "x" * 2000)
    assert error.value.filename == str(old)
    assert old.read_text() == OLD
    assert [*old.parent.iterdir()] == [old]


@pytest.mark.parametrize("trouble", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_ctrl_c_and_a_failed_move_cost_no_older_file(
    trouble: BaseException, old: Path, monkeypatch: pytest.MonkeyPatch
):
    def fails(*_: Any) -> None:
        raise trouble

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(type(trouble)):
        write_file(old, "new")
    assert old.read_text() == OLD
    assert [*old.parent.iterdir()] == [old]


def test_a_text_that_is_no_unicode_costs_no_older_file(old: Path):
    with pytest.raises(UnicodeError):
        write_file(old, "\ud800")
    assert old.read_text() == OLD


@POSIX
def test_permissions_and_links_of_the_older_file_stay(old: Path):
    old.chmod(0o640)
    link = old.with_name("link.json")
    link.symlink_to(old.name)
    write_file(link, "new")
    assert link.is_symlink()
    assert old.read_text() == "new"
    assert stat.S_IMODE(old.stat().st_mode) == 0o640


@POSIX
def test_a_link_to_nothing_leads_to_the_new_file(tmp_path: Path):
    link = tmp_path / "link.json"
    link.symlink_to("new.json")
    write_file(link, "new")
    assert (tmp_path / "new.json").read_text() == "new"


@POSIX
def test_a_new_file_has_the_permissions_that_open_gives(tmp_path: Path):
    (tmp_path / "opened").write_text("")
    write_file(tmp_path / "written", "")
    modes = {path.stat().st_mode for path in tmp_path.iterdir()}
    assert len(modes) == 1


@POSIX
def test_a_file_that_is_read_only_is_refused(old: Path, monkeypatch: pytest.MonkeyPatch):
    access = os.access
    # root may write everything
    monkeypatch.setattr(os, "access", lambda path, mode: path != old and access(path, mode))
    with pytest.raises(PermissionError):
        write_file(old, "new")
    assert old.read_text() == OLD


@POSIX
@pytest.mark.parametrize("number", [1, 16])  # EPERM, EBUSY
def test_a_file_that_cannot_be_moved_is_written_in_its_place(
    number: int, old: Path, monkeypatch: pytest.MonkeyPatch
):
    def fails(*_: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "replace", fails)
    write_file(old, "new")
    assert old.read_text() == "new"
    assert [*old.parent.iterdir()] == [old]


@POSIX
def test_a_file_in_a_folder_that_takes_no_other_is_written_in_its_place(
    old: Path, monkeypatch: pytest.MonkeyPatch
):
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != old.parent and access(path, mode))
    write_file(old, "new")
    assert old.read_text() == "new"


@POSIX
def test_a_pipe_is_written_to(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    lines: list[str] = []
    reader = threading.Thread(target=lambda: lines.append(pipe.read_text()))
    reader.start()
    write_file(pipe, "a trace")
    reader.join()
    assert lines == ["a trace"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="no such device")
def test_the_standard_output_that_is_a_file_goes_on_in_it(tmp_path: Path):
    import subprocess

    program = (
        "from hsd.writing import write_file\n"
        "print('before', flush=True)\n"
        "write_file('/dev/stdout', 'written\\n')\n"
        "write_file('/dev/null', 'written')\n"
    )
    out = tmp_path / "out"
    with out.open("w") as stream:
        subprocess.run([sys.executable, "-c", program], stdout=stream, check=True)
    assert out.read_text() == "before\nwritten\n"


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="no such folder")
def test_a_file_in_the_memory_of_the_machine_is_replaced():
    with TemporaryDirectory(dir="/dev/shm") as folder:
        file = Path(folder, "run.json")
        for content in (OLD, "new"):
            write_file(file, content)
        assert file.read_text() == "new"


@pytest.mark.parametrize("path", ["no/such/folder/t.json", "."])
def test_a_place_that_takes_no_file_is_named(path: str, tmp_path: Path):
    with pytest.raises(OSError) as error:
        write_file(tmp_path / path, "new")
    assert error.value.filename == str(tmp_path / path)
    assert [*tmp_path.iterdir()] == []


def test_every_file_of_the_package_is_written_so():
    """But bench's lines and downloads, which are written as they come, and temporary folders."""
    root = Path(writing.__file__).parent
    wanted = {"cli/bench.py", "app/export.py", "models/loading/fetch.py", "writing.py"}
    wanted.add("models/loading/fetch_pair.py")
    marks = ("write_text(", "write_bytes(", '.open("w', '.open("a', '.open("x', '.open("wb')
    users = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if any(mark in path.read_text(encoding="utf-8") for mark in marks)
    }
    assert users == wanted
