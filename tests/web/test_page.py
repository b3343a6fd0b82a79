"""The page as a whole: what it weighs, whether it holds still, and whether everyone can use it."""

from __future__ import annotations

import pytest

from hsd.paths import ROOT
from hsd.ui.static import SCREENS as TABS

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
SCREENS = {  # what the address asks for, and what is there once it is drawn
    "watch": ("", "#hsd-stage .hp-node"),
    "learn": ("tab=learn", "#hsd-learn .ln-page"),
    "compare": ("tab=compare", "#hsd-compare .cp-totals td"),
    "race": ("tab=race", "#hsd-race table"),
    "stack": ("tab=systems", "#sy-panel-stack .lv-board"),
    "hispec": ("tab=systems&panel=hispec", "#sy-panel-hispec .lv-board"),
    "fsd": ("tab=systems&panel=fsd", "#sy-panel-fsd svg"),
    "eagle": ("tab=systems&panel=eagle", "#sy-panel-eagle .eg-mask"),
    "lab": ("tab=lab", "#hsd-lab .hl-rules:not(.hl-keys)"),
    "measure": ("tab=measure", "#hsd-tab-measure .js-plotly-plot"),
}
FOUND = """async () => (await axe.run(document, { resultTypes: ["violations"] })).violations
  .filter(({ impact }) => impact !== "minor")
  .flatMap(({ id, nodes }) => nodes.map(({ target, html }) => ({ rule: id, target: target.join(" "), html })))"""
LOOKS = """(element) => {
  const parent = element.parentElement;
  const around = [element, parent, parent.parentElement, element.closest(".wrap"), element.querySelector(".hp-ring")];
  return around.filter(Boolean).map((one) => {
    const { outlineStyle, boxShadow, borderColor, backgroundColor, strokeWidth } = getComputedStyle(one);
    return [outlineStyle, boxShadow, borderColor, backgroundColor, strokeWidth].join();
  }).join();
}"""

MOST_BYTES = 500_000
NOTE_SHIFTS = """window.__shifts = 0;
new PerformanceObserver((seen) => {
  for (const one of seen.getEntries()) if (!one.hadRecentInput) window.__shifts += one.value;
}).observe({ type: "layout-shift", buffered: true });"""


def first_visit(chromium, app, width: int, query: str = "") -> tuple[int, float]:
    """Bytes over the wire and how far things moved, of someone who was never here."""
    context = chromium.chromium.new_context(viewport={"width": width, "height": 800})
    page = context.new_page()
    page.add_init_script(NOTE_SHIFTS)
    sizes: list[float] = []
    session = context.new_cdp_session(page)
    session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    session.send("Network.enable")
    page.goto(app.url + query)
    page.wait_for_function(
        "document.querySelector('#hsd-seed input') && !document.documentElement.classList.contains('hsd-opening')"
    )
    page.wait_for_load_state("networkidle")
    moved = page.evaluate("window.__shifts")
    context.close()
    return int(sum(sizes)), moved


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("query", ["", "?tab=compare", "?tab=race", "?tab=systems"])
def test_a_first_visit_loads_little_and_nothing_moves_meanwhile(chromium, app, width, query):
    loaded, moved = first_visit(chromium, app, width, query)
    assert moved < 0.1
    assert loaded > 100_000
    assert query or loaded <= MOST_BYTES, "what the page needs before any click"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.recorded
def test_axe_finds_nothing_that_is_moderate_or_serious(visitors, screen, theme):
    if not AXE.exists():
        pytest.skip("axe-core is not installed: make browser does")
    query, drawn = SCREENS[screen]
    visitor = visitors().open(f"?{query}&__theme={theme}")
    page, drawn = visitor.page, ".hm-table" if visitor.files and screen == "measure" else drawn
    page.locator(drawn).first.wait_for()
    page.wait_for_load_state("networkidle")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate(FOUND)
    assert not found, found


def test_axe_does_notice_a_faint_word(visitors):
    page = visitors().open("?tab=lab").page
    page.locator("#hsd-lab .hl-rules:not(.hl-keys)").wait_for()
    page.evaluate(AXE.read_text(encoding="utf-8"))
    page.evaluate("document.querySelector('#hsd-lab .hp-title').style.color = '#aaa'")
    assert "color-contrast" in [one["rule"] for one in page.evaluate(FOUND)]


@pytest.mark.recorded
def test_a_phone_shows_all_tabs_and_each_can_be_opened(visitors):
    page = visitors(width=390).open().page
    tabs = page.locator("#hsd-tabs [role=tablist] [role=tab]")
    assert [tab.get_attribute("data-tab-id") for tab in tabs.all()] == list(TABS)
    edges = [tab.bounding_box() for tab in tabs.all()]
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= 390 for box in edges)
    assert not page.locator("#hsd-tabs .overflow-menu button").first.is_visible()
    tabs.last.click()
    page.wait_for_function(f"document.getElementById('hsd-layout').dataset.tab === '{TABS[-1]}'")


@pytest.mark.recorded
def test_the_first_tab_stop_leads_to_what_the_open_tab_shows(visitors):
    page = visitors().open("?tab=lab", options=False).page
    page.locator("#hsd-lab .hl-rules:not(.hl-keys)").wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    assert page.locator(".hp-skip").bounding_box()["height"] > 20, "it is seen once it has the focus"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('#hsd-lab') !== null")


@pytest.mark.parametrize("screen", ["watch", "race", "lab"])
def test_every_tab_stop_shows_that_it_has_the_focus(visitors, screen):
    query, drawn = SCREENS[screen]
    page = visitors().open(f"?{query}").page
    page.locator(drawn).first.wait_for()
    seen = 0
    while True:
        page.keyboard.press("Tab")
        stop = page.evaluate_handle("document.activeElement").as_element()
        if stop.evaluate("(one) => one.closest('footer') !== null"):
            break
        if stop.evaluate("(one) => one === document.body"):  # Gradio takes away the list that a menu had opened
            continue
        focused = stop.evaluate(LOOKS)
        stop.evaluate("(one) => one.blur()")
        assert stop.evaluate(LOOKS) != focused, stop.evaluate("(one) => one.outerHTML.slice(0, 200)")
        stop.evaluate("(one) => one.focus()")
        seen += 1
    assert seen > 20
