"""The suite itself: several processes share the tests; those of the running app stay in one."""

from __future__ import annotations

import tomllib

import pytest

from hsd.paths import ROOT


def test_tests_keep_to_the_group_that_they_belong_to(request: pytest.FixtureRequest) -> None:
    if not getattr(request.config.option, "loadgroup", False):
        pytest.skip("these tests run in one process")
    assert request.node.nodeid.endswith(f"@{request.node.path}")


def test_the_files_whose_mistakes_are_tried_and_their_tests_exist() -> None:
    options = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mutmut"]
    lists = ("source_paths", "also_copy", "pytest_add_cli_args_test_selection")
    paths = [path for name in lists for path in options[name]]
    assert [path for path in paths if not (ROOT / path).exists()] == []
