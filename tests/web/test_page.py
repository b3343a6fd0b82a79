"""The page as a whole: what it weighs, whether it holds still, and whether everyone can use it."""

from __future__ import annotations

import pytest

from hsd.app.page import SCREENS as TABS
from hsd.paths import ROOT

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
SCREENS = {  # what the address asks for, and what is there once it is drawn
    "watch": ("", "#hsd-tab-watch .hp-board:visible"),
    "learn": ("tab=learn", "#hsd-tab-learn .hf-page"),
    "speed": ("tab=speed", "#hsd-tab-speed .hf-race li"),
    "systems": ("tab=systems", "#hf-stack :is(.hf-way, .hp-elsewhere)"),
    "fsd": ("tab=systems&panel=fsd", "#hf-fsd .hp-chart .legend"),
    "lab": ("tab=lab", "#hsd-tab-lab .hf-rules:not(.hf-keys)"),
}
FOUND = """async () => {
  const { violations } = await axe.run(document, { resultTypes: ["violations"] });
  const serious = violations.filter(({ impact }) => impact !== "minor");
  const found = (rule, { target, html }) => ({ rule, target: target.join(" "), html });
  return serious.flatMap(({ id, nodes }) => nodes.map((node) => found(id, node)));
}"""
LOOKS = """(element) => {
  const parent = element.parentElement;
  const around = [
    element,
    parent,
    parent.parentElement,
    element.closest(".wrap"),
    element.querySelector(".hp-ring"),
  ];
  return around.filter(Boolean).map((one) => {
    const style = getComputedStyle(one);
    return [
      style.outlineStyle,
      style.boxShadow,
      style.borderColor,
      style.backgroundColor,
      style.strokeWidth,
    ].join();
  }).join();
}"""

CONTROLS = """() => {
  const labels = (one) => [...(one.labels ?? [])].map((label) => label.innerText).join();
  return [...document.querySelectorAll("button, input, select, textarea, summary")]
    .filter((one) => one.checkVisibility({ visibilityProperty: true }))
    .filter((one) => one.getBoundingClientRect().width > 16)
    .filter((one) => !one.matches(".hp-term, .hp-more"))
    .map((one) => ({
      html: one.outerHTML.slice(0, 120),
      name: one.ariaLabel || one.innerText || one.title || labels(one),
      height: Math.round(one.getBoundingClientRect().height),
    }));
}"""
MOST_BYTES = 220_000
NOTE_SHIFTS = """window.__shifts = 0;
new PerformanceObserver((seen) => {
  for (const one of seen.getEntries()) if (!one.hadRecentInput) window.__shifts += one.value;
}).observe({ type: "layout-shift", buffered: true });"""


def first_visit(chromium, app, width: int, query: str = "") -> tuple[int, float]:
    """Bytes over the wire and how far things moved, of someone who was never here."""
    context = chromium.profile(width, bypass_csp=True, brief=True)
    page = context.new_page()
    page.add_init_script(NOTE_SHIFTS)
    sizes: list[float] = []
    session = context.new_cdp_session(page)
    session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    session.send("Network.enable")
    page.goto(app.url + query)
    page.wait_for_function("!document.querySelector('.hsd-opening, .is-opening')")
    page.wait_for_load_state("networkidle")
    moved = page.evaluate("window.__shifts")
    context.close()
    return int(sum(sizes)), moved


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("query", ["", "?tab=learn", "?tab=speed", "?tab=systems"])
def test_a_first_visit_loads_little_and_nothing_moves_meanwhile(chromium, app, width, query):
    loaded, moved = first_visit(chromium, app, width, query)
    assert moved < 0.01
    assert loaded > 50_000
    assert query or loaded <= MOST_BYTES, "what the page needs before any click"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.recorded
def test_axe_finds_nothing_that_is_moderate_or_serious(visitors, screen, width, theme):
    if not AXE.exists():
        pytest.skip("axe-core is not installed: make browser does")
    query, drawn = SCREENS[screen]
    still = {"reduced_motion": "reduce"}  # what fades in has no contrast yet
    visitor = visitors(width=width, **still).open(f"?{query}&__theme={theme}")
    page = visitor.page
    page.locator(drawn).first.wait_for()
    page.wait_for_load_state("networkidle")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate(FOUND)
    assert not found, found


def test_axe_does_notice_a_faint_word(visitors):
    page = visitors().open("?tab=lab").page
    page.locator("#hsd-tab-lab .hf-rules:not(.hf-keys)").wait_for()
    page.evaluate(AXE.read_text(encoding="utf-8"))
    page.evaluate("document.querySelector('#hsd-tab-lab .hp-title').style.color = '#aaa'")
    assert "color-contrast" in [one["rule"] for one in page.evaluate(FOUND)]


