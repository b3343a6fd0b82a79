"""The page "What is true of these rules" says what its script computes."""

from __future__ import annotations

from types import ModuleType

import pytest
from example_script import example_script
from printed import differing, stands

from hsd.paths import ROOT

pytestmark = pytest.mark.long

PAGE = ROOT / "assets" / "docs" / "rules.md"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return example_script("reproduce/rules_page")


def test_toy_measurements_and_the_worked_step_are_those_of_today(script: ModuleType):
    """What is quick to compute: also that every threshold of the worked step follows from the printed numbers."""
    page = PAGE.read_text(encoding="utf-8")
    for facts in (script.toy(), script.on_text(), script.by_hand()):
        for name, words in facts.items():
            assert stands(words, page), name


@pytest.mark.slow
def test_the_whole_page_is_what_the_script_writes(script: ModuleType):
    assert differing(script.page(), PAGE.read_text(encoding="utf-8")) == []
