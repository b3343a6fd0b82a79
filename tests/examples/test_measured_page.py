"""The page "Measured" and README's table are what their script makes of the committed results."""

from __future__ import annotations

import re

import measured_page
import pytest
from pages import BLOCK, DOCS, blocks

SPEED = re.compile(
    r"\d ?×(?! ?\d)|(?<!\d)(?<!\d )× ?\d|(?:\d|two|three|several) (?:times|passes)\b"
)


def test_the_pages_have_what_the_script_writes():
    assert blocks(measured_page.PAGE) == measured_page.made(), (
        "run: python examples/reproduce/measured_page.py"
    )
    assert blocks(measured_page.README) == measured_page.readme(), (
        "run: python examples/reproduce/measured_page.py"
    )


@pytest.mark.parametrize(
    "page", [measured_page.README, *DOCS.glob("[!l]*.md")], ids=lambda p: p.name
)
def test_speeds_stand_only_in_blocks_that_scripts_make(page):
    by_hand = BLOCK.sub("", page.read_text(encoding="utf-8"))
    assert SPEED.findall(by_hand) == []
