"""Words that are explained where they stand: every key is known, and an entry shows on hover, focus
and tap.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from web_page import Guest, address, show

from hsd import facts
from hsd.app.modules import read
from hsd.paths import WEB

KEYS = re.compile(
    r"\b(?:term|explained)\(\s*\"([\w-]+)\"|\bterm: \"([\w-]+)\"|data-term=?\"?: ?\"([\w-]+)\""
)
SCRIPTS = [path.relative_to(WEB).as_posix() for path in WEB.rglob("*.js")]
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>words</title>
<link rel="stylesheet" href="kit/kit.css"></head><body><div class="hsd-kit" id="one"></div>
<script type="module">
import { h, plain, prose } from "./kit/dom.js";
import { facts } from "./kit/facts.js";
import { term } from "./kit/glossary.js";
facts.glossary.bad = { label: "<img src=x onerror=alert(1)>", words: "${1+1} <b>bold</b>" };
const parts = ["A ", { term: "coin", words: "coin" }, " is drawn."];
window.said = plain(parts);
const said = h("p", {}, prose(parts));
const terms = h("p", {}, term("gamma", "γ"), " and ", term("bad", "this"));
document.getElementById("one").replaceChildren(said, terms);
</script></body></html>"""


def test_every_key_that_a_script_names_is_in_the_glossary() -> None:
    found = {
        key for script in SCRIPTS for match in KEYS.findall(read(script)) for key in match if key
    }
    assert found <= set(facts.glossary()), found - set(facts.glossary())


def test_the_scan_sees_every_way_to_name_a_key() -> None:
    text = 'term("a") explained("b", x) { term: "c" } { "data-term": "d" } term(\n  "e",'
    assert {key for match in KEYS.findall(text) for key in match if key} == set("abcde")


def test_an_entry_is_a_sentence_and_no_sign_stands_for_two_things() -> None:
    entries = facts.glossary()
    for key, entry in entries.items():
        assert (
            {"label", "words"} <= set(entry) <= {"full", "label", "line", "rule", "sign", "words"}
        ), key
        assert entry["words"].endswith("."), key
    for name in ("label", "sign"):
        said = [entry[name] for entry in entries.values() if name in entry]
        assert len(said) == len(set(said))


@pytest.fixture
def words(chromium) -> Iterator[Guest]:
    guest = Guest(chromium, address())
    show(guest.page, PAGE)
    guest.page.wait_for_selector("[data-term=bad]")
    yield guest
    guest.close()


def tip(page) -> str | None:
    """What is explained now."""
    return page.evaluate("document.querySelector('#hp-tip:popover-open')?.textContent ?? null")


def test_hover_focus_and_tap_show_the_entry_and_escape_closes_it(words: Guest) -> None:
    page = words.page
    coin = facts.glossary()["coin"]
    assert page.evaluate("window.said") == "A coin is drawn."
    assert tip(page) is None
    before = page.evaluate("document.documentElement.scrollHeight")
    page.hover("[data-term=coin]")
    assert tip(page) == f"{coin['sign']}, coin: {coin['words']}"
    assert page.get_attribute("[data-term=coin]", "aria-describedby") == "hp-tip"
    assert page.evaluate("document.documentElement.scrollHeight") == before
    page.mouse.move(600, 600)
    page.wait_for_function("!document.querySelector('#hp-tip:popover-open')")
    page.keyboard.press("Tab")
    assert coin["words"] in tip(page)
    page.keyboard.press("Tab")
    assert tip(page).startswith("γ, draft length")
    page.keyboard.press("Escape")
    assert tip(page) is None
    page.click("[data-term=coin]")
    page.mouse.move(600, 600)
    page.click("[data-term=gamma]")
    assert tip(page).startswith("γ, draft length")
    page.mouse.click(600, 600)
    assert tip(page) is None


def test_an_entry_stays_inside_a_narrow_window_and_is_text(chromium) -> None:
    guest = Guest(chromium, address(), width=320, height=500, has_touch=True)
    page = guest.page
    show(page, PAGE)
    page.tap("[data-term=bad]")
    assert tip(page) == "<img src=x onerror=alert(1)>: ${1+1} <b>bold</b>"
    box = page.locator("#hp-tip").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 320
    page.tap("[data-term=bad]")
    assert tip(page) is None
    guest.close()
