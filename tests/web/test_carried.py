"""A trace of one's own in a link: a short one travels in it, and a long one says that it cannot."""

from __future__ import annotations

import base64
import zlib

import pytest

from hsd.paths import TRACES

CLIPBOARD = ["clipboard-read", "clipboard-write"]


def opened(visitors, name: str):
    """Someone who has opened this file."""
    visitor = visitors(permissions=CLIPBOARD).open()
    visitor.page.set_input_files(".hf-file", TRACES / name)
    visitor.until_source("trace file")
    return visitor


def copied(visitor) -> str:
    visitor.page.evaluate("navigator.clipboard.writeText('nothing')")
    visitor.page.get_by_role("button", name="Copy link").first.click()
    visitor.page.locator(".hp-toast", has_text="link").first.wait_for()
    return visitor.page.evaluate("navigator.clipboard.readText()")


@pytest.mark.recorded
def test_a_short_trace_travels_in_its_link(visitors):
    visitor = opened(visitors, "sum.json")
    visitor.page.locator(".hf-player").focus()
    visitor.page.keyboard.press("Home")
    visitor.page.keyboard.press("Shift+ArrowRight")
    visitor.until("window.__hsd.step === 1 && location.search.includes('at_step=2&')")
    link = copied(visitor)
    assert link == visitor.page.url
    other = visitors()
    other.page.goto(link)
    other.until_source("trace file")
    other.until("window.__hsd.ready && document.querySelector('.hp-guess, .hp-node')")
    assert other.shown() == visitor.shown()


@pytest.mark.recorded
def test_a_long_trace_says_that_its_link_cannot_carry_it(visitors):
    visitor = opened(visitors, "lighthouse.json")
    assert copied(visitor) == "nothing"
    assert "too long for a link" in visitor.alert()
    assert "#" not in visitor.page.url


@pytest.mark.recorded
def test_a_link_that_unpacks_to_something_huge_is_refused_in_one_line(visitors):
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(b"[" * 20_000_000) + packer.flush()
    text = base64.urlsafe_b64encode(packed).decode().rstrip("=")
    assert len(text) < 32_000, "short enough to be unpacked"
    visitor = visitors()
    visitor.page.goto(f"{visitor.app.url}#trace={text}")
    assert "\n" not in visitor.alert()
    visitor.until_source("recorded")


@pytest.mark.recorded
def test_a_link_whose_trace_is_broken_is_told_and_a_preset_is_shown(visitors):
    visitor = visitors()
    visitor.page.goto(visitor.app.url + "#trace=abc*")
    assert "copy the whole link again" in visitor.alert()
    visitor.until(
        "window.__hsd && window.__hsd.ready && document.querySelector('.hp-guess, .hp-node')"
    )
    visitor.until_source("recorded")
