"""What the console, a pipe or a disk does must not cost a text that was decoded, nor show a
traceback.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from table_models import table_pair

import hsd
from hsd.bench import measure
from hsd.cli import COMMANDS, main
from hsd.decoding.rounds import Rounds
from hsd.errors import HsdError
from hsd.paths import ASSETS, ROOT

TOYS = pytest.mark.skipif(
    not (ASSETS / "tiny" / "target").is_dir(), reason="the embedded pair is not there"
)
CONSOLES: dict[str, dict[str, str]] = {
    "cp1252": {"PYTHONIOENCODING": "cp1252"},
    "ascii": {"PYTHONIOENCODING": "ascii"},
    "the locale C": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
}
HELP = [("--help",), ("run", "--help"), ("conform", "--help"), ("bench", "--help")]
TEXT = "🌟 café مرحبا"
DECODES = """
import sys, hsd, hsd.cli.run as run
from hsd.cli import main
from table_models import table_pair
run.load = lambda *_, **__: table_pair(vocab=5, order=2, seed=4)
sys.exit(main(["run", *sys.argv[1:]]))
"""


def ran(console: dict[str, str], *words: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]),
        **console,
    }
    return subprocess.run(
        [sys.executable, *words], env=environment, capture_output=True, check=False, **more
    )


class Plain(io.TextIOWrapper):
    """A console of an old encoding."""

    def __init__(self, data: bytes = b"", encoding: str = "cp1252") -> None:
        self.bytes = io.BytesIO(data)
        super().__init__(self.bytes, encoding=encoding, errors="strict", newline="\n")

    @property
    def shown(self) -> str:
        self.flush()
        return self.bytes.getvalue().decode(self.encoding)


def typed(
    monkeypatch: pytest.MonkeyPatch, *words: str, data: bytes = b"", encoding: str = "cp1252"
) -> tuple[int, str, str]:
    """The status and the output of the command in this process, on a console of an old encoding."""
    out = Plain(encoding=encoding)
    err = Plain(encoding=encoding)
    for name, stream in (("stdout", out), ("stderr", err), ("stdin", Plain(data, encoding))):
        monkeypatch.setattr(sys, name, stream)
    try:
        status = main(words)
    except SystemExit as end:
        status = int(end.code or 0)
    return status, out.shown, err.shown


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Any:
    pair = table_pair(vocab=5, order=2, seed=4)
    monkeypatch.setattr("hsd.cli.run.load", lambda *_, **__: pair)
    monkeypatch.setattr(type(pair.codec), "decode", lambda _, ids: (TEXT * 9)[: len(ids)])
    return pair


@pytest.mark.parametrize("words", [["Once"], ["Once", "--json"], ["Once", "--smaller", TEXT]])
def test_a_character_that_the_console_lacks_costs_no_text(
    words: list[str], toy: Any, monkeypatch: pytest.MonkeyPatch
):
    status, out, _ = typed(monkeypatch, "run", *words, "--max-new-tokens", "30")
    if "--smaller" in words:
        assert status == 2
        return
    assert status == 0
    if "--json" in words:
        assert TEXT in json.loads(out)["text"]
    else:
        assert "\\U0001f31f café \\u0645" in out


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
@pytest.mark.parametrize("words", HELP)
def test_help_is_shown_in_every_encoding(
    words: tuple[str, ...], encoding: str, monkeypatch: pytest.MonkeyPatch
):
    status, out, err = typed(monkeypatch, *words, encoding=encoding)
    assert (status, err) == (0, "")
    assert "usage: hsd" in out


@pytest.mark.slow
@pytest.mark.parametrize("console", CONSOLES)
@pytest.mark.parametrize("words", HELP)
def test_help_is_shown_on_every_console(words: tuple[str, ...], console: str):
    found = ran(CONSOLES[console], "-m", "hsd", *words)
    assert (found.returncode, found.stderr) == (0, b"")
    assert b"usage: hsd" in found.stdout


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_an_error_is_one_line_in_every_encoding(encoding: str, monkeypatch: pytest.MonkeyPatch):
    status, _, err = typed(monkeypatch, "explain", "/nowhere/🌟γ.json", encoding=encoding)
    assert status == 2
    assert err.count("\n") == 1
    assert "/nowhere/" in err


PROMPTS = [((TEXT,), b""), (("-",), TEXT.encode()), (("-",), b"\xef\xbb\xbf" + TEXT.encode())]


def test_a_prompt_is_the_same_text_in_every_encoding(
    toy: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """As an argument and from the standard input, with a mark of its byte order too."""
    file = tmp_path / "run.json"
    for words, data in PROMPTS:
        more = ("--max-new-tokens", "2", "--trace", str(file))
        assert typed(monkeypatch, "run", *words, *more, data=data)[0] == 0
        assert json.loads(file.read_bytes())["prompt"]["text"] == TEXT


@pytest.mark.parametrize(
    "console",
    [
        pytest.param(name, marks=[] if name == "the locale C" else pytest.mark.slow)
        for name in CONSOLES
    ],
)
def test_a_prompt_is_the_same_text_on_every_console(console: str):
    """Whatever the locale takes the bytes of an argument for."""
    found = ran(
        CONSOLES[console], "-c", DECODES, TEXT, "--max-new-tokens", "2", "--trace", "/dev/stderr"
    )
    assert found.returncode == 0, found.stderr[-300:]
    assert json.JSONDecoder().raw_decode(found.stderr.decode())[0]["prompt"]["text"] == TEXT


def test_a_prompt_that_is_no_unicode_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch):
    for word, data in ((os.fsdecode(b"\xff\xfeab"), b""), ("-", b"caf\xe9\n")):
        status, _, err = typed(monkeypatch, "run", word, data=data)
        assert status == 2
        assert err == "hsd: the prompt is not in UTF-8: convert it, as `iconv -t utf-8` does\n"


PLACE = "choose a place where that can be done"
OUTPUTS = """
import json, os, runpy, sys, tempfile
import hsd.cli.schema  # once for all

