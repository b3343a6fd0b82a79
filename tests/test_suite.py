"""The suite itself: several processes share the tests; those of the running app stay in one; of
many cases a share is run.
"""

from __future__ import annotations

import os
import sys
import tomllib
from types import SimpleNamespace

import pytest
from loops import for_each, one_of

from hsd.paths import ROOT


def test_tests_keep_to_the_group_that_they_belong_to(request: pytest.FixtureRequest) -> None:
    if not getattr(request.config.option, "loadgroup", False):
        pytest.skip("these tests run in one process")
    assert request.node.nodeid.endswith(f"@{request.node.path}")


@pytest.mark.skipif("MAKELEVEL" not in os.environ, reason="run by make, which says so")
def test_modules_are_compiled_once_and_not_by_every_process() -> None:
    assert not sys.dont_write_bytecode


def test_the_files_whose_mistakes_are_tried_and_their_tests_exist() -> None:
    options = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mutmut"]
    lists = ("source_paths", "also_copy", "pytest_add_cli_args_test_selection")
    paths = [path for name in lists for path in options[name]]
    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("every", [1, 2, 3, 50])
def test_of_many_cases_each_test_runs_a_share_and_all_tests_together_run_all(every: int) -> None:
    cases = range(7)
    shares = [one_of(every, cases, f"test_{number}") for number in range(100)]
    assert {case for share in shares for case in share} == {*cases}
    assert {len(share) for share in shares} <= {len(cases) // every, -(-len(cases) // every)}


@pytest.mark.parametrize(("profile", "count"), [("usual", 2), ("thorough", 6)])
def test_the_thorough_profile_runs_all_cases(
    profile: str, count: int, subtests: pytest.Subtests, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = SimpleNamespace(get_current_profile_name=lambda: profile)
    monkeypatch.setattr("loops.settings", known)
    found = list[int]()
    for_each("case", range(6), every=3)(lambda case: found.append(case))(subtests=subtests)
    assert len(found) == count
