"""The first screen of somebody who was never here: a step that plays, both rules in a line each,
and little else.
"""

from __future__ import annotations

import re
from urllib.parse import urlencode

import pytest

from hsd.app.presets import of_systems, trace_of
from hsd.facts import glossary

NUMBER = re.compile(r"[≈<>]?\d*\.?\d+(?:·10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?")
SEEN = """(height) => {
  const inside = (box) => box.top < height && box.bottom > 0 && box.width > 1 && box.height > 1;
  const shown = (one) => one.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const words = [];
  while (walker.nextNode()) {
    const text = walker.currentNode;
    const parent = text.parentElement;
    const range = document.createRange();
    range.selectNodeContents(text);
    const unseen = parent.closest(".hp-unseen, .hp-token, script, option, textarea");
    const seen = !unseen && shown(parent) && inside(range.getBoundingClientRect());
    if (seen) words.push(text.textContent);
  }
  const kinds = "button, a[href], input, select, textarea, summary, [tabindex='0']";
  const controls = [...document.querySelectorAll(kinds)].filter((one) =>
    shown(one) && !one.disabled && !one.matches(".hp-unseen, [tabindex='-1']:not([role=tab])") &&
    inside(one.getBoundingClientRect()));
  return [words, controls.map((one) => one.outerHTML.slice(0, 90))];
}"""
SMALL = """(all) => {
  const isText = (node) => node.nodeType === 3 && /\\w/.test(node.data);
  const scale = (e) => e.getScreenCTM?.().d ?? e.currentCSSZoom;
  return all
    .filter((e) => [...e.childNodes].some(isText))
    .filter((e) => e.checkVisibility() && !e.closest(".hp-unseen, option"))
    .map((e) => [parseFloat(getComputedStyle(e).fontSize) * scale(e), e.outerHTML])
    .filter(([size]) => size < 20);
}"""
STILL = {"reduced_motion": "reduce"}


@pytest.mark.core
@pytest.mark.recorded
@pytest.mark.parametrize(
    ("width", "height", "numbers", "controls"), [(1280, 800, 20, 20), (390, 844, 18, 15)]
)
def test_the_first_screen_has_few_numbers_few_controls_and_both_rules(
    visitors, width, height, numbers, controls
):
    visitor = visitors(width=width, height=height, brief=True, **STILL).open(options=False)
    words, found = visitor.page.evaluate(SEEN, height)
    counted = [number for text in words for number in NUMBER.findall(text)]
    assert 3 < len(counted) <= numbers, counted
    assert 5 < len(found) <= controls, found
    strip = visitor.page.locator("#hsd-strip").bounding_box()
    bottom = strip["y"] if strip["y"] > height / 2 else height
    for part in (".hp-lead", ".is-shadow .hp-trial", ".is-own .hp-trial", ".hp-play", ".hf-title"):
        for one in visitor.page.locator(part).all():
            box = one.bounding_box()
            assert box["y"] >= 0
            assert box["y"] + box["height"] <= bottom, part
    lines = visitor.page.locator(".hp-lane-line").all_inner_texts()
    assert lines == [glossary()[rule]["line"] for rule in ("vanilla", "hsd")]
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.core
@pytest.mark.recorded
def test_what_decides_a_cell_stands_in_it(visitors):
    """Masses appear when HSD steps back, and only in the cells that they decide."""
    visitor = visitors(brief=True, **STILL).open(options=False)
    decided = """(cells) => cells.map((cell) => {
      const swatches = cell.querySelectorAll(".is-excess, .is-deficient");
      return [swatches.length, cell.innerText];
    })"""
    cells = visitor.page.locator(".hp-cell-of.is-own.is-lane[data-node]").evaluate_all(decided)
    prefixes = [text for swatches, text in cells if swatches]
    assert prefixes
    assert all(swatches in (0, 4) for swatches, _ in cells), "a bar and a word for each mass"
    assert all("lack ÷" in text and "coin" in text for text in prefixes)
    for text in prefixes:
        little, much, _, threshold = map(float, re.findall(r"(?<!\d)(?:0?\.\d+|\d+)", text)[-4:])
        assert f"{little / much:.2f}" == f"{threshold:.2f}", (
            "the quotient of what is printed is what is printed"
        )
    assert "p/q of the whole draft" in cells[-1][1]
    assert visitor.page.locator(".is-shadow .is-excess, .is-shadow .is-deficient").count() == 0
    assert visitor.page.locator(".is-none .hp-gauge").count() == 0, "no line where no test was made"


