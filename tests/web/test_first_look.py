"""The first screen of somebody who was never here: a step that plays, both rules in a line each,
and little else.
"""

from __future__ import annotations

import re
from urllib.parse import urlencode

import pytest

from hsd.app import race
from hsd.app.presets import of_systems, trace_of
from hsd.facts import glossary

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
@pytest.mark.parametrize(("width", "height", "controls"), [(1280, 800, 22), (390, 844, 15)])
def test_the_first_screen_has_few_controls_and_both_rules(visitors, width, height, controls):
    visitor = visitors(width=width, height=height, brief=True, **STILL).open(options=False)
    _, found = visitor.page.evaluate(SEEN, height)
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
    """Each number that decides is printed, and what is printed of it is true."""
    visitor = visitors(brief=True, **STILL).open(options=False)
    cells = visitor.page.locator(".is-own.is-lane[data-node]:not(.hp-row-name)").all_inner_texts()
    due = 100.0
    for text in cells:
        before, ratio, after = map(
            float, re.search(r"([\d.]+) × ([\d.]+) → ([\d.]+) due", text).groups()
        )
        assert before == due
        assert f"{before * ratio:.2g}" == f"{after:.2g}"
        due = after
    tested = [text for text in cells if "deficient ÷ excess" in text]
    assert tested
    for text in tested:
        stay, back, share = map(
            float, re.search(r"= ([\d.]+) ÷ ([\d.]+) = ([\d.]+)", text).groups()
        )
        assert f"{stay / back:.2f}" == f"{share:.2f}"
        assert f"< {share:.2f}".replace("0.", ".") in text
    assert "the whole draft" in cells[-1]
    first = visitor.page.locator(".is-shadow.is-lane[data-node='1']").inner_text()
    p, q = map(float, re.search(r"p ÷ q = ([\d.]+) ÷ ([\d.]+)", first).groups())
    assert f"≥ {p / q:.2f}".replace("0.", ".") in first
    assert visitor.page.locator(".is-shadow .hp-due").count() == 0
    assert visitor.page.locator(".is-none .hp-gauge").count() == 0, "no line where no test was made"


@pytest.mark.core
@pytest.mark.recorded
def test_the_masses_are_counted_and_seen_to_move(visitors):
    """A dot for each of 100 drafts; they come back and settle one after another."""
    visitor = visitors(brief=True, **STILL).open(options=False)
    counts = visitor.page.locator(".hp-board .hp-counts")
    dots = [counts.locator(f".hp-dots.is-{name} i").count() for name in ("on", "stay", "leave")]
    assert sum(dots) == 100
    told = counts.locator(".hp-counts-sentence").inner_text()
    on, back, stay = (
        int(re.search(rf"(\d+) {word}", told)[1]) for word in ("go on", "come", "are")
    )
    assert (on, back, stay) == (dots[0], dots[1] + dots[2], dots[1])
    settled = counts.locator(".is-settled").count
    assert settled() == 2
    rail = visitor.page.get_by_role("slider", name="the phases of this step")
    seen = []
    for _ in range(4):
        rail.press("ArrowLeft")
        seen.append((counts.locator(".is-returned").count(), settled()))
    assert seen == [(2, 2), (2, 0), (0, 0), (0, 0)]
    assert not counts.is_visible(), "before the masses there is none"


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
    visitor.until("document.querySelector('.hf-player').dataset.phase === 'counts'")
    visitor.page.keyboard.press("PageDown")
    visitor.until("document.querySelector('.hf-player').dataset.phase === 'commit'")


EAGER = """new MutationObserver((_, watch) => {
  const run = document.querySelector("#hsd-run");
  if (!run) return;
  watch.disconnect();
  document.querySelector("#hsd-prompt textarea").value = "Once upon a time";
  run.click();
}).observe(document, { childList: true, subtree: true });"""


def test_run_that_is_pressed_before_any_script_is_there_runs_what_was_typed(chromium, app):
    context = chromium.profile(bypass_csp=True, brief=True)
    page = context.new_page()
    page.add_init_script(EAGER)
    page.goto(app.url)
    page.locator(".hf-source", has_text="live").wait_for(state="attached")
    assert page.locator("#hsd-prompt textarea").input_value() == "Once upon a time"
    context.close()


@pytest.mark.recorded
def test_the_draft_tree_is_one_click_from_the_first_look(visitors):
    visitor = visitors(brief=True, **STILL).open(options=False)
    visitor.page.get_by_role("button", name="Draft tree").click()
    visitor.page.locator(".hp-tree .hp-node").first.wait_for()


@pytest.mark.recorded
def test_before_a_room_the_film_waits_and_asks(visitors):
    """At a width of 1920 nothing is below 20 pixels, and a key moves on by one sentence."""
    visitor = visitors(brief=True, width=1920, height=1080).open("?present=1", options=False)
    page = visitor.page
    assert not page.locator(".hf-top").is_visible()
    phase = "document.querySelector('.hf-player').dataset.phase"
    seen = [page.evaluate(phase)]
    while seen[-1] != "commit":
        page.keyboard.press("Space")
        seen.append(page.evaluate(phase))
        if seen[-1] == "ask":
            assert "How many of the 3 does vanilla keep?" in page.locator(".hp-lead").inner_text()
    assert list(dict.fromkeys(seen)) == [
        "draft",
        "target",
        "ratio",
        "ask",
        "shadow",
        "own",
        "counts",
        "commit",
    ]
    assert page.locator(".hf-player *").evaluate_all(SMALL) == []
    bar = page.locator(".hp-transport").bounding_box()
    assert bar["y"] + bar["height"] <= 1080
    for tab in ("speed", "lab"):
        visitor.open(f"?tab={tab}&present=1", options=False)
        assert page.locator(f"#hsd-tab-{tab} > *").evaluate_all(SMALL) == []
        assert not page.locator("#hsd-tabs").is_visible()


@pytest.mark.recorded
def test_the_speeds_of_the_shown_pair_stand_in_the_head(visitors):
    visitor = visitors(brief=True, **STILL).open("?preset=cat", options=False)
    speeds = race.speeds()["smollm2"]
    shown = visitor.page.locator(".hf-speeds").inner_text()
    for lane in speeds["lanes"]:
        assert f"{lane['times']:.2f} ×" in shown
    assert speeds["processor"].replace("(R)", "").replace(" Processor", "") in shown
    visitor.open("?preset=story", options=False)
    assert visitor.page.locator(".hf-speeds").inner_text() == "", "nothing measured, nothing said"
