"""The command that judges a verifier: one line for what cannot be judged, a status that a pipeline
can go by.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from loops import some

from hsd.cli import main
from hsd.conform import load_adapter
from hsd.errors import HsdError

RIGHT = """
import torch

def verify(p, q, tokens, uniforms, noise):
    for t, token in enumerate(tokens.tolist()):
        if uniforms[t] >= p[t, token] / q[t, token]:
            rest = (p[t] - q[t]).clamp(min=0)
            break
    else:
        t, rest = len(tokens), p[-1]
    token = torch.searchsorted(rest.cumsum(0), noise * rest.sum(), right=True)
    return [*tokens[:t].tolist(), int(token)]
"""


@pytest.fixture
def command(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    def run(text: str | None, *words: str, quick: bool = True) -> tuple[int, str, str]:
        file = tmp_path / "mine.py"
        if text is not None:
            file.write_text(text)
        capsys.readouterr()
        try:
            status = main(
                ["conform", str(file), *words, *["--quick"] * (quick and "--sampled" not in words)]
            )
        except SystemExit as end:
            status = int(end.code or 0)
        output = capsys.readouterr()
        return status, output.out, output.err

    return run


def test_a_right_verifier_ends_with_status_0(command):
    status, out, err = command(RIGHT, "--json", "--pairs", "2")
    found = json.loads(out)
    assert (status, err, found["lossless"], found["rule"]) == (0, "", True, "tokenwise")
    assert len(found["pairs"]) == 3
    assert command(RIGHT)[1].startswith("mine.py: lossless\n")


def test_a_wrong_verifier_ends_with_status_1_and_says_why(command, tmp_path: Path):
    wrong = RIGHT.replace("(p[t] - q[t]).clamp(min=0)", "p[t]")
    status, out, err = command(wrong, "--junit", str(tmp_path / "out.xml"))
    assert (status, err) == (1, "")
    assert "NOT lossless" in out
    assert "p = (0.3, 0.7)" in out
    suite = ElementTree.parse(tmp_path / "out.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("3", "3")
    messages = {case.get("name"): case.find("failure").get("message") for case in suite}
    assert messages["follows the target: random pair, seed 0, 3 tokens, γ = 3"].startswith(
        "total variation "
    )
    assert "counterexample" in str(suite.find("testcase[@name='is lossless']/failure").text)


def test_another_law_than_expected_ends_with_status_1(command, tmp_path: Path):
    assert command(RIGHT, "--expect", "tokenwise")[0] == 0
    status, out, _ = command(RIGHT, "--expect", "blockwise", "--junit", str(tmp_path / "out.xml"))
    assert (status, out.splitlines()[0]) == (1, "mine.py: lossless, but NOT blockwise")
    suite = ElementTree.parse(tmp_path / "out.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("4", "1")
    failed = suite.find("testcase[@name='has the law of blockwise']/failure")
    assert failed.get("message") == "it has that of tokenwise"


@pytest.mark.slow
def test_the_whole_battery_is_printed_with_what_each_pair_covers(command):
    status, out, _ = command(RIGHT, quick=False)
    lines = out.splitlines()
    assert (status, lines[0]) == (0, "mine.py: lossless")
    assert all(
        any(name in line for line in lines)
        for name in ("6 tokens, γ = 2", "both one-hot", "V 1,000, γ 2")
    )
    assert any("one-hot draft" in line and "greedy drafts" in line for line in lines)
    assert (
        "17,270 random numbers on 1 pair: what deviates on more than 0.0004 of all numbers escapes"
        in out
    )


WITH_CLASSES = f"""
from __future__ import annotations

import pickle
from dataclasses import dataclass
from enum import Enum

from .beside import KEPT
{RIGHT.replace("def verify", "def right")}

class Kind(Enum):
    KEPT = KEPT


@dataclass(frozen=True)
class Answer:
    tokens: list[int]
    kind: Kind = Kind.KEPT


def verify(p, q, tokens, uniforms, noise):
    from beside import unchanged

    answer = Answer(right(p, q, tokens, uniforms, noise))
    return unchanged(pickle.loads(pickle.dumps(answer))).tokens