@pytest.mark.recorded
def test_a_phone_shows_all_tabs_and_each_can_be_opened(visitors):
    page = visitors(width=390).open().page
    tabs = page.get_by_role("tablist", name="Screens").get_by_role("tab")
    assert [tab.get_attribute("data-tab-id") for tab in tabs.all()] == list(TABS)
    edges = [tab.bounding_box() for tab in tabs.all()]
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= 390 for box in edges)
    tabs.last.click()
    page.wait_for_function(f"document.documentElement.dataset.tab === '{TABS[-1]}'")


@pytest.mark.recorded
@pytest.mark.parametrize("screen", SCREENS)
def test_a_finger_finds_every_control_and_each_has_a_name(visitors, screen):
    """But for words inside a text, which are as tall as their line."""
    query, drawn = SCREENS[screen]
    page = visitors(width=390, has_touch=True, is_mobile=True).open(f"?{query}").page
    page.locator(drawn).first.wait_for()
    controls = page.evaluate(CONTROLS)
    assert len(controls) >= 8  # Systems has eight where nothing is computed
    assert [one for one in controls if one["height"] < 40 or not one["name"]] == []


@pytest.mark.recorded
def test_on_a_phone_the_sentence_stays_in_sight_while_a_coin_is_moved(visitors):
    visitor = visitors(width=390, height=844, has_touch=True, is_mobile=True).open()
    page = visitor.page
    gauge = page.locator(".is-own .hp-gauge[data-coin]").last
    gauge.scroll_into_view_if_needed()
    box = gauge.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + box["height"] / 2, steps=4)
    told = page.locator(".hp-story").bounding_box()
    moved = gauge.bounding_box()
    assert 0 <= told["y"] < told["y"] + told["height"] <= 844
    apart = moved["y"] + moved["height"] < told["y"] or told["y"] + told["height"] < moved["y"]
    assert apart, "it does not cover what is moved"
    page.mouse.up()
    assert page.locator(".hp-story").bounding_box()["y"] > moved["y"], (
        "it stands below the board again"
    )


def test_little_moves_while_a_run_comes_in(visitors):
    visitor = visitors().open(options=False)
    visitor.page.evaluate(NOTE_SHIFTS.replace("buffered: true", "buffered: false"))
    visitor.run()
    visitor.page.get_by_text("● live", exact=True).wait_for()
    visitor.until("!window.__hsd.live && window.__hsd.steps > 2")
    assert visitor.page.evaluate("window.__shifts") < 0.05


@pytest.mark.recorded
def test_the_first_tab_stop_leads_to_what_the_open_tab_shows(visitors):
    page = visitors().open("?tab=lab", options=False).page
    page.locator("#hsd-tab-lab .hf-rules:not(.hf-keys)").wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    assert page.locator("#hsd-skip").bounding_box()["height"] > 20, (
        "it is seen once it has the focus"
    )
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('#hsd-tab-lab') !== null")


@pytest.mark.parametrize("screen", ["watch", "lab"])
def test_every_tab_stop_shows_that_it_has_the_focus(visitors, screen):
    query, drawn = SCREENS[screen]
    page = visitors().open(f"?{query}").page
    page.locator(drawn).first.wait_for()
    seen = 0
    while True:
        page.keyboard.press("Tab")
        stop = page.evaluate_handle("document.activeElement").as_element()
        if stop.evaluate("(one) => one === document.body"):
            break
        focused = stop.evaluate(LOOKS)
        stop.evaluate("(one) => one.blur()")
        assert stop.evaluate(LOOKS) != focused, stop.evaluate(
            "(one) => one.outerHTML.slice(0, 200)"
        )
        stop.evaluate("(one) => one.focus()")
        seen += 1
    assert seen > 20


@pytest.mark.recorded
def test_a_tab_is_a_place_to_come_back_to(visitors):
    visitor = visitors().open("?preset=story&step=3", options=False)
    page = visitor.page
    for name, drawn in (("lab", "#hsd-tab-lab .hf-rules"), ("learn", "#hsd-tab-learn .hf-page")):
        page.click(f"#hsd-tab-{name}-button")
        page.locator(drawn).first.wait_for()
        visitor.until(f"location.search.startsWith('?tab={name}&')")
    opened = "document.querySelector('#hsd-tabs [aria-selected=true]').dataset.tabId"
    page.go_back()
    visitor.until(f"{opened} === 'lab'")
    page.reload()
    page.locator("#hsd-tab-lab .hf-rules").first.wait_for()
    page.go_back()
    visitor.until(f"{opened} === 'watch' && location.search.includes('preset=story')")
    page.go_forward()
    visitor.until(f"{opened} === 'lab'")
    assert page.is_visible("#hsd-tab-lab .hf-rules")


@pytest.mark.recorded
def test_tabs_are_chosen_by_arrow_keys_and_have_one_tab_stop(visitors):
    page = visitors().open(options=False).page
    page.get_by_role("tab", name="Watch").focus()
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("document.activeElement.id") == f"hsd-tab-{TABS[-1]}-button"
    assert page.get_attribute(f"#hsd-tab-{TABS[-1]}-button", "aria-selected") == "true"
    page.keyboard.press("ArrowRight")
    assert page.get_attribute("#hsd-tab-watch-button", "aria-selected") == "true"
    assert page.locator("#hsd-tabs [role=tab][tabindex='0']").count() == 1
    assert page.locator("#hsd-main > [role=tabpanel]:not([hidden])").count() == 1