found = []
for words, output in json.loads(sys.argv[1]):
    read, write = os.pipe()
    os.close(read)
    errors = tempfile.TemporaryFile()
    child = os.fork()
    if not child:
        os.dup2(write if output == "pipe" else os.open(output, os.O_WRONLY), 1)
        os.dup2(errors.fileno(), 2)
        sys.argv = ["hsd", *words]
        runpy.run_module("hsd", run_name="__main__")  # and its end is that of the process
    os.close(write)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    errors.seek(0)
    found.append([status, errors.read().decode()])
print(json.dumps(found))
"""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_pipe_that_nobody_reads_and_a_full_disk_are_no_traceback():
    done = ran(
        {},
        "-c",
        OUTPUTS,
        json.dumps([(["schema"], "pipe"), (["--help"], "pipe"), (["schema"], "/dev/full")]),
    )
    unread, unread_help, full = json.loads(done.stdout)
    assert unread == [141, ""]
    assert unread_help == [0, ""]  # argparse does not mind
    assert full == [2, f"hsd: cannot read or write its output (No space left on device): {PLACE}\n"]


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


def test_the_app_file_takes_the_options_of_the_command(monkeypatch: pytest.MonkeyPatch):
    assert "--no-download" in typed(monkeypatch, "app", "--help")[1]
    wrong = ran({}, str(ROOT / "app.py"), "--nonsense")
    assert (wrong.returncode, wrong.stdout) == (2, b"")
    assert wrong.stderr == b"hsd: unrecognized arguments: --nonsense: see --help\n"


CLOSED = ("run x --pair tiny --max-new-tokens 2", "explain missing", "run - --pair tiny")


@pytest.mark.parametrize("stream", ["stdin", "stdout", "stderr"])
def test_a_closed_stream_is_no_traceback_and_no_message_goes_elsewhere(
    stream: str, toy: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Which `>&-` in a shell, a service or a window without a console does."""
    for words, status, error in zip(
        CLOSED, (0, 2, 2), ("", "cannot read 'missing'", "the prompt is empty"), strict=True
    ):
        monkeypatch.setattr(sys, "stdin", io.StringIO())
        monkeypatch.setattr(sys, stream, None)
        assert main(words.split()) == status
        monkeypatch.undo()
        monkeypatch.setattr("hsd.cli.run.load", lambda *_, **__: toy)
        shown = capsys.readouterr()
        assert error in (shown.err if stream != "stderr" else error)
        assert "hsd: " not in shown.out


# Progress, on a terminal


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


TROUBLES = [None, KeyboardInterrupt(), HsdError("the server is gone"), RuntimeError("unforeseen")]