"""


def test_a_file_is_a_module_with_classes_of_its_own_and_files_beside_it(command, tmp_path: Path):
    (tmp_path / "beside.py").write_text("KEPT = 1\n\ndef unchanged(answer):\n    return answer\n")
    for _ in range(2):  # the same file again
        status, out, err = command(WITH_CLASSES)
        assert (status, err, out.splitlines()[0]) == (0, "", "mine.py: lossless")


def test_two_files_of_one_name_are_two_modules(tmp_path: Path):
    verifiers = []
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
        file = tmp_path / folder / "mine.py"
        file.write_text(RIGHT)
        verifiers.append(load_adapter(file).verify)
    assert [pickle.loads(pickle.dumps(verify)) for verify in verifiers] == verifiers


def test_a_file_that_fails_leaves_no_module(command):
    def loaded() -> set[str]:
        return {name for name in sys.modules if name.startswith("hsd_adapter")}

    before = loaded()
    assert command("from __future__ import annotations\n1 / 0")[0] == 2
    assert loaded() == before


REMEMBERS = """
seen = []

def verify(p, q, tokens, uniforms, noise):
    seen.append(1)
    return right(p, q, tokens, uniforms, noise) if len(seen) < 900 else [int(p[0].argmax())]
"""


def test_memory_ends_with_status_1_and_its_cause(command):
    status, out, err = command(RIGHT.replace("def verify", "def right") + REMEMBERS)
    assert (status, err, out.splitlines()[0]) == (1, "", "mine.py: NOT lossless")
    assert "it keeps something from earlier calls" in " ".join(out.split())
    status, out, _ = command(RIGHT.replace("def verify", "def right") + REMEMBERS, "--json")
    found = json.loads(out)
    assert (status, found["total_variation"], found["claim"]) == (1, None, [])


def test_a_verifier_with_numbers_of_its_own_is_sampled(command):
    own = RIGHT.replace(
        "verify(p, q, tokens, uniforms, noise):",
        "verify(p, q, tokens):\n    uniforms, noise = torch.rand(len(tokens)), torch.rand(())",
    )
    status, out, _ = command(f"SAMPLED = True\n{own}", "--sampled", "1000")
    assert (status, out.splitlines()[0]) == (0, "mine.py: nothing wrong found by sampling")
    status, out, _ = command(f"SAMPLED = True\n{own.replace('p[-1]', 'p[-2]')}", "--json")
    assert (status, json.loads(out)["lossless"]) == (1, False)


def test_a_file_that_was_written_again_at_once_is_judged_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """By its text: kept bytecode has its length and its second."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    file = tmp_path / "mine.py"
    found = []
    for number in (3, 4):
        file.write_text(f"def verify(*given):\n    return [{number}]\n")
        os.utime(file, (10**9, 10**9))
        found.append(load_adapter(file).verify())
    assert found == [[3], [4]]
    file.rename(tmp_path / "mine.txt")
    with pytest.raises(HsdError, match=r"its name must end in \.py"):
        load_adapter(tmp_path / "mine.txt")


def test_a_file_that_says_texts_is_judged_by_them(command, tmp_path: Path):
    says = """
import torch

def generate(p, q, gamma, length, seeds):
    texts = torch.zeros(len(seeds), 1, dtype=torch.int64)
    for _ in range(length):
        texts = torch.cat([texts, torch.multinomial(p[texts[:, -1]], 1)], 1)
    return texts[:, 1:].tolist()
"""
    status, out, err = command(says, "--sampled", "1000")
    assert (status, err, out.splitlines()[0]) == (0, "", "mine.py: nothing wrong found by sampling")
    assert "E[kept]" not in out
    status, out, _ = command(says.replace("multinomial(p", "multinomial(q"), "--json")
    assert (status, json.loads(out)["lossless"]) == (1, False)
    (tmp_path / "rows.json").write_text('{"p": [[0.5, 0.5], [0.5, 0.5]], "q": [[0.2, 0.8]]}')
    status, _, err = command(says, "--rows", str(tmp_path / "rows.json"))
    assert (status, err.count("\n")) == (2, 1)
    assert "leave rows of your own out" in err


def test_rows_may_come_from_a_file(command, tmp_path: Path):
    rows = tmp_path / "rows.json"
    rows.write_text('{"p": [[0.5, 0.5], [0.5, 0.5]], "q": [[0.2, 0.8]]}')
    status, out, _ = command(RIGHT, "--rows", str(rows), "--json")
    assert status == 0
    assert json.loads(out)["expected_kept"] == pytest.approx(0.7)


