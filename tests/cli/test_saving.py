"""What a command saves takes the place of an older result only when it is whole."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from full_disk import full_disk
from table_models import table_pair

from hsd.cli import main
from hsd.paths import ROOT, TRACES

TRACE = str(next(TRACES.glob("*.json")))
VERIFIER = str(ROOT / "examples" / "conform" / "tokenwise.py")
COMMANDS = {
    "a trace": ["run", "Once", "--max-new-tokens", "30", "--trace"],
    "a verdict": ["conform", VERIFIER, "--vocab", "2", "--gamma", "1", "--quick", "--junit"],
    "a page": ["space", "export", "--html", TRACE, "--output"],
}
BEGINNINGS = {"a trace": '{"trace_version":', "a verdict": "<?xml", "a page": "<!doctype html>"}
OLD = "an older result"
SMALL = 100  # bytes, fewer than any result has


@pytest.mark.parametrize("result", COMMANDS)
def test_a_dash_is_standard_output(
    result: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    pytest.importorskip("gradio")
    pair = table_pair(vocab=5, order=2, seed=4)
    monkeypatch.setattr("hsd.cli.run.load", lambda *_, **__: pair)
    monkeypatch.chdir(tmp_path)
    assert main([*COMMANDS[result], "-"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith(BEGINNINGS[result])
    assert main([*COMMANDS[result], "result"]) == 0
    saved = Path("result").read_text(encoding="utf-8")
    assert len(saved) == pytest.approx(len(shown.out), rel=0.1)  # but for times
    assert shown.err
    assert [*tmp_path.iterdir()] == [tmp_path / "result"]


@pytest.mark.parametrize("result", ["a trace", "a verdict"])
def test_two_results_on_standard_output_are_refused_before_any_work(
    result: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr("hsd.cli.run.load", lambda *_, **__: pytest.fail("models were loaded"))
    assert main([*COMMANDS[result], "-", "--json"]) == 2
    error = capsys.readouterr().err
    assert "both write to standard output: name a file for --" in error
    assert error.count("\n") == 1


def test_a_benchmark_needs_a_file(capsys: pytest.CaptureFixture[str]):
    assert main(["bench", "--pair", "tiny", "--limit", "1", "--out", "-"]) == 2
    assert "cannot write '-': name a file" in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="this system sets no limit to files")
@pytest.mark.parametrize("result", COMMANDS)
def test_a_full_disk_costs_no_older_result(
    result: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    pytest.importorskip("gradio")
    pair = table_pair(vocab=5, order=2, seed=4)
    monkeypatch.setattr("hsd.cli.run.load", lambda *_, **__: pair)
    file = tmp_path / "result"
    file.write_text(OLD)
    words = [*COMMANDS[result], str(file)]
    with full_disk(SMALL):
        assert main(words) == 2
    assert "File too large" in capsys.readouterr().err
    assert file.read_text() == OLD
    assert [*tmp_path.iterdir()] == [file]
    assert main(words) == 0
    assert len(file.read_text()) > SMALL


@pytest.mark.skipif(os.name != "posix", reason="this system sets no limit to files")
def test_a_full_disk_costs_no_older_export(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip("gradio")
    from hsd.app import export

    def site(size: int) -> None:
        parts = {"index.html": export.MARK.encode(), "data/run.json": b"x" * size}
        monkeypatch.setattr(
            export, "site", lambda *_, **__: {name: (lambda x=x: x) for name, x in parts.items()}
        )

    words = ["space", "export", "--static", str(tmp_path / "page")]
    site(1)
    assert main(words) == 0
    old = {path: path.is_dir() or path.read_bytes() for path in tmp_path.rglob("*")}
    site(200_000)
    with full_disk(100_000):
        assert main(words) == 2
        assert main([*words[:-1], str(tmp_path / "new")]) == 2
    assert {path: path.is_dir() or path.read_bytes() for path in tmp_path.rglob("*")} == old
    assert capsys.readouterr().err.count("hsd: cannot write") == 2