@pytest.mark.parametrize("trouble", TROUBLES, ids=str)
@pytest.mark.parametrize("command", ["run", "bench", "fetch"])
def test_what_follows_progress_begins_a_new_line(
    command: str,
    trouble: BaseException | None,
    toy: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
):
    """Whether it is the end, a message, or the prompt of the shell."""

    def verified(self: Rounds, *arguments: Any) -> Any:
        rounds.append(1)
        if command == "run" and len(rounds) > 6 and trouble:
            raise trouble
        return verify(self, *arguments)

    def measured(*arguments: Any) -> Iterator[Any]:
        for number, record in enumerate(measure(*arguments), start=1):
            yield record
            if number == 6 and trouble:
                raise trouble

    def fetched(_: str, report: Any) -> str:
        report("downloading", 0.5)
        if trouble:
            raise trouble
        return "there"

    rounds: list[int] = []
    verify = Rounds.verify
    words = {
        "run": ["run", "Once", "--max-new-tokens", "30"],
        "bench": ["bench", "--limit", "2", "--max-new-tokens", "4", "--repetitions", "1"],
        "fetch": ["fetch", "smollm2"],
    }
    monkeypatch.setattr(Rounds, "verify", verified)
    monkeypatch.setattr("hsd.cli.bench.measure", measured)
    monkeypatch.setattr("hsd.cli.bench.load", lambda *_, **__: toy)
    monkeypatch.setattr("hsd.cli.fetch.fetch.fetch", fetched)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    more = ["--out", str(tmp_path / "b.jsonl")] if command == "bench" else []
    with suppress(RuntimeError):
        main([*words[command], *more])
    text = terminal.getvalue()
    assert "\r" in text
    assert text.endswith("\n")
    assert "\n\n" not in text
    for line in text.splitlines():
        assert "hsd: " not in line[1:]
        assert "results in" not in line[1:]


# Options that would be ignored


@pytest.mark.parametrize(
    ("words", "home"),
    [
        (
            ["run", "x", "--confidence", ".5"],
            "--confidence is for --system speculative and --gamma auto",
        ),
        (["run", "x", "--tree", "grown"], "--tree is for --drafts of 2 or more"),
        (["run", "x", "--nodes", "9"], "--nodes is for --drafts of 2 or more"),
        (["run", "x", "--drafts", "2", "--tree", "paths", "--nodes", "9"], "--nodes is for"),
        (["run", "x", "--system", "plain", "--gamma", "4"], "--gamma is for --system"),
        (["run", "x", "--system", "plain", "--rule", "hsd"], "--rule is for --system"),
        (["run", "x", "--system", "plain", "--shadow", "hsd"], "--shadow is for --system"),
        (["run", "x", "--system", "plain", "--drafts", "2"], "--drafts is for --system"),
        (["run", "x", "--system", "stack", "--engine", "captured"], "--engine is for --system"),
        (
            ["run", "x", "--system", "stack", "--proposer", "ngram"],
            "--proposer is for --system speculative",
        ),
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
        (
            ["plan", "--costs", "1,4", "--acceptance", ".8", "--prompts", "sums"],
            "--prompts is for a pair to measure",
        ),
        (
            ["plan", "--costs", "1,4", "--acceptance", ".8", "--temperature=.5"],
            "--temperature is for a pair",
        ),
        (["plan", "--pair", "tiny", "--tree", "--longest", "5"], "--longest is for a stack"),
        (["watch", "http://127.0.0.1:9", "--requests", "3"], "--requests is for --text"),
        (["watch", "http://127.0.0.1:9", "--save", "x"], "--save is for --text"),
        (["watch", "http://127.0.0.1:9", "--text", "--port", "7861"], "--port is for the page"),
        (["bench", "--report", "x", "--limit", "4"], "--limit is for a new benchmark"),
        (["conform", "x.py", "--rows", "x.json", "--vocab", "4"], "--vocab is for random pairs"),
        (["conform", "x.py", "--sampled", "--quick"], "--quick is for an exact verdict"),
        (["space", "publish", "a/b", "--weights", "--dry-run"], "--weights is for --static"),
        (["space", "export", "--static", "x", "--title", "x"], "--title is for --html"),
        (["space", "export", "--html", "x", "--weights"], "--weights is for --static"),
    ],
)
def test_an_option_that_would_be_ignored_is_refused(
    words: list[str], home: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    for command in ("run", "bench", "plan"):
        monkeypatch.setattr(
            f"hsd.cli.{command}.load", lambda *_, **__: pytest.fail("the models were loaded")
        )
    assert main(words) == 2
    told = capsys.readouterr().err
    assert home in told
    assert told.endswith("choose it, or leave the option out\n")


def test_every_option_of_a_run_that_needs_another_is_refused_without_it(
    capsys: pytest.CaptureFixture[str],
):
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
        ["run", "x", "--trace", ""],
        ["run", "x", "--pair", ""],
        ["app", "--trace", ""],
        ["bench", "--server", ""],
        ["conform", "/x"],
        ["bench", "--report", "/x"],
        ["space", "export", "--html", "/x"],
    ):
        assert words[0] in COMMANDS
        assert main(words) == 2
        assert capsys.readouterr().err.count("\n") == 1