@pytest.mark.recorded
def test_a_cell_of_a_token_that_passes_by_divergence_says_so(visitors):
    """A threshold of 1 is nothing that its coin explains."""
    visitor = visitors(brief=True, **STILL).open("?preset=fsd-sum", options=False)
    last = visitor.page.locator(".is-own.is-lane .hp-trial").last.inner_text()
    divergence, tolerance = map(float, re.search(r"D (\S+) ≤ T (\S+)", last).groups())
    trace = trace_of(of_systems()["fsd-sum"])
    exact = trace.steps[visitor.state["step"]].divergences[-1]
    assert (divergence, tolerance) == pytest.approx(
        (exact, trace.setup.options.fuzzy.tolerance), rel=0.05
    )
    assert "coin" in last


@pytest.mark.recorded
def test_a_threshold_just_below_1_reads_as_a_number_beside_its_coin(visitors):
    visitor = visitors(brief=True, **STILL).open("?preset=lighthouse&at_step=28", options=False)
    compared = visitor.page.locator(".hp-trial-words").all_inner_texts()
    assert any("coin .77 < ≈1" in words for words in compared)
    assert not [words for words in compared if re.search("[<≥] *[<>]", words)]


@pytest.mark.core
@pytest.mark.recorded
def test_it_plays_once_by_itself_and_the_first_touch_stops_it(visitors):
    visitor = visitors(brief=True).open(options=False)
    step = visitor.state["step"]
    visitor.until("document.querySelector('.hp-phase.is-now')?.dataset.phase === 'draft'")
    visitor.until("document.querySelector('.hp-play').getAttribute('aria-pressed') === 'true'")
    visitor.page.mouse.click(640, 300)
    visitor.until("document.querySelector('.hp-play').getAttribute('aria-pressed') === 'false'")
    assert visitor.state["step"] == step
    visitor.page.locator(".hp-scrub").evaluate(
        "(e) => { e.value = e.max - 1; e.dispatchEvent(new Event('input')); }"
    )
    visitor.page.evaluate("document.activeElement.blur()")
    visitor.page.keyboard.press("ArrowRight")  # keys work though nothing has the focus
    visitor.until("document.querySelector('.hf-player').dataset.phase === 'commit'")


@pytest.mark.core
@pytest.mark.recorded
def test_nothing_plays_by_itself_for_those_who_want_no_motion_or_come_by_a_link(visitors):
    for query, options in (("", STILL), ("?preset=story", {})):
        visitor = visitors(brief=True, **options).open(query, options=False)
        assert visitor.page.get_attribute(".hp-play", "aria-pressed") == "false"
        assert visitor.page.get_attribute(".hf-player", "data-phase") == "commit"


@pytest.mark.core
@pytest.mark.recorded
def test_the_whole_board_is_one_button_away_and_stays(visitors):
    visitor = visitors(brief=True, **STILL).open(options=False)
    visitor.page.get_by_role("button", name="Every number").click()
    assert visitor.page.locator(".is-masses .hp-level").count() > 3
    assert visitor.page.is_visible(".hf-chips")
    visitor.open("?preset=story", options=False)
    assert visitor.page.locator(".is-brief").count() == 0
    visitor.page.get_by_role("button", name="First look").click()
    visitor.page.locator(".is-brief").wait_for()
    visitor.open(options=False)
    assert visitor.page.locator(".is-brief").count() == 1
    visitor.page.evaluate("localStorage.clear()")


@pytest.mark.recorded
def test_a_link_to_a_what_if_shows_the_whole_board(visitors):
    visitor = visitors(brief=True, **STILL).open(
        "?" + urlencode({"preset": "story", "judge": "tokenwise"}), options=False
    )
    assert visitor.page.locator(".is-brief").count() == 0


@pytest.mark.core
@pytest.mark.recorded
def test_play_is_among_the_first_tab_stops(visitors):
    visitor = visitors(brief=True, **STILL).open(options=False)
    names = []
    for _ in range(5):
        visitor.page.keyboard.press("Tab")
        names.append(visitor.page.evaluate("document.activeElement.textContent"))
        if "Play" in names[-1]:
            break
    assert "Play" in names[-1], names
    visitor.page.keyboard.press("Enter")
    visitor.until("document.querySelector('.hp-play').getAttribute('aria-pressed') === 'true'")


@pytest.mark.core
@pytest.mark.recorded
def test_no_number_is_heard_without_its_token_and_no_token_is_translated(visitors):
    visitor = visitors(brief=True, **STILL).open(options=False)
    texts = visitor.page.locator(".hp-cell-of[data-node]").evaluate_all(
        "(all) => all.map((e) => e.textContent)"
    )
    tokens = visitor.page.locator(".hp-guess:not(.is-root) .hp-token").evaluate_all(
        "(all) => all.map((e) => e.title)"
    )
    assert len(texts) == 4 * len(tokens)
    assert all(text.startswith(f"{tokens[i % len(tokens)]}: ") for i, text in enumerate(texts))
    translated = "(all) => all.filter((one) => one.translate).length"
    assert visitor.page.locator(".hp-token, .hp-flow, textarea").evaluate_all(translated) == 0


