"""`--rule FILE.py`: run, bench, audit and export take a file of one's own and name its faults."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from loops import some

from hsd.cli import main
from hsd.conform import own
from hsd.paths import ROOT
from hsd.trace import Trace

EXAMPLES = ROOT / "examples" / "conform"
RIGHT = (EXAMPLES / "tokenwise.py").read_text(encoding="utf-8")
RUN = ("run", "Once upon a time", "--pair", "tiny", "--max-new-tokens", "20")
Written = tuple[int, str, str]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]):
    def call(*words: object) -> Written:
        capsys.readouterr()
        try:
            status = main(list(map(str, words)))
        except SystemExit as end:  # argparse leaves this way
            status = int(end.code or 0)
        return (status, *capsys.readouterr())

    return call


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A right verifier under a name of its own, which prints as well."""
    file = tmp_path / "mine.py"
    body = RIGHT.replace(
        "    kept = len(tokens)\n", "    print('called')\n    kept = len(tokens)\n"
    )
    file.write_text(f"print('read')\n{body}", encoding="utf-8")
    return file


def test_run_says_how_the_rule_was_judged_and_prints_nothing_of_it(command, mine: Path):
    status, out, err = command(*RUN, "--rule", mine, "--json")
    result = json.loads(out)
    assert (status, result["rule"]) == (0, "mine")
    assert result["own"]["lossless"] is True
    assert "hsd: rule mine: judged lossless\n" in err
    assert json.loads(command(*RUN, "--rule", "tokenwise", "--json")[1])["text"] == result["text"]


def test_the_counterexample_is_said_and_recorded(command, tmp_path: Path):
    file = tmp_path / "run.json"
    status, _, err = command(*RUN, "--rule", EXAMPLES / "wrong_block.py", "--trace", file)
    example = "not lossless: after b, token c comes with probability 0.3200 where the target gives"
    assert status == 0
    assert f"hsd: rule wrong_block: {example}" in err
    own_record = Trace.from_file(file).setup.options.own
    assert own_record is not None
    assert own_record.example is not None
    assert "Not lossless: after b, token c" in command("explain", file)[1]


def test_bench_times_it_beside_vanilla_and_hsd(command, mine: Path, tmp_path: Path):
    out_file = tmp_path / "bench.jsonl"
    how = ("--pair", "tiny", "--limit", "1", "--repetitions", "1", "--max-new-tokens", "8")
    status, out, _ = command("bench", *how, "--gamma", "3", "--rules", mine, "--out", out_file)
    assert status == 0
    rows = [row for row in out.splitlines() if row.startswith("|") and "γ=3" in row]
    assert [row.split("|")[1].strip() for row in rows][:3] == [
        "vanilla, γ=3",
        "HSD, γ=3",
        "mine, γ=3",
    ]
    rows = json.loads(command("bench", "--report", out_file, "--json")[1])["rows"]
    by_rule = {row["options"].get("rule"): row for row in rows}
    assert by_rule["mine"]["block_efficiency"] == by_rule["tokenwise"]["block_efficiency"]
    assert by_rule["mine"]["tokens_per_second"] > 0


def test_bench_takes_the_rules_that_are_listed_beside_it(command, mine: Path, tmp_path: Path):
    how = ("--pair", "tiny", "--limit", "1", "--repetitions", "1", "--max-new-tokens", "4")
    rules = f"hsd,{mine}"
    _, out, _ = command("bench", *how, "--gamma", "2", "--rules", rules, "--out", tmp_path / "b")
    assert "vanilla, γ" not in out
    assert re.search(r"mine, γ=2", out)


def test_audit_says_whether_it_is_lossless_with_the_counterexample(command, mine: Path):
    sizes = ("--vocab", "3", "--gamma", "2", "--json")
    right = json.loads(command("audit", *sizes, "--rule", mine)[1])["rules"]
    assert right["mine"]["lossless"] is True
    kept = right["tokenwise"]["expected_accepted"]
    assert right["mine"]["expected_accepted"] == pytest.approx(kept)
    wrong = json.loads(command("audit", *sizes, "--rule", EXAMPLES / "wrong_block.py")[1])["rules"]
    assert wrong["wrong_block"]["lossless"] is False
    assert wrong["wrong_block"]["total_variation"] > 1e-6
    assert wrong["wrong_block"]["counterexample"]["token"] == 2
    table = command("audit", "--gamma", "2", "--rule", EXAMPLES / "wrong_block.py")[1]
    assert re.search(r"^wrong_block +\d\.\d{4} +\S+  no$", table, re.MULTILINE)
    assert command("audit", "--rule", "hsd")[::2] == (
        2,
        "hsd: --rule hsd: the rules here are all listed: give a Python file, FILE.py\n",
    )


