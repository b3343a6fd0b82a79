"""What the console, a pipe or a disk does must not cost a text that was decoded, nor show a traceback."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import hsd
from hsd.cli import COMMANDS, main
from hsd.paths import ASSETS, ROOT

TOYS = pytest.mark.skipif(not (ASSETS / "tiny" / "target").is_dir(), reason="the embedded pair is not there")
CONSOLES: dict[str, dict[str, str]] = {
    "cp1252": {"PYTHONIOENCODING": "cp1252"},
    "ascii": {"PYTHONIOENCODING": "ascii"},
    "the locale C": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
}
EACH = ["cp1252", *(pytest.param(name, marks=pytest.mark.slow) for name in CONSOLES if name != "cp1252")]
TEXT = "🌟 café مرحبا"
DECODES = """
import sys, hsd, hsd.cli.run as run
from hsd.cli import main
run.load = lambda *_, **__: hsd.table_pair(vocab=5, order=2, seed=4)
sys.exit(main(["run", *sys.argv[1:]]))
"""


def ran(console: dict[str, str], *words: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **console}
    return subprocess.run([sys.executable, *words], env=environment, capture_output=True, check=False, **more)


class Plain(io.TextIOWrapper):
    """A console of an old encoding."""

    def __init__(self) -> None:
        self.bytes = io.BytesIO()
        super().__init__(self.bytes, encoding="cp1252", errors="strict", newline="\n")

    @property
    def shown(self) -> str:
        self.flush()
        return self.bytes.getvalue().decode("cp1252")


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Any:
    pair = hsd.table_pair(vocab=5, order=2, seed=4)
    monkeypatch.setattr("hsd.cli.run.load", lambda *_, **__: pair)
    monkeypatch.setattr(type(pair.codec), "decode", lambda _, ids: (TEXT * 9)[: len(ids)])
    return pair


@pytest.mark.parametrize("words", [["Once"], ["Once", "--json"], ["Once", "--smaller", TEXT]])
def test_a_character_that_the_console_lacks_costs_no_text(words: list[str], toy: Any, monkeypatch: pytest.MonkeyPatch):
    out, err = Plain(), Plain()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    status = main(["run", *words, "--max-new-tokens", "30"])
    if "--smaller" in words:
        assert status == 2
        return
    assert status == 0
    if "--json" in words:
        assert TEXT in json.loads(out.shown)["text"]
    else:
        assert "\\U0001f31f café \\u0645" in out.shown


@pytest.mark.parametrize("console", EACH)
@pytest.mark.parametrize("words", [("--help",), ("run", "--help"), ("conform", "--help"), ("bench", "--help")])
def test_help_is_shown_on_every_console(words: tuple[str, ...], console: str):
    found = ran(CONSOLES[console], "-m", "hsd", *words)
    assert (found.returncode, found.stderr) == (0, b"")
    assert b"usage: hsd" in found.stdout


def test_an_error_is_one_line_on_every_console():
    for console in CONSOLES.values():
        found = ran(console, "-m", "hsd", "explain", "/nowhere/🌟γ.json")
        assert found.returncode == 2
        assert found.stderr.count(b"\n") == 1
        assert b"Traceback" not in found.stderr


@pytest.mark.parametrize("console", EACH)
def test_a_prompt_is_the_same_text_on_every_console(console: str):
    """As an argument and from the standard input, whatever the locale takes its bytes for."""
    for words, data in (((TEXT,), b""), (("-",), TEXT.encode()), (("-",), b"\xef\xbb\xbf" + TEXT.encode())):
        found = ran(
            CONSOLES[console], "-c", DECODES, *words, "--max-new-tokens", "2", "--trace", "/dev/stderr", input=data
        )
        assert found.returncode == 0, found.stderr[-300:]
        assert json.JSONDecoder().raw_decode(found.stderr.decode())[0]["prompt"]["text"] == TEXT


def test_a_prompt_that_is_no_unicode_is_refused_in_one_line():
    for words, data in (([b"\xff\xfeab"], b""), ([b"-"], b"caf\xe9\n")):
        found = ran({}, "-c", DECODES, *words, input=data)  # type: ignore[arg-type]
        assert found.returncode == 2
        assert found.stderr == b"hsd: the prompt is not in UTF-8: convert it, as `iconv -t utf-8` does\n"


@pytest.mark.parametrize("words", [["schema"], ["explain", "assets/traces/paris.json"], ["--help"]])
def test_a_pipe_that_nobody_reads_is_no_traceback(words: list[str]):
    read, write = os.pipe()
    os.close(read)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "hsd", *words]
    found = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, env=environment, cwd=ROOT, check=False)
    os.close(write)
    assert found.stderr == b""
    assert found.returncode == (0 if words == ["--help"] else 141)  # argparse does not mind


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_one_line():
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "hsd", "schema"]
        found = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=environment, check=False)
    assert found.returncode == 2
    assert found.stderr == b"hsd: cannot read or write its output: No space left on device\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_trace_that_cannot_be_saved_costs_no_text(toy: Any, capsys: pytest.CaptureFixture[str]):
    assert main(["run", "Once", "--max-new-tokens", "30", "--trace", "/dev/full"]) == 2
    shown = capsys.readouterr()
    assert TEXT in shown.out
    assert shown.err.startswith("hsd: cannot read or write")
    assert shown.err.count("\n") == 1


@pytest.mark.parametrize("path", ["/nowhere/t.json", "/", "/proc/x/t.json", "a" * 5_000])
def test_a_place_where_no_trace_can_be_saved_is_told_before_decoding(
    path: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr("hsd.cli.run.load", lambda *_, **__: pytest.fail("the models were loaded"))
    assert main(["run", "Once", "--trace", path]) == 2
    assert capsys.readouterr().err.startswith("hsd: cannot ")


def test_the_app_file_takes_the_options_of_the_command():
    found = ran({}, str(ROOT / "app.py"), "--help")
    assert (found.returncode, found.stderr) == (0, b"")
    assert b"--no-download" in found.stdout
    wrong = ran({}, str(ROOT / "app.py"), "--nonsense")
    assert wrong.returncode == 2
    assert wrong.stderr == b"hsd: unrecognized arguments: --nonsense\n"


# Options that would be ignored


@pytest.mark.parametrize(
    ("words", "home"),
    [
        (["run", "x", "--confidence", ".5"], "--confidence is for --system speculative and --gamma auto"),
        (["run", "x", "--tree", "grown"], "--tree is for --drafts of 2 or more"),
        (["run", "x", "--nodes", "9"], "--nodes is for --drafts of 2 or more"),
        (["run", "x", "--drafts", "2", "--tree", "paths", "--nodes", "9"], "--nodes is for"),
        (["run", "x", "--system", "plain", "--gamma", "4"], "--gamma is for --system"),
        (["run", "x", "--system", "plain", "--rule", "hsd"], "--rule is for --system"),
        (["run", "x", "--system", "plain", "--shadow", "hsd"], "--shadow is for --system"),
        (["run", "x", "--system", "plain", "--drafts", "2"], "--drafts is for --system"),
        (["run", "x", "--system", "stack", "--engine", "captured"], "--engine is for --system"),
        (["run", "x", "--system", "stack", "--proposer", "ngram"], "--proposer is for --system speculative"),
        (["run", "x", "--proposer", "ngram", "--drafts", "2"], "--drafts is for"),
        (["run", "x", "--stack", "0,1"], "--stack is for --system stack"),
        (["run", "x", "--epsilon", ".1"], "--epsilon is for --rule typical"),
        (["run", "x", "--after-kept", "likeliest"], "--after-kept is for --rule typical"),
        (["bench", "--confidence", ".5"], "--confidence is for"),
        (["bench", "--tree", "grown"], "--tree is for --drafts of 2 or more"),
        (["bench", "--tolerance", ".5"], "--tolerance is for --rule fuzzy"),
        (["bench", "--exits", "2,4"], "--exits is for --system hispec"),
        (["bench", "--epsilon", ".5"], "--epsilon is for --rule typical"),
        (["bench", "--server-timeout", "5"], "--server-timeout is for --server URL"),
        (["plan", "--costs", "1,4", "--acceptance", ".8", "--prompts", "sums"], "--prompts is for a pair to measure"),
        (["plan", "--costs", "1,4", "--acceptance", ".8", "--temperature=.5"], "--temperature is for a pair"),
        (["plan", "--pair", "tiny", "--tree", "--longest", "5"], "--longest is for a stack"),
        (["conform", "--keying", "--vocab", "4"], "--vocab is for FILE"),
        (["conform", "x.py", "--rule", "hsd"], "--rule is for --keying"),
        (["conform", "x.py", "--rows", "x.json", "--vocab", "4"], "--vocab is for random pairs"),
        (["conform", "x.py", "--sampled", "--quick"], "--quick is for an exact verdict"),
        (["fetch", "--engine", "portable"], "--engine is for NAME"),
        (["space", "publish", "a/b", "--weights", "--dry-run"], "--weights is for --static"),
        (["space", "export", "--static", "x", "--title", "x"], "--title is for --html"),
        (["space", "export", "--html", "x", "--weights"], "--weights is for --static"),
    ],
)
def test_an_option_that_would_be_ignored_is_refused(
    words: list[str], home: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    for command in ("run", "bench", "plan"):
        monkeypatch.setattr(f"hsd.cli.{command}.load", lambda *_, **__: pytest.fail("the models were loaded"))
    assert main(words) == 2
    told = capsys.readouterr().err
    assert home in told
    assert told.endswith("choose it, or leave the option out\n")


def test_every_option_of_a_run_that_needs_another_is_refused_without_it(capsys: pytest.CaptureFixture[str]):
    """From the schema itself, so that a new option is in."""
    tried = 0
    for name, option in hsd.RunOptions.options().items():
        if not option.when or hsd.RunOptions.applies(name, {}) or name == "trace":
            continue
        tried += 1
        value = option.text(option.default) or "2"
        assert main(["run", "x", f"--{name.replace('_', '-')}={value.replace('_', ',')}"]) == 2
        assert f"--{name.replace('_', '-')} is for " in capsys.readouterr().err
    assert tried > 8


def test_every_command_ends_with_a_status_and_no_traceback_where_its_file_is_missing(
    capsys: pytest.CaptureFixture[str],
):
    for words in (
        ["explain", "/x"],
        ["conform", "/x"],
        ["bench", "--report", "/x"],
        ["space", "export", "--html", "/x"],
    ):
        assert words[0] in COMMANDS
        assert main(words) == 2
        assert capsys.readouterr().err.count("\n") == 1
