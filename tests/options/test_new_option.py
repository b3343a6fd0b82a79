"""An option stands once: a line in `hsd/options/run.py` brings its flags, its control, its link and
all the rest.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hsd.paths import ROOT

BEFORE = "    trace: bool = option("
LINE = """    shade: int = option(
        3, "Shade", "How dark it is, a test.", "sampling", low=0, high=9, place="sampling"
    )
"""
CHECKS = """
import inspect
from hsd import cli, facts
from hsd.app.race import LANE, read_plan
from hsd.app.runs import query, read
from hsd.cli.bench import sweep
from hsd.decoding.options import RunOptions
from hsd.options.endpoint import takes
from hsd.space import load
from hsd.trace import SetupOptions

property = facts.facts()["options"]["properties"]["shade"]
assert (property["title"], property["group"]) == ("Shade", "sampling")
assert (property["minimum"], property["maximum"]) == (0, 9)
assert cli.build_parser(["run"]).parse_args(["run", "Once", "--shade", "4"]).shade == 4
words = ["bench", "--shade", "4,5", "--rules", "hsd"]
cases = sweep(cli.build_parser(["bench"]).parse_args(words)).cases()
assert {case.options["shade"] for case in cases if "shade" in case.options} == {4, 5}

@takes(RunOptions, facts.menus())
def endpoint(prompt: str, **options) -> dict:
    '''Decode.

    Args:
        prompt: a text
    '''
    return options

assert inspect.signature(endpoint).parameters["shade"].default == 3
assert "How dark it is, a test" in endpoint.__doc__
space, asked = load(), {"prompt": "Once", "pair": "tiny", "shade": "7"}
run = read(space, asked)
assert (run.options.shade, query(run)["shade"], dict(run.options)["shade"]) == (7, "7", 7)
assert "shade" in LANE
plan = read_plan(space, {**asked, "shade": 3, "lanes": [{"rule": "hsd", "shade": "8"}]})
assert plan.cases[1].options["shade"] == 8
assert "shade" in str(SetupOptions.model_json_schema())
try:
    read(space, {**asked, "shade": "10"})
except Exception as error:
    assert str(error) == "shade 10: choose a whole number from 0 to 9", error
else:
    raise AssertionError("10 is too dark")
print("found everywhere")
"""


@pytest.mark.slow
def test_an_option_that_stands_in_one_line_is_found_everywhere(tmp_path: Path):
    shutil.copytree(
        ROOT / "hsd", tmp_path / "hsd", ignore=shutil.ignore_patterns("__pycache__", "vendor")
    )
    for name in ("assets", "Spacefile"):
        (tmp_path / name).symlink_to(ROOT / name)
    table = tmp_path / "hsd" / "options" / "run.py"
    text = table.read_text(encoding="utf-8")
    assert BEFORE in text
    table.write_text(text.replace(BEFORE, LINE + BEFORE, 1), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", CHECKS], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stdout.strip() == "found everywhere", done.stderr[-600:]
