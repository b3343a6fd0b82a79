"""The page "What is true of these rules" says what its script computes."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest

from hsd.paths import ROOT

pytestmark = pytest.mark.long

PAGE = ROOT / "assets" / "docs" / "rules.md"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("rules_page", ROOT / "examples" / "rules_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_toy_measurements_and_the_worked_step_are_those_of_today(script: ModuleType):
    """What is quick to compute: also that every threshold of the worked step follows from the printed numbers."""
    page = PAGE.read_text(encoding="utf-8")
    for facts in (script.toy(), script.on_text(), script.by_hand()):
        for name, words in facts.items():
            assert words in page, name


@pytest.mark.slow
def test_the_whole_page_is_what_the_script_writes(script: ModuleType):
    assert script.page() == PAGE.read_text(encoding="utf-8")
