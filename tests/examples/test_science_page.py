"""The page "What is true" says what its script computes."""

from __future__ import annotations

from types import ModuleType

import pytest
from example_script import example_script
from pages import blocks
from printed import differing

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return example_script("reproduce/science_page")


def differences(script: ModuleType, made: dict[str, str]) -> list[tuple[str, str]]:
    printed = blocks(script.PAGE)
    return [
        pair for name, text in made.items() for pair in differing(script.prose(text), printed[name])
    ]


def test_the_toy_and_what_trees_of_a_head_keep_are_those_of_today(script: ModuleType):
    assert differences(script, script.toy() | script.of_a_head()) == []


@pytest.mark.slow
def test_every_block_is_what_the_script_computes(script: ModuleType):
    assert differences(script, script.made()) == []