def test_what_an_adapter_prints_is_kept_from_the_result(command):
    status, out, err = command(
        RIGHT.replace("    for t", "    print('called')\n    for t"), "--json", "--gamma", "1"
    )
    assert (status, json.loads(out)["lossless"]) == (0, True)
    assert "called" in err


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("", "JSONDecodeError"),
        ("[]", "TypeError"),
        ('{"p": [[1, 0]]}', "KeyError"),
        ('{"p": [[1, 0], [1, 0]], "q": [["x", 0]]}', "could not convert"),
        ('{"p": [[0.5, 0.6], [0.5, 0.5]], "q": [[0.5, 0.5]]}', "row 0 of p [0.5, 0.6] sums to 1.1"),
        ('{"p": [[0.5, 0.5]], "q": [[0.5, 0.5]]}', "1 rows p and 1 rows q do not fit"),
        (
            json.dumps({"p": [[0.1] * 10] * 9, "q": [[0.1] * 10] * 8}),
            "10^9 outcomes are over the limit",
        ),
    ],
    ids=lambda value: value[:30],
)
def test_rows_that_cannot_be_judged_are_one_line(command, tmp_path: Path, content: str, names: str):
    (tmp_path / "rows.json").write_text(content)
    status, out, err = command(RIGHT, "--rows", str(tmp_path / "rows.json"))
    assert (status, out) == (2, "")
    assert names in err
    assert err.count("\n") == 1


DEF = "def verify(p, q, tokens, uniforms, noise):\n    "


@pytest.mark.parametrize(
    ("text", "names"),
    some(
        [
            (None, "no file"),
            ("x = 1", "no function verify"),
            ("1 / 0", "mine.py cannot be imported: ZeroDivisionError"),
            ("def verify(:", "SyntaxError"),
            (
                DEF + "raise KeyError('row')",
                "raises KeyError: 'row'; sent p (4, 3), q (3, 3), tokens [0, 0, 0], uniforms [0.",
            ),
            (DEF + "raise SystemExit(3)", "raises SystemExit: 3; sent"),
            (DEF + "return [*tokens.tolist(), 0, 0]", "returns 5 tokens: return 1 to 4"),
            (DEF + "return []", "returns 0 tokens"),
            (DEF + "return None", "returns None: return a list of int"),
            (DEF + "return [0.5]", "returns [0.5]: return a list of int"),
            (DEF + "return [3]", "returns token 3, and there are 3: 0 to 2"),
            (DEF + "return [-1]", "returns token -1"),
            (
                DEF + "return [(int(tokens[0]) + 1) % 3, 0]",
                "whose tokens before the last are not the draft's first",
            ),
            (DEF + "return [*tokens.tolist(), 0]", "ignores uniforms and noise"),
            (DEF + "p[0] = 0\n    return [0]", "changes its arguments"),
            (
                DEF + "uniforms.sort()[0].zero_()\n    uniforms.zero_()\n    return [0]",
                "changes its arguments",
            ),
            ("import torch\n" + DEF + "return [int(torch.randint(3, ()))]", "for the same numbers"),
            (DEF + "return [int(noise * 3000) % 3]", "does not change at thresholds"),
            (
                DEF + "return [*tokens[: int(uniforms[0] * 4000) % 2].tolist(), int(noise * 3)]",
                "use --sampled",
            ),
            ("NOISE = 'gauss'\n" + DEF + "return [0]", "unknown NOISE 'gauss'"),
            ("DTYPE = 'int8'\n" + DEF + "return [0]", "unknown DTYPE 'int8'"),
            ("BATCHED = True\n" + DEF + "return [0]", "for a batch of 27: return a list of lists"),
        ],
        2,
    ),
    ids=lambda value: value[-40:] if value else "missing",
)
def test_what_cannot_be_judged_is_one_line(command, text: str | None, names: str):
    status, out, err = command(text)
    assert (status, out) == (2, "")
    assert names in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["--vocab", "1"], "vocab 1: choose at least 2"),
        (["--gamma", "0"], "gamma 0"),
        (["--pairs", "0"], "pairs 0"),
        (["--vocab", "9", "--gamma", "9"], "9^10 outcomes are over the limit"),
        (["--gamma", "1000000000"], "over the limit"),
        (["--sampled", "-1"], "--sampled: -1: choose at least 0"),
        (["--junit", "/no/such/folder/x.xml"], "cannot write"),
        (["--rows", "/no/such/file"], "--rows /no/such/file"),
        (["--seed", "x"], "'x'"),
        (["--expect", "nothing"], "unknown rule 'nothing'"),
        (
            ["--expect", "hsd", "--sampled"],
            "--expect hsd: which law it is cannot be told by sampling",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_bad_option_is_one_line(command, words: list[str], names: str):
    status, out, err = command(RIGHT, *words)
    assert (status, out) == (2, "")
    assert names in err
    assert err.count("\n") == 1