@pytest.mark.recorded
@pytest.mark.parametrize(("preset", "said"), [("cat", True), ("released", False)])
def test_that_texts_keep_the_law_is_said_of_lossless_rules_alone(visitors, preset, said):
    visitor = visitors(brief=True, **STILL).open(f"?preset={preset}", options=False)
    visitor.page.locator(".hf-sentence").wait_for()
    assert ("as likely as" in visitor.page.inner_text(".hf-sentence")) == said
    visitor.page.locator("#hsd-tabs").get_by_text("Lab", exact=True).click()
    # the outcomes of a rule, whatever Watch shows
    visitor.page.locator("#hsd-tab-lab ol.hf-law").wait_for()
    # rules that are not lossless stand there too
    assert "as likely as" not in visitor.page.inner_text(".hf-sentence")


@pytest.mark.recorded
def test_on_a_phone_a_prompt_is_legible_beside_what_is_changed(visitors):
    visitor = visitors(width=390, height=844).open(options=False)
    box = visitor.page.locator("#hsd-prompt textarea")
    box.fill("One line,\nand a second one that is longer than the box")
    visitor.page.locator("#hsd-strip[data-changed]").wait_for()
    assert box.bounding_box()["width"] > 150


@pytest.mark.recorded
@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_run_stays_under_the_pointer_while_a_prompt_of_several_lines_folds(visitors, width, height):
    page = visitors(width=width, height=height).open(options=False).page
    if not page.locator("#hsd-run").is_visible():
        return  # nothing is decoded without a server
    page.fill("#hsd-prompt textarea", "One line,\na second one,\nand a third")
    before = page.locator("#hsd-run").bounding_box()
    page.locator("#hsd-prompt textarea").blur()
    assert page.locator("#hsd-run").bounding_box() == before


@pytest.mark.recorded
def test_the_line_over_a_run_moves_nothing_when_it_wraps(visitors):
    visitor = visitors().open("?preset=story", options=False)
    top = visitor.page.locator(".hf-player").bounding_box()["y"]
    visitor.page.locator(".hf-outcome").evaluate(
        "(line) => line.append(...line.cloneNode(true).children)"
    )
    ends = visitor.page.locator(".hf-outcome-part").evaluate_all(
        "(all) => all.map((e) => e.offsetTop)"
    )
    assert len(set(ends)) == 2, "two lines"
    assert visitor.page.locator(".hf-player").bounding_box()["y"] == top


@pytest.mark.recorded
def test_the_line_over_a_run_covers_no_button_beside_the_options(visitors):
    page = visitors().open("?preset=story").page
    strip = page.locator("#hsd-strip").bounding_box()
    tops = page.locator(".hf-outcome-part").evaluate_all(
        "(all) => all.map((e) => e.getBoundingClientRect().top)"
    )
    assert min(tops) >= strip["y"] + strip["height"]


@pytest.mark.recorded
def test_a_race_fills_a_screen_before_a_room(visitors):
    page = visitors(width=1920, height=1080, **STILL).open("?tab=speed").page
    page.get_by_role("button", name="Full screen").last.click()
    page.wait_for_function("document.fullscreenElement?.matches('#hsd-tab-speed *')")
    assert page.locator("#hsd-tab-speed :fullscreen *").evaluate_all(SMALL) == []
    page.evaluate("document.exitFullscreen()")


@pytest.mark.recorded
def test_a_full_screen_before_a_room_is_large_and_a_clicker_moves_it(visitors):
    visitor = visitors(brief=True, width=1920, height=1080, **STILL)
    for preset in (
        "stack-three",
        "hispec-trained",
        "fsd-sum",
        "eagle-chosen",
        "drafts-traversal",
        "",
    ):
        visitor.open(f"?preset={preset}" if preset else "", options=False)
        visitor.page.evaluate("document.querySelector('.hf-player').classList.add('is-maximised')")
        assert visitor.page.locator(".hf-player *").evaluate_all(SMALL) == [], preset
        bar = visitor.page.locator(".hp-transport").bounding_box()
        assert bar["y"] + bar["height"] <= 1080, "what plays it is in sight"
    board = visitor.page.locator(".hp-board").bounding_box()
    assert board["y"] + board["height"] <= bar["y"], "nothing of the first look is covered"
    visitor.page.locator(".hf-player").focus()
    visitor.page.keyboard.press("PageUp")
    visitor.until("document.querySelector('.hf-player').dataset.phase === 'own'")
    visitor.page.keyboard.press("PageDown")
    visitor.until("document.querySelector('.hf-player').dataset.phase === 'commit'")
