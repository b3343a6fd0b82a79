"""FSD on Watch: its options, and each drafted token's divergence beside the tolerance."""

from __future__ import annotations

import pytest
from loops import some
from trade_off import drift, overruled

import hsd
from hsd.app.presets import of_systems, trace_of
from hsd.paths import ASSETS

NAMES = [name for name, preset in of_systems().items() if preset.system == "fsd"]

TINY = pytest.mark.skipif(
    not (ASSETS / "tiny" / "target").is_dir(), reason="the embedded pair is not there"
)


@pytest.mark.core
@pytest.mark.parametrize("name", some(NAMES, 2))
def test_needles_and_drift_are_those_of_the_trace(stage, name: str):
    trace = trace_of(of_systems()[name])
    stage.load(trace.model_dump(mode="json"))
    tolerance = trace.setup.options.fuzzy.tolerance
    spent = 0.0
    for index, step in enumerate(trace.steps[:4]):
        stage.go(index)
        rows = stage.page.locator(".hp-needles li").evaluate_all(
            "all => all.map((e) => [e.className, e.textContent])"
        )
        assert len(rows) == step.drafted
        for i, (css, said) in enumerate(rows):
            assert_told(trace, index, i, css, said)
        spent += drift(step, tolerance)
        note = stage.page.inner_text(".hp-divergence .hp-note")
        number = note.removeprefix("Drift spent so far: ").split()[0].rstrip(",")
        shown = float(number.replace("·10⁻", "e-").translate(DIGITS))
        assert shown == pytest.approx(spent, rel=6e-3)
    marked = stage.page.locator(".hp-text .hp-out.is-overruled").count()
    assert marked == sum(overruled(step) for step in trace.steps)


DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


def assert_told(trace: hsd.Trace, index: int, i: int, css: str, said: str) -> None:
    """A row says of a drafted token what its coin, its divergence and the rule's mode entail."""
    step = trace.steps[index]
    options = trace.setup.options.fuzzy
    node = step.nodes[i]
    near = step.divergences[i] <= options.tolerance
    if i > step.kept:
        assert ("not reached" in said, css) == (True, "is-unreached")
        return
    rejects = node.coin >= min(1, node.p / node.q)
    kept = near or (options.mode != "divergence-only" and not rejects)
    assert kept == (i < step.kept)
    assert (css == "is-overruled") == (kept and rejects)
    assert (css == "is-rejected") == (not kept)
    assert ("≥" in said) == rejects
    assert ("kept all the same" in said) == (kept and rejects and options.mode != "divergence-only")


def test_a_needle_says_what_became_of_its_token_once_it_is_tested(stage):
    stage.load(trace_of(of_systems()["fsd-sum"]).model_dump(mode="json"))
    stage.go(1)
    ahead = "document.querySelectorAll('.hp-needles .is-later').length"
    assert stage.page.evaluate(ahead) == 0, "a step is shown at its end"
    stage.page.evaluate("document.querySelector('.hp-phase').click()")
    assert stage.page.evaluate(ahead) == 5


def test_other_rules_have_no_needles(stage, trace):
    stage.load(trace)
    assert stage.page.locator(".hp-divergence").is_hidden()


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
    [
        ("Ensemble (not lossless)", "draft-weight", "w = 0.7"),
        ("Typical (not lossless)", "epsilon", "ε = 0.7"),
    ],
)
def test_on_watch_a_rule_with_a_number_has_its_slider_and_runs_with_it(
    visitor, title: str, name: str, words: str
):
    page = visitor.page
    slider = f"#hsd-{name}"
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
