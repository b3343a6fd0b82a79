"""FSD on Watch: its options, and each drafted token's divergence beside the tolerance."""

from __future__ import annotations

import pytest

from hsd.paths import ASSETS

TINY = pytest.mark.skipif(not (ASSETS / "tiny" / "target").is_dir(), reason="the embedded pair is not there")


@TINY
def test_on_watch_the_settings_are_there_only_for_the_fuzzy_rule(visitor):
    page = visitor.page
    assert not page.locator("#hsd-tolerance").is_visible()
    visitor.choose("rule", "FSD, fuzzy (not lossless)")
    page.locator("#hsd-tolerance").wait_for(state="visible")
    visitor.set("tolerance", "1.25")
    visitor.set("max-new-tokens", "12")
    visitor.run()
    visitor.until("!window.__hsd.live && document.querySelector('.hp-warning')")
    page.locator(".hp-warning", has_text="T = 1.25").wait_for()
    visitor.choose("rule", "HSD, hierarchical")
    page.locator("#hsd-tolerance").wait_for(state="hidden")


@TINY
@pytest.mark.parametrize(
    ("title", "name", "words"),
    [("Ensemble (not lossless)", "draft-weight", "w = 0.7"), ("Typical (not lossless)", "epsilon", "ε = 0.7")],
)
def test_on_watch_a_rule_with_a_number_has_its_slider_and_runs_with_it(visitor, title: str, name: str, words: str):
    page, slider = visitor.page, f"#hsd-{name}"
    assert not page.locator(slider).is_visible()
    visitor.choose("rule", title)
    page.locator(slider).wait_for(state="visible")
    visitor.set(name, "0.7")
    visitor.set("max-new-tokens", "12")
    visitor.run()
    visitor.until("!window.__hsd.live && document.querySelector('.hp-warning')")
    page.locator(".hp-warning", has_text=words).wait_for()
    assert page.locator(".hp-warn").count() == 0
    visitor.choose("rule", "HSD, hierarchical")
    page.locator(slider).wait_for(state="hidden")