@pytest.mark.recorded
def test_a_screen_is_loaded_when_its_tab_is_opened_and_nothing_else_is(visitors):
    visitor = visitors()
    paths: list[str] = []
    visitor.page.on("request", lambda request: paths.append(request.url))
    visitor.open(options=False)
    visitor.page.wait_for_load_state("networkidle")
    assert not [
        path for path in paths if "/lab/" in path or "/systems/" in path or "/vendor/" in path
    ]
    visitor.page.click("#hsd-tab-lab-button")
    visitor.page.locator("#hsd-tab-lab .hf-rules").first.wait_for()
    assert [path for path in paths if path.endswith("/lab/lab.css")]
    assert not [path for path in paths if "/systems/" in path]


@pytest.mark.recorded
@pytest.mark.parametrize(
    ("query", "tab"),
    [("tab=compare", "watch"), ("lesson=3", "learn"), ("tab=nothing", "watch"), ("tab=lab", "lab")],
)
def test_links_of_every_age_open_a_tab(visitors, query, tab):
    visitor = visitors()
    visitor.page.goto(f"{visitor.app.url}?{query}&preset=story")
    visitor.until("!document.querySelector('.hsd-opening, .is-opening')")
    assert visitor.page.get_attribute(f"#hsd-tab-{tab}-button", "aria-selected") == "true"
    if tab == "watch":
        assert visitor.page.input_value("#hsd-preset") == "story"


@pytest.mark.recorded
def test_a_screen_that_cannot_be_loaded_is_told_and_can_be_opened_again(visitors):
    visitor = visitors().open(options=False)
    visitor.page.route("**/lab/lab.js", lambda route: route.abort())
    visitor.page.click("#hsd-tab-lab-button")
    assert "could not be loaded" in visitor.alert()
    visitor.page.unroute("**/lab/lab.js")
    visitor.problems.clear()


# Words of another language: half as long again, but for what a translation leaves alone. What is
# cut off then.
LONGER = """() => {
  const words = document.createTreeWalker(document.querySelector("#hsd-app"), NodeFilter.SHOW_TEXT);
  const done = (window.longer ??= new WeakSet());
  while (words.nextNode()) {
    const { currentNode: node } = words;
    if (done.has(node) || node.parentElement.closest("[translate=no], script")) continue;
    done.add(node);
    const longer = (word) => word + word.slice(0, 0.4 * word.length);
    node.data = node.data.replace(/\\p{L}{3,}/gu, longer);
  }
}"""
CUT = """() => [...document.querySelectorAll("#hsd-app *")].filter((one) => {
  const { overflowX, fontSize } = getComputedStyle(one);
  const hides = ["hidden", "clip"].includes(overflowX) && one.clientWidth > 2;
  const seen = one.textContent.trim() && one.checkVisibility() && fontSize !== "0px";
  const exempt = one.closest(".hp-unseen, .hp-phase:not(.is-now), textarea");
  return hides && seen && one.scrollWidth > one.clientWidth + 1 && !exempt;
}).map((one) => `${one.className}: ${one.textContent.slice(0, 40)}`)"""


@pytest.mark.recorded
@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_longer_words_of_another_language_are_not_cut_off(visitors, width, height):
    visitor = visitors(width=width, height=height, reduced_motion="reduce").open(
        "?preset=lighthouse", options=False
    )
    for tab in TABS:
        visitor.page.click(f"#hsd-tab-{tab}-button")
        visitor.page.locator(f"#hsd-tab-{tab} .hp-card").first.wait_for()
        visitor.page.evaluate(LONGER)
        assert visitor.page.evaluate(CUT) == [], tab
        assert visitor.page.evaluate("document.documentElement.scrollWidth") <= width, tab
    texts = "(all) => all.map((one) => one.translate)"
    assert not any(
        visitor.page.locator("#hsd-tab-speed .hf-text, #hsd-tab-speed .hf-asked").evaluate_all(
            texts
        )
    )


@pytest.mark.recorded
def test_page_keys_move_a_full_screen_that_a_key_opened(visitors):
    visitor = visitors().open("?preset=lighthouse", options=False)
    visitor.page.bring_to_front()  # a page behind another one gets no full screen
    visitor.page.keyboard.press("f")
    visitor.until("document.fullscreenElement !== null")
    before = int(visitor.page.input_value(".hp-scrub"))
    visitor.page.keyboard.press("PageUp")
    visitor.until(f"Number(document.querySelector('.hp-scrub').value) === {before - 1}")
    visitor.page.keyboard.press("f")
    visitor.until("document.fullscreenElement === null")
