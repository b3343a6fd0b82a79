"""Nothing rests on what POSIX alone has, on the locale, or on a console that shows every sign."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hsd.paths import ASSETS, ROOT, TRACES

WITHOUT_POSIX = """
import json, os, signal, sys
# what looks for the system as it is
import accelerate, filelock, huggingface_hub, numpy, platformdirs, psutil, scipy.optimize
import gradio, torch, transformers

for name in dir(os):
    if name.startswith(("sched_", "posix_", "getl", "getpg", "getsid", "wait", "WIF")):
        delattr(os, name)
for name in ("chown", "fork", "forkpty", "geteuid", "getuid", "killpg", "mkfifo", "nice", "setsid"):
    delattr(os, name)
for name in ("statvfs", "sysconf", "uname"):
    delattr(os, name)
for name in ("SIGPIPE", "SIGHUP", "SIGKILL", "SIGALRM", "SIGXFSZ", "SIGUSR1"):
    delattr(signal, name)
for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None

from hsd.cli import main

for words in json.loads(sys.argv[1]):
    status = main(words)
    print(f"status {status}: {words}")
    sys.stdout.flush()
    if status:
        sys.exit(f"{words} failed")
"""
CONSOLE = {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0", "LC_ALL": "C"}
CONSOLE |= {"PYTHONCOERCECLOCALE": "0"}


@pytest.mark.skipif(os.name != "posix", reason="this system has none of it")
@pytest.mark.skipif(not (ASSETS / "tiny" / "target").is_dir(), reason="there is no embedded pair")
def test_commands_need_nothing_that_posix_alone_has(tmp_path: Path):
    pytest.importorskip("gradio")
    pytest.importorskip("scipy")

    trace = str(tmp_path / "run.json")
    page = str(tmp_path / "page.html")
    table = str(tmp_path / "bench.jsonl")
    short = ["--pair", "tiny", "--limit", "1"]
    adapter = str(ROOT / "examples" / "conform" / "tokenwise.py")
    rounds = ["--repetitions", "1", "--max-new-tokens", "4", "--rules", "hsd"]
    commands = [
        ["run", "Once upon", "--pair", "tiny", "--max-new-tokens", "4", "--trace", trace],
        ["explain", str(next(TRACES.glob("*.json")))],
        ["bench", *short, *rounds, "--out", table],
        ["bench", "--report", table],
        ["plan", *short, "--new-tokens", "4"],
        ["audit", "--vocab", "2", "--gamma", "1"],
        ["conform", adapter, "--vocab", "2", "--gamma", "1", "--quick"],
        ["fetch"],
        ["schema"],
        ["space", "check"],
        ["space", "export", "--html", trace, "-o", page],
    ]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_POSIX, json.dumps(commands)],
        env={**os.environ, **CONSOLE, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr.decode("cp1252")[-2000:]
    assert "Traceback" not in done.stderr.decode("cp1252")
    out = done.stdout.decode("cp1252")
    assert out.count("status 0: ") == len(commands)
    assert "load ? when it began" in out
    assert Path(page).stat().st_size > 100_000


def by_locale(file: Path) -> Iterator[int]:
    """The lines that open text without naming its encoding."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name | ast.Attribute):
            continue
        keywords = {keyword.arg: keyword.value for keyword in node.keywords}
        method = isinstance(node.func, ast.Attribute)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
        given = [*node.args[0 if method else 1 :], keywords.get("mode")]
        modes = [x.value for x in given if isinstance(x, ast.Constant) and isinstance(x.value, str)]
        opened = name == "open" and (modes or not method) and "b" not in "".join(modes)
        read = name == "read_text" and not node.args and method
        written = name == "write_text" and len(node.args) < 2
        piped = any(
            isinstance(keywords.get(flag), ast.Constant) for flag in ("text", "universal_newlines")
        )
        if (opened or read or written or piped) and "encoding" not in keywords:
            yield node.lineno


def test_text_is_in_an_encoding_that_is_named():
    files = [*(ROOT / "hsd").rglob("*.py"), *(ROOT / "examples").rglob("*.py"), ROOT / "app.py"]
    unnamed = [f"{file.relative_to(ROOT)}:{line}" for file in files for line in by_locale(file)]
    assert unnamed == []


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("open(x)", True),
        ("open(x, 'w')", True),
        ("path.open('a')", True),
        ("path.read_text()", True),
        ("path.write_text(x)", True),
        ("subprocess.run(x, text=True)", True),
        ("open(x, 'rb')", False),
        ("path.open(mode='wb')", False),
        ("opener.open(request)", False),
        ("path.read_text(encoding='utf-8')", False),
        ("path.write_text(x, 'utf-8')", False),
    ],
)
def test_the_check_of_encodings_sees_what_it_should(line: str, wrong: bool, tmp_path: Path):
    file = tmp_path / "program.py"
    file.write_text(line, encoding="utf-8")
    assert [*by_locale(file)] == [1] * wrong
