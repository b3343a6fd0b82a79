"""What is seen before the page runs: its first step as a picture in it, and a card where a link to
it is shared.
"""

from __future__ import annotations

import dataclasses
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from PIL import Image
from running_app import Files
from web_page import Browser

from hsd import HsdError, Trace, space
from hsd.app import device, page
from hsd.app.export import write
from hsd.app.presets import definitions
from hsd.app.site import site
from hsd.paths import TRACES

SPACE = space.load()
HOW = "python examples/reproduce/first_picture.py makes it again"
PARTS = (".hp-story", ".hp-board", ".hp-transport")
WORDS = """(parts) => {
  const words = (part) => [part, document.querySelector(part).innerText];
  return Object.fromEntries(parts.map(words));
}"""
BOXES = """(parts) => parts.map((part) => {
  const { x, y, width, height } = document.querySelector(part).getBoundingClientRect();
  return [part, x, y, width, height].map((n) => Math.round(n) || n);
})"""
READY = "window.__hsd?.ready && !document.querySelector('.hf-first, .is-opening')"


def opened(chromium: Browser, url: str, width: int = 1280, scripts: bool = True, **options: object):
    """A page of its own in which modules are held back unless scripts is true."""
    context = chromium.profile(width, bypass_csp=True, brief=True, **options)
    visit = context.new_page()
    if not scripts:
        visit.route("**/page.js", lambda route: route.abort())
    visit.goto(url, wait_until="load")
    if scripts and options.get("java_script_enabled", True):
        visit.wait_for_function(READY)
    return visit


@pytest.mark.parametrize("width", [1280, 390])
def test_the_first_step_is_seen_before_any_script_and_nothing_moves_when_they_come(
    chromium, served: Files, width: int
):
    before = opened(chromium, served.url, width, scripts=False)
    assert before.is_visible(".hf-first .hp-board")
    after = opened(chromium, served.url, width)
    assert after.locator(".hf-first").count() == 0
    parts = [".hp-text", *PARTS]
    assert before.evaluate(BOXES, parts) == after.evaluate(BOXES, parts), HOW
    for visit in (before, after):
        visit.context.close()


def test_the_picture_says_what_the_player_says(chromium, served: Files):
    """Also where there are no scripts at all."""
    plain = opened(chromium, served.url, java_script_enabled=False)
    assert plain.locator(".hf-first .hp-board").is_visible()
    live = opened(chromium, served.url, reduced_motion="reduce")
    shown = live.evaluate(WORDS, PARTS)
    for part in PARTS:
        assert plain.locator(part).inner_text().split() == shown[part].split(), HOW
    trace = Trace.from_file(definitions()[SPACE.presets[0]].file)
    drafted = {node.piece.strip() for node in trace.steps[live.evaluate("window.__hsd.step")].nodes}
    assert all(
        piece in plain.locator(".hp-board").inner_text() for piece in drafted if piece.isalnum()
    )
    for visit in (plain, live):
        visit.context.close()


@pytest.mark.parametrize(
    "query", ["?preset=story&step=3", "?tab=lab", "?prompt=Once", "#trace=abc"]
)
def test_the_picture_is_not_shown_where_the_address_asks_for_something_else(
    chromium, served: Files, query: str
):
    visit = opened(chromium, served.url + query, scripts=False)
    assert visit.locator(".hf-first").count() == 1
    assert not visit.is_visible(".hf-first .hp-board")
    visit.context.close()


def test_a_picture_of_another_run_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    def index(manifest: space.Space, trace: Trace | None = None) -> str:
        return site(manifest, "files", trace)["index.html"]().decode()

    assert "hf-first" in index(SPACE)
    assert "hf-first" not in index(SPACE, Trace.from_file(TRACES / "story.json")), (
        "it is opened first"
    )
    assert "hf-first" not in index(SPACE.model_copy(update={"presets": ["story", *SPACE.presets]}))
    assert 'class="hf-first"' not in page.template()
    first = definitions()[SPACE.presets[0]]
    assert page.mark_of(first) in page.FIRST.read_text(), HOW
    assert page.mark_of(dataclasses.replace(first, name="story")) != page.mark_of(first)
    monkeypatch.setattr(page, "FIRST", tmp_path / "none.html")
    assert "hf-first" not in index(SPACE)


# ---- the card


def named(text: str) -> dict[str, str]:
    """What the head of a page says of it, by name."""
    found: dict[str, str] = {}

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
            told = {name: value or "" for name, value in attributes}
            name = told.get("property", told.get("name", ""))
            if tag == "meta" and name.startswith(("og:", "twitter:")):
                found[name] = told["content"]

    Reader().feed(text)
    return found


def test_a_page_whose_address_is_known_names_its_card():
    at = "https://example.org/a/page/"
    head = named(site(SPACE, "files", address=at)["index.html"]().decode())
    assert (head["og:title"], head["og:description"]) == (SPACE.title, SPACE.short_description)
    assert (head["og:url"], head["twitter:card"]) == (at, "summary_large_image")
    assert head["og:image"].removeprefix(at) in site(SPACE, "files"), "the site has that file"
    assert (head["og:image:width"], head["og:image:height"]) == ("1200", "630")
    nowhere = named(site(SPACE, "files")["index.html"]().decode())
    assert nowhere.keys() == {"og:type", "og:title", "og:description", "twitter:card"}
    hostile = site(SPACE, "files", address='https://x/"><script>')["index.html"]().decode()
    assert "<script>" not in hostile.partition("<body")[0].replace('<script src="', "")


def test_the_card_is_a_picture_of_the_usual_size_and_not_blank():
    with Image.open(page.CARD) as card:
        assert card.size == page.CARD_SIZE == (1200, 630)
        assert len(card.convert("RGB").getcolors(1 << 24) or []) > 500
    assert page.CARD.stat().st_size < 200_000


@pytest.mark.parametrize(
    ("variable", "value", "address"),
    [
        ("SPACE_HOST", "someone-page.hf.space", "https://someone-page.hf.space/"),
        ("GRADIO_ROOT_PATH", "https://example.org/hsd", "https://example.org/hsd/"),
        ("GRADIO_ROOT_PATH", "/hsd", ""),
    ],
)
def test_an_app_knows_its_address_from_its_surroundings(
    monkeypatch, variable: str, value: str, address: str
):
    for name in ("SPACE_HOST", "GRADIO_ROOT_PATH"):
        monkeypatch.delenv(name, raising=False)
    assert device.public_address() == ""
    monkeypatch.setenv(variable, value)
    assert device.public_address() == address


@pytest.mark.parametrize(
    "address", ["example.org", "javascript:alert(1)", "https://", "https://a b/", "https://x/?y"]
)
def test_an_address_that_is_none_is_refused_in_one_line(tmp_path: Path, address: str):
    with pytest.raises(HsdError, match="is no address of a page") as refused:
        write(tmp_path / "page", SPACE, address)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "page").exists()


def test_a_static_space_has_the_address_of_its_name():
    assert space.static_address("Some_One/My.Page") == "https://some-one-my-page.static.hf.space/"
    assert re.fullmatch(r"https://[a-z0-9-]+\.static\.hf\.space/", space.static_address("a/b"))
