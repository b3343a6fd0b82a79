"""The FSD panel of the Systems screen: needles, drift and curve say what the traces and the measurement say."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from trade_off import drift, overruled

import hsd
from hsd.app.systems.panels import fuzzy_results
from hsd.app.systems.recorded import presets, trace_of
from hsd.paths import ASSETS

NAMES = [name for name, preset in presets().items() if preset.options.get("rule") == "fuzzy"]
TINY = pytest.mark.skipif(not (ASSETS / "tiny" / "target").is_dir(), reason="the embedded pair is not there")
TINIEST = 5e-3  # what a number shown with three digits may be off by, relatively


def open_fsd(visitor, **query: str):
    visitor.page.goto(visitor.app.url + "?" + urlencode({"tab": "systems", "panel": "fsd", **query}))
    visitor.unfold()
    visitor.until("window.__hsdSystems && window.__hsdSystems.fsd && window.__hsdSystems.fsd.ready")
    return visitor


@pytest.fixture
def here(visitors):
    return open_fsd(visitors())


def told(visitor) -> dict:
    return visitor.page.evaluate("window.__hsdSystems.fsd")


def press(visitor, choice: str, value: str) -> None:
    visitor.page.locator(f"[data-choice='{choice}'] [data-value='{value}']").first.click()


def record(visitor, name: str) -> hsd.Trace:
    press(visitor, "Recorded", name)
    visitor.until(f"window.__hsdSystems.fsd.name === '{name}'")
    return trace_of(name)


def go(visitor, step: int) -> None:
    visitor.page.locator("input[aria-label='step']").evaluate(
        "(e, value) => { e.value = value; e.dispatchEvent(new Event('input')) }", step
    )


@pytest.mark.core
def test_needles_and_drift_are_those_of_the_trace(here):
    for name in NAMES:
        needles_and_drift_agree(here, record(here, name))


def needles_and_drift_agree(here, trace: hsd.Trace) -> None:
    only, tolerance = trace.setup.options.fuzzy.mode == "divergence-only", trace.setup.options.fuzzy.tolerance
    spent = 0.0
    for index, step in enumerate(trace.steps[:4]):
        go(here, index)
        spent += drift(step, tolerance)
        rows = here.page.locator(".fs-position[data-position]").evaluate_all(
            "all => all.map((e) => [e.className, e.querySelector('.fs-said').textContent])"
        )
        assert len(rows) == step.drafted
        for i, (css, said) in enumerate(rows):
            node, near = step.nodes[i], step.divergences[i] <= tolerance
            if i > step.kept:
                assert (said, "is-unreached" in css) == ("not reached", True)
                continue
            rejects = node.coin >= min(1, node.p / node.q)
            kept = near or (not only and not rejects)
            assert kept == (i < step.kept)
            assert ("is-overruled" in css) == (kept and rejects)
            assert ("≥" in said) == rejects
            assert ("kept all the same" in said) == (kept and rejects and not only)
            assert said.endswith("rejected") == (not kept and not only)
        shown = here.page.inner_text(".fs-drift").removeprefix("Drift spent so far: ").split()[0].rstrip(",")
        assert shown == ("0" if not spent else shown)
        if spent > 1e-3:
            assert float(shown) == pytest.approx(spent, rel=TINIEST)
    marked = here.page.locator("#sy-panel-fsd .hp-out.is-overruled").count()
    assert marked == sum(overruled(step) for step in trace.steps)
    assert ("so this is exact" if tolerance == 0 else "not lossless") in here.page.inner_text(".fs-lossy")


def test_a_share_sets_the_tolerance_that_was_calibrated_for_it(here):
    results = fuzzy_results()
    record(here, "fsd-story")
    table = results["texts"]["stories"]["calibration"]["tolerances"]
    assert told(here)["share"] == 0.4
    press(here, "Divergence D", "tv")  # the same share of another divergence
    assert float(told(here)["state"]["tolerance"]) == table["warped"]["tv"][8]
    here.page.locator(".fs-share input[type=range]").evaluate(
        "(e) => { e.value = 20; e.dispatchEvent(new Event('input')) }"
    )
    assert float(told(here)["state"]["tolerance"]) == table["warped"]["tv"][20]
    press(here, "Rows", "raw")
    assert float(told(here)["state"]["tolerance"]) == table["raw"]["tv"][20]
    here.page.fill("[data-field='tolerance']", "-1")
    assert told(here)["share"] == 0
    here.page.fill("[data-field='tolerance']", "0,5")  # a decimal comma is a point
    assert told(here)["state"]["tolerance"] == "0.5"


def test_a_point_of_the_curve_tells_its_numbers_and_sets_its_tolerance(here):
    results = fuzzy_results()
    for text in ("sums", "stories"):
        press(here, "Text", text)
        for divergence, mode in (("kl", "exact-first"), ("js", "divergence-only")):
            press(here, "Divergence D", divergence)
            press(here, "Mode", mode)
            points = results["texts"][text]["curve"][divergence][mode]
            said = here.page.locator(".fs-point.is-fuzzy").evaluate_all("all => all.map((e) => e.ariaLabel)")
            for one, words in zip(points, said, strict=True):
                assert f"{one['share']:.0%}".replace("%", " %") in words
                shown = float(re.search(r": ([\d.]+) \(", words)[1])
                assert shown == pytest.approx(one["tokens_per_call"][0], rel=TINIEST)
            here.page.locator(".fs-point.is-fuzzy").nth(1).locator(".fs-reach").click(force=True)
            assert float(told(here)["state"]["tolerance"]) == points[1]["tolerance"]
            assert told(here)["share"] == 0.4
    assert here.page.locator("[data-choice='Against'] [data-value='right']").is_disabled()  # stories have no answers


@TINY
def test_a_live_run_is_the_run_of_these_settings(here):
    record(here, "fsd-sum")
    press(here, "Mode", "divergence-only")
    here.page.fill("input[aria-label='seed']", "5")
    here.page.click(".sy-fsd .sy-run")
    here.until("window.__hsdSystems.fsd.live === 'done'")
    state = told(here)["state"]
    options = {"rule": "fuzzy", "fuzzy_mode": "divergence-only", "tolerance": float(state["tolerance"]), "seed": 5}
    wanted = hsd.run(hsd.load_pair("tiny"), state["prompt"], **options, temperature=1.0, max_new_tokens=64)
    assert told(here)["steps"] == len(wanted.steps)
    pieces = here.page.locator("#sy-panel-fsd .hp-out").all_text_contents()
    assert "".join(pieces).replace("⏎", "\n").startswith(wanted.text.rstrip())
    assert here.page.locator("#sy-panel-fsd .hp-out.is-overruled").count() == sum(
        overruled(step) for step in wanted.steps
    )
    assert "divergence only" in here.page.inner_text(".fs-lossy")


def test_bad_settings_get_one_line_and_the_run_on_screen_stays(here):
    before = here.page.inner_text("#sy-panel-fsd .hp-flow")
    here.page.fill("[data-field='tolerance']", "much")
    here.page.click(".sy-fsd .sy-run")
    here.until("window.__hsdSystems.fsd.live === 'failed'")
    assert here.page.inner_text(".sy-fsd .hp-problem") == "Tolerance much: choose a number"
    assert here.page.inner_text("#sy-panel-fsd .hp-flow") == before


def test_a_link_brings_back_the_run_the_step_and_the_settings(here, visitors):
    record(here, "fsd-impossible")
    go(here, 2)
    press(here, "Mode", "divergence-only")
    here.until("location.search.includes('divergence-only')")
    query = {name: values[0] for name, values in parse_qs(urlsplit(here.page.url).query).items()}
    assert query["panel"] == "fsd"
    before = told(here)
    again = told(open_fsd(visitors(), fsd=query["fsd"]))
    for name in ("name", "step", "share"):
        assert again[name] == before[name]
    assert {k: v for k, v in again["state"].items() if k != "more"} == {
        k: v for k, v in before["state"].items() if k != "more"
    }


def test_a_link_that_cannot_be_is_told_and_the_first_run_is_shown(visitors):
    visitor = visitors()
    for words in ("1*sums*kl*x*warped*1*1*0**0", "1*toString*kl*exact-first*warped*1*1*0**0"):
        open_fsd(visitor, fsd=words)
        assert visitor.page.inner_text(".sy-fsd .hp-problem").startswith("The settings in this link cannot be read")
        assert told(visitor)["name"] == NAMES[0]


def test_everything_is_reached_from_the_keyboard_and_fits_a_phone(visitors):
    visitor = open_fsd(visitors(width=390))
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 390
    visitor.page.locator(".fs-point[tabindex='0']").focus()
    visitor.page.keyboard.press("End")
    assert visitor.page.evaluate("document.activeElement.dataset.point") == "exact-0"
    visitor.page.keyboard.press("Enter")
    assert told(visitor)["state"]["tolerance"] == "-1"


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
