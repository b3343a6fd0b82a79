"""What is passed on opens where it was: links with another rule or other coins, and frames in other
pages.
"""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

CLIPBOARD = ["clipboard-read", "clipboard-write"]
OUTSIDE = """() => {
  const inside = ({ left, top, right, bottom }) =>
    left >= 0 && top >= 0 && right <= innerWidth + 0.5 && bottom <= innerHeight + 0.5;
  const board = document.querySelector(".hp-board").getBoundingClientRect();
  const lanes = ".hp-board-grid > *, .hp-board-grid :is(.hp-trial-words, .hp-lane-keeps)";
  const others = ".hp-transport :is(button, select, .hp-cells), .hp-lead, .hf-whole";
  const below = (part, box) => part.closest(".hp-board") && box.bottom > board.bottom;
  return [...document.querySelectorAll(`${lanes}, ${others}`)]
    .filter((part) => part.checkVisibility())
    .map((part) => [part, part.getBoundingClientRect()])
    .filter(([part, box]) => !inside(box) || below(part, box))
    .map(([part, { left, top, right, bottom }]) =>
      `${part.className} ${part.textContent} ${left} ${top} ${right} ${bottom}`);
}"""


def copied(visitor, name: str) -> str:
    visitor.page.evaluate("navigator.clipboard.writeText('nothing')")
    visitor.page.get_by_role("button", name=name, exact=True).click()
    visitor.page.wait_for_function(
        "navigator.clipboard.readText().then((text) => text !== 'nothing')"
    )
    return visitor.page.evaluate("navigator.clipboard.readText()")


def lanes(visitor) -> str:
    return visitor.page.inner_text(".hp-board-grid")


@pytest.mark.recorded
def test_a_link_opens_the_rule_and_the_coins_that_were_supposed(visitors):
    visitor = visitors(permissions=CLIPBOARD).open("?preset=story&step=3", options=False)
    visitor.until("window.__hsd.step === 3")
    as_it_was = lanes(visitor)
    visitor.page.select_option(".hp-lane-rule", "blockwise")
    coin = visitor.page.locator(".is-own .hp-gauge[data-coin] .hp-gauge-coin").first.bounding_box()
    visitor.page.mouse.move(coin["x"] + 8, coin["y"] + 8)
    visitor.page.mouse.down()
    visitor.page.mouse.move(coin["x"] + 90, coin["y"] + 8, steps=4)
    visitor.page.mouse.up()
    visitor.until(
        "location.search.includes('judge=blockwise') && location.search.includes('coins=')"
    )
    link = copied(visitor, "Copy link")
    assert link == visitor.page.url
    other = visitors()
    other.open("?" + urlsplit(link).query, options=False)
    other.until("location.search.includes('coins=')")
    assert lanes(other) == lanes(visitor) != as_it_was
    assert other.page.inner_text(".hp-lead") == visitor.page.inner_text(".hp-lead")
    other.page.locator(".hp-back").click()
    assert lanes(other) == as_it_was
    other.until("!location.search.includes('coins=')")


@pytest.mark.parametrize(
    "query", ["judge=nonsense", "judge=hsd&coins=99:.5,1:7,x", "coins=1:1e9;drop"]
)
@pytest.mark.recorded
def test_a_link_that_supposes_nonsense_opens_what_happened(visitors, query: str):
    visitor = visitors().open(f"?preset=story&step=3&{query}", options=False)
    visitor.until("window.__hsd.step === 3")
    assert visitor.page.locator(".is-what-if").count() == 0


