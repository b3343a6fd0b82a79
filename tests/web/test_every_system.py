"""Every system runs from the one form, and every recorded run opens from the one menu."""

from __future__ import annotations

import pytest

from hsd.app.presets import telling_step, trace_of
from hsd.app.site import presets_of
from hsd.space import load


@pytest.mark.parametrize(
    ("control", "choice", "address"),
    [
        ("system", "Model stack", "system=stack&"),
        ("system", "HiSpec", "exits=2_4&thresholds=2_4"),
        ("system", "Plain decoding", "system=plain&"),
        ("rule", "FSD", "rule=fuzzy&"),
        ("tree", "Likeliest, grown", "tree=grown"),
        ("tree", "First tokens differ", "drafts=4&tree=distinct"),
    ],
)
def test_a_system_runs_from_the_form(visitors, control: str, choice: str, address: str):
    visitor = visitors().open("?preset=story")
    visitor.page.locator(".hf-device:not([hidden])").wait_for()
    visitor.set("max-new-tokens", "8")
    visitor.choose(control, choice)
    visitor.run()
    visitor.page.get_by_text("● live", exact=True).wait_for()
    visitor.until(f"location.search.includes('{address}')")
    assert not visitor.page.is_visible(".hf-alert")


@pytest.mark.recorded
def test_every_recorded_run_opens_at_its_telling_step(visitors):
    visitor = visitors().open("?preset=story", options=False)
    for name, preset in presets_of(load()).items():
        visitor.page.select_option("#hsd-preset", name)
        visitor.page.locator(".hf-caption b", has_text=preset.title).wait_for()
        trace = trace_of(preset)
        visitor.until(f"window.__hsd.steps === {len(trace.steps)}")
        assert visitor.state["step"] == telling_step(trace)
