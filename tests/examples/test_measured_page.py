"""The page "Measured" and README's table are what their script makes of the committed results."""

from __future__ import annotations

import measured_page
from pages import blocks


def test_the_pages_have_what_the_script_writes():
    assert blocks(measured_page.PAGE) == measured_page.made(), (
        "run: python examples/reproduce/measured_page.py"
    )
    assert blocks(measured_page.README) == measured_page.readme(), (
        "run: python examples/reproduce/measured_page.py"
    )
