"""The list of mutations in tests/mutations.py stays usable, and the tests notice every one of them."""

from __future__ import annotations

import ast
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import mutations
import pytest
from mutations import MUTATIONS, ROOT, Mutation

pytestmark = pytest.mark.long

EACH = pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: m.name)


@EACH
def test_a_mutation_fits_its_file_and_leaves_it_readable(mutation: Mutation):
    ast.parse(mutation.text())
    assert mutation.old != mutation.new
    assert mutation.mistake.endswith(".")
    for test in mutation.tests:
        file, _, function = test.partition("::")
        assert f"def {function}(" in (ROOT / file).read_text(encoding="utf-8")


def test_there_are_enough_mutations_and_each_has_a_name_of_its_own():
    assert len({m.name for m in MUTATIONS}) == len(MUTATIONS) >= 75
    assert len({(m.file, m.old, m.new) for m in MUTATIONS}) == len(MUTATIONS)


def test_an_edit_that_no_longer_fits_fails_loudly(tmp_path: Path):
    (tmp_path / "hsd").mkdir()
    (tmp_path / "hsd" / "some.py").write_text("x = 1\nx = 1\n")
    for old in ("x = 2", "x = 1"):
        with pytest.raises(ValueError, match="exactly once"):
            replace(MUTATIONS[0], file="some.py", old=old).text(tmp_path)


def test_a_failing_test_is_named_and_passing_ones_are_not(tmp_path: Path):
    """The script's own teeth: it tells a noticed mistake from one that was not."""
    (tmp_path / "test_both.py").write_text("def test_right():\n    pass\n\n\ndef test_wrong():\n    assert False\n")
    assert mutations.failing_test(("test_both.py",), root=tmp_path) == "test_both.py::test_wrong"
    assert mutations.failing_test(("test_both.py::test_right",), root=tmp_path) is None
    with pytest.raises(RuntimeError, match="did not run"):
        mutations.failing_test(("test_missing.py",), root=tmp_path)


@pytest.mark.slow
def test_every_mutation_is_noticed():
    result = subprocess.run([sys.executable, str(ROOT / "tests" / "mutations.py")], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout
