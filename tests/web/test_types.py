"""The types by which the page's JavaScript is checked are those of its data."""

from __future__ import annotations

import pytest
from page_types import FILE, TOOL, page_types


@pytest.mark.skipif(
    not TOOL.is_file(), reason="the generator of types is not here: make node_modules/.done"
)
def test_the_types_of_the_page_follow_the_schema_of_a_trace_and_the_facts():
    assert FILE.read_text(encoding="utf-8") == page_types(), "run make types"
