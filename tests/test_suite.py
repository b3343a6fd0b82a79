"""The suite itself: several processes share the tests, and those of the running app stay in one."""

from __future__ import annotations

import pytest


def test_tests_keep_to_the_group_that_they_belong_to(request: pytest.FixtureRequest) -> None:
    if not getattr(request.config.option, "loadgroup", False):
        pytest.skip("these tests run in one process")
    assert request.node.nodeid.endswith(f"@{request.node.path}")