def test_audit_of_what_cannot_be_judged_has_no_numbers(command, tmp_path: Path):
    file = tmp_path / "fixed.py"
    file.write_text("def verify(p, *_):\n    return [int(p[0].argmax())]\n", encoding="utf-8")
    _, out, err = command("audit", "--gamma", "1", "--rule", file)
    assert re.search(r"^fixed +– +–  not judged$", out, re.MULTILINE)
    assert "not judged: fixed.py: verify ignores uniforms and noise" in err


def test_a_page_is_exported_of_a_run_that_it_judges(command, mine: Path, tmp_path: Path):
    trace = tmp_path / "run.json"
    page = tmp_path / "page.html"
    command(*RUN, "--rule", "hsd", "--trace", trace)
    status, out, err = command("space", "export", "--html", trace, "-o", page, "--rule", mine)
    assert (status, out) == (0, "")
    assert "hsd: rule mine: judged lossless" in err
    assert '"rule":"mine"' in page.read_text(encoding="utf-8")
    assert command("space", "export", "--static", tmp_path / "site", "--rule", mine)[0] == 2


FAULTS = {
    "no verify": ("x = 1\n", "has no function verify: write def verify("),
    "no code": ("def verify(:\n", "cannot be imported: SyntaxError"),
    "raises": ("def verify(*_):\n    return 1 / 0\n", "verify raises ZeroDivisionError"),
    "no list": ("def verify(*_):\n    return None\n", "verify returns None: return a list of int"),
    "bad token": ("def verify(*_):\n    return [-1]\n", "verify returns token -1, and there are"),
    "changes": (
        "def verify(p, *_):\n    p[:] = 0\n    return [0]\n",
        "verify changes its arguments: work on copies",
    ),
    "random": (
        "import random\ndef verify(p, *_):\n    return [random.randrange(p.shape[-1])]\n",
        "it draws numbers of its own",
    ),
}


@pytest.mark.parametrize("name", some(FAULTS, 2))
def test_a_faulty_file_gives_one_line(name: str, command, tmp_path: Path):
    body, words = FAULTS[name]
    file = tmp_path / "faulty.py"
    file.write_text(body, encoding="utf-8")
    status, _, err = command(*RUN, "--rule", file)
    last = err.rstrip("\n").split("\n")[-1]
    assert status == 2
    assert re.match("hsd: faulty.py:? ", last)
    assert words in last
    assert "Traceback" not in err


def test_a_file_that_hangs_gives_one_line(command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(own, "JUDGING", 0.3)
    monkeypatch.setattr(own, "CALLING", 0.3)
    file = tmp_path / "hangs.py"
    file.write_text("def verify(*_):\n    while True:\n        pass\n", encoding="utf-8")
    status, _, err = command(*RUN, "--rule", file)
    assert status == 2
    assert "hsd: note: Rule hangs was not judged: that takes more than 0.3 seconds." in err
    assert "hsd: hangs.py: verify does not return within 0.3 seconds; sent p (" in err


def test_the_name_of_a_known_rule_is_refused(command):
    status, _, err = command(*RUN, "--rule", EXAMPLES / "tokenwise.py")
    words = "tokenwise is the name of a rule here: choose another one"
    assert (status, err) == (2, f"hsd: tokenwise.py: {words}\n")


def test_no_such_file_is_said(command, tmp_path: Path):
    status, _, err = command(*RUN, "--rule", tmp_path / "none.py")
    assert status == 2
    assert err.startswith("hsd: no file ")


def test_what_was_decoded_before_a_fault_is_saved(command, tmp_path: Path):
    body = RIGHT.replace(
        "    kept = len(tokens)\n",
        "    if p.shape[-1] > 100:\n        CALLS.append(0)\n    assert len(CALLS) < 6, 'enough'\n"
        "    kept = len(tokens)\n",
    )
    file = tmp_path / "tires.py"
    file.write_text(f"CALLS = []\n{body}", encoding="utf-8")
    saved = tmp_path / "run.json"
    status, _, err = command(*RUN, "--rule", file, "--trace", saved)
    assert status == 2
    assert "tires.py: verify raises AssertionError: enough; sent p (" in err
    assert len(Trace.from_file(saved).steps) == 2


def test_help_of_conform_points_to_the_runs(command):
    assert "run, bench and audit take it as --rule FILE.py" in " ".join(
        command("conform", "--help")[1].split()
    )