@pytest.mark.recorded
@pytest.mark.parametrize("preset", ["lighthouse", "story", "released"])
@pytest.mark.parametrize(("width", "height"), [(850, 450), (600, 400)])
def test_a_frame_shows_lanes_and_controls_of_every_step_without_scrolling(
    visitors, width, height, preset
):
    frame = visitors(width=width, height=height).open(f"?preset={preset}&embed=1", options=False)
    page = frame.page
    page.locator(".hf-player").focus()
    page.keyboard.press("Home")
    steps = frame.state["steps"]
    for step in range(steps):
        frame.until(f"window.__hsd.step === {step}")
        if page.is_visible(".hp-board"):
            assert page.evaluate(OUTSIDE) == [], f"step {step}"
        assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
        page.keyboard.press("Shift+ArrowRight")


@pytest.mark.recorded
def test_a_frame_of_several_drafts_shows_their_tree_and_the_controls(visitors):
    frame = visitors(width=600, height=400).open(
        "?preset=four-drafts&embed=1", options=False, folded=True
    )
    frame.until("document.querySelector('.hp-treebox').clientHeight > 150")
    tree, play = (frame.page.locator(css).bounding_box() for css in (".hp-treebox", ".hp-play"))
    assert tree["y"] + tree["height"] <= play["y"]
    assert play["y"] + play["height"] <= 400


@pytest.mark.recorded
def test_a_frame_can_do_without_controls_and_with_one_lane_in_a_theme_of_its_own(visitors):
    address = "?preset=lighthouse&step=16&embed=1&controls=0&lanes={}&theme=dark"
    for lanes, hidden, seen in (("own", "shadow", "own"), ("other", "own", "shadow")):
        page = visitors(width=850, height=450).open(address.format(lanes), options=False).page
        page.locator(f".hp-board .is-lane.is-{seen}").first.wait_for()
        assert page.locator(f".hp-board .is-lane.is-{hidden}:visible").count() == 0
        assert page.is_hidden(".hp-transport")
        assert page.evaluate("document.documentElement.classList.contains('dark')")


@pytest.mark.recorded
def test_a_frame_leads_to_the_page_at_the_step_that_it_shows(visitors):
    visitor = visitors(permissions=CLIPBOARD).open("?preset=story&step=3", options=False)
    visitor.until("window.__hsd.step === 3")
    visitor.page.select_option(".hp-lane-rule", "blockwise")
    code = copied(visitor, "Embed")
    frame = visitors(width=600, height=400)
    frame.open("?" + urlsplit(code.split('src="')[1].split('"')[0]).query, options=False)
    assert lanes_of(frame) == lanes_of(visitor)
    frame.page.locator(".hf-player").focus()
    frame.page.keyboard.press("Shift+ArrowRight")
    frame.until("document.querySelector('.hf-whole').search.includes('at_step=5')")
    assert frame.page.evaluate("location.search.includes('at_step=4')"), (
        "a frame keeps its own address"
    )
    link = frame.page.get_attribute(".hf-whole", "href")
    assert {"preset": ["story"], "at_step": ["5"], "judge": ["blockwise"]}.items() <= parse_qs(
        urlsplit(link).query
    ).items()
    assert "embed" not in link
    whole = visitors().open("?" + urlsplit(link).query, options=False)
    whole.until("window.__hsd.step === 4")
    assert whole.page.is_visible(".hp-tools")
    assert not whole.page.is_visible(".hf-whole")
    assert lanes_of(whole) == lanes_of(frame)


def lanes_of(visitor) -> list[str]:
    """The words under each token: they are the same at every width."""
    return visitor.page.eval_on_selector_all(
        ".hp-trial-words", "(all) => all.map((one) => one.textContent)"
    )


@pytest.mark.recorded
def test_a_frame_that_asks_for_a_first_look_has_one(visitors):
    query = "?preset=story&at_step=4&embed=1"
    frame = visitors(width=850, height=540, brief=True).open(f"{query}&board=first", options=False)
    assert frame.page.locator(".is-brief").count() == 1
    assert frame.page.evaluate(OUTSIDE) == []
    whole = visitors(width=850, height=540, brief=True).open(query, options=False)
    assert whole.page.locator(".is-brief").count() == 0
