"""A step as a picture: all that the board says is in it and can be read, in every kind of file that
is offered.
"""

from __future__ import annotations

import io
import itertools
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image, ImageChops, ImageStat
from player_page import Stage, page, step_where
from web_page import show

ADDRESS = "https://example.org/page?preset=words&step=3"
WRITTEN = """(list) => list.flatMap((element) => [...element.childNodes])
  .filter((node) => node.nodeType === 3 && !node.parentElement.closest("option, .hp-unseen"))
  .filter(({ parentElement: at }) => at.checkVisibility({ visibilityProperty: true }))
  .map((node) => node.data)"""
COVERED = """(svg) => {
  document.body.innerHTML = svg;
  document.body.style.padding = 0;
  for (const text of document.querySelectorAll("text")) text.style.pointerEvents = "bounding-box";
  const hidden = (text) => {
    const { x, y, width, height } = text.getBoundingClientRect();
    const at = (share) => document.elementFromPoint(x + share * width, y + height / 2);
    return [0.1, 0.5, 0.9].some((share) => at(share) !== text);
  };
  const struck = (text) => text.matches("[stroke-width]:not([stroke=none], [paint-order=stroke])");
  return [...document.querySelectorAll("text")]
    .filter((text) => /[\\p{L}\\p{N}]/u.test(text.textContent) && (hidden(text) || struck(text)))
    .map((text) => text.textContent);
}"""


@pytest.fixture(params=["light", "dark"])
def shown(chromium, request: pytest.FixtureRequest, trace: dict) -> Iterator[Stage]:
    """A player at a step where the two rules differ."""
    stage = Stage(chromium, bypass_csp=True)
    show(stage.page, page(request.param == "dark"))
    stage.page.wait_for_function("window.hsdPlayer")
    stage.page.evaluate(
        """([trace, address]) => {
          const options = { link: () => address, address: () => address };
          window.player = window.hsdPlayer.create(document.getElementById("one"), options);
          player.load(trace, { step: 0 });
        }""",
        [trace, ADDRESS],
    )
    stage.go(step_where(trace, lambda s: s["kept"] != s["shadow"]["kept"]))
    yield stage
    stage.close()


def saved(stage: Stage, kind: str) -> bytes:
    with stage.page.expect_download() as download:
        stage.page.get_by_role("button", name=kind, exact=True).click()
    assert download.value.suggested_filename.endswith(
        f"-step{stage.state()['step'] + 1}.{kind.lower()}"
    )
    return Path(download.value.path()).read_bytes()


def words(texts: list[str]) -> Counter[str]:
    return Counter(word for text in texts for word in text.split())


def test_a_film_shows_the_draft_the_targets_pass_and_both_rules_move_by_move(shown: Stage):
    moves = int(shown.page.get_attribute(".hp-scrub", "max") or 0) + 1
    film = Image.open(io.BytesIO(saved(shown, "GIF")))
    pictures = []
    pauses = []
    for i in range(film.n_frames):
        film.seek(i)
        pictures.append(film.convert("RGB"))
        pauses.append(film.info["duration"])
    assert len(pictures) == moves > 8
    assert all(
        first.tobytes() != second.tobytes() for first, second in itertools.pairwise(pictures)
    )
    assert min(pauses) >= 900, "long enough to be read"
    assert pauses[-1] == max(pauses)
    assert shown.page.get_attribute("#one", "data-phase") == "commit", (
        "what was on the screen is there again"
    )
    still = Image.open(io.BytesIO(saved(shown, "PNG"))).convert("RGB").resize(pictures[-1].size)
    apart = ImageStat.Stat(ImageChops.difference(still, pictures[-1])).mean
    before = ImageStat.Stat(ImageChops.difference(still, pictures[0])).mean
    assert max(apart) < 4 < min(before), "the film ends as the picture"


def test_every_number_of_the_lanes_is_in_the_drawing_and_none_is_painted_over(
    shown: Stage, trace: dict
):
    on_board = words(shown.page.eval_on_selector_all(".hp-board-grid *", WRITTEN))
    numbers = Counter({word: n for word, n in on_board.items() if re.search(r"\d", word)})
    drafted = trace["steps"][shown.state()["step"]]["drafted"]
    assert sum(numbers.values()) > 8 * drafted, "chances, masses, tests, what is kept"
    drawing = saved(shown, "SVG").decode()
    texts = [
        text.text or "" for text in ET.fromstring(drawing).iter("{http://www.w3.org/2000/svg}text")
    ]
    assert not on_board - words(texts)
    assert not re.search(r"var\(|color\(|NaN|undefined", drawing)
    assert not shown.page.evaluate(COVERED, drawing)


def test_a_number_behind_a_box_or_its_own_outline_is_noticed(shown: Stage):
    text = '<text x="20" y="30" {}>.40</text>'
    whole = '<svg xmlns="http://www.w3.org/2000/svg" width="90" height="60">{}</svg>'
    outline = 'stroke="#fff" stroke-width="3px"'
    bad = [text.format("") + '<rect width="90" height="60" fill="#fff"/>', text.format(outline)]
    assert [shown.page.evaluate(COVERED, whole.format(one)) for one in bad] == [[".40"], [".40"]]
    good = text.format(f'{outline} paint-order="stroke"')
    assert shown.page.evaluate(COVERED, whole.format(good)) == []


def test_a_picture_says_what_happened_to_which_prompt_what_made_it_and_where_it_is(
    shown: Stage, trace: dict
):
    drawing = ET.fromstring(saved(shown, "SVG"))
    said = " ".join(text.text or "" for text in drawing.iter("{http://www.w3.org/2000/svg}text"))
    assert f"step {shown.state()['step'] + 1}: {shown.text('.hp-lead')}" in said
    assert f"Prompt: {trace['prompt']['text']} Text so far:" in said
    options = trace["setup"]["options"]
    for setting in (
        "HSD",
        f"γ {options['draft']['gamma']}",
        "temperature 1",
        f"seed {options['seed']}",
        "words: target",
    ):
        assert setting in said
    assert ADDRESS in said


def test_the_picture_as_pixels_is_twice_as_large_and_not_blank(shown: Stage):
    box = [float(number) for number in ET.fromstring(saved(shown, "SVG")).attrib["viewBox"].split()]
    picture = Image.open(io.BytesIO(saved(shown, "PNG"))).convert("RGB")
    assert picture.size == (2 * box[2], 2 * box[3])
    assert picture.width > 2000
    colours = sorted(picture.getcolors(1 << 24) or [], reverse=True)
    assert len(colours) > 200
    assert colours[0][0] < 0.95 * picture.width * picture.height, "more than its background"
    dark = shown.page.evaluate("document.documentElement.classList.contains('dark')")
    assert (sum(colours[0][1]) < 300) == dark


def test_a_printed_step_has_its_board_and_no_controls(shown: Stage):
    """Where the browser saves it as a PDF its text stays text; what is folded up or pressed is not
    on it.
    """
    shown.page.emulate_media(media="print")
    assert shown.page.is_visible(".hp-board")
    assert shown.page.is_visible(".hp-lead")
    for control in (".hp-tools", ".hp-transport", ".hp-toast", ".hp-fold summary"):
        assert not shown.page.locator(control).first.is_visible(), control
    pdf = shown.page.pdf(landscape=True, print_background=True)
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 2
    assert re.search(rb"/Type\s*/Font\b", pdf)
    shown.page.emulate_media(media="screen")
    assert shown.page.is_visible(".hp-transport")
